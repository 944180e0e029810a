# SPDX-License-Identifier: Apache-2.0
"""Results as users get them: bad matrices reported, `out=` filled."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import torch

from . import _native
from ._errors import ArgumentError
from ._layout import column_major_strides


def _first_bad(info: torch.Tensor) -> tuple[int, str] | None:
    """The first info that is not zero, and where it stands in torch's words; None without one."""
    if not (info.item() if info.dim() == 0 else info.any().item()):
        return None
    if info.dim() == 0:
        return int(info), ""
    flat = info.reshape(-1)
    element = int((flat != 0).to(torch.uint8).argmax())
    return int(flat[element]), f"(Batch element {element}): "


def raise_bad_matrix(
    info: torch.Tensor, function: str, not_finite: str = "The input matrix contains NaN or Inf."
) -> None:
    """Raises torch.linalg.LinAlgError for the first matrix whose info is positive.

    function: the name that torch's text starts with (eigh for eigvalsh too, svd for svdvals).
    not_finite: what is said of a matrix with NaN or Inf.
    Batch elements are counted as torch does: in row-major order over all batch dimensions.
    """
    found = _first_bad(info)
    if found is None:
        return
    code, place = found
    if code == _native.INFO_NOT_FINITE:
        reason = not_finite
    else:
        number = "" if code == _native.INFO_NO_CONVERGENCE else f" (error code: {code})"
        reason = f"The algorithm failed to converge{number}."
    raise torch.linalg.LinAlgError(f"linalg.{function}: {place}{reason}")


def raise_bad_minor(info: torch.Tensor, function: str = "linalg.cholesky") -> None:
    """Raises torch.linalg.LinAlgError for the first matrix that has no Cholesky factor."""
    found = _first_bad(info)
    if found is None:
        return
    code, place = found
    if code == _native.INFO_NOT_FINITE:
        reason = "The input matrix contains NaN or Inf: the input is not positive-definite."
    else:
        reason = (
            "The factorization could not be completed because the input is not "
            f"positive-definite (the leading minor of order {code} is not positive-definite)."
        )
    raise torch.linalg.LinAlgError(f"{function}: {place}{reason}")


def check_outs(out, names: Sequence[str], A: torch.Tensor, function: str) -> tuple:
    """`out` as a tuple of tensors, checked as far as it can be before the work."""
    if isinstance(out, torch.Tensor):
        outs = (out,)
    else:
        outs = tuple(out) if isinstance(out, Sequence) else ()
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


def column_major_copy(A: torch.Tensor, batch: Sequence[int]) -> torch.Tensor:
    """A, broadcast to `batch`, as a new column-major tensor."""
    shape = (*batch, *A.shape[-2:])
    return A.new_empty_strided(shape, column_major_strides(shape)).copy_(A)


def fill_outs(results: Sequence[torch.Tensor], outs: Sequence[torch.Tensor]) -> None:
    """Copies results into `outs`, in place where the shape is right.

    An out of another shape is resized to the result's shape and strides; as in torch, with a
    warning unless it is empty.
    """
    for result, out in zip(results, outs, strict=True):
        if out.shape != result.shape:
            if out.numel() != 0:
                warnings.warn(
                    "An output with one or more elements was resized since it had shape "
                    f"{list(out.shape)}, which does not match the required output shape "
                    f"{list(result.shape)}. This behavior is deprecated; out.resize_(0) asks for "
                    "it explicitly.",
                    stacklevel=4,
                )
            out.resize_(result.shape).as_strided_(result.shape, result.stride())
        out.copy_(result)
