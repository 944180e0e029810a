# SPDX-License-Identifier: Apache-2.0
"""What `lanepack info` prints: what was found on this machine."""

from __future__ import annotations

import os
import platform
from typing import Any

import torch

import lanepack

from . import _cuda, _native

_FAMILIES = ("qr", "eigh", "svd")
# A threshold without a suffix is that of float32.
_SUFFIXES = ("_f64", "_c64", "_c128")
_ENVIRONMENT = (
    "LANEPACK_CACHE_DIR",
    "LANEPACK_CPU",
    "LANEPACK_CUDA_LIBRARY",
    "LANEPACK_FORCE",
    "LANEPACK_LIBRARY",
    "LANEPACK_LOG",
    "LANEPACK_NVRTC_LIBRARY",
)


def _release(number: int) -> str | None:
    """13020 is 13.2."""
    return f"{number // 1000}.{number % 1000 // 10}" if number else None


def _cuda_devices() -> dict[str, Any]:
    """CUDA devices, and what their kernels need: driver, NVRTC, the folder of compiled kernels."""
    problem = _cuda.problem()  # first: it may load torch's NVRTC
    state = _native.cuda_describe()
    return {
        "devices": [
            torch.cuda.get_device_name(index)
            for index in range(torch.cuda.device_count() if torch.cuda.is_available() else 0)
        ],
        "driver": _release(state.driver_version),
        "nvrtc": _release(state.compiler_version),
        "nvrtc_library": state.compiler or None,
        "cache": state.cache or None,
        "problem": problem,
        "policies": {
            family: {
                "source": lanepack.policy_source(family, "cuda"),
                **lanepack.policy(family, "cuda"),
            }
            for family in _FAMILIES
        },
    }


def collect() -> dict[str, Any]:
    """Versions, library, devices, LAPACK and routing policies as a JSON-ready dict."""
    return {
        "version": lanepack.__version__,
        "library": _native._library._name,
        "abi": _native.ABI_VERSION,
        "device": lanepack.device_name("cpu"),
        "instruction_set": _native.cpu_target(),
        "threads": torch.get_num_threads(),
        "lapack": _native.lapack_name() or None,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "cuda": _cuda_devices(),
        "routing": lanepack.routing(),
        "policies": {
            family: {
                "source": lanepack.policy_source(family, "cpu"),
                **lanepack.policy(family, "cpu"),
            }
            for family in _FAMILIES
        },
        "environment": {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
    }


def _thresholds(policy: dict[str, Any]) -> str:
    """'lanes_max_n 150/96/96/64': a name once, its values for f32, f64, c64 and c128."""
    texts = []
    for name, value in policy.items():
        if name == "source" or name.endswith(_SUFFIXES):
            continue
        others = (policy[name + suffix] for suffix in _SUFFIXES if name + suffix in policy)
        texts.append(f"{name} {'/'.join(str(v) for v in (value, *others))}")
    return ", ".join(texts)


def text(found: dict[str, Any]) -> str:
    """The same for a reader."""
    lapack = found["lapack"] or "none: our own routines serve every size"
    lines = [
        ("lanepack", f"{found['version']} (ABI {found['abi']})"),
        ("library", found["library"]),
        ("device", found["device"]),
        ("lanes", found["instruction_set"]),
        ("threads", str(found["threads"])),
        ("LAPACK", lapack),
        ("torch", f"{found['torch']} on Python {found['python']}"),
        ("routing", found["routing"]),
    ]
    cuda = found["cuda"]
    lines += [("CUDA device", name) for name in cuda["devices"]]
    if cuda["problem"]:
        lines.append(("CUDA", f"no kernels of ours: {cuda['problem']}"))
    else:
        lines.append(("CUDA", f"driver {cuda['driver']}, NVRTC {cuda['nvrtc']}"))
        lines.append(("NVRTC", cuda["nvrtc_library"]))
        lines.append(("kernel cache", cuda["cache"] or "none: no folder can be used"))
        for family, policy in cuda["policies"].items():
            text = f"{policy['source']}: {_thresholds(policy)}"
            lines.append((f"{family} on CUDA", text))
    for family, policy in found["policies"].items():
        lines.append((f"{family} policy", f"{policy['source']}: {_thresholds(policy)}"))
    for name, value in found["environment"].items():
        lines.append((name, value))
    width = max(len(name) for name, _ in lines)
    return "\n".join(f"{name.ljust(width)}  {value}" for name, value in lines)
