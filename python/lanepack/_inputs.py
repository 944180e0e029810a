# SPDX-License-Identifier: Apache-2.0
"""What users pass: converted, checked, and looked at for the direct path."""

from __future__ import annotations

import torch
from torch.autograd import forward_ad

from ._errors import ArgumentError
from ._native import DTYPES

_Tensor = torch.Tensor
_Parameter = torch.nn.Parameter
_is_compiling = torch.compiler.is_dynamo_compiling
_is_grad_enabled = torch.is_grad_enabled
_function_modes = torch._C._len_torch_function_stack
_dispatch_modes = torch._C._len_torch_dispatch_stack
_functorch_level = torch._C._functorch.maybe_current_level
_tracing_state = torch._C._get_tracing_state
_profiling = torch._C._autograd._profiler_enabled

_HALF_DTYPES = (torch.float16, torch.bfloat16)
_SERVED = "float32, float64, complex64 or complex128, or one that converts to them"


def plain(A, recorded=False):
    """(address, shape, strides, dtype) if A may go past torch's dispatcher; None otherwise.

    It may when nothing would see the call: no compiler, tracer, mode, functorch transform,
    derivative or profiler; A's memory holds its values (no conjugate or negative bit) on the CPU or
    a CUDA device.
    recorded: the same for an A whose gradient is wanted, and None if it is not.
    """
    # This stands first, since Dynamo must not follow the rest; other tracers are dispatch modes.
    if _is_compiling():
        return None
    kind = type(A)
    if (
        (kind is not _Tensor and kind is not _Parameter)
        or not (A.is_cpu or A.is_cuda)
        or (A.requires_grad and _is_grad_enabled()) is not recorded
        or _dispatch_modes()
        or _function_modes()
        or _functorch_level() is not None
        or forward_ad._current_level >= 0
        or _tracing_state() is not None
        or _profiling()
        or A.is_neg()
    ):
        return None
    dtype = A.dtype
    if dtype.is_complex and A.is_conj():
        return None
    try:
        address, shape, strides = A.data_ptr(), A.shape, A.stride()
    except RuntimeError:  # sparse, nested and opaque layouts
        return None
    if not address and A.numel():  # a tensor of zeros without memory, or one whose memory was freed
        return None
    return address, shape, strides, dtype


def as_input(A, function: str, name: str = "A") -> torch.Tensor:
    """A as a tensor (..., m, n) of one of the four dtypes, on a device that is served."""
    if not isinstance(A, torch.Tensor):
        A = torch.as_tensor(A)
    if A.layout is not torch.strided or A.is_nested:
        layout = "nested" if A.is_nested else str(A.layout)
        raise ArgumentError(
            f"lanepack.{function}: {name} has layout {layout}; it must be a dense (strided) tensor"
        )
    if A.dim() < 2:
        raise ArgumentError(
            f"lanepack.{function}: {name} has shape {tuple(A.shape)}; it must have at least 2 "
            "dimensions, (..., m, n)"
        )
    check_device(A.device, function)
    dtype = A.dtype
    if dtype in DTYPES:
        return A
    if dtype in _HALF_DTYPES:
        return A.to(torch.float32)
    if dtype.is_floating_point or dtype.is_complex or A.is_quantized:
        raise TypeError(f"lanepack.{function}: {name} has dtype {dtype}; it must have {_SERVED}")
    default = torch.get_default_dtype()
    return A.to(torch.float32 if default in _HALF_DTYPES else default)


def check_device(device: torch.device, function: str) -> None:
    if device.type not in ("cpu", "cuda", "meta"):
        raise NotImplementedError(
            f"lanepack.{function}: A is on {device}; this release serves CPUs and CUDA devices "
            "(move the tensor with .cpu())"
        )
