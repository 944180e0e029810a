# SPDX-License-Identifier: Apache-2.0
"""The native calls on CUDA tensors.

They go to torch's current stream of the tensor's device, and nothing waits. Results come from
torch's allocator under that same stream, so that it need not be told of their use
(`record_stream`): memory that is freed while the work is queued is given to later work of the same
stream alone. A CUDA graph that is being captured records the launches, once the kernels are
loaded (`lanepack.warmup`).

What the library has no kernel for, or cannot run on this machine, `_vendor` serves.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch

from . import _native, _routing, _vendor, _vendor_solves
from ._arguments import DRIVERS, QR_MODES, UPLO_UPPER
from ._errors import ArgumentError
from ._layout import row_major_strides
from ._plans import (
    NO_ELEMENTS,
    NOTHING,
    Output,
    describe,
    input_tail,
    keep,
    matrix_output,
    served,
    vector_output,
)

_empty_strided = torch.empty_strided
_routing_mode = _routing.get_mode
_index_of = torch.Tensor.get_device
# Missing in a torch that was built without CUDA, which has no CUDA tensors either.
_current_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)


class _Slot(NamedTuple):
    """One output of a C struct."""

    output: Output
    dtype: torch.dtype
    wanted: bool  # by the C function
    returned: bool  # to the caller: qr's Q of mode "r" is, and is not computed


class _Plan(NamedTuple):
    native: Callable[[bytes], int]
    pack: Callable[..., bytes]
    operation: str  # of the C function
    head: bytes
    tail: bytes  # of A
    collapses: bool
    slots: tuple[_Slot, ...]
    workspace: list[int]  # bytes; one entry, renewed when the library wants more


# By the number of outputs.
_ARGUMENTS = {
    1: _native.CUDA_ARGS_OF_TWO,
    2: _native.CUDA_ARGS_OF_THREE,
    3: _native.CUDA_ARGS_OF_FOUR,
}
_plans: dict[tuple, _Plan] = {}


def _slots_of(name: str, shape: tuple[int, ...], dtype: torch.dtype, variant: tuple) -> tuple:
    """The outputs of a call, as its C struct orders them; None if it is not of a served kind."""
    *batch, m, n = shape
    k = min(m, n)
    real = _native.REAL_DTYPES[dtype]
    nothing = _Slot(NOTHING, dtype, False, False)
    if name == "cholesky":
        return None if m != n else (_Slot(matrix_output(tuple(shape)), dtype, True, True),)
    if name == "qr":
        (mode,) = variant
        if mode not in QR_MODES:
            return None
        inner = m if mode == "complete" else k
        Q = NOTHING if mode == "r" else matrix_output((*batch, m, inner))
        return (
            _Slot(Q, dtype, mode != "r", True),
            _Slot(matrix_output((*batch, inner, n)), dtype, True, True),
        )
    if name in ("eigh", "eigvalsh"):
        (UPLO,) = variant
        if m != n or UPLO not in UPLO_UPPER:
            return None
        values = _Slot(vector_output((*batch, n)), real, True, True)
        vectors = _Slot(matrix_output(tuple(shape)), dtype, True, True)
        return values, vectors if name == "eigh" else nothing
    *full, driver = variant
    if driver not in DRIVERS:
        return None
    values = _Slot(vector_output((*batch, k)), real, True, True)
    if name == "svdvals":
        return nothing, values, nothing
    U = matrix_output((*batch, m, m if full[0] else k))
    Vh = matrix_output((*batch, n if full[0] else k, n))
    return _Slot(U, dtype, True, True), values, _Slot(Vh, dtype, True, True)


def _make_plan(key: tuple) -> _Plan | None:
    name, shape, strides, dtype, variant, index, routing = key
    if not served(shape, dtype):
        return None
    slots = _slots_of(name, tuple(shape), dtype, variant)
    if slots is None:
        return None
    flags = 0
    if name == "cholesky":
        flags = _native.FLAG_UPPER if variant[0] else 0
    elif name in ("eigh", "eigvalsh"):
        flags = _native.FLAG_UPPER if UPLO_UPPER[variant[0]] else 0
    elif name in ("svd", "svdvals"):
        flags = _native.FLAG_JACOBI if variant[-1] == "jacobi" else 0
    operation = {"eigvalsh": "eigh", "svdvals": "svd"}.get(name, name)
    args = _ARGUMENTS[len(slots)]
    head = _native.cuda_call_head(1 + len(slots), dtype, index, routing, flags)
    native = getattr(_native, operation)
    plan = _Plan(
        native, args.pack, operation, head, *input_tail(shape, strides), slots, [0]
    )  # fmt: skip
    return keep(_plans, key, plan)


def _run(name, A, described, variant, want_info):
    pointer, shape, strides, dtype = described
    index = _index_of(A)
    key = (name, shape, strides, dtype, variant, index, _routing_mode()[0])
    plan = _plans.get(key) or _make_plan(key)
    if plan is None:
        return None
    if _problem is not None and _unready():
        return _run_vendor(name, A, variant, want_info)
    native, pack, _, head, tail, collapses, slots, workspace = plan
    if not collapses:
        A = A.contiguous()
        return _run(name, A, describe(A), variant, want_info)
    device = A.device
    results = []
    arguments = [pointer or NO_ELEMENTS, tail]
    for (out_shape, out_strides, out_tail), out_dtype, wanted, returned in slots:
        address = 0
        if returned:
            out = _empty_strided(out_shape, out_strides, dtype=out_dtype, device=device)
            results.append(out)
            if wanted:
                address = out.data_ptr() or NO_ELEMENTS
        arguments.append(address)
        arguments.append(out_tail)
    info_address = 0
    if want_info:
        info_shape = shape[:-2]
        info_strides = row_major_strides(info_shape)
        info = _empty_strided(info_shape, info_strides, dtype=torch.int32, device=device)
        info_address = info.data_ptr()
        results.append(info)
    bytes_ = workspace[0]
    scratch = None if bytes_ == 0 else torch.empty(bytes_, dtype=torch.uint8, device=device)
    status = native(
        pack(
            head, _current_stream(index), 0 if scratch is None else scratch.data_ptr(), bytes_,
            info_address, *arguments,
        )
    )  # fmt: skip
    if not status:
        return tuple(results)
    del results, scratch
    text = _native.last_error()
    if status == _native.STATUS_WORKSPACE_TOO_SMALL:
        wanted_bytes = _workspace(plan, arguments)
        if wanted_bytes > bytes_:
            workspace[0] = wanted_bytes
            return _run(name, A, described, variant, want_info)
    if _goes_to_vendor(status, text):
        return _run_vendor(name, A, variant, want_info)
    _native.raise_status(status)


def _run_vendor(name, A, variant, want_info):
    if name != "cholesky":
        return _vendor.run(name, A, variant, want_info)
    results = _vendor_solves.cholesky(A, *variant)
    return results if want_info else results[:1]


def _workspace(plan: _Plan, arguments: list) -> int:
    packed = plan.pack(plan.head, 0, 0, 0, 0, *arguments)
    return _native.workspace_bytes(plan.operation, packed)


def _goes_to_vendor(status: int, text: str) -> bool:
    """Whether torch's routine takes a call that the library did not; warns where it could have."""
    forced = os.environ.get("LANEPACK_FORCE")
    if forced and forced != "vendor":
        return False
    if status == _native.STATUS_UNAVAILABLE:
        _warn(text)
    return bool(forced) or status in (_native.STATUS_UNSUPPORTED, _native.STATUS_UNAVAILABLE)


# The functions below take what those of `_kernels` take, and give the same.


def qr(A, described, mode, want_info):
    return _run("qr", A, described, (mode,), want_info)


def eigh(A, described, UPLO, want_info):
    return _run("eigh", A, described, (UPLO,), want_info)


def eigvalsh(A, described, UPLO, want_info):
    return _run("eigvalsh", A, described, (UPLO,), want_info)


def svd(A, described, full, driver, want_info):
    return _run("svd", A, described, (full, driver), want_info)


def cholesky(A, described, upper, want_info):
    return _run("cholesky", A, described, (upper,), want_info)


def svdvals(A, described, driver, want_info):
    return _run("svdvals", A, described, (driver,), want_info)


def route(operation, m, n, batch, *, flags=0, **arguments) -> str:
    """The identifier of what serves a problem on a CUDA device: 'vendor' and 'host' among them.

    'vendor' is cuSOLVER, called by the library ("eigh.vendor") or by torch.
    """
    if operation == "cholesky_inverse":  # that of the identity
        operation = "cholesky_solve"
    if _problem is not None and _unready():
        return _vendor.route(operation, flags)
    try:
        found = _native.route(
            operation, m, n, batch, threads=1, flags=flags, device=_native.DEVICE_CUDA, **arguments
        )
        return "vendor" if found.endswith(".vendor") else found
    except (NotImplementedError, ArgumentError):
        forced = os.environ.get("LANEPACK_FORCE")
        if forced and forced != "vendor":
            raise
        return _vendor.route(operation, flags)


# ---- what this machine has ----

# Why the library's kernels cannot run here, None where they can; `_UNKNOWN` until the first call.
_UNKNOWN = "not looked for yet"
_problem: str | None = _UNKNOWN
_warned: set[str] = set()


def _warn(problem: str) -> None:
    """One warning for each reason."""
    problem = problem.split("\n", 1)[0]
    if problem in _warned:
        return
    _warned.add(problem)
    warnings.warn(
        f"lanepack: {problem}; torch's own routines serve these CUDA tensors",
        RuntimeWarning,
        stacklevel=6,
    )


def _unready() -> bool:
    """Looks what there is at the first call; True, with one warning, where kernels cannot run."""
    global _problem
    if _problem is _UNKNOWN:
        _problem = problem()
    if _problem is None:
        return False
    _warn(_problem)
    return True


def problem() -> str | None:
    """Why the library's kernels cannot run on this machine's CUDA devices; None: they can."""
    if torch.version.hip is not None:
        return "this torch is built for ROCm, for which lanepack has no kernels"
    state = _native.cuda_describe()
    if state.driver_version and not state.compiler_version:
        load_nvrtc()
        state = _native.cuda_describe()
    return state.problem or None


def load_nvrtc() -> Path | None:
    """Loads the NVRTC of torch's CUDA packages, which the library then finds in the process.

    None where there is none. LANEPACK_NVRTC_LIBRARY names another.
    """
    for folder in _package_folders():
        found = sorted(folder.glob("libnvrtc.so.*"))
        if not found:
            continue
        try:
            # It looks for its builtins by name alone: what is loaded is found wherever it lies.
            for builtins in sorted(folder.glob("libnvrtc-builtins.so.*")):
                ctypes.CDLL(str(builtins))
            ctypes.CDLL(str(found[-1]))
        except OSError:
            continue
        return found[-1]
    return None


def _package_folders() -> list[Path]:
    """Where NVIDIA's wheels and torch's own put libraries; of torch's CUDA release first."""
    roots = []
    spec = importlib.util.find_spec("nvidia")
    if spec is not None and spec.submodule_search_locations:
        roots += [Path(root) for root in spec.submodule_search_locations]
    folders = [folder for root in roots for folder in sorted(root.glob("*/lib"))]
    major = (torch.version.cuda or "").split(".")[0]
    folders.sort(key=lambda folder: folder.parent.name != f"cu{major}")
    return [*folders, Path(torch.__file__).parent / "lib"]
