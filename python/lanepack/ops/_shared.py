# SPDX-License-Identifier: Apache-2.0
"""What the op families share: kernels' inputs, fake outputs, the vmap rule, inverse differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from .._errors import ArgumentError
from .._layout import column_major_strides, row_major_strides
from .._native import DTYPES, REAL_DTYPES


def check_op_input(A: torch.Tensor, op: str) -> None:
    """Ops take what the native call takes; the functions of lanepack.linalg convert the rest."""
    if A.dim() < 2:
        raise ArgumentError(
            f"lanepack::{op}: A has shape {tuple(A.shape)}; it must have at least 2 dimensions, "
            "(..., m, n)"
        )
    if A.dtype not in DTYPES:
        raise TypeError(
            f"lanepack::{op}: A has dtype {A.dtype}; it must have float32, float64, complex64 or "
            "complex128"
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


def batching_rule(op: torch._ops.OpOverload) -> Callable:
    """The vmap rule: the mapped dimension goes first, and one call serves them all."""

    def rule(_info, in_dims: Sequence[int | None], A: torch.Tensor, *args):
        results = op(A.movedim(in_dims[0], 0), *args)
        # qr's Q of mode "r" is one empty tensor, whatever the batch.
        return results, tuple(None if each.shape == (0,) else 0 for each in results)

    return rule


def scale_of(values: torch.Tensor) -> torch.Tensor:
    """The largest magnitude of (..., k), as (..., 1, 1); 1 where that is zero or not finite.

    What is divided by it comes back multiplied: it guards against overflow and has no derivative.
    """
    if values.shape[-1] == 0:
        return values.new_ones((*values.shape[:-1], 1, 1))
    largest = values.detach().abs().amax(-1)[..., None, None]
    return torch.where((largest > 0) & largest.isfinite(), largest, 1)


def inverse_or_zero(values: torch.Tensor, zero: torch.Tensor) -> torch.Tensor:
    """1 / values, but 0 where `zero` holds; its derivative is 0 there too."""
    return torch.where(zero, 0, 1 / torch.where(zero, 1, values))
