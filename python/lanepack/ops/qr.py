# SPDX-License-Identifier: Apache-2.0
"""torch.ops.lanepack.qr.

Derivatives: S. F. Walter and L. Lehmann, Algorithmic Differentiation of Linear Algebra Functions
(2010) for m >= n; J. Roberts and H.-J. Roberts, QR and LQ Decomposition Matrix Backpropagation
Algorithms (2020) for m < n. The formulas are those of torch.linalg.qr.
"""

from __future__ import annotations

import functools

import torch

from .. import _arguments, _kernels
from .._inputs import plain
from .._outputs import raise_bad_matrix
from . import _register
from ._shared import (
    batching_rule,
    check_op_input,
    fake_info,
    fake_matrices,
)

_OP = _register.define(
    'qr(Tensor A, str mode="reduced", bool check_errors=False) -> (Tensor Q, Tensor R, Tensor info)'
)


# The sizes for which the factor of `_upper` is kept.
_KEPT_MAX_N = 64


def _kernel(A, mode="reduced", check_errors=False):
    check_op_input(A, "qr")
    _arguments.check_mode(mode, "qr")
    Q, R, info = _kernels.qr(A, _kernels.describe(A), mode, True)
    if check_errors:
        raise_bad_matrix(info, "qr")
    return Q, R, info


def _fake(A, mode="reduced", check_errors=False):
    check_op_input(A, "qr")
    _arguments.check_mode(mode, "qr")
    m, n = A.shape[-2:]
    inner = m if mode == "complete" else torch.sym_min(m, n)
    Q = A.new_empty_strided((0,), (1,)) if mode == "r" else fake_matrices(A, m, inner)
    return Q, fake_matrices(A, inner, n), fake_info(A)


def _sizes(args, Q, R):
    """m and n, checked: a mode whose result has no derivative raises."""
    mode = args[0] if args else "reduced"
    if mode == "r":
        raise RuntimeError(
            "lanepack.qr: the derivative of linalg.qr depends on Q, which is not computed when "
            "mode='r'; use mode='reduced' to differentiate through it"
        )
    m, n = Q.shape[-2], R.shape[-1]
    if mode == "complete" and m > n:
        raise RuntimeError(
            "lanepack.qr: the QR decomposition is not differentiable when mode='complete' and A "
            f"has more rows than columns ({m} and {n}); use mode='reduced'"
        )
    return m, n


def _upper_factor(n, dtype, device):
    factor = torch.ones(n, n, dtype=dtype, device=device).triu()
    return factor - 0.5 * torch.eye(n, dtype=dtype, device=device)


_kept_upper_factor = functools.lru_cache(maxsize=256)(_upper_factor)


def _upper(X):
    """X's upper triangle with its diagonal halved: of Y + Y^H and Y - Y^H, Y is this.

    A product, since torch's triu asks its other threads about even one small matrix, and waits
    for them.
    """
    return X * _factor(X)


def _lower(X):
    return X * _factor(X).mT


def _factor(X):
    n = X.shape[-1]
    if n <= _KEPT_MAX_N and plain(X) is not None:
        return _kept_upper_factor(n, X.dtype, X.device)
    return _upper_factor(n, X.dtype, X.device)


def _backward(args, outputs, gradients):
    Q, R = outputs
    gQ, gR = gradients
    m, n = _sizes(args, Q, R)
    # Q^H gQ - gR R^H
    if gQ is None:
        X = -gR @ R.mH
    else:
        X = Q.mH @ gQ
        if gR is not None:
            X = X - gR @ R.mH
    if m >= n:
        # gA = (gQ - Q (Y + Y^H)) R^-H
        Y = _upper(X)
        X = -Q @ (Y + Y.mH) if gQ is None else gQ - Q @ (Y + Y.mH)
        return torch.linalg.solve_triangular(R.mH, X, upper=False, left=False)
    # A = [A1 A2], R = [R1 R2]: A1 = Q R1 determines Q, and R2 = Q^H A2.
    X = Q @ _lower(X - X.mH)
    X = torch.linalg.solve_triangular(R[..., :m].mH, X, upper=False, left=False)
    gA = torch.nn.functional.pad(X, (0, n - m))
    return gA if gR is None else gA + Q @ gR


def _jvp(args, outputs, dA):
    Q, R = outputs
    m, n = _sizes(args, Q, R)
    if m >= n:
        X = torch.linalg.solve_triangular(R, dA, upper=True, left=False)
        W = Q.mH @ X
        W = _upper(W + W.mH)
        return X - Q @ W, W @ R
    X = Q.mH @ dA
    W = torch.linalg.solve_triangular(R[..., :m], X[..., :m], upper=True, left=False)
    # Q^H dQ is skew-Hermitian, and what it leaves of W is upper triangular with a real diagonal.
    W = _lower(W)
    W = W - W.mH
    return Q @ W, X - W @ R


_DERIVATIVE = _register.derivative(_OP, _kernels.qr, 2, _backward, _jvp)
qr_recorded = _DERIVATIVE.recorded

_register.implement(
    _OP,
    kernel=_kernel,
    fake=_fake,
    autograd=_DERIVATIVE.kernel,
    vmap=batching_rule(_OP),
)
