# SPDX-License-Identifier: Apache-2.0
"""torch.ops.lanepack.cholesky.

Derivatives: S. P. Smith, Differentiation of the Cholesky algorithm (1995), in the blocked form of
I. Murray, Differentiation of the Cholesky decomposition (2016); the gradient is Hermitian, as that
of torch.linalg.cholesky.
"""

from __future__ import annotations

import torch

from .. import _arguments, _kernels_solve, _plans
from .._outputs import raise_bad_minor
from . import _register
from ._shared import batching_rule, check_op_input, fake_info, fake_matrices

_OP = _register.define(
    "cholesky(Tensor A, bool upper=False, bool check_errors=False) -> (Tensor L, Tensor info)"
)


def _kernel(A, upper=False, check_errors=False):
    check_op_input(A, "cholesky")
    _arguments.check_square(A, "cholesky")
    L, info = _kernels_solve.cholesky(A, _plans.describe(A), upper, True)
    if check_errors:
        raise_bad_minor(info)
    return L, info


def _fake(A, upper=False, check_errors=False):
    check_op_input(A, "cholesky")
    torch._check(A.shape[-1] == A.shape[-2], lambda: "lanepack.cholesky: A must be square")
    return fake_matrices(A, *A.shape[-2:]), fake_info(A)


def _half_lower(X):
    """X's lower triangle with its diagonal halved."""
    return X.tril() - 0.5 * torch.diag_embed(X.diagonal(0, -2, -1))


def _divide_left(L, X, adjoint):
    """L^-1 X, or L^-H X."""
    return torch.ops.lanepack.solve_triangular(L, X, False, True, False, adjoint, adjoint)


def _backward(args, outputs, gradients):
    upper = args[0] if args else False
    (L,), (gL,) = outputs, gradients
    if upper:
        L, gL = L.mH, gL.mH
    # gA = L^-H P L^-1 with P = L^H gL, made lower and its diagonal halved; then its Hermitian part
    P = _half_lower(L.mH @ gL)
    Y = _divide_left(L, P, True)
    Y = _divide_left(L, Y.mH, True).mH
    return 0.5 * (Y + Y.mH)


def _jvp(args, outputs, dA):
    upper = args[0] if args else False
    (L,) = outputs
    if upper:
        L = L.mH
    X = _divide_left(L, dA, False)
    X = _divide_left(L, X.mH, False).mH
    dL = L @ _half_lower(X)
    return (dL.mH if upper else dL,)


_DERIVATIVE = _register.derivative(_OP, _kernels_solve.cholesky, 1, _backward, _jvp)
cholesky_recorded = _DERIVATIVE.recorded

_register.implement(
    _OP, kernel=_kernel, fake=_fake, autograd=_DERIVATIVE.kernel, vmap=batching_rule(_OP)
)
