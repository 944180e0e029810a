# SPDX-License-Identifier: Apache-2.0
"""What the op families share: kernels' inputs, fake outputs, the vmap rule, inverse differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from .._errors import ArgumentError
from .._inputs import plain
from .._layout import column_major_strides, row_major_strides
from .._native import DTYPES, REAL_DTYPES


def check_op_input(A: torch.Tensor, op: str, name: str = "A") -> None:
    """Ops take what the native call takes; the functions of lanepack.linalg convert the rest."""
    if A.dim() < 2:
        raise ArgumentError(
            f"lanepack::{op}: {name} has shape {tuple(A.shape)}; it must have at least 2 "
            "dimensions, (..., m, n)"
        )
    if A.dtype not in DTYPES:
        raise TypeError(
            f"lanepack::{op}: {name} has dtype {A.dtype}; it must have float32, float64, complex64 "
            "or complex128"
        )


def fake_matrices(A: torch.Tensor, rows, cols) -> torch.Tensor:
    shape = (*A.shape[:-2], rows, cols)
    return A.new_empty_strided(shape, column_major_strides(shape))


def fake_values(A: torch.Tensor, size) -> torch.Tensor:
    shape = (*A.shape[:-2], size)
    return A.new_empty_strided(shape, row_major_strides(shape), dtype=REAL_DTYPES[A.dtype])


def fake_info(A: torch.Tensor) -> torch.Tensor:
    shape = A.shape[:-2]
    return A.new_empty_strided(shape, row_major_strides(shape), dtype=torch.int32)


def batching_rule(op: torch._ops.OpOverload, tensors: int = 1) -> Callable:
    """The vmap rule of an op whose first arguments are `tensors` tensors.

    The mapped dimension goes first, and one call serves them all. Of several tensors, whose batches
    broadcast, a mapped one gets as many batch dimensions as the other has, so that the mapped
    dimension stays ahead of them.
    """

    def rule(info, in_dims: Sequence[int | None], *args):
        given = list(args)
        ranks = [given[k].dim() - (in_dims[k] is not None) for k in range(tensors)]
        for k in range(tensors):
            if in_dims[k] is None:
                continue
            moved = given[k].movedim(in_dims[k], 0)
            missing = max(ranks) - ranks[k]
            given[k] = moved[(slice(None), *(None,) * missing)] if missing else moved
        results = op(*given)
        if isinstance(results, torch.Tensor):
            return results, 0
        # qr's Q of mode "r" is one empty tensor, whatever the batch.
        return results, tuple(None if each.shape == (0,) else 0 for each in results)

    return rule


# Within these a float64 or float32 squared twice, and such a square times n eps squared, is normal.
_PLAIN_RANGE = {torch.float64: (2.0**-128, 2.0**128), torch.float32: (2.0**-16, 2.0**16)}
_READ_MAX_N = 64


def scale_of(values: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | float]:
    """(scale, top) of sorted values (..., k): what to divide them by, and their largest after that.

    The scale is the largest magnitude, as (..., 1), and at least the smallest normal number; what
    is divided by it comes back multiplied: it guards against overflow and has no derivative. It is
    None, and nothing need be divided, where one matrix's values may be read and are of middling
    size: on a CPU reading two numbers is a tenth of the operations that they save.
    """
    k = values.shape[-1]
    readable = values.is_cpu and values.dim() == 1 and 0 < k <= _READ_MAX_N
    if readable and plain(values) is not None:
        listed = values.tolist()
        top = max(abs(listed[0]), abs(listed[-1]))
        low, high = _PLAIN_RANGE[values.dtype]
        if low <= top <= high:
            return None, top
    if k == 0:
        return values.new_ones((*values.shape[:-1], 1)), 1.0
    largest = values.detach().abs().amax(-1, True)
    return largest.clamp_min(torch.finfo(values.dtype).tiny), 1.0


def inverse_or_zero(values: torch.Tensor, zero) -> torch.Tensor:
    """1 / values, but 0 where abs(values) <= zero; its derivatives are 0 there too.

    The squares of `values` and `zero` must be normal numbers. Three operations and no scalar that
    torch wraps: masks with torch.where took four times as long at 4x4.
    """
    return values / torch.threshold(values * values, zero * zero, float("inf"))
