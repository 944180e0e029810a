# SPDX-License-Identifier: Apache-2.0
"""torch.ops.lanepack.solve_triangular, cholesky_solve and cholesky_inverse.

A factor's gradient and tangent live in the triangle that is read: what the other one holds has no
part in the result.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .. import _arguments, _kernels_solve, _native, _plans
from .._layout import column_major_strides
from . import _register
from ._shared import batching_rule, check_op_input, fake_matrices

_TRIANGULAR = _register.define(
    "solve_triangular(Tensor A, Tensor B, bool upper, bool left=True, bool unitriangular=False, "
    "bool transpose=False, bool conjugate=False) -> Tensor"
)
_CHOLESKY = _register.define("cholesky_solve(Tensor B, Tensor L, bool upper=False) -> Tensor")
_INVERSE = _register.define("cholesky_inverse(Tensor L, bool upper=False) -> Tensor")


def triangular_flags(upper, left, unitriangular, transpose, conjugate) -> int:
    return (
        (_native.FLAG_UPPER if upper else 0)
        | (0 if left else _native.FLAG_RIGHT)
        | (_native.FLAG_UNIT_DIAGONAL if unitriangular else 0)
        | (_native.FLAG_TRANSPOSE if transpose else 0)
        | (_native.FLAG_CONJUGATE if conjugate else 0)
    )


def _triangle(X, upper, unitriangular=False):
    if upper:
        return X.triu(1 if unitriangular else 0)
    return X.tril(-1 if unitriangular else 0)


def _fake_sides(A, B):
    batch = torch.broadcast_shapes(A.shape[:-2], B.shape[:-2])
    shape = (*batch, *B.shape[-2:])
    return B.new_empty_strided(shape, column_major_strides(shape))


# ---- solve_triangular ----


def _check_triangular(A, B, left):
    check_op_input(A, "solve_triangular")
    check_op_input(B, "solve_triangular", "B")


def _kernel_triangular(
    A, B, upper, left=True, unitriangular=False, transpose=False, conjugate=False
):
    _check_triangular(A, B, left)
    _arguments.check_sides(A, B, left, "solve_triangular")
    flags = triangular_flags(upper, left, unitriangular, transpose, conjugate)
    return _kernels_solve.solve(
        "solve_triangular", A, B, _plans.describe(A), _plans.describe(B), flags
    )


def _fake_triangular(A, B, upper, left=True, unitriangular=False, transpose=False, conjugate=False):
    _check_triangular(A, B, left)
    return _fake_sides(A, B)


def _with_defaults(args: Sequence) -> tuple:
    return (*args, *(True, False, False, False)[len(args) - 1 :])


def _solve_with(A, B, args, adjoint=False):
    upper, left, unitriangular, transpose, conjugate = args
    if adjoint:
        transpose, conjugate = not transpose, not conjugate
    return _TRIANGULAR(A, B, upper, left, unitriangular, transpose, conjugate)


def _from_operator(X, args):
    """A gradient of op(A) as one of A."""
    _, _, _, transpose, conjugate = args
    if transpose:
        X = X.mT
    return X.conj() if conjugate else X


def _triangular_backward(args, saved, gradients, wanted):
    args = _with_defaults(args)
    upper, left, unitriangular, _, _ = args
    A, _, X = saved
    (gX,) = gradients
    # op(A) X = B gives gB = op(A)^-H gX and -gB X^H for op(A)
    gB = _solve_with(A, gX, args, adjoint=True)
    gA = None
    if wanted[0]:
        gA = -gB @ X.mH if left else -X.mH @ gB
        gA = _triangle(_from_operator(gA, args), upper, unitriangular)
    return gA, gB


def _triangular_jvp(args, saved, tangents):
    args = _with_defaults(args)
    upper, left, unitriangular, transpose, conjugate = args
    A, _, X = saved
    dA, dB = tangents
    right = None
    if dA is not None:
        dA = _triangle(dA, upper, unitriangular)
        if transpose:
            dA = dA.mT
        if conjugate:
            dA = dA.conj()
        right = -(dA @ X if left else X @ dA)
    if dB is not None:
        right = dB if right is None else right + dB
    return _solve_with(A, right, args)


# ---- cholesky_solve ----


def _kernel_cholesky(B, L, upper=False):
    check_op_input(L, "cholesky_solve", "L")
    check_op_input(B, "cholesky_solve", "B")
    _arguments.check_sides(L, B, True, "cholesky_solve", ("L", "B"))
    return _kernels_solve.solve(
        "cholesky_solve", L, B, _plans.describe(L), _plans.describe(B),
        _native.FLAG_UPPER if upper else 0,
    )  # fmt: skip


def _fake_cholesky(B, L, upper=False):
    check_op_input(L, "cholesky_solve", "L")
    check_op_input(B, "cholesky_solve", "B")
    return _fake_sides(L, B)


def _factor_gradient(L, common, upper):
    """The gradient of a factor from that of its product, which is `common`, Hermitian."""
    return _triangle(L @ common if upper else common @ L, upper)


def _product_tangent(L, dL, upper):
    """The tangent of L L^H, or of U^H U."""
    dL = _triangle(dL, upper)
    half = dL.mH @ L if upper else dL @ L.mH
    return half + half.mH


def _cholesky_backward(args, saved, gradients, wanted):
    upper = args[0] if args else False
    _, L, X = saved
    (gX,) = gradients
    gB = _CHOLESKY(gX, L, upper)
    gL = None
    if wanted[1]:
        common = gB @ X.mH
        gL = _factor_gradient(L, -(common + common.mH), upper)
    return gB, gL


def _cholesky_jvp(args, saved, tangents):
    upper = args[0] if args else False
    _, L, X = saved
    dB, dL = tangents
    right = None if dL is None else -_product_tangent(L, dL, upper) @ X
    if dB is not None:
        right = dB if right is None else right + dB
    return _CHOLESKY(right, L, upper)


# ---- cholesky_inverse ----


def _kernel_inverse(L, upper=False):
    check_op_input(L, "cholesky_inverse", "L")
    _arguments.check_square(L, "cholesky_inverse", "L")
    return _kernels_solve.cholesky_inverse(L, _plans.describe(L), upper)


def _fake_inverse(L, upper=False):
    check_op_input(L, "cholesky_inverse", "L")
    return fake_matrices(L, *L.shape[-2:])


def _inverse_backward(args, saved, gradients, wanted):
    upper = args[0] if args else False
    L, X = saved
    (gX,) = gradients
    common = X @ (gX + gX.mH) @ X
    return (_factor_gradient(L, -common, upper),)


def _inverse_jvp(args, saved, tangents):
    upper = args[0] if args else False
    L, X = saved
    (dL,) = tangents
    return -X @ _product_tangent(L, dL, upper) @ X


_triangular = _register.derivative_of_solve(_TRIANGULAR, 2, _triangular_backward, _triangular_jvp)
_cholesky = _register.derivative_of_solve(_CHOLESKY, 2, _cholesky_backward, _cholesky_jvp)
_inverse = _register.derivative_of_solve(_INVERSE, 1, _inverse_backward, _inverse_jvp)

_register.implement(
    _TRIANGULAR, kernel=_kernel_triangular, fake=_fake_triangular, autograd=_triangular,
    vmap=batching_rule(_TRIANGULAR, 2),
)  # fmt: skip
_register.implement(
    _CHOLESKY, kernel=_kernel_cholesky, fake=_fake_cholesky, autograd=_cholesky,
    vmap=batching_rule(_CHOLESKY, 2),
)  # fmt: skip
_register.implement(
    _INVERSE, kernel=_kernel_inverse, fake=_fake_inverse, autograd=_inverse,
    vmap=batching_rule(_INVERSE),
)  # fmt: skip
