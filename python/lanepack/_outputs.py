# SPDX-License-Identifier: Apache-2.0
"""Results as users get them: bad matrices reported, `out=` filled."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from . import _native
from ._errors import ArgumentError


def raise_bad_matrix(info: torch.Tensor, function: str) -> None:
    """Raises torch.linalg.LinAlgError for the first matrix whose info is positive.

    The text starts with the name of torch's function and counts batch elements as torch does: in
    row-major order over all batch dimensions.
    """
    flat = info.reshape(-1)
    bad = flat != 0
    if not bool(bad.any()):
        return
    element = int(bad.to(torch.uint8).argmax())
    code = int(flat[element])
    place = "" if info.dim() == 0 else f"(Batch element {element}): "
    if code == _native.INFO_NOT_FINITE:
        reason = "The input matrix contains NaN or Inf."
    else:
        number = "" if code == _native.INFO_NO_CONVERGENCE else f" (error code: {code})"
        reason = f"The algorithm failed to converge{number}."
    raise torch.linalg.LinAlgError(f"linalg.{function}: {place}{reason}")


def check_outs(out, names: Sequence[str], A: torch.Tensor, function: str) -> tuple:
    """`out` as a tuple of tensors, checked as far as it can be before the work."""
    outs = (out,) if len(names) == 1 and isinstance(out, torch.Tensor) else tuple(out)
    if len(outs) != len(names) or not all(isinstance(each, torch.Tensor) for each in outs):
        wanted = "a tensor" if len(names) == 1 else f"a tuple of {len(names)} tensors"
        raise TypeError(
            f"lanepack.{function}: out is {type(out).__name__}; it must be {wanted} "
            f"({', '.join(names)})"
        )
    if torch.is_grad_enabled() and (A.requires_grad or any(each.requires_grad for each in outs)):
        raise RuntimeError(
            f"lanepack.{function}: functions with out=... arguments don't support automatic "
            "differentiation, but one of the arguments requires grad."
        )
    for name, each in zip(names, outs, strict=True):
        if each.device != A.device:
            raise ArgumentError(
                f"lanepack.{function}: out {name} is on {each.device}; it must be on {A.device}, "
                "as A is"
            )
    return outs


def check_out_dtype(name: str, out: torch.Tensor, dtype: torch.dtype, function: str) -> None:
    if out.dtype != dtype:
        raise ArgumentError(
            f"lanepack.{function}: Expected out tensor to have dtype {dtype}, but got "
            f"{out.dtype} instead (out {name})"
        )


def fill_outs(results: Sequence[torch.Tensor], outs: Sequence[torch.Tensor]) -> None:
    """Copies results into `outs`. One of another shape is resized as torch does: with its warning
    unless it is empty, and to the strides that the result has."""
    for result, out in zip(results, outs, strict=True):
        if out.shape != result.shape:
            torch.ops.aten._resize_output_(out, result.shape, out.device)
            out.as_strided_(result.shape, result.stride())
        out.copy_(result)
