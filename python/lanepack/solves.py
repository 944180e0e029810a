# SPDX-License-Identifier: Apache-2.0
"""cholesky, cholesky_ex and the solves with triangular factors.

Inputs, dtypes, results and errors are as in `lanepack.linalg`. Of a pair of a factor and right-hand
sides the batches broadcast, and neither is copied for it; where one is complex the other is
promoted. Solves look for nothing: a zero on the diagonal gives Inf or NaN in the right-hand sides
that meet it, and a right-hand side that is not finite spoils itself alone.
"""

from __future__ import annotations

import torch

from . import _kernels_solve, ops
from ._arguments import check_sides, check_square
from ._errors import ArgumentError
from ._inputs import as_input, plain
from ._outputs import (
    check_out_dtype,
    check_outs,
    column_major_copy,
    fill_outs,
    raise_bad_minor,
)

_CholeskyResult = torch.return_types.linalg_cholesky_ex
_TriangularResult = torch.return_types.triangular_solve
_plain = plain
_run_cholesky = _kernels_solve.cholesky
_run_solve = _kernels_solve.solve
_ops = torch.ops.lanepack


def _factor(A, upper, check_errors, function, want_info):
    """L and, if `want_info` or by way of the op, info."""
    upper = bool(upper)
    found = plain(A)
    results = None
    if found is not None:
        results = _run_cholesky(A, found, upper, want_info or check_errors)
    else:
        found = plain(A, recorded=True)
        if found is not None:
            results = ops.cholesky.cholesky_recorded(A, found, upper, want_info or check_errors)
    if results is None:
        A = as_input(A, function)
        check_square(A, function)
        return _ops.cholesky(A, upper, bool(check_errors))
    if check_errors:
        raise_bad_minor(results[1])
    return results


def _into(out, names, dtypes, inputs, function, compute):
    """Runs compute() and stores its results in `out`, whose dtypes are checked before the work."""
    outs = check_outs(out, names, inputs[0], function)
    if torch.is_grad_enabled() and any(each.requires_grad for each in inputs):
        check_outs(out, names, next(x for x in inputs if x.requires_grad), function)
    for name, each, dtype in zip(names, outs, dtypes, strict=True):
        check_out_dtype(name, each, dtype, function)
    fill_outs(compute(), outs)
    return outs


def cholesky(A, *, upper=False, check_errors=False, out=None):
    """L with A = L L^H, lower triangular; upper=True: U with A = U^H U (as torch.linalg.cholesky).

    A is (..., n, n), Hermitian and positive definite; only its lower triangle is read (upper=True:
    its upper), and of a complex diagonal only the real part. The result is (..., n, n), its other
    triangle zero. A matrix that is not positive definite, or not finite, has NaN in its factor's
    triangle and leaves its neighbours alone; check_errors=True raises torch.linalg.LinAlgError
    instead, which names the first of them and the order of the minor that failed.

    Left-looking by tiles (Golub and Van Loan, 4.2; LAPACK potrf above the sizes that the lanes
    serve).
    Derivatives: Hermitian gradients, as torch's.
    """
    if out is None and not check_errors:
        found = _plain(A)
        if found is not None:
            results = _run_cholesky(A, found, bool(upper), False)
            if results is not None:
                return results[0]
    if out is not None:
        A = as_input(A, "cholesky")
        return _into(
            out, ("L",), (A.dtype,), (A,), "cholesky",
            lambda: _factor(A, upper, check_errors, "cholesky", False)[:1],
        )[0]  # fmt: skip
    return _factor(A, upper, check_errors, "cholesky", False)[0]


def cholesky_ex(A, *, upper=False, check_errors=False, out=None):
    """`cholesky` as (L, info) (as torch.linalg.cholesky_ex).

    info is int32 (...), on A's device: 0 the matrix is factored; k the leading minor of order k is
    the first that is not positive; 2**31 - 1 the triangle that is read holds NaN or Inf.
    """
    if out is None and not check_errors:
        found = _plain(A)
        if found is not None:
            results = _run_cholesky(A, found, bool(upper), True)
            if results is not None:
                return _CholeskyResult(results)
    if out is not None:
        A = as_input(A, "cholesky_ex")
        outs = _into(
            out, ("L", "info"), (A.dtype, torch.int32), (A,), "cholesky_ex",
            lambda: _factor(A, upper, check_errors, "cholesky_ex", True),
        )  # fmt: skip
        return torch.return_types.linalg_cholesky_ex_out(outs)
    return _CholeskyResult(_factor(A, upper, check_errors, "cholesky_ex", True))


def _pair(A, B, function, names):
    """Both as tensors of one of the four dtypes, the wider of the two."""
    A, B = as_input(A, function, names[0]), as_input(B, function, names[1])
    if A.dtype != B.dtype:
        dtype = torch.promote_types(A.dtype, B.dtype)
        A, B = A.to(dtype), B.to(dtype)
    return A, B


def _solve(A, B, upper, left, unitriangular, transpose, conjugate, function, names=("A", "B")):
    if isinstance(A, torch.Tensor) and A.is_complex() and A.is_conj():
        A, conjugate = A.conj(), not conjugate  # what is in memory, without a copy
    a, b = plain(A), plain(B)
    if a is not None and b is not None:
        flags = ops.solve.triangular_flags(upper, left, unitriangular, transpose, conjugate)
        X = _run_solve("solve_triangular", A, B, a, b, flags)
        if X is not None:
            return X
    A, B = _pair(A, B, function, names)
    check_sides(A, B, left, function, names)
    return _ops.solve_triangular(
        A, B, bool(upper), bool(left), bool(unitriangular), bool(transpose), bool(conjugate)
    )


def solve_triangular(A, B, *, upper, left=True, unitriangular=False, out=None):
    """X with A X = B, or left=False: X A = B (as torch.linalg.solve_triangular).

    A is (..., n, n), of which the triangle that `upper` names is read, and its diagonal not with
    unitriangular=True; B is (..., n, k), with left=False (..., k, n); X is B's shape with the batch
    dimensions of both. A singular A gives Inf or NaN where the arithmetic does.

    Substitution by tiles (Golub and Van Loan, 3.1; BLAS trsm above the sizes that the lanes serve).
    Derivatives: of A in the triangle that is read.
    """
    if out is not None:
        A, B = _pair(A, B, "solve_triangular", ("A", "B"))
        return _into(
            out, ("X",), (B.dtype,), (B, A), "solve_triangular",
            lambda: (_solve(A, B, upper, left, unitriangular, False, False, "solve_triangular"),),
        )[0]  # fmt: skip
    return _solve(A, B, upper, left, unitriangular, False, False, "solve_triangular")


def triangular_solve(
    b, A, upper=True, transpose=False, unitriangular=False, adjoint=False, *, out=None
):
    """(X, A) with op(A) X = b (as torch.triangular_solve), op(A) = A, A^T or A^H.

    transpose=True: the plain transpose, for complex A too; adjoint=True: the conjugate transpose.
    b is (..., n, k). The second result is a copy of A in the batch dimensions of X, as torch's. See
    `solve_triangular`.
    """
    if transpose and adjoint:
        raise ArgumentError(
            "lanepack.triangular_solve: transpose and adjoint are both True; A is transposed or "
            "conjugated and transposed, not both"
        )

    def compute():
        X = _solve(
            A, b, upper, True, unitriangular, transpose or adjoint, adjoint, "triangular_solve",
            ("A", "b"),
        )  # fmt: skip
        return X, column_major_copy(torch.as_tensor(A), X.shape[:-2])

    if out is not None:
        A, b = _pair(A, b, "triangular_solve", ("A", "b"))
        outs = _into(
            out, ("solution", "cloned_coefficient"), (b.dtype, A.dtype), (b, A),
            "triangular_solve", compute,
        )  # fmt: skip
        return torch.return_types.triangular_solve_out(outs)
    return _TriangularResult(compute())


def _cholesky_solve(B, L, upper):
    found, factor = plain(B), plain(L)
    if found is not None and factor is not None:
        flags = ops.solve.triangular_flags(upper, True, False, False, False)
        X = _run_solve("cholesky_solve", L, B, factor, found, flags)
        if X is not None:
            return X
    L, B = _pair(L, B, "cholesky_solve", ("L", "B"))
    check_sides(L, B, True, "cholesky_solve", ("L", "B"))
    return _ops.cholesky_solve(B, L, bool(upper))


def cholesky_solve(B, L, upper=False, *, out=None):
    """X with L L^H X = B, or upper=True: L^H L X = B (as torch.cholesky_solve).

    B is (..., n, k), L (..., n, n) a factor as from `cholesky`, of which one triangle is read. Two
    substitutions (LAPACK potrs). See `solve_triangular`.
    """
    if out is not None:
        L, B = _pair(L, B, "cholesky_solve", ("L", "B"))
        return _into(
            out, ("X",), (B.dtype,), (B, L), "cholesky_solve",
            lambda: (_cholesky_solve(B, L, upper),),
        )[0]  # fmt: skip
    return _cholesky_solve(B, L, upper)


def _cholesky_inverse(L, upper):
    found = plain(L)
    if found is not None:
        X = _kernels_solve.cholesky_inverse(L, found, bool(upper))
        if X is not None:
            return X
    L = as_input(L, "cholesky_inverse", "L")
    check_square(L, "cholesky_inverse", "L")
    return _ops.cholesky_inverse(L, bool(upper))


def cholesky_inverse(L, upper=False, *, out=None):
    """(L L^H)^-1, or upper=True: (L^H L)^-1 (as torch.cholesky_inverse).

    L is (..., n, n), a factor as from `cholesky`, of which one triangle is read. The result is
    Hermitian to the last bit. Two substitutions with the identity.
    """
    if out is not None:
        L = as_input(L, "cholesky_inverse", "L")
        return _into(
            out, ("X",), (L.dtype,), (L,), "cholesky_inverse",
            lambda: (_cholesky_inverse(L, upper),),
        )[0]  # fmt: skip
    return _cholesky_inverse(L, upper)
