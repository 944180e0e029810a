# SPDX-License-Identifier: Apache-2.0
"""The check of `lanepack.debug.gauge_check`: torch's conditions, tolerances and words."""

from __future__ import annotations

import torch

from .. import debug

# Lax, as torch's: a loss that does not depend on the phase must not be refused.
_RTOL = _ATOL = 1e-2

_functorch = torch._C._functorch


def check_eigenvectors(X: torch.Tensor) -> None:
    """X = V^H gV of complex eigenvectors: the loss changes with their phases by imag(diag(X))."""
    if not debug.gauge_check():
        return
    X = _readable(X)
    if X is not None and bool((_turn(X).abs() > _ATOL).any()):
        raise RuntimeError(
            "linalg_eigh_backward: The eigenvectors in the complex case are specified up to "
            "multiplication by e^{i phi}. The specified loss function depends on this quantity, so "
            "it is ill-defined."
        )


def check_singular_vectors(W: torch.Tensor | None, Z: torch.Tensor | None) -> None:
    """W = U^H gU and Z = V^H gV of complex singular vectors, None for no gradient.

    The loss changes with the common phase of a pair by imag(diag(W + Z)).
    """
    if not debug.gauge_check():
        return
    # torch compares these diagonals after W - W^H and Z - Z^H, so twice.
    left, right = (None if X is None else _readable(X) for X in (W, Z))
    if (left is None, right is None) != (W is None, Z is None):
        return
    left = 0.0 if left is None else 2 * _turn(left)
    right = torch.zeros(()) if right is None else 2 * _turn(right)
    if bool(((left + right).abs() > _ATOL + _RTOL * right.abs()).any()):
        raise RuntimeError(
            "svd_backward: The singular vectors in the complex case are specified up to "
            "multiplication by e^{i phi}. The specified loss function depends on this phase term, "
            "making it ill-defined."
        )


def _turn(X):
    return X.diagonal(0, -2, -1).imag


def _readable(X: torch.Tensor) -> torch.Tensor | None:
    """X below functorch's wrappers; None where its values cannot be read."""
    while _functorch.is_functorch_wrapped_tensor(X):
        if _functorch.is_batchedtensor(X):
            return None
        X = _functorch.get_unwrapped(X)
    # Fake tensors and tracers are dispatch modes.
    if X.is_meta or torch.compiler.is_compiling() or torch._C._len_torch_dispatch_stack():
        return None
    return X.detach()
