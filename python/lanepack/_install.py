# SPDX-License-Identifier: Apache-2.0
"""torch.linalg itself, served by lanepack: overrides of aten's kernels.

A kernel is overridden below autograd, so that derivatives, vmap, compiled programs and everything
that torch builds on these operations stay torch's own. What an override does not serve goes on to
the kernel that torch had.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterable

import torch

from . import _kernels, _kernels_solve, _native
from ._errors import ArgumentError
from ._outputs import column_major_copy, fill_outs, raise_bad_matrix, raise_bad_minor
from ._plans import describe
from .ops.solve import triangular_flags

# Which of aten's operations serve a function; the functions of one group share them.
_OPERATIONS = {
    "qr": ("linalg_qr", "linalg_qr.out"),
    "eigh": ("_linalg_eigh", "_linalg_eigh.eigenvalues"),
    "eigvalsh": ("_linalg_eigh", "_linalg_eigh.eigenvalues"),
    "svd": ("_linalg_svd", "_linalg_svd.U"),
    "svdvals": ("_linalg_svd", "_linalg_svd.U"),
    "cholesky": ("linalg_cholesky_ex", "linalg_cholesky_ex.L", "cholesky", "cholesky.out"),
    "cholesky_solve": ("_cholesky_solve_helper",),
    "cholesky_inverse": ("cholesky_inverse", "cholesky_inverse.out"),
    "solve_triangular": ("linalg_solve_triangular", "linalg_solve_triangular.out"),
    "triangular_solve": ("triangular_solve", "triangular_solve.X"),
}
FUNCTIONS = tuple(_OPERATIONS)
_KEYS = ("CPU", "CUDA")

# As torch says it: programs look for "failed to converge".
_NOT_FINITE = (
    "The algorithm failed to converge because the input matrix contained non-finite values."
)

_lock = threading.Lock()
_library: torch.library.Library | None = None
_serving: frozenset[str] = frozenset()
_checks = True
# Kernels that torch had, by operation and dispatch key.
_torch_kernels: dict[tuple[str, str], object] = {}
# On CUDA a route may itself call torch.linalg: that call is torch's.
_thread = threading.local()


def _onward(name: str, keyset, device: torch.device, *args, **kwargs):
    """The call, by the kernel that torch had."""
    key = "CPU" if device.type == "cpu" else "CUDA"
    return _torch_kernels[name, key].call_boxed(keyset, *args, **kwargs)


def _plain(x: torch.Tensor) -> torch.Tensor:
    """x with its values in memory."""
    if x.is_conj():
        x = x.resolve_conj()
    return x.resolve_neg() if x.is_neg() else x


def _compute(function: str, native: Callable, A: torch.Tensor, *args):
    """native(A, its description, *args); None where `function` is left to torch."""
    if function not in _serving or A.dim() < 2:
        return None
    A = _plain(A)
    if A.is_cpu:
        return native(A, describe(A), *args)
    if getattr(_thread, "inside", False):
        return None
    _thread.inside = True
    try:
        return native(A, describe(A), *args)
    finally:
        _thread.inside = False


def _torch_layout(Vh: torch.Tensor) -> torch.Tensor:
    """Row-major on CUDA, as torch's is there."""
    return Vh if Vh.is_cpu else Vh.contiguous()


# Each of these gives the results of one of aten's operations, or None where torch is to serve it.


def _qr(A, mode="reduced"):
    return _compute("qr", _kernels.qr, A, mode, False)


def _eigh(A, UPLO="L", compute_v=True):
    if compute_v:
        results = _compute("eigh", _kernels.eigh, A, UPLO, _checks)
    else:
        results = _compute("eigvalsh", _kernels.eigvalsh, A, UPLO, _checks)
    if results is None:
        return None
    if _checks:
        raise_bad_matrix(results[-1], "eigh", _NOT_FINITE)
    return results[0], results[1] if compute_v else A.new_empty(0)


def _svd(A, full_matrices=False, compute_uv=True, *, driver=None):
    if driver is not None:
        return None
    if compute_uv:
        results = _compute("svd", _kernels.svd, A, full_matrices, None, _checks)
    else:
        results = _compute("svdvals", _kernels.svdvals, A, None, _checks)
    if results is None:
        return None
    if _checks:
        raise_bad_matrix(results[-1], "svd", _NOT_FINITE)
    if compute_uv:
        return results[0], results[1], _torch_layout(results[2])
    return A.new_empty(0), results[0], A.new_empty(0)


def _cholesky_ex(self, *, upper=False, check_errors=False):
    results = _compute("cholesky", _kernels_solve.cholesky, self, upper, True)
    if results is None:
        return None
    L, info = results
    if L.is_cpu:
        # LAPACK says which minor a NaN spoils first; it is asked itself.
        if bool((info == _native.INFO_NOT_FINITE).any()):
            return None
    else:
        info = info.where(info != _native.INFO_NOT_FINITE, 1)
    if check_errors:
        raise_bad_minor(info, "linalg.cholesky_ex")
    return L, info


def _cholesky(self, upper=False):
    if self.numel() == 0:  # torch's result is row-major then
        return None
    _warn_as_torch("cholesky", self)
    results = _cholesky_ex(self, upper=upper)
    if results is None:
        return None
    if _checks:
        raise_bad_minor(results[1], "cholesky")
    return (results[0],)


def _cholesky_inverse(self, upper=False):
    if _checks and self.dim() >= 2 and bool((self.diagonal(0, -2, -1) == 0).any()):
        return None  # torch raises
    X = _compute("cholesky_inverse", _kernels_solve.cholesky_inverse, self, upper)
    return None if X is None else (X,)


def _solve(function: str, operation: str, A, B, flags: int):
    """X, for a factor A and right-hand sides B."""
    if A.dim() < 2 or B.dim() < 2:
        return None
    if A.is_conj() and operation != "cholesky_solve":
        A, flags = A.conj(), flags ^ _native.FLAG_CONJUGATE
    A, B = _plain(A), _plain(B)

    def native(A, described):
        return _kernels_solve.solve(operation, A, B, described, describe(B), flags)

    return _compute(function, native, A)


def _solve_triangular(self, B, *, upper, left=True, unitriangular=False):
    flags = triangular_flags(upper, left, unitriangular, False, False)
    X = _solve("solve_triangular", "solve_triangular", self, B, flags)
    return None if X is None else (X,)


def _cholesky_solve_helper(self, A, upper):
    flags = triangular_flags(upper, True, False, False, False)
    X = _solve("cholesky_solve", "cholesky_solve", A, self, flags)
    return None if X is None else (X,)


def _triangular_solve(self, A, upper=True, transpose=False, unitriangular=False):
    _warn_as_torch("triangular_solve", self, A)
    flags = triangular_flags(upper, True, unitriangular, transpose, False)
    X = _solve("triangular_solve", "solve_triangular", A, self, flags)
    if X is None:
        return None
    return X, column_major_copy(A, X.shape[:-2])


_warned: set[str] = set()


def _warn_as_torch(name: str, *tensors: torch.Tensor) -> None:
    """Torch's own warning that an operation is deprecated: once, from the kernel that gives it."""
    if name in _warned:
        return
    _warned.add(name)
    key = "CPU" if tensors[0].is_cpu else "CUDA"
    ones = [torch.ones(1, 1, dtype=torch.float32, device=x.device) for x in tensors]
    keyset = torch._C._dispatch_keys(ones[0])
    _torch_kernels[name, key].call_boxed(keyset, *ones)


def _check_errors(info, api_name, *, is_matrix):
    """Of what is served, nothing is read back with check_errors=False."""
    served = api_name.removeprefix("linalg.").removesuffix("_ex") in _serving
    return () if served and not _checks else None


_FUNCTIONAL = {
    "linalg_qr": _qr,
    "_linalg_eigh": _eigh,
    "_linalg_svd": _svd,
    "linalg_cholesky_ex": _cholesky_ex,
    "cholesky": _cholesky,
    "_cholesky_solve_helper": _cholesky_solve_helper,
    "cholesky_inverse": _cholesky_inverse,
    "linalg_solve_triangular": _solve_triangular,
    "triangular_solve": _triangular_solve,
    "_linalg_check_errors": _check_errors,
}
# The arguments into which an `out` form writes.
_OUTS = {
    "linalg_qr.out": ("Q", "R"),
    "_linalg_eigh.eigenvalues": ("eigenvalues", "eigenvectors"),
    "_linalg_svd.U": ("U", "S", "Vh"),
    "linalg_cholesky_ex.L": ("L", "info"),
    "cholesky.out": ("out",),
    "cholesky_inverse.out": ("out",),
    "linalg_solve_triangular.out": ("out",),
    "triangular_solve.X": ("X", "M"),
}


def _override(name: str) -> Callable:
    """The kernel of an operation without `out`."""
    compute = _FUNCTIONAL[name]

    def kernel(keyset, *args, **kwargs):
        results = compute(*args, **kwargs)
        if results is None:
            return _onward(name, keyset, args[0].device, *args, **kwargs)
        return results[0] if len(results) == 1 else results or None

    return kernel


# An empty `out` becomes row-major there.
_NEVER_RESIZED = ("cholesky.out",)


def _fits(name: str, outs, results) -> bool:
    """Whether results may be copied into outs, none of them resized with a warning."""
    return all(
        out.dtype == result.dtype
        and out.device == result.device
        and (out.shape == result.shape or (out.numel() == 0 and name not in _NEVER_RESIZED))
        for out, result in zip(outs, results, strict=True)
    )


def _override_out(name: str) -> Callable:
    """The kernel of an operation that writes into its arguments."""
    compute, names = _FUNCTIONAL[name.split(".")[0]], _OUTS[name]

    def kernel(keyset, *args, **kwargs):
        inputs = {key: value for key, value in kwargs.items() if key not in names}
        outs = tuple(kwargs[each] for each in names)
        results = compute(*args, **inputs)
        if results is None or not _fits(name, outs, results):
            return _onward(name, keyset, args[0].device, *args, **kwargs)
        fill_outs(results, outs)
        return outs[0] if len(outs) == 1 else outs

    return kernel


def _register(functions: frozenset[str], check_errors: bool) -> torch.library.Library:
    names = {name for function in functions for name in _OPERATIONS[function]}
    if not check_errors:
        names.add("_linalg_check_errors")
    library = torch.library.Library("aten", "IMPL")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that kernels of torch are overridden is what is asked for
        for name in sorted(names):
            override = _override_out(name) if name in _OUTS else _override(name)
            for key in _KEYS:
                if not _has_kernel(name, key):
                    continue
                _torch_kernels[name, key] = torch.library.get_kernel(f"aten::{name}", key)
                library.impl(name, override, key, with_keyset=True)
    return library


def _has_kernel(name: str, key: str) -> bool:
    if key == "CUDA" and torch.version.cuda is None and torch.version.hip is None:
        return False
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    return has(f"aten::{name}", key) or has(f"aten::{name}", "CompositeExplicitAutograd")


def _remove() -> None:
    global _library, _serving
    if _library is not None:
        _library._destroy()
    _library, _serving = None, frozenset()


def install(functions: Iterable[str] | None = None, *, check_errors: bool = True) -> None:
    """Lets lanepack serve torch.linalg itself, in the whole process, until `uninstall`.

    functions: names out of qr, eigh, eigvalsh, svd, svdvals, cholesky, cholesky_solve,
    cholesky_inverse, solve_triangular and triangular_solve; None: all. torch.linalg's functions of
    these names, torch's older ones, the tensor methods and what torch builds on them
    (pinv, matrix_rank, cond, lobpcg, MultivariateNormal, ...) then run on lanepack's kernels, with
    torch's defaults, results, strides, derivatives and errors. The kernels are overridden below
    autograd; an input that lanepack does not serve goes to the kernel that torch had.

    check_errors=True: a matrix that cannot be decomposed raises torch.linalg.LinAlgError, as in
    torch, which on CUDA waits for the device. False: it gives NaN for itself, and nothing waits.

    A second call with the same arguments changes nothing, one with others replaces the first.
    Torch changes its table of kernels without a lock for those who read it: no other thread may be
    in torch.linalg while what is served changes.

    Raises ArgumentError for an unknown name, RuntimeError where torch has no
    `torch.library.get_kernel` (PyTorch 2.9 and later have it).
    """
    global _library, _serving, _checks
    if isinstance(functions, str):
        raise ArgumentError(
            f"lanepack.install: functions is the text {functions!r}; it must be a list of names"
        )
    if functions is not None and not isinstance(functions, Iterable):
        raise ArgumentError(
            f"lanepack.install: functions is {functions!r}; it must be a list of names"
        )
    names = list(FUNCTIONS if functions is None else functions)
    unknown = sorted(str(name) for name in names if name not in FUNCTIONS)
    if unknown:
        raise ArgumentError(
            f"lanepack.install: functions names {', '.join(unknown)}; it may name "
            f"{', '.join(FUNCTIONS)}"
        )
    if not hasattr(torch.library, "get_kernel"):
        raise RuntimeError(
            f"lanepack.install: PyTorch {torch.__version__} has no torch.library.get_kernel, by "
            "which what lanepack does not serve goes on to torch's kernels; PyTorch 2.9 and later "
            "have it"
        )
    wanted = frozenset(names)
    with _lock:
        if _library is not None and wanted == _serving and bool(check_errors) == _checks:
            return
        _remove()
        if not wanted:
            return
        _checks = bool(check_errors)
        _library = _register(wanted, _checks)
        _serving = wanted


def uninstall() -> None:
    """Gives torch.linalg back its own kernels. Where nothing is installed it does nothing."""
    with _lock:
        _remove()


def installed() -> tuple[str, ...]:
    """The names of the functions that `install` has lanepack serve; empty without."""
    return tuple(name for name in FUNCTIONS if name in _serving)
