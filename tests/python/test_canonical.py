# SPDX-License-Identifier: Apache-2.0
"""canonical: the same decomposition in a fixed gauge."""

import lanepack
import pytest
import torch
from properties import DTYPES, check_eigh, check_svd, hermitian, randn, wide


def assert_largest_is_positive(X):
    value = X.gather(-2, X.abs().argmax(-2, keepdim=True))
    assert (value.real > 0).all()
    if X.is_complex():
        assert (value.imag.abs() <= 1e-5).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_eigh(dtype):
    A = hermitian(3, 5, 5, seed=80, dtype=dtype)
    for result in (lanepack.eigh(A), lanepack.eigh_ex(A), torch.linalg.eigh(A)):
        fixed = lanepack.canonical(result)
        assert type(fixed) is type(result)
        check_eigh(A, fixed.eigenvalues, fixed.eigenvectors)
        assert_largest_is_positive(fixed.eigenvectors)
        assert fixed.eigenvectors.stride() == result.eigenvectors.stride()
    other = lanepack.canonical(torch.linalg.eigh(A)).eigenvectors
    assert torch.allclose(lanepack.canonical(lanepack.eigh(A)).eigenvectors, other, atol=1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("shape", [(2, 5, 3), (2, 3, 5), (4, 4)])
def test_svd(shape, full, dtype):
    A = randn(*shape, seed=81, dtype=dtype)
    fixed = lanepack.canonical(lanepack.svd(A, full))
    check_svd(A, *fixed)
    assert_largest_is_positive(fixed.U)
    k = min(shape[-2:])
    assert_largest_is_positive(fixed.Vh[..., k:, :].mT)
    theirs = lanepack.canonical(torch.linalg.svd(A, full))
    assert torch.allclose(fixed.Vh[..., :k, :], theirs.Vh[..., :k, :], atol=1e-4)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
@pytest.mark.parametrize("shape", [(2, 5, 3), (2, 3, 5)])
def test_qr(shape, mode, dtype):
    A = randn(*shape, seed=82, dtype=dtype)
    fixed = lanepack.canonical(lanepack.qr(A, mode))
    diagonal = fixed.R.diagonal(0, -2, -1)
    assert (diagonal.real >= 0).all()
    assert not dtype.is_complex or (diagonal.imag == 0).all()
    if mode != "r":
        assert torch.allclose(wide(fixed.Q) @ wide(fixed.R), wide(A), atol=1e-5)
    assert lanepack.canonical(lanepack.qr_ex(A, mode)).info.shape == (2,)


def test_ties_and_zeros():
    result = torch.return_types.linalg_eigh(
        (torch.zeros(2), torch.tensor([[-1.0, 0.0], [1.0, 0.0]]))
    )
    fixed = lanepack.canonical(result)
    assert torch.equal(fixed.eigenvectors, torch.tensor([[1.0, 0.0], [-1.0, 0.0]]))
    with pytest.raises(lanepack.ArgumentError, match="result is a Tensor"):
        lanepack.canonical(torch.eye(2))


@pytest.mark.parametrize("function", ["qr", "eigh", "svd"])
def test_canonical_complex_result_is_exactly_real_where_promised_and_stays(function):
    A = torch.randn(500, 4, 4, dtype=torch.complex64)
    A = A + A.mH if function == "eigh" else A
    once = lanepack.canonical(getattr(lanepack, function)(A))
    for x, y in zip(once, lanepack.canonical(once), strict=True):
        assert torch.equal(x, y)
    if function == "qr":
        assert (once.R.diagonal(0, -2, -1).imag == 0).all()
    else:
        vectors = once[1] if function == "eigh" else once[0]
        largest = vectors.gather(-2, vectors.abs().argmax(-2, keepdim=True))
        assert (largest.imag == 0).all()
        assert (largest.real > 0).all()
