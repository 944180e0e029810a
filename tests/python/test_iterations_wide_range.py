# SPDX-License-Identifier: Apache-2.0
"""Matrices whose entries spread over the whole range of their type.

Rotations made of squares that were flushed were not orthogonal, and iterations over such matrices
came to no end; random matrices of one size hardly ever show it.
"""

import lanepack
import pytest
import torch

DTYPES = [torch.float32, torch.float64, torch.complex64, torch.complex128]
RESIDUAL, ORTHOGONALITY = 20, 30  # sqrt(n) u


def _signs(shape, generator):
    return torch.randint(0, 2, shape, generator=generator) * 2 - 1


def wide_range(shape, dtype, seed):
    """Entries +-2^e with e from 0 down to where squares are far below the smallest number, with
    zeros and ones among them; half of a complex one's entries have an imaginary part."""
    generator = torch.Generator().manual_seed(seed)
    lowest = -600.0 if torch.finfo(dtype).bits == 64 else -80.0

    def part():
        spread = torch.rand(shape, dtype=torch.float64, generator=generator)
        power = torch.randint(1, 4, (shape[0], 1, 1), generator=generator)
        x = torch.exp2(lowest * spread**power)
        kind = torch.rand(shape, generator=generator)
        x = x.masked_fill(kind < 0.15, 0.0).masked_fill(kind > 0.7, 1.0)
        return x * _signs(shape, generator)

    if not dtype.is_complex:
        return part().to(dtype)
    imaginary = part() * (torch.rand(shape, generator=generator) < 0.5)
    return torch.complex(part(), imaginary).to(dtype)


def _wide(x):
    return x.to(torch.complex128 if x.is_complex() else torch.float64)


def _check(A, products, bases, n):
    """products: what should be A; bases: what should have orthonormal columns."""
    u = torch.finfo(A.dtype).eps / 2 * n**0.5
    norm = A.abs().amax((-1, -2), keepdim=True).clamp_min(torch.finfo(A.dtype).tiny)
    for product in products:
        assert ((product - A.to(product.dtype)).abs() / norm).max() <= RESIDUAL * u
    for basis in bases:
        assert (basis.mH @ basis - torch.eye(n)).abs().max() <= ORTHOGONALITY * u


@pytest.mark.parametrize("bands", [None, 1], ids=["dense", "bidiagonal"])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 16])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_entries_of_every_size(dtype, n, bands):
    A = wide_range((30_000 // n, n, n), dtype, seed=n)
    if bands is not None:
        A = A.triu().tril(bands)
    H = A.triu() + A.triu(1).mH
    H = torch.where(torch.eye(n, dtype=torch.bool), H.real.to(dtype), H)
    L, V = map(_wide, lanepack.eigh(A, UPLO="U"))
    _check(H, [(V * L.real.unsqueeze(-2)) @ V.mH], [V], n)
    for driver in (None, "jacobi"):
        U, S, Vh = map(_wide, lanepack.svd(A, driver=driver))
        _check(A, [(U * S.real.unsqueeze(-2)) @ Vh], [U, Vh.mH], n)
    Q, R = map(_wide, lanepack.qr(A))
    _check(A, [Q @ R], [Q], n)


def test_values_equally_far_from_the_shift():
    """The shift of the lower end is 1 for ever, and so is its distance from every value."""
    A = torch.diag(torch.tensor([1.0, 1.1992e-4, 1.0, 2**0.5]))
    A[0, 1], A[1, 2], A[2, 3] = -9.852e-11, 1.0, 1.8365e-5
    for dtype in DTYPES:
        _, S, _, info = lanepack.svd_ex(A.to(dtype))
        assert info == 0
        torch.testing.assert_close(S, torch.linalg.svdvals(A.to(dtype)))
        assert lanepack.svdvals_ex(A.to(dtype)).info == 0


def test_eigenvalues_equal_in_pairs():
    """Two equal blocks, coupled by an entry below the rounding error: row by row, Jacobi halved the
    largest entry only."""
    A = torch.tensor(
        [
            [-4.7827531319e-20, 1.3953869e-23, 1.1028852e-08, 1.0],
            [0.0, -1.0, -1.0, 1.1144040e-18],
            [0.0, 0.0, -1.3801161325e-09, -3.7592066e-10],
            [0.0, 0.0, 0.0, -1.0],
        ]
    )
    for dtype in DTYPES:
        L, _, info = lanepack.eigh_ex(A.to(dtype), UPLO="U")
        assert info == 0
        root = 5**0.5 / 2
        expected = torch.tensor([-0.5 - root, -0.5 - root, root - 0.5, root - 0.5]).to(L.dtype)
        torch.testing.assert_close(L, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)
def test_jacobi_comes_to_rest_on_graded_matrices(dtype):
    generator = torch.Generator().manual_seed(0)

    def random(n):
        return torch.randn(n, n, dtype=dtype, generator=generator)

    def unitary(n):
        return torch.linalg.qr(random(n))[0]

    def decades(n, count):
        return torch.logspace(0, -count, n, dtype=torch.float64)

    n = 200
    for A in (
        (unitary(n) * decades(n, 15.95)) @ unitary(n),
        random(100) * decades(100, 40).unsqueeze(-1),
        torch.linalg.vander(torch.linspace(0, 1, 120, dtype=torch.float64)).to(dtype),
    ):
        found = lanepack.svd_ex(A, driver="jacobi")
        assert found.info == 0
        torch.testing.assert_close(found.S, torch.linalg.svdvals(A), rtol=0, atol=1e-13 * len(A))
