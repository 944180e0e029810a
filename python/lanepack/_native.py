# SPDX-License-Identifier: Apache-2.0
"""The C library: found, loaded, called.

ctypes releases the GIL for the length of a call. A struct is packed into a new bytes object for
each call, so that any number of threads may call at once.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from pathlib import Path
from typing import NamedTuple, NoReturn

# libtorch_cpu carries the LAPACK that the library looks for among what the process has loaded.
import torch

from ._errors import ArgumentError

ABI_VERSION = 2

_STATUS_OK = 0
_STATUS_INVALID_ARGUMENT = 1
STATUS_UNSUPPORTED = 2
_STATUS_OUT_OF_MEMORY = 3
STATUS_WORKSPACE_TOO_SMALL = 4
STATUS_UNAVAILABLE = 6

DTYPES = {torch.float32: 0, torch.float64: 1, torch.complex64: 2, torch.complex128: 3}
REAL_DTYPES = {
    torch.float32: torch.float32,
    torch.float64: torch.float64,
    torch.complex64: torch.float32,
    torch.complex128: torch.float64,
}
DEVICES = {"cpu": 0, "cuda": 1}
DEVICE_CPU = DEVICES["cpu"]
DEVICE_CUDA = DEVICES["cuda"]
FLAG_UPPER = 1
FLAG_JACOBI = 2
FLAG_RIGHT = 4
FLAG_TRANSPOSE = 8
FLAG_CONJUGATE = 16
FLAG_UNIT_DIAGONAL = 32
OPERATIONS = {
    "qr": 0,
    "eigh": 1,
    "eigvalsh": 2,
    "svd": 3,
    "svdvals": 4,
    "cholesky": 5,
    "solve_triangular": 6,
    "cholesky_solve": 7,
    "cholesky_inverse": 8,
}
# Of which the library has a function of the same name, the others being forms of them.
_FUNCTIONS = (
    "qr", "eigh", "svd", "cholesky", "solve_triangular", "cholesky_solve", "cholesky_inverse",
)  # fmt: skip

INFO_NOT_FINITE = 2**31 - 1
INFO_NO_CONVERGENCE = 2**31 - 2

# lanepack_call up to `info`: struct_size, dtype, device, device_index, threads, routing, flags,
# stream, workspace, workspace_bytes.
CALL_HEAD = struct.Struct("=q5iI2Qq")
# lanepack_batch behind `data`: rows, cols, batch, row_stride, col_stride, batch_stride.
BATCH_TAIL = struct.Struct("=6q")
_CALL_BYTES = CALL_HEAD.size + 8
_BATCH_BYTES = BATCH_TAIL.size + 8
# A whole struct with its constant parts already packed: only the addresses vary from call to call.
ARGS_OF_TWO = struct.Struct(f"={CALL_HEAD.size}sQ" + "Q48s" * 2)
ARGS_OF_THREE = struct.Struct(f"={CALL_HEAD.size}sQ" + "Q48s" * 3)
ARGS_OF_FOUR = struct.Struct(f"={CALL_HEAD.size}sQ" + "Q48s" * 4)
# The same for CUDA: behind the constants of lanepack_call stand stream, workspace, its bytes, info.
CUDA_HEAD = struct.Struct("=q5iI")
CUDA_ARGS_OF_TWO = struct.Struct(f"={CUDA_HEAD.size}sQQqQ" + "Q48s" * 2)
CUDA_ARGS_OF_THREE = struct.Struct(f"={CUDA_HEAD.size}sQQqQ" + "Q48s" * 3)
CUDA_ARGS_OF_FOUR = struct.Struct(f"={CUDA_HEAD.size}sQQqQ" + "Q48s" * 4)
_PROBLEM = struct.Struct("=q6iIi3q")
_CUDA_STATE = struct.Struct("=q4i512s512s256s")


def _candidates() -> list[Path]:
    override = os.environ.get("LANEPACK_LIBRARY")
    if override:
        return [Path(override)]
    # An editable install has its sources and what was built in two folders, both in __path__.
    folders = sys.modules[__package__].__path__
    names = (
        ("liblanepack.dylib", "liblanepack.so") if sys.platform == "darwin" else ("liblanepack.so",)
    )
    return [Path(folder) / name for folder in folders for name in names]


def _load() -> ctypes.CDLL:
    candidates = _candidates()
    path = next((candidate for candidate in candidates if candidate.is_file()), None)
    if path is None:
        looked = ", ".join(str(candidate) for candidate in candidates)
        raise ImportError(
            f"lanepack: its library was not found (looked for {looked}); install the package, or "
            "name a built library in LANEPACK_LIBRARY"
        )
    try:
        loaded = ctypes.CDLL(str(path))
    except OSError as error:
        raise ImportError(f"lanepack: {path} cannot be loaded: {error}") from error
    try:
        version = loaded.lanepack_abi_version
    except AttributeError:
        raise ImportError(f"lanepack: {path} is not lanepack's library") from None
    version.restype = ctypes.c_int32
    if version() != ABI_VERSION:
        raise ImportError(
            f"lanepack: {path} has ABI {version()}; this package needs {ABI_VERSION}: "
            "the library and the package are of different releases"
        )
    return loaded


def _declare(loaded: ctypes.CDLL) -> None:
    text = ctypes.c_char_p
    for name in ("version", "last_error", "cpu_target", "lapack_name"):
        function = getattr(loaded, f"lanepack_{name}")
        function.argtypes, function.restype = [], text
    loaded.lanepack_policy_names.argtypes = [text, ctypes.c_int32]
    loaded.lanepack_policy_names.restype = text
    for name in _FUNCTIONS:
        getattr(loaded, f"lanepack_{name}").argtypes = [text]
        workspace = getattr(loaded, f"lanepack_{name}_workspace")
        workspace.argtypes = [text, ctypes.POINTER(ctypes.c_int64)]
    loaded.lanepack_cuda_describe.argtypes = [text]
    loaded.lanepack_route.argtypes = [text, text, ctypes.c_int64]
    loaded.lanepack_policy_set.argtypes = [text, ctypes.c_int32, text, ctypes.c_int64]
    loaded.lanepack_policy_get.argtypes = [
        text, ctypes.c_int32, text, ctypes.POINTER(ctypes.c_int64),
    ]  # fmt: skip
    loaded.lanepack_policy_reset.argtypes = [text, ctypes.c_int32]


_library = _load()
_declare(_library)

# Each takes one packed struct and returns a status.
qr = _library.lanepack_qr
eigh = _library.lanepack_eigh
svd = _library.lanepack_svd
cholesky = _library.lanepack_cholesky
solve_triangular = _library.lanepack_solve_triangular
cholesky_solve = _library.lanepack_cholesky_solve
cholesky_inverse = _library.lanepack_cholesky_inverse


def last_error() -> str:
    """The text of this thread's last error."""
    return _library.lanepack_last_error().decode(errors="replace")


def raise_status(status: int) -> NoReturn:
    """Raises what a status other than OK stands for, with the library's text."""
    text = last_error()
    if status == _STATUS_INVALID_ARGUMENT:
        raise ArgumentError(text)
    if status == STATUS_UNSUPPORTED:
        raise NotImplementedError(text)
    if status == _STATUS_OUT_OF_MEMORY:
        raise MemoryError(text)
    raise RuntimeError(text or f"lanepack: status {status}")


def _check(status: int) -> None:
    if status != _STATUS_OK:
        raise_status(status)


def call_head(operands: int, dtype: torch.dtype, threads: int, routing: int, flags: int) -> bytes:
    """The constant part of lanepack_call, of a struct with that many batches."""
    size = _CALL_BYTES + operands * _BATCH_BYTES
    return CALL_HEAD.pack(size, DTYPES[dtype], DEVICE_CPU, 0, threads, routing, flags, 0, 0, 0)


def cuda_call_head(
    operands: int, dtype: torch.dtype, index: int, routing: int, flags: int
) -> bytes:
    """The constant part of lanepack_call for a CUDA device, up to the stream."""
    size = _CALL_BYTES + operands * _BATCH_BYTES
    return CUDA_HEAD.pack(size, DTYPES[dtype], DEVICE_CUDA, index, 1, routing, flags)


def workspace_bytes(operation: str, args: bytes) -> int:
    """Device memory that a call with this struct needs besides its arguments."""
    value = ctypes.c_int64()
    function = getattr(_library, f"lanepack_{operation}_workspace")
    _check(function(args, ctypes.byref(value)))
    return value.value


class CudaState(NamedTuple):
    """What calls on CUDA devices find: see lanepack_cuda_state in the header."""

    device_count: int
    driver_version: int
    compiler_version: int
    compiler: str
    cache: str
    problem: str


def cuda_describe() -> CudaState:
    """Looks for the driver and NVRTC; starts no device."""
    state = ctypes.create_string_buffer(_CUDA_STATE.pack(_CUDA_STATE.size, *[0] * 4, *[b""] * 3))
    _check(_library.lanepack_cuda_describe(state))
    _, devices, driver, compiler, _, *texts = _CUDA_STATE.unpack(state.raw[: _CUDA_STATE.size])
    texts = [text.split(b"\0", 1)[0].decode(errors="replace") for text in texts]
    return CudaState(devices, driver, compiler, *texts)


def route(
    operation: str,
    m: int,
    n: int,
    batch: int,
    *,
    dtype: torch.dtype,
    threads: int,
    routing: int,
    flags: int = 0,
    full: bool = False,
    device: int = DEVICE_CPU,
    device_index: int = 0,
) -> str:
    """The identifier of the algorithm that the problem takes."""
    problem = _PROBLEM.pack(
        _PROBLEM.size, OPERATIONS[operation], DTYPES[dtype], device, device_index, threads, routing,
        flags, full, m, n, batch,
    )  # fmt: skip
    identifier = ctypes.create_string_buffer(128)
    _check(_library.lanepack_route(problem, identifier, len(identifier)))
    return identifier.value.decode()


def policy_names(family: str, device: int = DEVICE_CPU) -> list[str]:
    names = _library.lanepack_policy_names(family.encode(), device)
    return names.decode().split() if names else []


def policy_get(family: str, name: str, device: int = DEVICE_CPU) -> int:
    value = ctypes.c_int64()
    _check(
        _library.lanepack_policy_get(family.encode(), device, name.encode(), ctypes.byref(value))
    )
    return value.value


def policy_set(family: str, name: str, value: int, device: int = DEVICE_CPU) -> None:
    if not -(2**63) <= value < 2**63:  # ctypes would cut it
        raise ArgumentError(f"lanepack: {name} is {value}; it must be from 0 to 2147483647")
    _check(_library.lanepack_policy_set(family.encode(), device, name.encode(), value))


def policy_reset(family: str, device: int = DEVICE_CPU) -> None:
    _check(_library.lanepack_policy_reset(family.encode(), device))


def version() -> str:
    return _library.lanepack_version().decode()


def cpu_target() -> str:
    """The instruction set of the lanes: "avx512", "avx2", "baseline" or "neon"."""
    return _library.lanepack_cpu_target().decode()


def lapack_name() -> str:
    """The LAPACK found in this process; "" if there is none."""
    return _library.lanepack_lapack_name().decode()
