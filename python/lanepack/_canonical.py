# SPDX-License-Identifier: Apache-2.0
"""A fixed gauge for results whose signs and phases are free."""

from __future__ import annotations

import torch

from ._errors import ArgumentError

_COMPLETE_SVD = ("U", "S", "Vh")


def _phase(values: torch.Tensor) -> torch.Tensor:
    """x / abs(x), 1 where x is 0. NaN stays."""
    if not values.is_complex():
        return torch.where(values < 0, -1.0, 1.0).to(values.dtype)
    # torch rounds abs and sgn of a complex number that is real; a phase that is 1 must stay so.
    signs = torch.where(values.real < 0, -1.0, 1.0).to(values.dtype)
    return torch.where(values.imag == 0, signs, torch.sgn(values))


def _magnitudes(X: torch.Tensor) -> torch.Tensor:
    """abs(X), exact where an element is real."""
    return torch.where(X.imag == 0, X.real.abs(), X.abs()) if X.is_complex() else X.abs()


def _phases_of_largest(X: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Of each column's largest component, the lowest index on ties: its phase, and where it is."""
    if X.shape[-2] == 0:
        return X.new_ones((*X.shape[:-2], X.shape[-1])), None
    magnitudes = _magnitudes(X)
    largest = magnitudes == magnitudes.amax(-2, keepdim=True)
    # argmax gives no promise on ties; the first true entry is where the count turns 1.
    first = largest & (largest.cumsum(-2) == 1)
    return _phase(torch.where(first, X, 0).sum(-2)), first


def _times_phases(X: torch.Tensor, phases: torch.Tensor, dim: int, real_at=None) -> torch.Tensor:
    """X with its columns (dim -1) or rows (-2) multiplied, real at `real_at`; strides stay."""
    result = torch.empty_like(X)
    result.copy_(X * phases.unsqueeze(-2 if dim == -1 else -1))
    if real_at is not None and X.is_complex():
        result.imag.masked_fill_(real_at, 0)  # the product leaves a rounding error there
    return result


def canonical(result):
    """The same decomposition in a fixed gauge, as a result of the same type.

    result: what qr, eigh or svd gives, or their _ex forms.
    - eigh: each eigenvector's largest component is real and positive.
    - svd: the same for each column of U, Vh's rows following; for what full_matrices adds, each
      column of U and each row of Vh by itself.
    - qr: R's diagonal is real and >= 0, Q's columns following.
    "Largest" is by magnitude, the lowest index on ties. Vectors of repeated eigenvalues or
    singular values keep their basis. NaN stays NaN.
    """
    fields = {
        name: getattr(result, name, None)
        for name in ("Q", "R", "eigenvalues", "eigenvectors", "U", "S", "Vh", "info")
    }
    if fields["eigenvectors"] is not None:
        V = fields["eigenvectors"]
        phases, largest = _phases_of_largest(V)
        values = [fields["eigenvalues"], _times_phases(V, phases.conj(), -1, largest)]
    elif fields["U"] is not None and fields["Vh"] is not None:
        values = _canonical_svd(fields["U"], fields["S"], fields["Vh"])
    elif fields["R"] is not None:
        values = _canonical_qr(fields["Q"], fields["R"])
    else:
        raise ArgumentError(
            f"lanepack.canonical: result is a {type(result).__name__}; it must be what qr, eigh, "
            "svd or their _ex forms give"
        )
    if fields["info"] is not None:
        return type(result)(*values, fields["info"])
    return type(result)(values)


def _canonical_svd(U, S, Vh):
    k = S.shape[-1]
    phases, largest = _phases_of_largest(U)
    rows, real_at = phases[..., :k], None
    if Vh.shape[-2] > k:
        further, further_largest = _phases_of_largest(Vh[..., k:, :].mT)
        rows = torch.cat((rows, further.conj()), -1)
        first_rows = torch.zeros_like(Vh[..., :k, :], dtype=torch.bool)
        real_at = torch.cat((first_rows, further_largest.mT), -2)
    return [_times_phases(U, phases.conj(), -1, largest), S, _times_phases(Vh, rows, -2, real_at)]


def _canonical_qr(Q, R):
    rows = R.shape[-2]
    diagonal = R.diagonal(0, -2, -1)
    phases = _phase(diagonal)
    if rows > phases.shape[-1]:  # m > n of mode "complete": Q's further columns stay
        ones = phases.new_ones((*phases.shape[:-1], rows - phases.shape[-1]))
        phases = torch.cat((phases, ones), -1)
    if Q.dim() > 1:
        Q = _times_phases(Q, phases, -1)
    on_diagonal = torch.eye(rows, R.shape[-1], dtype=torch.bool, device=R.device).expand(R.shape)
    return [Q, _times_phases(R, phases.conj(), -2, on_diagonal)]
