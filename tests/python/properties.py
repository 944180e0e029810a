# SPDX-License-Identifier: Apache-2.0
"""What a right decomposition is, as cases.md defines it, and the inputs its cases are made of."""

import torch

REAL = (torch.float32, torch.float64)
COMPLEX = (torch.complex64, torch.complex128)
DTYPES = REAL + COMPLEX


def eps(dtype):
    return torch.finfo(dtype).eps


def wide(X):
    return X.to(torch.complex128 if X.is_complex() else torch.float64)


def randn(*shape, seed, dtype=torch.float64):
    """Standard normal, drawn in float64 and cast, so that every dtype gets the same matrix."""
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.float64 if not dtype.is_complex else torch.complex128
    return torch.randn(*shape, generator=generator, dtype=drawn).to(dtype)


def hermitian(*shape, seed, dtype=torch.float64):
    A = randn(*shape, seed=seed, dtype=dtype)
    return A + A.mH


def norm(A):
    """2-norm of each matrix; the smallest normal number where that is zero."""
    values = torch.linalg.svdvals(wide(A))
    if values.shape[-1] == 0:
        return values.new_ones(values.shape[:-1])
    return values[..., 0].clamp(min=torch.finfo(A.dtype).tiny)


def largest(X):
    return X.abs().amax((-2, -1)) if X.numel() else X.new_zeros(()).abs()


def from_half(A, UPLO="L"):
    """The Hermitian matrix that one triangle of A stands for."""
    half = A.tril() if UPLO == "L" else A.triu()
    diagonal = torch.diag_embed(A.diagonal(0, -2, -1).real.to(A.dtype))
    other = half - torch.diag_embed(A.diagonal(0, -2, -1))
    return other + other.mH + diagonal


def check_orthonormal(Q, factor=10):
    Q, unit = wide(Q), eps(Q.dtype)
    error = largest(Q.mH @ Q - torch.eye(Q.shape[-1], dtype=Q.dtype))
    assert (error <= factor * max(Q.shape[-2:]) * unit).all(), error.max()


def check_eigh(A, L, V, UPLO="L"):
    n = A.shape[-1]
    unit = eps(A.dtype)
    exact = wide(from_half(A, UPLO))
    assert not L.is_complex()
    assert (L.diff(dim=-1) >= 0).all()
    check_orthonormal(V)
    residual = largest(exact @ wide(V) - wide(V) * wide(L)[..., None, :])
    assert (residual <= 10 * n * unit * norm(exact)).all(), residual.max()


def check_svd(A, U, S, Vh):
    n = max(A.shape[-2:])
    k = min(A.shape[-2:])
    assert not S.is_complex()
    assert (S >= 0).all()
    assert (S.diff(dim=-1) <= 0).all()
    check_orthonormal(U)
    check_orthonormal(Vh.mH)
    product = (wide(U)[..., :k] * wide(S)[..., None, :]) @ wide(Vh)[..., :k, :]
    residual = largest(product - wide(A))
    assert (residual <= 10 * n * eps(A.dtype) * norm(A)).all(), residual.max()


def check_qr(A, Q, R):
    n = max(A.shape[-2:])
    check_orthonormal(Q)
    assert (R.tril(-1) == 0).all()
    residual = largest(wide(Q) @ wide(R) - wide(A))
    assert (residual <= 10 * n * eps(A.dtype) * norm(A)).all(), residual.max()


def column_major(shape):
    strides = [1, max(shape[-2], 1)]
    step = max(shape[-2], 1) * max(shape[-1], 1)
    for size in reversed(shape[:-2]):
        strides.insert(0, step)
        step *= max(size, 1)
    return tuple(strides)
