# SPDX-License-Identifier: Apache-2.0
"""Derivatives: against finite differences in both modes and second order, at degenerate points,
and errors where there is none."""

import itertools

import lanepack
import pytest
import torch
from properties import randn
from torch.autograd import forward_ad, gradcheck, gradgradcheck

DTYPES = [torch.float64, torch.complex128]
SHAPES = [(3, 3), (4, 2), (2, 4)]


def check(function, A, *, batched_forward=True):
    A = A.requires_grad_()
    options = {"check_forward_ad": True, "check_batched_grad": True}
    assert gradcheck(function, (A,), check_batched_forward_grad=batched_forward, **options)
    assert gradgradcheck(
        function, (A,), check_fwd_over_rev=True, check_rev_over_rev=True, check_batched_grad=True
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_qr(shape, dtype):
    A = randn(*shape, seed=40, dtype=dtype)
    check(lambda A: tuple(lanepack.qr(A)), A)
    if shape[-2] <= shape[-1]:
        check(lambda A: tuple(lanepack.qr(A, "complete")), A)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("UPLO", ["L", "U"])
def test_eigh(UPLO, dtype):
    def gauge_free(A):
        A = A + A.mH
        L, V = lanepack.eigh(A, UPLO)
        return L, V.abs(), (V * L.exp()[..., None, :]) @ V.mH

    A = randn(3, 3, seed=41, dtype=dtype)
    # torch's legacy vmap cannot take mH of a complex tensor in forward mode.
    check(gauge_free, A, batched_forward=not dtype.is_complex)
    check(lambda A: lanepack.eigvalsh(A + A.mH, UPLO), A, batched_forward=not dtype.is_complex)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_svd(shape, dtype):
    k = min(shape[-2:])

    def gauge_free(A, full):
        U, S, Vh = lanepack.svd(A, full)
        U1, Vh1 = U.narrow(-1, 0, k), Vh.narrow(-2, 0, k)
        results = [S, U1.abs(), Vh1.abs(), U1 @ Vh1, (U1 * S.exp()[..., None, :]) @ Vh1]
        if full and shape[-2] > k:
            results.append(U[..., k:] @ U[..., k:].mH)
        if full and shape[-1] > k:
            results.append(Vh[..., k:, :].mH @ Vh[..., k:, :])
        return tuple(results)

    A = randn(*shape, seed=42, dtype=dtype)
    check(lambda A: gauge_free(A, False), A)
    check(lambda A: gauge_free(A, True), A, batched_forward=not dtype.is_complex)
    check(lanepack.svdvals, A)


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64, *DTYPES])
def test_gradients_are_torchs(dtype):
    A = randn(3, 6, 4, seed=43, dtype=dtype)
    tolerance = {"rtol": 1e-3, "atol": 1e-4} if dtype.itemsize < 16 else {}

    def gradients(qr, svd, eigh):
        X = A.clone().requires_grad_()
        Q, R = qr(X)
        U, S, Vh = svd(X, full_matrices=False)
        L, V = eigh(X.mH @ X)
        loss = (
            (Q.abs() ** 3).sum() + (R.abs() ** 2).sum() + (U[..., :1] @ Vh[..., :1, :]).real.sum()
        )
        loss = loss + S.sin().sum() + L.log().sum() + (V.abs() ** 4).sum()
        return torch.autograd.grad(loss, X)[0]

    ours = gradients(lanepack.qr, lanepack.svd, lanepack.eigh)
    theirs = gradients(torch.linalg.qr, torch.linalg.svd, torch.linalg.eigh)
    assert torch.allclose(ours, theirs, **tolerance)


def test_one_matrix_agrees_with_a_batch_and_with_the_recorded_backward():
    """A matrix alone takes a shorter way in three places: past the op, without scaling by the
    largest value, and with a kept factor; and a backward that is itself recorded takes none."""
    for dtype, scale in itertools.product(
        (torch.float32, torch.float64, torch.complex64, torch.complex128), (1.0, 2.0**-20, 2.0**20)
    ):
        tolerance = 1e-10 if dtype.to_real() is torch.float64 else 1e-3
        for shape in ((2, 2), (4, 4), (5, 3), (3, 5)):
            A = randn(*shape, seed=60, dtype=dtype) * scale
            calls = {lanepack.qr: A, lanepack.svd: A, lanepack.svdvals: A}
            if shape[0] == shape[1]:
                calls |= {lanepack.eigh: A + A.mH, lanepack.eigvalsh: A + A.mH}
            for function, X in calls.items():
                single = gauge_free_gradient(function, X)
                batched = gauge_free_gradient(function, X[None])[0]
                recorded = gauge_free_gradient(function, X, create_graph=True)
                for other in (batched, recorded):
                    assert (single - other).abs().max() <= tolerance * single.abs().max()


def gauge_free_gradient(function, A, **options):
    A = A.clone().requires_grad_()
    results = function(A)
    results = (results,) if isinstance(results, torch.Tensor) else results
    loss = sum((each.abs() ** 3 * torch.arange(1, each.shape[-1] + 1)).sum() for each in results)
    assert results[0].grad_fn is not None
    return torch.autograd.grad(loss, A, **options)[0].detach()


def test_a_matrix_alone_keeps_its_checks():
    A = randn(3, 3, seed=61).requires_grad_()
    for call in (lambda: lanepack.eigh(A, "X"), lambda: lanepack.qr(A, "full"),
                 lambda: lanepack.eigh(A[:2]), lambda: lanepack.svd(A[0])):  # fmt: skip
        with pytest.raises(lanepack.ArgumentError):
            call()
    bad = A.detach().clone()
    bad[1, 1] = float("nan")
    bad.requires_grad_()
    with pytest.raises(torch.linalg.LinAlgError):
        lanepack.eigh(bad, check_errors=True)
    assert lanepack.svd_ex(bad).info > 0
    with torch.no_grad():
        assert not lanepack.qr(A).Q.requires_grad


def test_half_and_integers():
    A = torch.tensor([[2.0, 1.0], [1.0, 3.0]], dtype=torch.bfloat16, requires_grad=True)
    lanepack.eigvalsh(A).sum().backward()
    assert A.grad.dtype == torch.bfloat16
    assert torch.allclose(A.grad.float(), torch.eye(2), atol=1e-2)


def test_empty_matrices_have_empty_gradients():
    for shape in ((0, 4), (4, 0), (0, 0), (0, 3, 3)):
        A = torch.zeros(shape, dtype=torch.float64, requires_grad=True)
        results = [*lanepack.qr(A), *lanepack.svd(A)]
        if shape[-1] == shape[-2]:
            results += [*lanepack.eigh(A), lanepack.eigvalsh(A)]
        (gradient,) = torch.autograd.grad(sum(each.sum() for each in results), A)
        assert gradient.shape == shape


def test_info_has_no_derivative():
    A = randn(3, 3, seed=44).requires_grad_()
    for form in (lanepack.qr_ex, lanepack.eigh_ex, lanepack.eigvalsh_ex, lanepack.svd_ex):
        result = form(A)
        assert result[0].requires_grad
        assert not result.info.requires_grad


def test_qr_where_it_has_no_derivative():
    A = randn(4, 3, seed=45)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(A, torch.ones_like(A))
        with pytest.raises(RuntimeError, match="depends on Q"):
            lanepack.qr(dual, "r")
        with pytest.raises(RuntimeError, match="more rows than columns"):
            lanepack.qr(dual, "complete")
    A.requires_grad_()
    with pytest.raises(RuntimeError, match="depends on Q, which is not computed when mode='r'"):
        lanepack.qr(A, "r").R.sum().backward()
    with pytest.raises(RuntimeError, match="mode='complete' and A has more rows than columns"):
        lanepack.qr(A, "complete").R.sum().backward()


def test_repeated_values_keep_finite_gradients():
    for dtype in (torch.float32, torch.float64, torch.complex64):
        A = torch.eye(4, dtype=dtype).requires_grad_()
        L, V = lanepack.eigh(A)
        (gradient,) = torch.autograd.grad(((V * L[..., None, :]) @ V.mH).real.sum(), A)
        assert torch.isfinite(gradient.abs()).all()
        U, S, Vh = lanepack.svd(A)
        (gradient,) = torch.autograd.grad(((U * S) @ Vh).real.sum(), A)
        assert torch.isfinite(gradient.abs()).all()


@pytest.mark.parametrize("exponent", [-120, 120])
def test_scale(exponent):
    """Eigen- and singular vectors do not change with scale; their gradients by its inverse."""
    A = randn(5, 4, seed=46, dtype=torch.float32)
    H = A.mT @ A
    w = randn(5, 4, seed=47, dtype=torch.float32)

    def gradients(scale):
        X = (A * scale).requires_grad_()
        U, _, Vh = lanepack.svd(X)
        (svd,) = torch.autograd.grad(((U @ Vh) * w).sum(), X)
        Y = (H * scale).requires_grad_()
        _, V = lanepack.eigh(Y)
        (eigh,) = torch.autograd.grad(((V[:, 0] ** 2) * w[0]).sum(), Y)
        return svd * scale, eigh * scale

    for scaled, plain in zip(gradients(2.0**exponent), gradients(1.0), strict=True):
        assert torch.allclose(scaled, plain, rtol=1e-3, atol=1e-5)


def test_a_bad_matrix_has_a_bad_gradient_alone():
    A = randn(3, 4, 4, seed=48)
    B = A.clone()
    B[1, 2, 2] = float("nan")

    def gradient(X):
        X = X.clone().requires_grad_()
        U, S, Vh = lanepack.svd(X)
        loss = (U[..., :1] * S[..., None, :1] @ Vh[..., :1, :]).sum()
        return torch.autograd.grad(loss, X)[0]

    expected, result = gradient(A), gradient(B)
    assert torch.equal(result[[0, 2]], expected[[0, 2]])
    assert torch.isnan(result[1]).all()


def test_the_backward_uses_the_forwards_routing_mode(monkeypatch):
    from lanepack import _routing
    from lanepack.ops import svd as family

    seen = []
    original = family._coupling
    monkeypatch.setattr(
        family, "_coupling", lambda *args: (seen.append(_routing.routing()), original(*args))[1]
    )
    A = randn(3, 3, seed=49).requires_grad_()
    with lanepack.invariant():
        U, _, Vh = lanepack.svd(A)
    (U @ Vh).sum().backward()
    assert seen == ["invariant"]
    assert lanepack.routing() == "fastest"


def test_eigh_gradient_near_the_overflow_limit_is_finite_where_torch_gives_one():
    torch.manual_seed(0)
    A = torch.randn(4, 4, dtype=torch.float32)
    A = ((A + A.mT) * 3e-39).requires_grad_()
    W = torch.randn(4, 4)

    def gradient(eigh):
        V = eigh(A)[1]
        (found,) = torch.autograd.grad((((V * torch.arange(4)) @ V.mT) * W).sum(), A)
        return found

    expected, found = gradient(torch.linalg.eigh), gradient(lanepack.eigh)
    assert expected.isfinite().all()
    assert found.isfinite().all()


def test_node_is_named_after_the_function():
    A = torch.randn(3, 3, requires_grad=True)
    assert "lanepack_qr" in lanepack.qr(A)[0].grad_fn.name()
