# SPDX-License-Identifier: Apache-2.0
"""Shapes and strides: column-major outputs, batch dimensions that collapse to one stride."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import mul

import torch


def column_major_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of (..., m, n) with each matrix column-major and the batch contiguous.

    As torch does, a zero size counts as one. Symbolic sizes get no guard.
    """
    *batch, rows, cols = shape
    strides = [torch.sym_max(rows, 1), 1]
    step = torch.sym_max(rows, 1) * torch.sym_max(cols, 1)
    for size in reversed(batch):
        strides.insert(0, step)
        step = step * torch.sym_max(size, 1)
    strides[-2:] = [1, torch.sym_max(rows, 1)]
    return tuple(strides)


def row_major_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of a contiguous tensor."""
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.insert(0, step)
        step = step * torch.sym_max(size, 1)
    return tuple(strides)


def count(shape: Sequence[int]) -> int:
    return reduce(mul, shape, 1)


def collapsed_stride(shape: Sequence[int], strides: Sequence[int]) -> int | None:
    """The one stride that walks all batch dimensions in row-major order; None if there is none."""
    result = None
    expected = 0
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size == 0:
            return 0
        if size == 1:
            continue
        if result is None:
            result = stride
        elif stride != expected:
            return None
        expected = stride * size
    return 0 if result is None else result
