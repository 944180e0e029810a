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


def _svd_cpu(A, full_matrices=False, driver=None, check_errors=False):
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


class _Inverses:
    """What both directions need of S, scaled by its largest entry: t = S / scale.

    squares: 1 / (t_j^2 - t_i^2) at (..., i, j); differences up to n eps count as zero.
    values: 1 / t as (..., k); 0 where t is 0.
    """

    def __init__(self, S, n):
        info = torch.finfo(S.dtype)
        self.scale = scale_of(S)
        self.t = S / self.scale[..., 0]
        t = self.t
        difference = (S[..., None, :] - S[..., :, None]) / self.scale
        E = difference * (t[..., None, :] + t[..., :, None])
        self.squares = inverse_or_zero(E, E.abs() <= n * info.eps)
        self.values = inverse_or_zero(t, t < info.tiny)


def _svd_backward(_args, outputs, gradients):
    U, S, Vh = outputs
    gU, gS, gVh = gradients
    m, n, k = U.shape[-2], Vh.shape[-1], S.shape[-1]
    U1, Vh1 = U.narrow(-1, 0, k), Vh.narrow(-2, 0, k)
    if gU is None and gVh is None:
        return (U1 * gS[..., None, :]) @ Vh1
    inverses = _Inverses(S, max(m, n))
    t = inverses.t
    X = 0
    turn = 0
    if gU is not None:
        W = U1.mH @ gU.narrow(-1, 0, k)
        X = X + (W - W.mH) * t[..., None, :]
        turn = W.diagonal(0, -2, -1)
    if gVh is not None:
        Z = Vh1 @ gVh.narrow(-2, 0, k).mH
        X = X + t[..., :, None] * (Z - Z.mH)
        turn = turn - Z.diagonal(0, -2, -1)
    X = X * inverses.squares / inverses.scale
    diagonal = 0
    if U.is_complex():
        imaginary = 0.5 * turn.imag * inverses.values / inverses.scale[..., 0]
        diagonal = torch.complex(torch.zeros_like(imaginary), imaginary)
    if gS is not None:
        diagonal = diagonal + gS
    if isinstance(diagonal, torch.Tensor):
        X = X + torch.diag_embed(diagonal)
    gA = U1 @ X @ Vh1
    if m > k and gU is not None:
        gA = gA + _outside(U, gU, k) * inverses.values[..., None, :] / inverses.scale @ Vh1
    if n > k and gVh is not None:
        outer = _outside(Vh.mH, gVh.mH, k) * inverses.values[..., None, :] / inverses.scale
        gA = gA + U1 @ outer.mH
    return gA


def _outside(U, gU, k):
    """The part of U1's gradient outside U1's span, U2's gradient turned into one of U1."""
    U1, gU1 = U.narrow(-1, 0, k), gU.narrow(-1, 0, k)
    outside = gU1 - U1 @ (U1.mH @ gU1)
    if U.shape[-1] > k:
        outside = outside - U[..., k:] @ (gU[..., k:].mH @ U1)
    return outside


def _svd_jvp(_args, outputs, dA):
    U, S, Vh = outputs
    m, n, k = U.shape[-2], Vh.shape[-1], S.shape[-1]
    U1, Vh1 = U.narrow(-1, 0, k), Vh.narrow(-2, 0, k)
    inverses = _Inverses(S, max(m, n))
    t, squares, scale = inverses.t, inverses.squares, inverses.scale
    dP = U1.mH @ dA @ Vh1.mH
    dS = dP.diagonal(0, -2, -1).real
    left = dP * t[..., None, :]
    right = t[..., :, None] * dP
    W = (left + left.mH) * squares / scale
    Z = (right + right.mH) * squares / scale
    if U.is_complex():
        imaginary = 0.5 * dP.diagonal(0, -2, -1).imag * inverses.values / scale[..., 0]
        turn = torch.diag_embed(torch.complex(torch.zeros_like(imaginary), imaginary))
        W, Z = W + turn, Z - turn
    dU = U1 @ W
    dV = Vh1.mH @ Z
    if m > k:
        outside = dA @ Vh1.mH * inverses.values[..., None, :] / scale
        dU = _complete(U, dU, outside - U1 @ (U1.mH @ outside), k)
    if n > k:
        outside = dA.mH @ U1 * inverses.values[..., None, :] / scale
        dV = _complete(Vh.mH, dV, outside - Vh1.mH @ (Vh1 @ outside), k)
    return dU, dS, dV.mH


def _complete(U, inside, outside, k):
    """dU of U's first k columns from its parts in and outside their span; further ones follow."""
    dU = inside + outside
    if U.shape[-1] > k:
        dU = torch.cat((dU, -U.narrow(-1, 0, k) @ (outside.mH @ U[..., k:])), -1)
    return dU


def _svdvals_cpu(A, driver=None, check_errors=False):
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


_register.implement(
    _SVD,
    cpu=_svd_cpu,
    fake=_svd_fake,
    autograd=_register.derivative(_SVD, 3, _svd_backward, _svd_jvp),
    vmap=batching_rule(_SVD),
)
_register.implement(
    _SVDVALS,
    cpu=_svdvals_cpu,
    fake=_svdvals_fake,
    autograd=_svdvals_autograd,
    vmap=batching_rule(_SVDVALS),
)
