# SPDX-License-Identifier: Apache-2.0
"""Which algorithm serves a problem, and the thresholds that decide it."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable, Mapping
from functools import lru_cache

import torch

from . import _cuda, _native, _routing
from ._arguments import as_shape, as_whole, check_driver, check_dtype, check_mode, check_size
from ._errors import ArgumentError
from ._layout import count

# The operations, and the family whose policy decides each.
FAMILIES = {
    "qr": "qr",
    "eigh": "eigh",
    "eigvalsh": "eigh",
    "svd": "svd",
    "svdvals": "svd",
    "cholesky": "cholesky",
    "solve_triangular": "solve",
    "cholesky_solve": "solve",
    "cholesky_inverse": "solve",
}
SQUARE = tuple(operation for operation in FAMILIES if operation not in ("qr", "svd", "svdvals"))

# (family, kind of device) that the user has changed in this process.
_changed: set[tuple[str, int]] = set()


def _torch_device(device, function: str) -> torch.device:
    try:
        return torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ArgumentError(
            f"lanepack.{function}: device is {device!r}; it must name one of torch's devices"
        ) from error


def _device(device, function: str) -> torch.device:
    """None means the accelerator if there is one, else the CPU; a tensor stands for its device."""
    if isinstance(device, torch.Tensor):
        return device.device
    if device is not None:
        found = _torch_device(device, function)
        if found.type == "cuda" and not torch.cuda.is_available():
            raise ArgumentError(f"lanepack.{function}: device is {found}; torch has no CUDA device")
        return found
    if torch.cuda.is_available():
        return torch.device("cuda", torch.cuda.current_device())
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def _served_device(device, function: str) -> torch.device:
    found = _device(device, function)
    if found.type not in _native.DEVICES:
        raise NotImplementedError(
            f"lanepack.{function}: device is {found}; this release serves CPUs and CUDA devices "
            "(pass device='cpu')"
        )
    return found


def _policy_device(device, function: str) -> int:
    """The kind of device whose policy is meant; it need not be there to have one."""
    if device is None or isinstance(device, torch.Tensor):
        return _native.DEVICES[_served_device(device, function).type]
    found = _torch_device(device, function)
    if found.type in _native.DEVICES:
        return _native.DEVICES[found.type]
    return _native.DEVICES[_served_device(device, function).type]


@lru_cache(maxsize=1)
def _cpu_model() -> str:
    """The processor's name without trade marks and clock, as "AMD EPYC"."""
    name = ""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("model name"):
                    name = line.split(":", 1)[1]
                    break
    except OSError:
        name = platform.processor()
    name = re.sub(r"\((R|TM|tm|r)\)|@.*|\bCPU\b|\bProcessor\b|\d+-Core\b", " ", name)
    return " ".join(name.split()) or platform.machine() or "CPU"


_TARGETS = {"avx512": "AVX-512", "avx2": "AVX2", "neon": "NEON"}


def device_name(device=None) -> str:
    """A device's name, such as 'AMD EPYC, 2 threads, AVX-512' or 'NVIDIA H200'.

    None means the accelerator if there is one, else the CPU; a tensor stands for its device. A
    CPU's threads are those that the process may run on.
    """
    found = _device(device, "device_name")
    if found.type == "cuda":
        return torch.cuda.get_device_name(found)
    if found.type != "cpu":
        return str(found)
    affinity = getattr(os, "sched_getaffinity", None)
    threads = len(affinity(0)) if affinity else os.cpu_count() or 1
    target = _native.cpu_target()
    unit = "thread" if threads == 1 else "threads"
    return f"{_cpu_model()}, {threads} {unit}, {_TARGETS.get(target, target)}"


def gpu_core_count(device=None) -> int:
    """A GPU's multiprocessors; 0 for a CPU."""
    found = _device(device, "gpu_core_count")
    if found.type == "cuda":
        return torch.cuda.get_device_properties(found).multi_processor_count
    if found.type == "mps":
        counter = getattr(torch.backends.mps, "get_core_count", None)
        return counter() if counter else 0
    return 0


def _operation(operation: str, function: str) -> str:
    if not isinstance(operation, str) or operation not in FAMILIES:
        raise ArgumentError(
            f"lanepack.{function}: the operation is {operation!r}; it must be one of "
            f"{', '.join(FAMILIES)}"
        )
    return operation


def _family(operation: str, function: str) -> str:
    if isinstance(operation, str) and operation in FAMILIES.values():
        return operation
    return FAMILIES[_operation(operation, function)]


def _route(operation, sizes, dtype, device, function, *, full=False, driver=None) -> str:
    """`sizes`: m, n and batch by the names that the function's user knows them by."""
    m, n, batch = (check_size(size, function, name) for name, size in sizes)
    check_dtype(dtype, function)
    found = _served_device(device, function)
    arguments = {
        "dtype": dtype,
        "routing": _routing.current(),
        "full": full,
        "flags": _native.FLAG_JACOBI if driver == "jacobi" else 0,
    }
    if found.type == "cuda":
        index = torch.cuda.current_device() if found.index is None else found.index
        return _cuda.route(operation, m, n, batch, device_index=index, **arguments)
    return _native.route(operation, m, n, batch, threads=torch.get_num_threads(), **arguments)


def _square(n, batch):
    return ("n", n), ("n", n), ("batch", batch)


def _general(m, n, batch):
    return ("m", m), ("n", n), ("batch", batch)


def backend(operation, n, batch=1, *, dtype=torch.float32, device=None) -> str:
    """The identifier of the algorithm that a batch of (n, n) matrices takes.

    It holds for the routing mode, thread count and policy in force. Such as
    'eigh.tridiagonal_ql.lanes': the text src/kernels/eigh/tridiagonal_ql_thread.simt.h on lanes.
    On CUDA 'vendor' is a routine of cuSOLVER's or cuBLAS's, and 'host' the CPU.
    """
    _operation(operation, "backend")
    return _route(operation, _square(n, batch), dtype, device, "backend")


def qr_backend(m, n, batch=1, *, mode="reduced", dtype=torch.float32, device=None) -> str:
    """The identifier of the algorithm that `qr` of (batch, m, n) takes."""
    check_mode(mode, "qr_backend")
    sizes = _general(m, n, batch)
    return _route("qr", sizes, dtype, device, "qr_backend", full=mode == "complete")


def eigh_backend(n, batch=1, *, dtype=torch.float32, device=None) -> str:
    """The identifier of the algorithm that `eigh` of (batch, n, n) takes."""
    return _route("eigh", _square(n, batch), dtype, device, "eigh_backend")


def eigvalsh_backend(n, batch=1, *, dtype=torch.float32, device=None) -> str:
    """The identifier of the algorithm that `eigvalsh` of (batch, n, n) takes."""
    return _route("eigvalsh", _square(n, batch), dtype, device, "eigvalsh_backend")


def svd_backend(
    m, n, batch=1, *, full_matrices=False, driver=None, dtype=torch.float32, device=None
) -> str:
    """The identifier of the algorithm that `svd` of (batch, m, n) takes."""
    check_driver(driver, "svd_backend")
    sizes = _general(m, n, batch)
    full = bool(full_matrices)
    return _route("svd", sizes, dtype, device, "svd_backend", full=full, driver=driver)


def svdvals_backend(m, n, batch=1, *, driver=None, dtype=torch.float32, device=None) -> str:
    """The identifier of the algorithm that `svdvals` of (batch, m, n) takes."""
    check_driver(driver, "svdvals_backend")
    return _route("svdvals", _general(m, n, batch), dtype, device, "svdvals_backend", driver=driver)


def cholesky_backend(n, batch=1, *, dtype=torch.float32, device=None) -> str:
    """The identifier of the algorithm that `cholesky` of (batch, n, n) takes."""
    return _route("cholesky", _square(n, batch), dtype, device, "cholesky_backend")


def solve_triangular_backend(n, batch=1, *, columns=1, dtype=torch.float32, device=None) -> str:
    """The identifier of the algorithm that `solve_triangular` takes: batch x (n, n), (n, columns).

    `cholesky_solve` and `cholesky_inverse` take the same.
    """
    sizes = ("columns", columns), ("n", n), ("batch", batch)
    return _route("solve_triangular", sizes, dtype, device, "solve_triangular_backend")


def policy(operation, device=None) -> dict[str, int]:
    """The named thresholds that route an operation, such as {'lanes_max_n': 64, ...}.

    CPUs and CUDA devices have thresholds of their own.
    """
    family = _family(operation, "policy")
    kind = _policy_device(device, "policy")
    names = _native.policy_names(family, kind)
    return {name: _native.policy_get(family, name, kind) for name in names}


def set_policy(operation, policy=None, /, *, device=None, **thresholds) -> None:
    """Changes the policy of an operation's family in this process.

    policy, a mapping as from `policy`, replaces it: what the mapping does not name goes back to
    the built-in value. Named thresholds override single values. Without either the built-in policy
    comes back. An unknown name is a TypeError that lists the names, and changes nothing.
    """
    family = _family(operation, "set_policy")
    kind = _policy_device(device, "set_policy")
    names = _native.policy_names(family, kind)
    if policy is not None and not isinstance(policy, Mapping):
        raise TypeError(
            f"lanepack.set_policy: policy is a {type(policy).__name__}; it must be a mapping of "
            "names to integers"
        )
    values = {**(policy or {}), **thresholds}
    for name, value in values.items():
        if name not in names:
            raise TypeError(
                f"lanepack.set_policy: {name!r} is no threshold of {family}; its names are "
                f"{', '.join(names)}"
            )
        values[name] = as_whole(value)
        if values[name] is None:
            raise TypeError(f"lanepack.set_policy: {name} is {value!r}; it must be an integer")
    before = {name: _native.policy_get(family, name, kind) for name in names}
    was_changed = (family, kind) in _changed
    if policy is not None or not thresholds:
        _native.policy_reset(family, kind)
        _changed.discard((family, kind))
    try:
        for name, value in values.items():
            _native.policy_set(family, name, value, kind)
    except Exception:
        for name, value in before.items():
            _native.policy_set(family, name, value, kind)
        if was_changed:
            _changed.add((family, kind))
        raise
    if values:
        _changed.add((family, kind))


def policy_source(operation, device=None) -> str:
    """Where an operation's policy comes from: 'user' or 'default'."""
    family = _family(operation, "policy_source")
    kind = _policy_device(device, "policy_source")
    return "user" if (family, kind) in _changed else "default"


def _of_family(function: Callable, family: str) -> Callable:
    """`function` with its first argument fixed, as qr_policy of policy."""

    def fixed(*args, **keywords):
        return function(family, *args, **keywords)

    prefix = "set_" if function is set_policy else ""
    suffix = "policy_source" if function is policy_source else "policy"
    fixed.__name__ = fixed.__qualname__ = f"{prefix}{family}_{suffix}"
    fixed.__doc__ = f'`lanepack.{function.__name__}("{family}", ...)`.'
    return fixed


qr_policy, eigh_policy, svd_policy, cholesky_policy, solve_policy = (
    _of_family(policy, name) for name in dict.fromkeys(FAMILIES.values())
)
set_qr_policy, set_eigh_policy, set_svd_policy, set_cholesky_policy, set_solve_policy = (
    _of_family(set_policy, name) for name in dict.fromkeys(FAMILIES.values())
)
(
    qr_policy_source,
    eigh_policy_source,
    svd_policy_source,
    cholesky_policy_source,
    solve_policy_source,
) = (_of_family(policy_source, name) for name in dict.fromkeys(FAMILIES.values()))


def explain(operation, *shape, dtype=torch.float32, device=None) -> str:
    """A short text: the route that a call on a tensor of this shape takes, why, by which policy.

    explain("eigh", 4096, 32, 32)
    """
    _operation(operation, "explain")
    sizes = as_shape(shape)
    if sizes is None:
        raise ArgumentError(
            f"lanepack.explain: the shape is {shape}; it must be at least two sizes, (..., m, n)"
        )
    *batch, m, n = shape = sizes
    if operation in SQUARE and m != n:
        raise ArgumentError(
            f"lanepack.explain: the shape is {shape}; {operation} takes square matrices, "
            "(..., n, n)"
        )
    matrices = count(batch)
    route = _route(operation, _general(m, n, matrices), dtype, device, "explain")
    found = _device(device, "explain")
    thresholds = ", ".join(f"{name}={value}" for name, value in policy(operation, found).items())
    lines = [
        f"{operation} of {matrices} x ({m}, {n}), {str(dtype).removeprefix('torch.')}: {route}"
    ]
    if found.type == "cuda":
        lines.append(f"  device   {device_name(found)}")
        reason = _cuda.problem()
        if reason:
            lines.append(f"  kernels  none can run: {reason}")
    else:
        lines.append(f"  device   {device_name(found)}; {torch.get_num_threads()} in use")
    lines.append(f"  routing  {_routing.routing()}")
    lines.append(f"  policy   {policy_source(operation, found)}: {thresholds}")
    if found.type == "cpu":
        lines.append(f"  LAPACK   {_native.lapack_name() or 'none found'}")
    return "\n".join(lines)
