# SPDX-License-Identifier: Apache-2.0
"""torch's own routines (cuSOLVER, cuBLAS) behind the contract of cholesky and the solves.

Nothing here reads a result on the host. See `_vendor` for the decompositions.
"""

from __future__ import annotations

import torch

from . import _native
from ._layout import column_major_strides


def _column_major(X: torch.Tensor) -> torch.Tensor:
    strides = column_major_strides(X.shape)
    if X.stride() == strides:
        return X
    return X.new_empty_strided(X.shape, strides).copy_(X)


def cholesky(A: torch.Tensor, upper: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """The factor and info, as lanepack_cholesky gives them."""
    triangle = A.triu() if upper else A.tril()
    if A.is_complex():
        torch.view_as_real(triangle).diagonal(0, -3, -2)[..., 1, :].zero_()
    parts = torch.view_as_real(triangle).flatten(-2) if A.is_complex() else triangle
    finite = torch.isfinite(parts).all(-1).all(-1)
    unit = torch.eye(A.shape[-1], dtype=A.dtype, device=A.device)
    given = torch.where(finite[..., None, None], triangle, unit)
    L, info = torch.linalg.cholesky_ex(given, upper=upper)
    info = info.masked_fill(~finite, _native.INFO_NOT_FINITE).to(torch.int32)
    lost = torch.ones_like(L, dtype=torch.bool)
    lost = (lost.triu() if upper else lost.tril()) & (info != 0)[..., None, None]
    L = L.triu() if upper else L.tril()
    return _column_major(L.masked_fill(lost, float("nan"))), info


def solve_triangular(A: torch.Tensor, B: torch.Tensor, flags: int) -> torch.Tensor:
    upper = bool(flags & _native.FLAG_UPPER)
    if flags & _native.FLAG_TRANSPOSE:
        A, upper = A.mT, not upper
    if flags & _native.FLAG_CONJUGATE:
        A = A.conj()
    X = torch.linalg.solve_triangular(
        A, B, upper=upper, left=not flags & _native.FLAG_RIGHT,
        unitriangular=bool(flags & _native.FLAG_UNIT_DIAGONAL),
    )  # fmt: skip
    return _column_major(X)


def cholesky_solve(L: torch.Tensor, B: torch.Tensor, flags: int) -> torch.Tensor:
    upper = bool(flags & _native.FLAG_UPPER)
    first, second = (L.mH, L) if upper else (L, L.mH)
    X = torch.linalg.solve_triangular(first, B, upper=False)
    return _column_major(torch.linalg.solve_triangular(second, X, upper=True))


def mirrored(X: torch.Tensor) -> torch.Tensor:
    """X with its lower triangle on its upper one, Hermitian to the last bit."""
    diagonal = torch.diag_embed(X.diagonal(0, -2, -1).real.to(X.dtype))
    strict = X.tril(-1)
    return _column_major(strict + diagonal + strict.mH)


SOLVES = {"solve_triangular": solve_triangular, "cholesky_solve": cholesky_solve}
