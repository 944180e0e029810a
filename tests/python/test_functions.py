# SPDX-License-Identifier: Apache-2.0
"""qr, eigh, eigvalsh, svd, svdvals: values, shapes, strides, result types, dtypes."""

import lanepack
import numpy as np
import pytest
import torch
from properties import (
    DTYPES,
    check_eigh,
    check_qr,
    check_svd,
    column_major,
    eps,
    hermitian,
    norm,
    randn,
)

SHAPES = [(1, 1), (3, 3), (5, 3), (3, 5), (40, 17), (9, 70, 9), (2, 3, 4, 6), (130, 8, 8)]
SQUARES = [(1, 1), (2, 2), (3, 3), (4, 17, 17), (2, 3, 4, 4), (130, 8, 8), (70, 70)]
ZERO_SIZES = [(0, 0), (0, 3), (3, 0), (0, 4, 4), (2, 0, 3), (2, 3, 0), (1, 0, 2, 4, 5)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_qr(shape, dtype):
    A = randn(*shape, seed=1, dtype=dtype)
    reduced = lanepack.qr(A)
    check_qr(A, *reduced)
    complete = lanepack.qr(A, mode="complete")
    check_qr(A, *complete)
    assert complete.Q.shape == (*shape[:-1], shape[-2])
    r = lanepack.qr(A, "r")
    assert r.Q.shape == (0,)
    assert torch.equal(r.R, reduced.R)
    diagonal = reduced.R.diagonal(0, -2, -1)
    assert not diagonal.is_complex() or (diagonal.imag == 0).all()
    for ours, theirs in ((reduced, torch.linalg.qr(A)), (r, torch.linalg.qr(A, "r"))):
        assert type(ours) is type(theirs)
        for mine, other in zip(ours, theirs, strict=True):
            assert mine.dtype == other.dtype
            assert mine.shape == other.shape
            assert mine.stride() == other.stride()
    # LAPACK's signs: R is unique once they are fixed.
    assert torch.allclose(reduced.R, torch.linalg.qr(A).R, atol=1e4 * eps(dtype), rtol=1e-2)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARES)
@pytest.mark.parametrize("UPLO", ["L", "U"])
def test_eigh(shape, dtype, UPLO):
    A = randn(*shape, seed=2, dtype=dtype)
    result = lanepack.eigh(A, UPLO)
    check_eigh(A, *result, UPLO)
    values = lanepack.eigvalsh(A, UPLO=UPLO)
    difference = (values - result.eigenvalues).abs().amax(-1)
    assert (difference <= 10 * shape[-1] * eps(dtype) * 2 * norm(A)).all()
    theirs = torch.linalg.eigh(A, UPLO)
    assert type(result) is type(theirs)
    for mine, other in zip((*result, values), (*theirs, theirs[0]), strict=True):
        assert (mine.dtype, mine.shape, mine.stride()) == (other.dtype, other.shape, other.stride())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_svd(shape, dtype):
    A = randn(*shape, seed=3, dtype=dtype)
    thin = lanepack.svd(A)
    check_svd(A, *thin)
    full = lanepack.svd(A, full_matrices=True)
    check_svd(A, *full)
    S = lanepack.svdvals(A)
    assert ((S - thin.S).abs().amax(-1) <= 10 * max(shape[-2:]) * eps(dtype) * norm(A)).all()
    for ours, theirs in (
        (thin, torch.linalg.svd(A, full_matrices=False)),
        (full, torch.linalg.svd(A)),
    ):
        assert type(ours) is type(theirs)
        for mine, other in zip(ours, theirs, strict=True):
            assert mine.dtype == other.dtype
            assert mine.shape == other.shape
    for matrices in (thin.U, thin.Vh, full.U, full.Vh):
        assert matrices.stride() == column_major(matrices.shape)
    assert S.is_contiguous()
    assert thin.S.is_contiguous()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("driver", ["jacobi", "gesvd", "gesvdj", "gesvda"])
def test_drivers(dtype, driver):
    A = randn(3, 6, 4, seed=4, dtype=dtype)
    check_svd(A, *lanepack.svd(A, driver=driver))
    expected = torch.linalg.svdvals(A)
    assert torch.allclose(lanepack.svdvals(A, driver=driver), expected, rtol=1e2 * eps(dtype))


def test_jacobi_keeps_small_singular_values():
    B = randn(8, 8, seed=5)
    scales = 10.0 ** -torch.arange(0, 64, 8, dtype=torch.float64)
    S = lanepack.svdvals(B * scales, driver="jacobi")
    # The values of B D and those of its power-of-ten multiple agree in every digit that counts.
    again = lanepack.svdvals((B * scales * 2.0**40).mT, driver="jacobi") / 2.0**40
    assert ((S - again).abs() <= 20 * 8 * eps(torch.float64) * S).all()
    # Their product is abs(det B) times the scales.
    logarithm = torch.linalg.slogdet(B)[1] + scales.log().sum()
    assert abs(S.log().sum() - logarithm) <= 1e-12


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64])
@pytest.mark.parametrize(("m", "n"), [(3, 3), (4, 3), (9, 9), (13, 9), (100, 9)])
def test_jacobi_keeps_small_singular_values_of_any_shape(m, n, dtype):
    """B D with D down to 1e-12 of the norm, its columns in any order."""
    B = randn(50, m, n, seed=11, dtype=dtype) + 2 * m**0.5 * torch.eye(m, n, dtype=dtype)
    ladder = torch.logspace(0, -12, n, dtype=torch.float64)
    order = torch.argsort(randn(50, n, seed=12))
    A = B * ladder[order][:, None, :].to(B.real.dtype)
    wide = lanepack.svdvals(A.to(torch.promote_types(dtype, torch.float64)), driver="jacobi")
    S = lanepack.svd(A, driver="jacobi").S
    assert ((S - wide).abs() <= 10 * m * eps(dtype) * wide).all()
    assert ((lanepack.svdvals(A, driver="jacobi") - wide).abs() <= 10 * m * eps(dtype) * wide).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex128])
def test_strides(dtype):
    base = randn(4, 3, 10, 12, seed=6, dtype=dtype)
    views = {
        "transposed": base.mT,
        "every other": base[..., ::2, 1::2],
        "batch permuted": base.transpose(0, 1),
        "batch at the end": base.permute(2, 3, 0, 1),
        "expanded": base[0, 0].expand(5, 2, 10, 12),
        "offset": base[1:, 2],
        "one entry": base[0, 0, 0, 0].expand(6, 6),
        "conjugate": base.conj(),
        "negative": base._neg_view(),
        "imaginary part": torch.view_as_complex(randn(4, 4, 2, seed=7)).conj().imag.to(dtype),
    }
    for name, view in views.items():
        copy = view.resolve_conj().resolve_neg().clone(memory_format=torch.contiguous_format)
        before = copy.clone()
        for function in (lanepack.qr, lanepack.svd, lanepack.svdvals):
            for mine, other in zip(function(view), function(copy), strict=True):
                assert torch.equal(mine, other), name
                assert mine.stride() == other.stride(), name
        if view.shape[-1] == view.shape[-2]:
            for mine, other in zip(lanepack.eigh(view), lanepack.eigh(copy), strict=True):
                assert torch.equal(mine, other), name
        assert torch.equal(view, before), name


def test_negative_and_conjugate_bits_of_a_view():
    z = torch.view_as_complex(randn(5, 5, 2, seed=8))
    imaginary = z.conj().imag
    assert imaginary.is_neg()
    assert torch.equal(lanepack.eigvalsh(imaginary), lanepack.eigvalsh(imaginary.clone()))


@pytest.mark.parametrize("shape", ZERO_SIZES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex64])
def test_zero_sizes(shape, dtype):
    A = torch.zeros(shape, dtype=dtype)
    pairs = [
        (lanepack.qr(A), torch.linalg.qr(A)),
        (lanepack.qr(A, "complete"), torch.linalg.qr(A, "complete")),
        (lanepack.qr(A, "r"), torch.linalg.qr(A, "r")),
        (lanepack.svd(A), torch.linalg.svd(A, full_matrices=False)),
        (lanepack.svd(A, True), torch.linalg.svd(A)),
        ([lanepack.svdvals(A)], [torch.linalg.svdvals(A)]),
    ]
    if shape[-1] == shape[-2]:
        pairs.append((lanepack.eigh(A), torch.linalg.eigh(A)))
        pairs.append(([lanepack.eigvalsh(A)], [torch.linalg.eigvalsh(A)]))
    for ours, theirs in pairs:
        for mine, other in zip(ours, theirs, strict=True):
            assert mine.shape == other.shape
            assert mine.dtype == other.dtype
    full = lanepack.svd(A, True)
    for Q in (full.U, full.Vh, lanepack.qr(A, "complete").Q):
        assert torch.equal(Q @ Q.mH, torch.eye(Q.shape[-1], dtype=dtype).expand(Q.shape))
    assert lanepack.svd_ex(A).info.shape == shape[:-2]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_is_computed_in_float32(dtype):
    A = randn(3, 6, 4, seed=9).to(dtype)
    for half, single in zip(lanepack.qr(A), lanepack.qr(A.float()), strict=True):
        assert half.dtype == torch.float32
        assert torch.equal(half, single)
    assert lanepack.svd(A).U.dtype == torch.float32
    assert lanepack.eigvalsh(A[:, :4]).dtype == torch.float32


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8, torch.bool])
def test_integers_become_the_default_dtype(dtype):
    A = torch.tensor([[2, 1], [1, 0]]).to(dtype)
    assert lanepack.eigvalsh(A).dtype == torch.get_default_dtype()
    assert torch.equal(lanepack.eigvalsh(A), lanepack.eigvalsh(A.to(torch.get_default_dtype())))
    before = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.float64)
        assert lanepack.qr(A).R.dtype == torch.float64
        torch.set_default_dtype(torch.float16)
        assert lanepack.qr(A).R.dtype == torch.float32
    finally:
        torch.set_default_dtype(before)


def test_lists_and_arrays():
    expected = lanepack.eigvalsh(torch.tensor([[2.0, 1.0], [1.0, 2.0]]))
    assert torch.equal(lanepack.eigvalsh([[2.0, 1.0], [1.0, 2.0]]), expected)
    array = np.array([[2.0, 1.0], [1.0, 2.0]])
    assert lanepack.eigvalsh(array).dtype == torch.float64
    assert torch.equal(lanepack.eigvalsh(array.astype(np.float32)), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_info_forms(dtype):
    A = hermitian(3, 5, 5, seed=10, dtype=dtype)
    forms = [
        (lanepack.qr_ex(A), lanepack.qr(A), ("Q", "R", "info")),
        (lanepack.qr_ex(A, mode="r"), lanepack.qr(A, "r"), ("Q", "R", "info")),
        (lanepack.eigh_ex(A), lanepack.eigh(A), ("eigenvalues", "eigenvectors", "info")),
        (lanepack.eigvalsh_ex(A, "U"), [lanepack.eigvalsh(A, "U")], ("eigenvalues", "info")),
        (lanepack.svd_ex(A), lanepack.svd(A), ("U", "S", "Vh", "info")),
        (lanepack.svdvals_ex(A), [lanepack.svdvals(A)], ("S", "info")),
    ]
    for form, plain, names in forms:
        assert form._fields == names
        assert form.info.dtype == torch.int32
        assert torch.equal(form.info, torch.zeros(3, dtype=torch.int32))
        for mine, other in zip(form, plain, strict=False):
            assert torch.equal(mine, other)
    assert lanepack.eigh_ex(A[0]).info.shape == ()


def test_parameters_and_keywords():
    A = torch.nn.Parameter(randn(4, 4, seed=11))
    with torch.no_grad():
        assert torch.equal(lanepack.qr(A=A, mode="reduced").R, lanepack.qr(A.detach()).R)
        assert not lanepack.eigh(A=A, UPLO="U").eigenvectors.requires_grad
    with torch.inference_mode():
        assert lanepack.svd(A=A, full_matrices=True, driver=None).S.is_inference()


def test_modes_see_the_call():
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Dispatch(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    class Function(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    A = randn(3, 3, seed=12)
    for mode in (Dispatch, Function):
        seen.clear()
        with mode():
            lanepack.eigh(A)
        assert any("lanepack" in name for name in seen)
    with torch.profiler.profile() as profile:
        lanepack.svd(A)
    assert any("lanepack::svd" in event.key for event in profile.key_averages())
    traced = torch.jit.trace(lambda A: lanepack.eigvalsh(A), (A,), check_trace=False)
    B = randn(3, 3, seed=13)
    assert torch.equal(traced(B), lanepack.eigvalsh(B))
