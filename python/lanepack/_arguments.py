# SPDX-License-Identifier: Apache-2.0
"""The values that options may take, and their checks."""

from __future__ import annotations

import torch

from ._errors import ArgumentError

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
