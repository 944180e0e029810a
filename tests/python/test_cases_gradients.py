# SPDX-License-Identifier: Apache-2.0
"""Real failures of other libraries (cases.md), section K, and M where it is of first order."""

import lanepack
import pytest
import torch
from properties import REAL, hermitian, randn
from torch.autograd import gradcheck


@pytest.mark.parametrize("dtype", REAL)
def test_c100_several_zero_singular_values(dtype):
    A = torch.zeros(15, 15, dtype=dtype)
    for block in range(3):
        A[block, 5 * block : 5 * block + 5] = block + 1
    A.requires_grad_()
    U, S, Vh = lanepack.svd(A)
    expected = torch.zeros(15, dtype=dtype)
    expected[:3] = torch.tensor([6.7082039, 4.4721360, 2.2360680])
    assert torch.allclose(S, expected, atol=1e-5)
    (U @ torch.diag(S) @ Vh).sum().backward()
    assert torch.allclose(A.grad, torch.ones(15, 15, dtype=dtype), atol=1e-4)


@pytest.mark.parametrize("dtype", REAL)
def test_c102_leading_triplet_of_rank_one(dtype):
    A = torch.ones(5, 5, dtype=dtype, requires_grad=True)
    U, S, Vh = lanepack.svd(A)
    (S[0] * torch.outer(U[:, 0], Vh[0])).sum().backward()
    assert torch.allclose(A.grad, torch.ones(5, 5, dtype=dtype), atol=1e-4)


@pytest.mark.parametrize("diagonal", [[1.0] * 4, [2.0, 2.0, 5.0]])
def test_c104_degenerate_eigenvalues_alone(diagonal):
    for values in (lambda A: lanepack.eigh(A).eigenvalues, lanepack.eigvalsh):
        A = torch.diag(torch.tensor(diagonal, dtype=torch.float64)).requires_grad_()
        (values(A) ** 2).sum().backward()
        assert torch.allclose(A.grad, 2 * A.detach(), atol=1e-14)


@pytest.mark.parametrize("gap", [0.0, 1e-3])
def test_c106_gauge_free_loss_at_degenerate_eigenvalues(gap):
    diagonal = torch.tensor([1.0, 1.0 + gap, 2.0], dtype=torch.float64)
    A = torch.diag(diagonal).requires_grad_()
    M = torch.zeros(3, 3, dtype=torch.float64)
    M[0, 1] = M[1, 0] = 1
    L, V = lanepack.eigh(A)
    (M * ((V * L.exp()) @ V.mT)).sum().backward()
    assert torch.isfinite(A.grad).all()
    if gap:
        difference = (diagonal[1].exp() - diagonal[0].exp()) / gap
        assert torch.allclose(A.grad, M * difference, atol=1e-6)


@pytest.mark.parametrize("shape", [(2, 4), (3, 2, 5)])
def test_c110_qr_of_wide_input(shape):
    def loss(A):
        Q, R = lanepack.qr(A)
        ones = torch.ones(Q.shape[-1], dtype=A.dtype)
        # The vectors have min(m, n) entries.
        return ((ones @ Q + (R @ torch.ones(R.shape[-1], dtype=A.dtype))) ** 2).mean()

    A = randn(*shape, seed=1337).requires_grad_()
    assert gradcheck(loss, (A,), check_forward_ad=True)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_c134_backward_under_vmap(dtype):
    A = hermitian(3, 4, 4, seed=90, dtype=dtype)

    def loss(A):
        U, S, Vh = lanepack.svd(A)
        L, V = lanepack.eigh(A)
        svd = (U * S.sin()) @ Vh
        eigh = (V * L.cos()) @ V.mH
        return (svd.abs() ** 2).sum() + (eigh.abs() ** 2).sum() + eigh.real.sum()

    gradient = torch.func.grad(loss)
    looped = torch.stack([gradient(each) for each in A])
    assert torch.allclose(torch.func.vmap(gradient)(A), looped)
    if dtype.is_complex:  # jacrev takes real inputs only
        return
    jacobian = torch.func.jacrev(lambda A: lanepack.svd(A).S)
    assert torch.allclose(torch.func.vmap(jacobian)(A), torch.stack([jacobian(each) for each in A]))


def test_c132_no_slow_path_warning():
    import warnings

    A = randn(5, 4, 4, seed=91)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for dim in (0, 1, 2):
            X = A.movedim(0, dim)
            L = torch.func.vmap(lambda A: lanepack.eigvalsh(A, UPLO="U"), in_dims=dim)(X)
            assert torch.equal(L, lanepack.eigvalsh(A, UPLO="U"))
            R = torch.func.vmap(lambda A: lanepack.qr(A).R, in_dims=dim, chunk_size=2)(X)
            assert torch.equal(R, lanepack.qr(A).R)
