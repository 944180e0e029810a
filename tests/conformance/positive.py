# SPDX-License-Identifier: Apache-2.0
"""Families of positive-definite matrices and of triangular ones, and residuals in wider arithmetic.

``positive(family, rng, batch, n, dtype)`` gives tensors (batch, n, n), exactly Hermitian in their
dtype; ``triangular(family, ...)`` lower ones, whose upper triangle is NaN: it must not be read.
"""

import numpy as np
import torch

from . import families

WIDE = {
    torch.float32: np.float64,
    torch.complex64: np.complex128,
    torch.float64: np.longdouble,
    torch.complex128: np.clongdouble,
}


def _unit(dtype):
    return torch.finfo(dtype).eps / 2


def _spectrum(name, rng, batch, n, dtype):
    ramp = np.linspace(0, 1, n) if n > 1 else np.zeros(1)
    # within the condition for which no rounding of A can make it indefinite
    largest = 1 / (40 * max(n, 4) * _unit(dtype))
    return {
        "even": lambda: np.tile(1 + np.arange(n), (batch, 1)),
        "geometric_1e1": lambda: np.tile(10.0**-ramp, (batch, 1)),
        "geometric_most": lambda: np.tile(largest**-ramp, (batch, 1)),
        "clustered": lambda: 1 + rng.standard_normal((batch, n)) * 4 * _unit(dtype),
        "one_large": lambda: np.tile(np.r_[largest**0.5, np.ones(n - 1)], (batch, 1)),
        "one_small": lambda: np.tile(np.r_[np.ones(n - 1), largest**-0.5], (batch, 1)),
    }[name]()


POSITIVE = (
    "even", "geometric_1e1", "geometric_most", "clustered", "one_large", "one_small", "gram",
    "identity", "diagonal", "second_difference", "graded", "near_overflow", "near_underflow",
    "subnormal",
)  # fmt: skip


def positive(family, rng, batch, n, dtype):
    real = np.float32 if dtype in (torch.float32, torch.complex64) else np.float64
    info = np.finfo(real)
    if family == "identity":
        a = np.tile(np.eye(n), (batch, 1, 1))
    elif family == "diagonal":
        a = np.eye(n) * (1 + rng.uniform(0, 1, (batch, n)))[:, None, :]
    elif family == "second_difference":
        a = np.tile(2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1), (batch, 1, 1))
    elif family in ("gram", "graded", "near_overflow", "near_underflow", "subnormal"):
        g = rng.standard_normal((batch, n, n + 3))
        if dtype.is_complex:
            g = g + 1j * rng.standard_normal((batch, n, n + 3))
        a = g @ np.conj(np.swapaxes(g, -1, -2)) / (n + 3) + 0.1 * np.eye(n)
        if family == "graded":
            decades = 3 if real is np.float32 else 6
            d = 10.0 ** (-decades * (np.arange(n) / max(n - 1, 1)))
            a = a * d[:, None] * d
        else:
            scale = {
                "gram": 1.0,
                "near_overflow": float(info.max) / 64,
                "near_underflow": float(info.tiny) * 16,
                "subnormal": float(info.smallest_subnormal) * 4096,
            }[family]
            a = a / np.abs(a).max() * scale
    else:
        values = _spectrum(family, rng, batch, n, dtype)
        q = families.orthonormal(rng, batch, n, n, dtype)
        a = (q * values[:, None, :]) @ np.conj(np.swapaxes(q, -1, -2))
    a = np.tril(a) + np.conj(np.swapaxes(np.tril(a, -1), -1, -2))
    index = np.arange(n)
    a[..., index, index] = a[..., index, index].real
    if dtype.is_complex:
        a = a.astype(np.complex64 if real is np.float32 else np.complex128)
    else:
        a = a.astype(real)
    return torch.from_numpy(a)


TRIANGULAR = ("normal", "factor", "diagonal", "graded", "near_overflow", "subnormal")


def triangular(family, rng, batch, n, dtype):
    real = np.float32 if dtype in (torch.float32, torch.complex64) else np.float64
    info = np.finfo(real)
    x = rng.standard_normal((batch, n, n))
    if dtype.is_complex:
        x = x + 1j * rng.standard_normal((batch, n, n))
    if family == "factor":
        return torch.linalg.cholesky(positive("gram", rng, batch, n, dtype)) + _unread(n, dtype)
    index = np.arange(n)
    if family == "normal":
        x = x / max(n, 1) ** 0.5
    x[..., index, index] = x[..., index, index] + 3 * np.sign(x[..., index, index].real + 1e-300)
    if family == "diagonal":
        x = x * np.eye(n)
    elif family == "graded":
        x = x * 10.0 ** (-(6 if real is np.float32 else 12) * index / max(n - 1, 1))[:, None]
    elif family == "near_overflow":
        x = x / np.abs(x).max() * (float(info.max) / 64 / max(n, 1))
    elif family == "subnormal":
        x = x / np.abs(x).max() * float(info.smallest_subnormal) * 2**20
    x = np.tril(x)
    if dtype.is_complex:
        x = x.astype(np.complex64 if real is np.float32 else np.complex128)
    else:
        x = x.astype(real)
    return torch.from_numpy(x) + _unread(n, dtype)


def _unread(n, dtype):
    """NaN above the diagonal."""
    above = torch.ones(n, n, dtype=torch.bool).triu(1)
    return torch.zeros(n, n, dtype=dtype).masked_fill(above, float("nan"))


def wide(tensor):
    """A tensor in wider arithmetic, as a NumPy array."""
    return tensor.resolve_conj().numpy().astype(WIDE[tensor.dtype])


def product(a, b):
    """a @ b, also for long double, which has no BLAS."""
    if a.dtype in (np.float64, np.complex128):
        return a @ b
    return np.einsum("...ik,...kj->...ij", a, b)


def norm(a):
    return np.abs(a).sum(-2).max(-1)


def rounding(dtype, n):
    """The absolute error that outputs may have because they cannot be finer."""
    return n * float(np.finfo(WIDE_REAL[dtype]).smallest_subnormal)


WIDE_REAL = {
    torch.float32: np.float32,
    torch.complex64: np.float32,
    torch.float64: np.float64,
    torch.complex128: np.float64,
}
