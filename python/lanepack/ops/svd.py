# SPDX-License-Identifier: Apache-2.0
"""torch.ops.lanepack.svd and svdvals.

Derivatives: those of torch.linalg.svd (J. Townsend, Differentiating the Singular Value
Decomposition, 2016; Z.-Q. Wan and S.-X. Zhang, Automatic Differentiation for Complex Valued SVD,
2019). With full_matrices the further columns of U and rows of Vh span the complement, whose
derivative follows: U2^H dU1 + (U1^H dU2)^H = 0, with U2^H dU2 = 0 as the choice of basis.
"""

from __future__ import annotations

import torch

from .. import _arguments, _kernels
from .._outputs import raise_bad_matrix
from . import _register
from ._gauge import check_singular_vectors
from ._shared import (
    batching_rule,
    check_op_input,
    fake_info,
    fake_matrices,
    fake_values,
    inverse_or_zero,
    scale_of,
)

_SVD = _register.define(
    "svd(Tensor A, bool full_matrices=False, str? driver=None, bool check_errors=False) "
    "-> (Tensor U, Tensor S, Tensor Vh, Tensor info)"
)
_SVDVALS = _register.define(
    "svdvals(Tensor A, str? driver=None, bool check_errors=False) -> (Tensor S, Tensor info)"
)


def _svd_kernel(A, full_matrices=False, driver=None, check_errors=False):
    check_op_input(A, "svd")
    _arguments.check_driver(driver, "svd")
    U, S, Vh, info = _kernels.svd(A, _kernels.describe(A), full_matrices, driver, True)
    if check_errors:
        raise_bad_matrix(info, "svd")
    return U, S, Vh, info


def _svd_fake(A, full_matrices=False, driver=None, check_errors=False):
    check_op_input(A, "svd")
    _arguments.check_driver(driver, "svd")
    m, n = A.shape[-2:]
    k = torch.sym_min(m, n)
    U = fake_matrices(A, m, m if full_matrices else k)
    Vh = fake_matrices(A, n if full_matrices else k, n)
    return U, fake_values(A, k), Vh, fake_info(A)


def _coupling(S, n):
    """(scale S_j / (S_j^2 - S_i^2) at (..., i, j), scale); the scale None stands for 1.

    Differences of squares up to n eps S_max^2 count as zero, and their inverse too.
    """
    zero = n * torch.finfo(S.dtype).eps
    scale, top = scale_of(S)
    # The differences are those of S: scaling rounds, which shows in the difference of close values.
    difference = S.unsqueeze(-2) - S.unsqueeze(-1)
    if scale is not None:
        S = S / scale
        scale = scale.unsqueeze(-1)
        difference = difference / scale
    rows = S.unsqueeze(-2)
    return rows * inverse_or_zero(difference * (rows + S.unsqueeze(-1)), zero * (top * top)), scale


def _inverse(S):
    """1 / S; 0, as its derivatives, where S is 0."""
    return torch.threshold(S, torch.finfo(S.dtype).tiny, float("inf")).reciprocal()


def _first(U, k):
    """The first k columns of U."""
    return U if U.shape[-1] == k else U.narrow(-1, 0, k)


def _imaginary(X):
    return torch.complex(torch.zeros_like(X), X)


def _svd_backward(_args, outputs, gradients):
    U, S, Vh = outputs
    gU, gS, gVh = gradients
    m, n, k = U.shape[-2], Vh.shape[-1], S.shape[-1]
    U1, V1 = _first(U, k), _first(Vh.mH, k)
    if gU is None and gVh is None:
        return (U1 * gS.unsqueeze(-2)) @ V1.mH
    coupling, scale = _coupling(S, max(m, n))
    X = W = Z = None
    if gU is not None:
        W = U1.mH @ _first(gU, k)
        X = (W - W.mH) * coupling
    if gVh is not None:
        Z = V1.mH @ _first(gVh.mH, k)
        Y = (Z - Z.mH) * coupling.mT
        X = -Y if X is None else X - Y
    if scale is not None:
        X = X / scale
    diagonal = gS
    if U.is_complex():
        check_singular_vectors(W, Z)
        turn = 0
        if W is not None:
            turn = turn + W.diagonal(0, -2, -1).imag
        if Z is not None:
            turn = turn - Z.diagonal(0, -2, -1).imag
        turn = 0.5 * turn * _inverse(S)
        diagonal = _imaginary(turn) if gS is None else torch.complex(gS, turn)
    UX = U1 @ X
    if diagonal is not None:
        UX = UX + U1 * diagonal.unsqueeze(-2)
    gA = UX @ V1.mH
    if m > k and gU is not None:
        gA = gA + _outside(U, gU, k) * _inverse(S).unsqueeze(-2) @ V1.mH
    if n > k and gVh is not None:
        gA = gA + U1 @ (_outside(Vh.mH, gVh.mH, k) * _inverse(S).unsqueeze(-2)).mH
    return gA


def _outside(U, gU, k):
    """The part of U1's gradient outside U1's span, U2's gradient turned into one of U1."""
    U1, gU1 = _first(U, k), _first(gU, k)
    outside = gU1 - U1 @ (U1.mH @ gU1)
    if U.shape[-1] > k:
        outside = outside - U[..., k:] @ (gU[..., k:].mH @ U1)
    return outside


def _svd_jvp(_args, outputs, dA):
    U, S, Vh = outputs
    m, n, k = U.shape[-2], Vh.shape[-1], S.shape[-1]
    U1, V1 = _first(U, k), _first(Vh.mH, k)
    coupling, scale = _coupling(S, max(m, n))
    dP = U1.mH @ dA @ V1
    dS = dP.diagonal(0, -2, -1).real
    W = dP * coupling - dP.mH * coupling.mT
    Z = dP.mH * coupling - dP * coupling.mT
    if scale is not None:
        W, Z = W / scale, Z / scale
    if U.is_complex():
        turn = 0.5 * dP.diagonal(0, -2, -1).imag * _inverse(S)
        turn = torch.diag_embed(_imaginary(turn))
        W, Z = W + turn, Z - turn
    dU = U1 @ W
    dV = V1 @ Z
    if m > k:
        outside = dA @ V1 * _inverse(S).unsqueeze(-2)
        dU = _complete(U, dU, outside - U1 @ (U1.mH @ outside), k)
    if n > k:
        outside = dA.mH @ U1 * _inverse(S).unsqueeze(-2)
        dV = _complete(Vh.mH, dV, outside - V1 @ (V1.mH @ outside), k)
    return dU, dS, dV.mH


def _complete(U, inside, outside, k):
    """dU of U's first k columns from its parts in and outside their span; further ones follow."""
    dU = inside + outside
    if U.shape[-1] > k:
        dU = torch.cat((dU, -_first(U, k) @ (outside.mH @ U[..., k:])), -1)
    return dU


def _svdvals_kernel(A, driver=None, check_errors=False):
    check_op_input(A, "svdvals")
    _arguments.check_driver(driver, "svdvals")
    S, info = _kernels.svdvals(A, _kernels.describe(A), driver, True)
    if check_errors:
        raise_bad_matrix(info, "svd")
    return S, info


def _svdvals_fake(A, driver=None, check_errors=False):
    check_op_input(A, "svdvals")
    _arguments.check_driver(driver, "svdvals")
    return fake_values(A, torch.sym_min(*A.shape[-2:])), fake_info(A)


def _svdvals_autograd(keyset, A, driver=None, check_errors=False):
    if not _register.needs_derivative(A):
        return _register.below_autograd(_SVDVALS, keyset, A, driver, check_errors)
    # The derivative needs the vectors: the route with vectors, differentiated at this level.
    _, S, _, info = _SVD(A, False, driver, check_errors)
    return S, info


_DERIVATIVE = _register.derivative(_SVD, _kernels.svd, 3, _svd_backward, _svd_jvp)
svd_recorded = _DERIVATIVE.recorded


def svdvals_recorded(A, described, driver, want_info):
    results = svd_recorded(A, described, False, driver, want_info)
    return None if results is None else (results[1], *results[3:])


_register.implement(
    _SVD,
    kernel=_svd_kernel,
    fake=_svd_fake,
    autograd=_DERIVATIVE.kernel,
    vmap=batching_rule(_SVD),
)
_register.implement(
    _SVDVALS,
    kernel=_svdvals_kernel,
    fake=_svdvals_fake,
    autograd=_svdvals_autograd,
    vmap=batching_rule(_SVDVALS),
)
