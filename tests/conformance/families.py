# SPDX-License-Identifier: Apache-2.0
"""Families of matrices that decompositions are tried on: general (m x n) and Hermitian (n x n).

``general(family, rng, batch, m, n, dtype)`` and ``hermitian(family, rng, batch, n, dtype)`` give
tensors (batch, m, n), made in float64 or complex128 and rounded once to the dtype.
``GENERAL`` and ``HERMITIAN`` name the families; every one exists for every shape and dtype.
A Hermitian matrix is exactly so in its dtype.
"""

import numpy as np
import torch

_REAL_NUMPY = {
    torch.float32: np.float32,
    torch.complex64: np.float32,
    torch.float64: np.float64,
    torch.complex128: np.float64,
}
_NUMPY = {
    torch.float32: np.float32,
    torch.complex64: np.complex64,
    torch.float64: np.float64,
    torch.complex128: np.complex128,
}
# Orthogonal matrices are drawn from pools, each turned by a reflection of its own.
_POOL = 512


def _info(dtype):
    return np.finfo(_REAL_NUMPY[dtype])


def _unit(dtype):
    return float(_info(dtype).eps) / 2


def _decades(dtype):
    """How far graded matrices reach: 6 decades in single precision, 12 in double."""
    return 6 if _REAL_NUMPY[dtype] is np.float32 else 12


def _normal(rng, dtype, *shape):
    x = rng.standard_normal(shape)
    return x + 1j * rng.standard_normal(shape) if dtype.is_complex else x


def _uniform(rng, dtype, *shape):
    x = rng.uniform(-1, 1, shape)
    return x + 1j * rng.uniform(-1, 1, shape) if dtype.is_complex else x


def _adjoint(x):
    return np.conj(np.swapaxes(x, -1, -2))


def orthonormal(rng, batch, m, k, dtype):
    """(batch, m, k), k <= m, with orthonormal columns (to rounding in float64)."""
    pool = np.linalg.qr(_normal(rng, dtype, min(batch, _POOL), m, k))[0]
    q = pool[rng.integers(0, len(pool), batch)] if batch > _POOL else pool
    v = _normal(rng, dtype, batch, m, 1)
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    return q - 2 * v @ (_adjoint(v) @ q)


def _with_spectrum(values, rng, m, n, dtype):
    """U diag(values) V^H with random U and V; values (batch, min(m, n))."""
    batch, k = values.shape
    u = orthonormal(rng, batch, m, k, dtype)
    return (u * values[:, None, :]) @ _adjoint(orthonormal(rng, batch, n, k, dtype))


def _hermitian_with_spectrum(values, rng, dtype):
    q = orthonormal(rng, values.shape[0], values.shape[1], values.shape[1], dtype)
    return (q * values[:, None, :]) @ _adjoint(q)


def _even(rng, batch, k, dtype):
    return np.tile(np.linspace(1, 1 / k, k), (batch, 1))


def _geometric(condition):
    def spectrum(rng, batch, k, dtype):
        last = 1 / (condition or 1 / _unit(dtype))
        return np.tile(np.geomspace(1, last, k) if k > 1 else np.ones(1), (batch, 1))

    return spectrum


def _clustered_at_one(rng, batch, k, dtype):
    return 1 + _unit(dtype) * rng.uniform(-k, k, (batch, k))


def _clustered_at_unit(rng, batch, k, dtype):
    values = _unit(dtype) * rng.uniform(1, 2, (batch, k))
    values[:, 0] = 1
    return values


def _one_large(rng, batch, k, dtype):
    values = np.full((batch, k), 1e-3)
    values[:, 0] = 1
    return values


def _one_small(rng, batch, k, dtype):
    values = np.ones((batch, k))
    values[:, -1] = 1e-3
    return values


def _repeated(rng, batch, k, dtype):
    return rng.integers(1, 4, (batch, k)).astype(float)


def _rank_one(rng, batch, k, dtype):
    return np.tile(np.arange(k) == 0, (batch, 1)).astype(float)


def _rank_half(rng, batch, k, dtype):
    return rng.uniform(0.5, 1, (batch, k)) * (np.arange(k) < (k + 1) // 2)


def _ones(rng, batch, k, dtype):
    return np.ones((batch, k))


SPECTRA = {
    "even": _even,
    "geometric_1e1": _geometric(1e1),
    "geometric_1e4": _geometric(1e4),
    "geometric_1/u": _geometric(None),
    "clustered_at_1": _clustered_at_one,
    "clustered_at_u": _clustered_at_unit,
    "one_large": _one_large,
    "one_small": _one_small,
    "repeated": _repeated,
    "rank_one": _rank_one,
    "rank_half": _rank_half,
    "orthogonal": _ones,
}


def _eye(batch, m, n):
    return np.tile(np.eye(m, n), (batch, 1, 1))


def _grading(batch, n, dtype):
    """(batch, n) factors, by turns falling and rising: methods tell the two apart."""
    falling = 10.0 ** np.linspace(0, -_decades(dtype), n)
    return np.where(np.arange(batch)[:, None] % 2 == 0, falling, falling[::-1])


def _tridiagonal(diagonal, beside):
    return np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)


def _one_two_one(n):
    return _tridiagonal(np.full(n, 2.0), np.full(n - 1, -1.0))


def _clement(n):
    i = np.arange(1, n)
    return _tridiagonal(np.zeros(n), np.sqrt(i * (n - i)))


def _wilkinson(n):
    return _tridiagonal(np.abs(np.arange(n) - (n - 1) / 2), np.ones(n - 1))


STRUCTURED = {"one_two_one": _one_two_one, "clement": _clement, "wilkinson": _wilkinson}


def _near_overflow(x, dtype):
    """Scaled so that the Frobenius norm is half the largest number: no right result overflows."""
    norms = np.linalg.norm(x, axis=(1, 2), keepdims=True)
    return x / norms * (float(_info(dtype).max) / 2)


def _near_underflow(x, dtype):
    return x * (float(_info(dtype).tiny) * 8)


def _subnormal(x, dtype):
    """Whole multiples of the smallest subnormal, of up to 20 units."""
    smallest = float(_info(dtype).smallest_subnormal)
    rounded = np.rint(x.real * 10).clip(-20, 20) * smallest
    if not dtype.is_complex:
        return rounded
    return rounded + 1j * (np.rint(x.imag * 10).clip(-20, 20) * smallest)


SCALED = {
    "near_overflow": _near_overflow,
    "near_underflow": _near_underflow,
    "subnormal": _subnormal,
}


def _zero_column(rng, x, hermitian):
    j = rng.integers(0, x.shape[2], len(x))
    x[np.arange(len(x)), :, j] = 0
    if hermitian:
        x[np.arange(len(x)), j, :] = 0
    return x


def _equal_columns(rng, x, hermitian):
    """Column j of each matrix becomes column i (for Hermitian ones, row j row i as well)."""
    n = x.shape[2]
    i, j = rng.integers(0, n, len(x)), rng.integers(0, n, len(x))
    every = np.arange(len(x))
    x[every, :, j] = x[every, :, i]
    if hermitian:
        x[every, j, :] = x[every, i, :]
        x[every, j, j] = x[every, i, i]
    return x


def _phases(rng, batch, n, dtype):
    """(batch, n, 1) of modulus one; those of the first matrix are one."""
    phases = np.exp(2j * np.pi * rng.uniform(size=(batch, n, 1)))
    phases[0] = 1
    return phases if dtype.is_complex else np.where(phases.real < 0, -1.0, 1.0)


def _stretch(rng, batch):
    """Factors of 1 to 2, 1 for the first matrix: other roundings of the same structure, so that
    a lucky one does not decide."""
    factors = rng.uniform(1, 2, (batch, 1, 1))
    factors[0] = 1
    return factors


def _general(family, rng, batch, m, n, dtype):
    k = min(m, n)
    if family in SPECTRA:
        return _with_spectrum(SPECTRA[family](rng, batch, k, dtype), rng, m, n, dtype)
    if family in STRUCTURED:
        x = np.tile(STRUCTURED[family](max(m, n))[:m, :n], (batch, 1, 1))
        return x * _phases(rng, batch, m, dtype) * _stretch(rng, batch)
    if family in SCALED:
        return SCALED[family](_normal(rng, dtype, batch, m, n), dtype)
    if family == "zero":
        return np.zeros((batch, m, n))
    if family == "identity":
        return _eye(batch, m, n)
    if family == "diagonal":
        return _eye(batch, m, n) * _normal(rng, dtype, batch, 1, n)
    if family == "normal":
        return _normal(rng, dtype, batch, m, n)
    if family == "uniform":
        return _uniform(rng, dtype, batch, m, n)
    if family == "zero_column":
        return _zero_column(rng, _normal(rng, dtype, batch, m, n), False)
    if family == "equal_columns":
        return _equal_columns(rng, _normal(rng, dtype, batch, m, n), False)
    if family == "graded_rows":
        return _normal(rng, dtype, batch, m, n) * _grading(batch, m, dtype)[:, :, None]
    if family == "graded_columns":
        return _normal(rng, dtype, batch, m, n) * _grading(batch, n, dtype)[:, None, :]
    raise ValueError(f"general: no family {family!r}; there are {', '.join(GENERAL)}")


def _hermitian_part(x):
    return (x + _adjoint(x)) / 2


def _hermitian(family, rng, batch, n, dtype):
    if family in SPECTRA:
        values = SPECTRA[family](rng, batch, n, dtype)
        if family != "clustered_at_1":
            values = values * rng.choice([-1.0, 1.0], values.shape)
        return _hermitian_with_spectrum(values, rng, dtype)
    if family in STRUCTURED:
        x = np.tile(STRUCTURED[family](n), (batch, 1, 1))
        phases = _phases(rng, batch, n, dtype)
        return x * phases * _adjoint(phases) * _stretch(rng, batch)
    if family in SCALED:
        return SCALED[family](_hermitian_part(_normal(rng, dtype, batch, n, n)), dtype)
    if family == "zero":
        return np.zeros((batch, n, n))
    if family == "identity":
        return _eye(batch, n, n)
    if family == "diagonal":
        return _eye(batch, n, n) * rng.standard_normal((batch, 1, n))
    if family == "normal":
        return _hermitian_part(_normal(rng, dtype, batch, n, n))
    if family == "uniform":
        return _hermitian_part(_uniform(rng, dtype, batch, n, n))
    if family == "zero_column":
        return _zero_column(rng, _hermitian_part(_normal(rng, dtype, batch, n, n)), True)
    if family == "equal_columns":
        return _equal_columns(rng, _hermitian_part(_normal(rng, dtype, batch, n, n)), True)
    if family == "graded":
        d = np.sqrt(_grading(batch, n, dtype))
        return d[:, :, None] * _hermitian_part(_normal(rng, dtype, batch, n, n)) * d[:, None, :]
    raise ValueError(f"hermitian: no family {family!r}; there are {', '.join(HERMITIAN)}")


_BOTH = (
    "zero",
    "identity",
    "diagonal",
    "normal",
    "uniform",
    *SPECTRA,
    "zero_column",
    "equal_columns",
    *STRUCTURED,
    *SCALED,
)
GENERAL = (*_BOTH, "graded_rows", "graded_columns")
HERMITIAN = (*_BOTH, "graded")


def _rounded(x, dtype):
    return torch.from_numpy(np.ascontiguousarray(x).astype(_NUMPY[dtype]))


def general(family, rng, batch, m, n, dtype):
    """`batch` matrices (m, n) of a family of GENERAL."""
    return _rounded(_general(family, rng, batch, m, n, dtype), dtype)


def hermitian(family, rng, batch, n, dtype):
    """`batch` matrices (n, n) of a family of HERMITIAN."""
    a = _rounded(_hermitian(family, rng, batch, n, dtype), dtype)
    lower, diagonal = a.tril(-1), torch.diagonal(a, dim1=1, dim2=2).real
    return lower + lower.mH + torch.diag_embed(diagonal)


def graded_product(rng, batch, m, n, dtype):
    """B D with a well conditioned B (m >= n) and D = diag(10^0 .. 10^-decades) in random order.

    D's powers are rounded to powers of two, so that the product is exact in the dtype and its
    singular values are known to high relative accuracy by one-sided Jacobi on it.
    """
    values = rng.uniform(0.5, 1, (batch, n))
    b = _rounded(_with_spectrum(values, rng, m, n, dtype), dtype)
    exponents = np.rint(np.linspace(0, -_decades(dtype) * np.log2(10), n))
    d = np.exp2(np.stack([rng.permutation(exponents) for _ in range(batch)]))
    return b * torch.from_numpy(d).to(b.real.dtype)[:, None, :]


def not_finite(rng, batch, m, n, dtype, hermitian_part=None):
    """A normal batch and which of its matrices are bad: NaN, +Inf or -Inf, one each, at corners,
    on the diagonal and inside; for complex dtypes in the real or the imaginary part.

    `hermitian_part` "L" or "U" keeps the place in that triangle (and in the real part of the
    diagonal), so that it is read. Half of the matrices are bad, at random positions.
    """
    if hermitian_part:
        a = hermitian("normal", rng, batch, n, dtype)
    else:
        a = general("normal", rng, batch, m, n, dtype)
    bad = torch.from_numpy(rng.permutation(batch) < (batch + 1) // 2)
    parts = torch.view_as_real(a) if dtype.is_complex else a.unsqueeze(-1)
    places = [(0, 0), (m - 1, n - 1), (m - 1, 0), (0, n - 1), (m // 2, n // 2), (m - 1, n // 2)]
    kinds = [float("nan"), float("inf"), float("-inf")]
    for count, b in enumerate(torch.nonzero(bad).flatten().tolist()):
        i, j = places[count % len(places)]
        if hermitian_part == "L":
            i, j = max(i, j), min(i, j)
        elif hermitian_part == "U":
            i, j = min(i, j), max(i, j)
        imaginary = dtype.is_complex and count % 2 and not (hermitian_part and i == j)
        parts[b, i, j, int(imaginary)] = kinds[count // len(places) % len(kinds)]
    return a, bad
