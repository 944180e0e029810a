# SPDX-License-Identifier: Apache-2.0
"""lanepack.debug: the gauge check raises where torch.linalg's backward does, in its words."""

import threading

import lanepack
import pytest
import torch
from lanepack.debug import gauge_check, gauge_checked
from properties import hermitian, randn

# Each takes (eigh, svd), the input and a Hermitian one; named by whether the phase shows.
DEPENDENT = {
    "eigh": lambda eigh, svd, A, H: eigh(H)[1].real.sum(),
    "eigh, one vector": lambda eigh, svd, A, H: eigh(H)[1][..., 0, 0].imag.sum(),
    "eigh, barely": lambda eigh, svd, A, H: 0.05 * eigh(H)[1].imag.sum(),
    "svd, U": lambda eigh, svd, A, H: svd(A)[0].real.sum(),
    "svd, Vh": lambda eigh, svd, A, H: svd(A)[2].imag.sum(),
    "svd, both": lambda eigh, svd, A, H: svd(A)[0].real.sum() + svd(A)[2].real.sum(),
    "svd, values too": lambda eigh, svd, A, H: sum(x.real.sum() for x in svd(A)),
}
INDEPENDENT = {
    "eigenvalues": lambda eigh, svd, A, H: eigh(H)[0].sin().sum(),
    "eigenvectors' squares": lambda eigh, svd, A, H: (eigh(H)[1].abs() ** 3).sum(),
    "projector": lambda eigh, svd, A, H: projector(eigh(H)[1]).real.tril().sum(),
    "singular values": lambda eigh, svd, A, H: svd(A)[1].sin().sum(),
    "singular vectors' squares": lambda eigh, svd, A, H: (
        (svd(A)[0].abs() ** 3).sum() + (svd(A)[2].abs() ** 3).sum()
    ),
    "rank one": lambda eigh, svd, A, H: rank_one(*svd(A)).imag.sum(),
    "too little to count": lambda eigh, svd, A, H: (
        1e-4 * eigh(H)[1].real.sum() + 1e-4 * svd(A)[0].real.sum()
    ),
}


def projector(V):
    return V[..., :1] @ V[..., :1].mH


def rank_one(U, S, Vh):
    return U[..., :1] * S[..., None, :1] @ Vh[..., :1, :]


@pytest.fixture(autouse=True)
def _off_again():
    yield
    gauge_check(False)


def gradient(loss, linalg, full, shape, dtype):
    A = randn(*shape, seed=80, dtype=dtype).requires_grad_()
    H = hermitian(*shape[:-2], shape[-1], shape[-1], seed=81, dtype=dtype).requires_grad_()

    def svd(A):
        return linalg.svd(A, full_matrices=full)

    return torch.autograd.grad(loss(linalg.eigh, svd, A, H), (A, H), allow_unused=True)


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 3), (3, 5)])
@pytest.mark.parametrize("full", [False, True])
def test_raises_where_torch_does(shape, full, dtype):
    gauge_check(True)
    for loss in DEPENDENT.values():
        with pytest.raises(RuntimeError) as theirs:
            gradient(loss, torch.linalg, full, shape, dtype)
        with pytest.raises(RuntimeError) as ours:
            gradient(loss, lanepack, full, shape, dtype)
        assert str(ours.value) == str(theirs.value)
    for loss in INDEPENDENT.values():
        gradient(loss, torch.linalg, full, shape, dtype)
        gradient(loss, lanepack, full, shape, dtype)


def test_the_tolerances_are_torchs():
    A = randn(3, 3, seed=82, dtype=torch.complex128).requires_grad_()
    H = hermitian(3, 3, seed=83, dtype=torch.complex128).requires_grad_()

    def refused(function, A, *turns):
        """Whether cotangents that turn the vectors by these angles are refused."""
        vectors = [each for each in function(A) if each.is_complex()]
        cotangents = [1j * turn * each.detach() for turn, each in zip(turns, vectors, strict=True)]
        try:
            torch.autograd.grad(vectors, A, cotangents)
        except RuntimeError:
            return True
        return False

    gauge_check(True)
    for left, right in [(0.0049, 0.0), (0.0051, 0.0), (0.0, 0.00504), (0.0, 0.00506),
                        (5.0, 5.0), (5.0, 5.055), (5.0, 5.057), (5.0, -5.0)]:  # fmt: skip
        theirs = refused(lambda A: torch.linalg.svd(A, full_matrices=False), A, left, right)
        assert refused(lanepack.svd, A, left, right) == theirs
    for turn in (0.0099, 0.0101, -0.0101):
        assert refused(lanepack.eigh, H, turn) == refused(torch.linalg.eigh, H, turn)


def test_real_input_has_no_phase():
    gauge_check(True)
    for name in ("eigh", "svd, U", "svd, both", "svd, values too"):
        gradient(DEPENDENT[name], lanepack, False, (3, 3), torch.float64)


def test_off_unless_asked_for():
    assert not gauge_check()
    gradient(DEPENDENT["eigh"], lanepack, False, (3, 3), torch.complex128)
    assert gauge_check(True) is False
    assert gauge_check() is True
    with gauge_checked(False):
        assert not gauge_check()
        gradient(DEPENDENT["eigh"], lanepack, False, (3, 3), torch.complex128)
    assert gauge_check(False) is True
    with gauge_checked(), pytest.raises(RuntimeError, match="ill-defined"):
        gradient(DEPENDENT["eigh"], lanepack, False, (3, 3), torch.complex128)
    assert not gauge_check()


def test_a_block_holds_for_its_own_thread():
    seen = []
    with gauge_checked():
        thread = threading.Thread(target=lambda: seen.append(gauge_check()))
        thread.start()
        thread.join()
        assert gauge_check()
    gauge_check(True)
    thread = threading.Thread(target=lambda: seen.append(gauge_check()))
    thread.start()
    thread.join()
    assert seen == [False, True]


def test_a_bad_matrix_is_not_held_against_its_batch():
    gauge_check(True)
    A = randn(3, 3, 3, seed=84, dtype=torch.complex128)
    A[1, 0, 0] = float("nan")
    A.requires_grad_()
    U, S, Vh = lanepack.svd(A)
    (result,) = torch.autograd.grad(rank_one(U, S, Vh).real.sum(), A)
    assert result[[0, 2]].isfinite().all()
    assert result[1].isnan().any()


def test_transforms():
    gauge_check(True)
    A = randn(4, 3, 3, seed=85, dtype=torch.complex128)

    def loss(A):
        return lanepack.svd(A)[0].real.sum()

    with pytest.raises(RuntimeError, match="ill-defined"):
        torch.func.grad(loss)(A[0])
    # Not readable, so not checked.
    assert torch.func.vmap(torch.func.grad(loss))(A).isfinite().all()
    torch._dynamo.reset()
    compiled = torch.compile(lambda A: loss(A) + 0, fullgraph=True, backend="aot_eager")
    X = A[0].clone().requires_grad_()
    compiled(X).backward()
    assert X.grad.isfinite().all()
