# SPDX-License-Identifier: Apache-2.0
"""The values that options may take, and their checks."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import torch

from ._errors import ArgumentError
from ._native import DTYPES

QR_MODES = ("reduced", "complete", "r")
UPLO_UPPER = {"L": False, "l": False, "U": True, "u": True}
# torch's drivers of the CUDA backend choose among methods of the same accuracy: hints.
DRIVERS = (None, "jacobi", "gesvd", "gesvdj", "gesvda")


def check_square(A: torch.Tensor, function: str, name: str = "A") -> None:
    if A.shape[-1] != A.shape[-2]:
        raise ArgumentError(
            f"lanepack.{function}: {name} has shape {tuple(A.shape)}; its matrices must be square, "
            "(..., n, n)"
        )


def check_sides(A, B, left: bool, function: str, names: tuple[str, str] = ("A", "B")) -> None:
    """B's order against A's, and that their batches broadcast."""
    check_square(A, function, names[0])
    order = B.shape[-2 if left else -1]
    if order != A.shape[-1]:
        raise ArgumentError(
            f"lanepack.{function}: {names[0]} has shape {tuple(A.shape)} and {names[1]} "
            f"{tuple(B.shape)}; {names[1]} must have {A.shape[-1]} {'rows' if left else 'columns'}"
        )
    try:
        torch.broadcast_shapes(A.shape[:-2], B.shape[:-2])
    except RuntimeError:
        raise ArgumentError(
            f"lanepack.{function}: {names[0]} has shape {tuple(A.shape)} and {names[1]} "
            f"{tuple(B.shape)}; their batch dimensions must broadcast"
        ) from None
    if A.dtype != B.dtype:
        raise TypeError(
            f"lanepack.{function}: {names[0]} has dtype {A.dtype} and {names[1]} {B.dtype}; they "
            "must be the same"
        )
    if A.device != B.device:
        raise ArgumentError(
            f"lanepack.{function}: {names[0]} is on {A.device} and {names[1]} on {B.device}; they "
            "must be on one device"
        )


def check_mode(mode: str, function: str) -> None:
    if not isinstance(mode, str) or mode not in QR_MODES:
        raise ArgumentError(
            f"lanepack.{function}: mode is {mode!r}; it must be 'reduced', 'complete' or 'r'"
        )


def check_uplo(UPLO: str, function: str) -> None:
    if not isinstance(UPLO, str) or UPLO not in UPLO_UPPER:
        raise ArgumentError(f"lanepack.{function}: UPLO is {UPLO!r}; it must be 'L' or 'U'")


def check_driver(driver: str | None, function: str) -> None:
    if not isinstance(driver, (str, type(None))) or driver not in DRIVERS:
        raise ArgumentError(
            f"lanepack.{function}: driver is {driver!r}; it must be None, 'jacobi', or one of "
            "torch's hints 'gesvd', 'gesvdj', 'gesvda'"
        )


def as_whole(value) -> int | None:
    """value as an int if it is an integer of Python's, NumPy's or a tensor's; bool is none."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def _as_size(value) -> int | None:
    found = as_whole(value)
    return found if found is not None and 0 <= found < 2**63 else None


def check_size(size, function: str, name: str) -> int:
    found = _as_size(size)
    if found is None:
        raise ArgumentError(
            f"lanepack.{function}: {name} is {size!r}; it must be a whole number from 0 on, of at "
            "most 64 bits"
        )
    return found


def as_shape(shape) -> tuple[int, ...] | None:
    """At least two sizes as ints; None if they are none."""
    if isinstance(shape, (str, bytes)) or not isinstance(shape, Sequence):
        return None
    sizes = tuple(_as_size(size) for size in shape)
    return None if len(sizes) < 2 or None in sizes else sizes


def check_dtype(dtype, function: str) -> None:
    if not isinstance(dtype, torch.dtype) or dtype not in DTYPES:
        raise TypeError(
            f"lanepack.{function}: dtype is {dtype!r}; it must be float32, float64, complex64 or "
            "complex128"
        )
