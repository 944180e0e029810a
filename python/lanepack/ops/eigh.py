# SPDX-License-Identifier: Apache-2.0
"""torch.ops.lanepack.eigh and eigvalsh.

Derivative: M. B. Giles, Collected Matrix Derivative Results for Forward and Reverse Mode
Algorithmic Differentiation (2008), in the form of torch.linalg.eigh; equal eigenvalues count as
uncoupled (docs of `lanepack.eigh`).
"""

from __future__ import annotations

import torch

from .. import _arguments, _kernels
from .._outputs import raise_bad_matrix
from . import _register
from ._gauge import check_eigenvectors
from ._shared import (
    batching_rule,
    check_op_input,
    fake_info,
    fake_matrices,
    fake_values,
    inverse_or_zero,
    scale_of,
)

_EIGH = _register.define(
    'eigh(Tensor A, str UPLO="L", bool check_errors=False) '
    "-> (Tensor eigenvalues, Tensor eigenvectors, Tensor info)"
)
_EIGVALSH = _register.define(
    'eigvalsh(Tensor A, str UPLO="L", bool check_errors=False) -> (Tensor eigenvalues, Tensor info)'
)


def _check(A, UPLO, op):
    check_op_input(A, op)
    _arguments.check_square(A, op)
    _arguments.check_uplo(UPLO, op)


def _eigh_kernel(A, UPLO="L", check_errors=False):
    _check(A, UPLO, "eigh")
    L, V, info = _kernels.eigh(A, _kernels.describe(A), UPLO, True)
    if check_errors:
        raise_bad_matrix(info, "eigh")
    return L, V, info


def _eigh_fake(A, UPLO="L", check_errors=False):
    _check(A, UPLO, "eigh")
    n = A.shape[-1]
    return fake_values(A, n), fake_matrices(A, n, n), fake_info(A)


def _inverse_differences(L):
    """(scale / (L_j - L_i) at (..., i, j), scale); the scale None stands for 1.

    Differences up to n eps max(abs(L)) count as zero, and their inverse too.
    """
    zero = L.shape[-1] * torch.finfo(L.dtype).eps
    scale, top = scale_of(L)
    if scale is None:
        return inverse_or_zero(L - L.unsqueeze(-1), zero * top), None
    # Halves: the difference of two numbers of opposite sign may overflow.
    scale = scale.unsqueeze(-1)
    half = 0.5 * L
    E = (half.unsqueeze(-2) - half.unsqueeze(-1)) / (0.5 * scale)
    return inverse_or_zero(E, zero), scale


def _eigh_backward(_args, outputs, gradients):
    L, V = outputs
    gL, gV = gradients
    if gV is None:
        return (V * gL.unsqueeze(-2)) @ V.mH
    inverse, scale = _inverse_differences(L)
    X = V.mH @ gV
    if V.is_complex():
        check_eigenvectors(X)
    if scale is None:
        X = (X - X.mH) * inverse
        VX = 0.5 * V @ X if gL is None else torch.add(V * gL.unsqueeze(-2), V @ X, alpha=0.5)
        return VX @ V.mH
    X = 0.5 * X  # first: near the overflow limit the sum of two such numbers is not finite
    VX = V @ ((X - X.mH) * inverse / scale)
    return (VX if gL is None else VX + V * gL.unsqueeze(-2)) @ V.mH


def _eigh_jvp(_args, outputs, dA):
    L, V = outputs
    inverse, scale = _inverse_differences(L)
    X = V.mH @ dA @ V
    dL = X.diagonal(0, -2, -1).real
    X = X * inverse
    return dL, V @ (X if scale is None else X / scale)


def _eigvalsh_kernel(A, UPLO="L", check_errors=False):
    _check(A, UPLO, "eigvalsh")
    L, info = _kernels.eigvalsh(A, _kernels.describe(A), UPLO, True)
    if check_errors:
        raise_bad_matrix(info, "eigh")
    return L, info


def _eigvalsh_fake(A, UPLO="L", check_errors=False):
    _check(A, UPLO, "eigvalsh")
    return fake_values(A, A.shape[-1]), fake_info(A)


def _eigvalsh_autograd(keyset, A, UPLO="L", check_errors=False):
    if not _register.needs_derivative(A):
        return _register.below_autograd(_EIGVALSH, keyset, A, UPLO, check_errors)
    # The derivative needs the vectors: the route with vectors, differentiated at this level.
    L, _, info = _EIGH(A, UPLO, check_errors)
    return L, info


_DERIVATIVE = _register.derivative(_EIGH, _kernels.eigh, 2, _eigh_backward, _eigh_jvp)
eigh_recorded = _DERIVATIVE.recorded


def eigvalsh_recorded(A, described, UPLO, want_info):
    results = eigh_recorded(A, described, UPLO, want_info)
    return None if results is None else (results[0], *results[2:])


_register.implement(
    _EIGH,
    kernel=_eigh_kernel,
    fake=_eigh_fake,
    autograd=_DERIVATIVE.kernel,
    vmap=batching_rule(_EIGH),
)
_register.implement(
    _EIGVALSH,
    kernel=_eigvalsh_kernel,
    fake=_eigvalsh_fake,
    autograd=_eigvalsh_autograd,
    vmap=batching_rule(_EIGVALSH),
)
