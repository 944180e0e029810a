# SPDX-License-Identifier: Apache-2.0
"""qr, eigh, eigvalsh, svd, svdvals and their forms with `info`.

What all of them share:

- A is (..., m, n) with any number of batch dimensions and any strides; conjugate and negative views
  are read right. float32, float64, complex64 and complex128 are computed as they are; float16 and
  bfloat16 in float32, giving float32; integers and bool are converted to torch's default dtype;
  lists and NumPy arrays as torch.as_tensor does. A is only read.
- Results are column-major per matrix (eigenvalues, singular values and info contiguous), on A's
  device, in torch.linalg's result types.
- A matrix with NaN or Inf in the part that is read gives NaN for itself and leaves the others as
  they would be alone. Nothing raises, unless check_errors=True asks for torch.linalg.LinAlgError,
  which names the first bad batch element.
- Wrong dimensions, mode, UPLO or driver raise ArgumentError (a ValueError and a RuntimeError);
  a dtype that is not served TypeError; a device that is not served NotImplementedError.
- Zero sizes are served as by torch.linalg.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from . import _kernels, ops
from ._arguments import check_driver, check_mode, check_square, check_uplo
from ._inputs import as_input, plain
from ._native import REAL_DTYPES
from ._outputs import check_out_dtype, check_outs, fill_outs, raise_bad_matrix

_QRResult = torch.return_types.linalg_qr
_EighResult = torch.return_types.linalg_eigh
_SVDResult = torch.return_types.linalg_svd
_plain = plain
_run_qr = _kernels.qr
_run_eigh = _kernels.eigh
_run_eigvalsh = _kernels.eigvalsh
_run_svd = _kernels.svd
_run_svdvals = _kernels.svdvals
_ops = torch.ops.lanepack


class QRInfo(NamedTuple):
    Q: torch.Tensor
    R: torch.Tensor
    info: torch.Tensor


class EighInfo(NamedTuple):
    eigenvalues: torch.Tensor
    eigenvectors: torch.Tensor
    info: torch.Tensor


class EigvalshInfo(NamedTuple):
    eigenvalues: torch.Tensor
    info: torch.Tensor


class SVDInfo(NamedTuple):
    U: torch.Tensor
    S: torch.Tensor
    Vh: torch.Tensor
    info: torch.Tensor


class SvdvalsInfo(NamedTuple):
    S: torch.Tensor
    info: torch.Tensor


def _directly(A, native, recorded, *args):
    """native(A, found, *args), or what records its derivative, where no op has to be seen.

    None where one has to be (`plain`), or where the arguments are not of a kind that is served.
    """
    found = plain(A)
    if found is not None:
        return native(A, found, *args)
    found = plain(A, recorded=True)
    if found is not None:
        return recorded(A, found, *args)
    return None


if torch.__version__ < (2, 6):
    # Its Dynamo misreads how torch's result types are made, so that compiled programs get a named
    # tuple with the same fields.
    _IN_DYNAMO = {
        _QRResult: NamedTuple("linalg_qr", [("Q", torch.Tensor), ("R", torch.Tensor)]),
        _EighResult: NamedTuple(
            "linalg_eigh", [("eigenvalues", torch.Tensor), ("eigenvectors", torch.Tensor)]
        ),
        _SVDResult: NamedTuple(
            "linalg_svd", [("U", torch.Tensor), ("S", torch.Tensor), ("Vh", torch.Tensor)]
        ),
    }

    def _named(kind, results):
        if torch.compiler.is_dynamo_compiling():
            return _IN_DYNAMO[kind](*results)
        return kind(results)

else:

    def _named(kind, results):
        return kind(results)


# Each of the next five gives results and, if `want_info` or by way of the op, info.


def _qr(A, mode, check_errors, function, want_info=True):
    if type(mode) is str:
        results = _directly(A, _kernels.qr, ops.qr.qr_recorded, mode, want_info)
        if results is not None:
            if check_errors:
                raise_bad_matrix(results[-1], "qr")
            return results
    A = as_input(A, function)
    check_mode(mode, function)
    return _ops.qr(A, mode, bool(check_errors))


def _hermitian(native, recorded, op):
    """_eigh and _eigvalsh: the same arguments, checks and errors."""

    def results_and_info(A, UPLO, check_errors, function, want_info=True):
        if type(UPLO) is str:
            results = _directly(A, native, recorded, UPLO, want_info)
            if results is not None:
                if check_errors:
                    raise_bad_matrix(results[-1], "eigh")
                return results
        A = as_input(A, function)
        check_square(A, function)
        check_uplo(UPLO, function)
        return op(A, UPLO, bool(check_errors))

    return results_and_info


_eigh = _hermitian(_kernels.eigh, ops.eigh.eigh_recorded, _ops.eigh)
_eigvalsh = _hermitian(_kernels.eigvalsh, ops.eigh.eigvalsh_recorded, _ops.eigvalsh)


def _svd(A, full_matrices, driver, check_errors, function, want_info=True):
    if driver is None or type(driver) is str:
        full = bool(full_matrices)
        results = _directly(A, _kernels.svd, ops.svd.svd_recorded, full, driver, want_info)
        if results is not None:
            if check_errors:
                raise_bad_matrix(results[-1], "svd")
            return results
    A = as_input(A, function)
    check_driver(driver, function)
    return _ops.svd(A, bool(full_matrices), driver, bool(check_errors))


def _svdvals(A, driver, check_errors, function, want_info=True):
    if driver is None or type(driver) is str:
        results = _directly(A, _kernels.svdvals, ops.svd.svdvals_recorded, driver, want_info)
        if results is not None:
            if check_errors:
                raise_bad_matrix(results[-1], "svd")
            return results
    A = as_input(A, function)
    check_driver(driver, function)
    return _ops.svdvals(A, driver, bool(check_errors))


def _into(out, names, real, A, function, compute):
    """Runs compute(A) and stores its results in `out`; `real`: names of outputs of the real type.

    The outputs' dtypes are checked before the work.
    """
    A = as_input(A, function)
    outs = check_outs(out, names, A, function)
    for name, each in zip(names, outs, strict=True):
        dtype = REAL_DTYPES[A.dtype] if name in real else A.dtype
        check_out_dtype(name, each, dtype, function)
    fill_outs(compute(A)[: len(names)], outs)
    return outs


def qr(A, mode="reduced", *, check_errors=False, out=None):
    """Q and R with A = Q R, Q^H Q = I, R upper triangular (as torch.linalg.qr).

    A is (..., m, n); with k = min(m, n), mode "reduced" gives Q (..., m, k) and R (..., k, n),
    "complete" Q (..., m, m) and R (..., m, n), "r" an empty Q and R (..., k, n).
    R's diagonal is real, its sign opposite to the real part of the pivot column's head, as from
    LAPACK; exact zeros stand below it. A's columns may be dependent.

    Householder reflectors (Golub and Van Loan, Matrix Computations, 5.2; LAPACK geqrf, orgqr).
    Derivatives: modes "reduced", and "complete" where m <= n; A's first k columns independent.
    """
    if out is None and not check_errors and type(mode) is str:
        # The shortest way: for one small matrix every step counts.
        found = _plain(A)
        if found is not None:
            results = _run_qr(A, found, mode, False)
            if results is not None:
                return _QRResult(results)
    if out is not None:
        outs = _into(out, ("Q", "R"), (), A, "qr", lambda A: _qr(A, mode, check_errors, "qr"))
        return torch.return_types.linalg_qr_out(outs)
    results = _qr(A, mode, check_errors, "qr", check_errors)
    return _named(_QRResult, results[:2])


def eigh(A, UPLO="L", *, check_errors=False, out=None):
    """Eigenvalues and eigenvectors of symmetric or Hermitian matrices (as torch.linalg.eigh).

    A is (..., n, n); only its lower triangle is read (UPLO "U": its upper), and of a complex
    diagonal only the real part. Gives eigenvalues (..., n), real and ascending, and eigenvectors
    (..., n, n) in columns: A = V diag(L) V^H. Sign, phase and the basis of a repeated eigenvalue
    are free (`lanepack.canonical` fixes the first two).

    Householder tridiagonalisation and implicit QL (Golub and Van Loan, 8.3; LAPACK syevd, heevd
    above the sizes that the lanes serve). `lanepack.eigh_backend` names what a call takes.
    Derivatives: differences up to n eps max(abs(L)) count as zero, so that a loss that does not
    depend on the basis keeps a finite gradient at repeated eigenvalues, without the part that
    couples their vectors. A complex loss that depends
    on the phase is refused only under `lanepack.debug.gauge_check`.
    """
    if out is None and not check_errors and type(UPLO) is str:
        # The shortest way: for one small matrix every step counts.
        found = _plain(A)
        if found is not None:
            results = _run_eigh(A, found, UPLO, False)
            if results is not None:
                return _EighResult(results)
    if out is not None:
        outs = _into(
            out, ("eigenvalues", "eigenvectors"), ("eigenvalues",), A, "eigh",
            lambda A: _eigh(A, UPLO, check_errors, "eigh"),
        )  # fmt: skip
        return torch.return_types.linalg_eigh_out(outs)
    results = _eigh(A, UPLO, check_errors, "eigh", check_errors)
    return _named(_EighResult, results[:2])


def eigvalsh(A, UPLO="L", *, check_errors=False, out=None):
    """Eigenvalues (..., n), real and ascending (as torch.linalg.eigvalsh); see `eigh`.

    They may differ from those of `eigh` by rounding. A call whose gradient is wanted takes the
    route with vectors.
    """
    if out is None and not check_errors and type(UPLO) is str:
        # The shortest way: for one small matrix every step counts.
        found = _plain(A)
        if found is not None:
            results = _run_eigvalsh(A, found, UPLO, False)
            if results is not None:
                return results[0]
    if out is not None:
        return _into(
            out, ("eigenvalues",), ("eigenvalues",), A, "eigvalsh",
            lambda A: _eigvalsh(A, UPLO, check_errors, "eigvalsh"),
        )[0]  # fmt: skip
    return _eigvalsh(A, UPLO, check_errors, "eigvalsh", check_errors)[0]


def svd(A, full_matrices=False, *, driver=None, check_errors=False, out=None):
    """The singular value decomposition A = U diag(S) Vh (as torch.linalg.svd, thin by default).

    A is (..., m, n); with k = min(m, n), U is (..., m, k), S (..., k) real, descending and >= 0,
    Vh (..., k, n). full_matrices=True: U (..., m, m) and Vh (..., n, n). Sign, phase and the basis
    of repeated values are free (`lanepack.canonical` fixes the first two).

    driver None: bidiagonalisation (Golub and Van Loan, 8.6; LAPACK gesdd above the sizes that the
    lanes serve). "jacobi": one-sided Jacobi (Drmac and Veselic, 2008; LAPACK gesvj), every singular
    value of B D, D diagonal and m >= n, to high relative accuracy if B is well conditioned
    (float32: above 1e-12 of the norm; below 1e-13 it counts as zero). torch's "gesvd", "gesvdj" and
    "gesvda" are taken as hints.
    Derivatives: differences of squares up to n eps S_max^2 count as zero, so that a loss that does
    not depend on the basis keeps a finite gradient at repeated values. A complex loss that depends
    on the phase is refused only under `lanepack.debug.gauge_check`.
    """
    if out is None and not check_errors and driver is None:
        # The shortest way: for one small matrix every step counts.
        found = _plain(A)
        if found is not None:
            results = _run_svd(A, found, bool(full_matrices), None, False)
            if results is not None:
                return _SVDResult(results)
    if out is not None:
        outs = _into(
            out, ("U", "S", "Vh"), ("S",), A, "svd",
            lambda A: _svd(A, full_matrices, driver, check_errors, "svd"),
        )  # fmt: skip
        return torch.return_types.linalg_svd_out(outs)
    results = _svd(A, full_matrices, driver, check_errors, "svd", check_errors)
    return _named(_SVDResult, results[:3])


def svdvals(A, *, driver=None, check_errors=False, out=None):
    """Singular values (..., min(m, n)), descending (as torch.linalg.svdvals); see `svd`.

    They may differ from those of `svd` by rounding. A call whose gradient is wanted takes the route
    with vectors.
    """
    if out is None and not check_errors and driver is None:
        # The shortest way: for one small matrix every step counts.
        found = _plain(A)
        if found is not None:
            results = _run_svdvals(A, found, None, False)
            if results is not None:
                return results[0]
    if out is not None:
        return _into(
            out, ("S",), ("S",), A, "svdvals",
            lambda A: _svdvals(A, driver, check_errors, "svdvals"),
        )[0]  # fmt: skip
    return _svdvals(A, driver, check_errors, "svdvals", check_errors)[0]


_INFO = """

    info is int32 (...), on A's device: 0 the matrix is decomposed; 1..n as LAPACK's routine says;
    2**31 - 1 the part that is read holds NaN or Inf; 2**31 - 2 the iteration did not converge.
    Where it is positive the matrix's outputs are NaN.
    """


def _documented(function):
    function.__doc__ += _INFO
    return function


@_documented
def qr_ex(A, mode="reduced", *, check_errors=False):
    """`qr` as a named tuple (Q, R, info)."""
    return QRInfo(*_qr(A, mode, check_errors, "qr_ex"))


@_documented
def eigh_ex(A, UPLO="L", *, check_errors=False):
    """`eigh` as a named tuple (eigenvalues, eigenvectors, info)."""
    return EighInfo(*_eigh(A, UPLO, check_errors, "eigh_ex"))


@_documented
def eigvalsh_ex(A, UPLO="L", *, check_errors=False):
    """`eigvalsh` as a named tuple (eigenvalues, info)."""
    return EigvalshInfo(*_eigvalsh(A, UPLO, check_errors, "eigvalsh_ex"))


@_documented
def svd_ex(A, full_matrices=False, *, driver=None, check_errors=False):
    """`svd` as a named tuple (U, S, Vh, info)."""
    return SVDInfo(*_svd(A, full_matrices, driver, check_errors, "svd_ex"))


@_documented
def svdvals_ex(A, *, driver=None, check_errors=False):
    """`svdvals` as a named tuple (S, info)."""
    return SvdvalsInfo(*_svdvals(A, driver, check_errors, "svdvals_ex"))
