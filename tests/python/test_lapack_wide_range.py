# SPDX-License-Identifier: Apache-2.0
"""LAPACK's routes on finite matrices whose entries span more than the exponent range: what is
negligible beside the largest entry is subnormal once that is scaled to one."""

import math
import os

import lanepack
import pytest
import torch

ORDER = 40  # LAPACK's blocked code and MKL's own; quick
DTYPES = (torch.float32, torch.float64, torch.complex64, torch.complex128)
SPREADS = ("serial", "parallel")


def _one_huge(dtype, seed):
    """Ones, and one entry near overflow: the ones become subnormal beside it."""
    A = torch.ones(ORDER, ORDER, dtype=dtype)
    A[-1, 0] = A[0, -1] = 0.9 * torch.finfo(dtype).max
    return A


def _graded(dtype, seed):
    """Columns over 500 decades (single precision: 70): scaled entries of every size down to 0."""
    decades = 250 if torch.finfo(dtype).bits == 64 else 35
    torch.manual_seed(seed)
    real = torch.empty(0, dtype=dtype).real.dtype
    return torch.randn(ORDER, ORDER, dtype=dtype) * torch.logspace(
        -decades, decades, ORDER, dtype=real
    )


def _subnormal_beside_one(dtype, seed):
    """Entries of one, which need no scaling, and subnormal ones."""
    torch.manual_seed(seed)
    tiny = torch.finfo(dtype).tiny
    A = torch.randn(ORDER, ORDER, dtype=dtype) * (tiny / 8)
    A[::3] = torch.randn_like(A[::3])
    A.real.clamp_(-1.9, 1.9)
    A[-1, 0] = 1
    return A


FAMILIES = {
    "one huge": _one_huge,
    "graded": _graded,
    "subnormal beside one": _subnormal_beside_one,
}
each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=str)
each_spread = pytest.mark.parametrize("spread", SPREADS)
each_family = pytest.mark.parametrize("family", FAMILIES)


@pytest.fixture
def forced(monkeypatch):
    """Forces a family's LAPACK route."""

    def force(operation, spread):
        monkeypatch.setenv("LANEPACK_FORCE", f"{operation}.lapack.{spread}")

    return force


def _batch(family, dtype):
    """Ten matrices of the family among ordinary ones."""
    wide = [FAMILIES[family](dtype, seed) for seed in range(10)]
    torch.manual_seed(99)
    plain = [torch.randn(ORDER, ORDER, dtype=dtype) for _ in range(3)]
    return torch.stack([plain[0], *wide[:5], plain[1], *wide[5:], plain[2]])


def _scaled(A):
    """A and powers of two that bring the largest part of each matrix to one: exact but for what
    becomes less than the smallest normal number."""
    parts = torch.view_as_real(A.resolve_conj()) if A.is_complex() else A.unsqueeze(-1)
    exponent = torch.frexp(parts.abs().amax((-3, -2, -1))).exponent
    half = exponent // 2

    def apply(X, sign):
        for power in (half, exponent - half):
            factor = torch.ldexp(torch.ones(len(A), dtype=parts.dtype), sign * power)
            X = X * factor.reshape(-1, *[1] * (X.dim() - 1))
        return X

    return apply


def _tolerance(A):
    return 20 * math.sqrt(ORDER) * torch.finfo(A.dtype).eps


def _norm(A):
    return torch.linalg.matrix_norm(A, dim=(-2, -1))


def _assert_unitary(Q):
    excess = _norm(Q.mH @ Q - torch.eye(Q.shape[-1], dtype=Q.dtype))
    assert (excess <= 30 * math.sqrt(ORDER) * torch.finfo(Q.dtype).eps).all(), excess


def _assert_product(product, A):
    residual = _norm(product - A) / _norm(A)
    assert (residual <= _tolerance(A)).all(), residual


def _assert_values(values, reference):
    error = (values - reference).abs().amax(-1) / reference.abs().amax(-1)
    assert (error <= 20 * math.sqrt(ORDER) * torch.finfo(values.dtype).eps).all(), error


@each_dtype
@each_spread
@each_family
@pytest.mark.parametrize("UPLO", ["L", "U"])
def test_eigh(family, spread, dtype, UPLO, forced):
    forced("eigh", spread)
    A = _batch(family, dtype)
    scale = _scaled(A)
    w, V, info = lanepack.eigh_ex(A, UPLO=UPLO)
    alone, info_alone = lanepack.eigvalsh_ex(A, UPLO=UPLO)
    assert not info.any(), info
    assert not info_alone.any(), info_alone
    assert (w.diff() >= 0).all()
    assert (alone.diff() >= 0).all()
    _assert_unitary(V)
    small = scale(A, -1)
    triangle = small.tril(-1) if UPLO == "L" else small.triu(1)
    hermitian = triangle + triangle.mH + torch.diag_embed(small.diagonal(0, -2, -1).real)
    scaled = scale(w, -1)
    _assert_product(V * scaled.unsqueeze(-2) @ V.mH, hermitian)
    _assert_values(scale(alone, -1), scaled)


@each_dtype
@each_spread
@each_family
@pytest.mark.parametrize("shape", [(40, 40), (40, 4), (4, 40)], ids=str)
def test_svd(family, spread, dtype, shape, forced):
    forced("svd", spread)
    # the last rows and the first columns: the huge entry is among them
    A = _batch(family, dtype)[:, ORDER - shape[0] :, : shape[1]]
    scale = _scaled(A)
    U, S, Vh, info = lanepack.svd_ex(A)
    alone, info_alone = lanepack.svdvals_ex(A)
    assert not info.any(), info
    assert not info_alone.any(), info_alone
    for values in (S, alone):
        assert (values.diff() <= 0).all()
        assert (values >= 0).all()
    _assert_unitary(U)
    _assert_unitary(Vh.mH)
    scaled = scale(S, -1)
    _assert_product(U * scaled.unsqueeze(-2) @ Vh, scale(A, -1))
    _assert_values(scale(alone, -1), scaled)


@each_dtype
@each_spread
@each_family
@pytest.mark.parametrize("mode", ["reduced", "r"])
def test_qr(family, spread, dtype, mode, forced):
    forced("qr", spread)
    A = _batch(family, dtype)
    scale = _scaled(A)
    Q, R, info = lanepack.qr_ex(A, mode=mode)
    assert not info.any(), info
    assert torch.isfinite(R).all()
    assert not R.tril(-1).any()
    small, R = scale(A, -1), scale(R, -1)
    if mode == "r":
        _assert_values(_norm(R).unsqueeze(-1), _norm(small).unsqueeze(-1))
        return
    _assert_unitary(Q)
    _assert_product(Q @ R, small)


@each_dtype
@each_spread
def test_cholesky_of_a_wide_range(spread, dtype, forced):
    """Its route keeps IEEE arithmetic: graded matrices keep their small entries."""
    forced("cholesky", spread)
    decades = 140 if torch.finfo(dtype).bits == 64 else 17
    torch.manual_seed(3)
    B = torch.randn(ORDER, ORDER, dtype=dtype)
    B = B @ B.mH / ORDER + torch.eye(ORDER, dtype=dtype)
    real = B.real.dtype
    exponents = torch.linspace(-decades, decades, ORDER, dtype=torch.float64) * math.log2(10)
    d = torch.exp2(exponents.round()).to(real)  # powers of two: the grading is exact
    L, info = lanepack.cholesky_ex(B * d[:, None] * d)
    assert not info.any()
    _assert_product((L / d[:, None]) @ (L / d[:, None]).mH, B)


def test_by_default_routes(monkeypatch, capfd):
    """Alone, by whatever route serves it, in both modes; and the vendor's LAPACK prints nothing."""
    assert "LANEPACK_FORCE" not in os.environ
    A = torch.ones(200, 200, dtype=torch.float64)
    A[-1, 0] = 1.7e308
    for invariant in (False, True):
        monkeypatch.setattr(lanepack._routing, "_process_mode", [int(invariant)])
        assert torch.isfinite(lanepack.eigh(A)[0]).all()
        assert torch.isfinite(lanepack.eigvalsh(A)).all()
        assert torch.isfinite(lanepack.svdvals(A)).all()
        assert torch.isfinite(lanepack.svd(A).S).all()
    C = torch.ones(4, 40, dtype=torch.complex128)
    C[3, 0] = 1.7e308
    assert torch.isfinite(lanepack.svdvals(C)).all()
    assert torch.isfinite(lanepack.svd(C).S).all()
    assert capfd.readouterr() == ("", "")  # no xerbla, as of DLASCL
