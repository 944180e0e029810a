# SPDX-License-Identifier: Apache-2.0
"""Residuals of a decomposition, in units of sqrt(n)·u, n = max(rows, columns), u the unit roundoff.

Measured in the 1-norm, in wider arithmetic where torch has it (float64 for float32). The maximum
over all matrices counts.
"""

from __future__ import annotations

import dataclasses

import torch

_WIDE = {
    torch.float32: torch.float64,
    torch.float64: torch.float64,
    torch.complex64: torch.complex128,
    torch.complex128: torch.complex128,
}

# The project's bounds on random matrices, in the units above.
RESIDUAL_BOUND = 20.0
ORTHOGONALITY_BOUND = 30.0
VALUES_BOUND = 12.0


@dataclasses.dataclass(frozen=True)
class Errors:
    """The largest errors over a batch; `orthogonality` is None where there are no vectors."""

    residual: float
    orthogonality: float | None
    bound: float = RESIDUAL_BOUND  # of the residual

    @property
    def right(self) -> bool:
        """Whether both stay within their bound; not so for NaN."""
        if not self.residual <= self.bound:
            return False
        return self.orthogonality is None or self.orthogonality <= ORTHOGONALITY_BOUND


def _norm(a: torch.Tensor) -> torch.Tensor:
    return a.abs().sum(-2).amax(-1)


def _unit(a: torch.Tensor) -> float:
    return max(a.shape[-2:]) ** 0.5 * torch.finfo(a.dtype).eps / 2


def _orthogonality(q: torch.Tensor) -> torch.Tensor:
    gram = q.mH @ q
    return _norm(gram - torch.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device))


def _relative(error: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
    scale = _norm(a)
    return torch.where(scale > 0, error / scale, error)


def errors(operation: str, a: torch.Tensor, result: tuple[torch.Tensor, ...]) -> Errors:
    """Errors of `result`, the outputs of `operation` on the batch `a` (..., m, n).

    eigh, svd and qr: residual norm(A - product of the factors)/norm(A) and the worst orthogonality.
    cholesky, solve_triangular: residuals alone.
    eigvalsh and svdvals: difference to the values that torch.linalg finds in the wider type.
    A NaN anywhere gives NaN, which no bound holds.
    """
    if operation == "solve_triangular":
        return _solve_errors(a, *result)
    unit = _unit(a)
    wide = a.to(_WIDE[a.dtype])
    parts = [p.to(torch.promote_types(p.dtype, torch.float64)) for p in result]
    if operation == "eigh":
        w, v = parts
        residual = _relative(_norm(wide @ v - v * w.unsqueeze(-2)), wide)
        orthogonality = _orthogonality(v)
    elif operation == "svd":
        u, s, vh = parts
        residual = _relative(_norm(wide - (u * s.unsqueeze(-2)) @ vh), wide)
        orthogonality = torch.maximum(_orthogonality(u), _orthogonality(vh.mH))
    elif operation == "qr":
        q, r = parts
        residual = _relative(_norm(wide - q @ r), wide)
        orthogonality = _orthogonality(q)
    elif operation == "cholesky":
        (factor,) = parts
        residual = _relative(_norm(wide - factor @ factor.mH), wide)
        return Errors(float(residual.max()) / unit, None)
    else:
        # cuSOLVER's singular values are no reference for this bound; LAPACK's are
        source = wide.cpu() if operation == "svdvals" else wide
        reference = getattr(torch.linalg, operation)(source).to(wide.device)
        residual = _relative((parts[0] - reference).abs().amax(-1), wide)
        # a reference of the same type may be as far from the exact values as the result
        bound = VALUES_BOUND if wide.dtype != a.dtype else 2 * VALUES_BOUND
        return Errors(float(residual.max()) / unit, None, bound)
    return Errors(float(residual.max()) / unit, float(orthogonality.max()) / unit)


def _solve_errors(a: torch.Tensor, x: torch.Tensor) -> Errors:
    """norm(B - A X)/(norm(A) norm(X)) per column."""
    order = a.shape[-2]
    return solve_errors("solve_triangular", a[..., :order], a[..., order:], x)


def solve_errors(
    operation: str, factor: torch.Tensor, sides: torch.Tensor, x: torch.Tensor
) -> Errors:
    """norm(B - A X)/(norm(A) norm(X)) per column, of lower triangular factors.

    A is the factor L of solve_triangular and L L^H of cholesky_solve, whose norm(A) is
    norm(L) norm(L^H).
    """
    wide = factor.to(_WIDE[factor.dtype])
    solution = x.to(wide.dtype)
    scale = _norm(wide)
    product = wide @ solution
    if operation == "cholesky_solve":
        product = wide @ (wide.mH @ solution)
        scale = scale * _norm(wide.mH)
    rest = (sides.to(wide.dtype) - product).abs().sum(-2)
    relative = rest / (scale[..., None] * solution.abs().sum(-2))
    return Errors(float(relative.max()) / _unit(factor), None)
