# SPDX-License-Identifier: Apache-2.0
"""What the native calls on every device share: outputs and inputs as the C structs have them."""

from __future__ import annotations

from typing import NamedTuple

import torch

from . import _native
from ._errors import ArgumentError
from ._layout import collapsed_stride, column_major_strides, count, row_major_strides

# Stands for an array without elements, whose address torch gives as null: to the C interface null
# means "not wanted".
NO_ELEMENTS = 4096

# As many different calls as a program may mix before all are worked out anew.
_PLANS = 1024


class Output(NamedTuple):
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    tail: bytes  # of its lanepack_batch


NOTHING = Output((0,), (1,), _native.BATCH_TAIL.pack(0, 0, 0, 0, 0, 0))


def matrix_output(shape: tuple[int, ...]) -> Output:
    strides = column_major_strides(shape)
    *batch, rows, cols = shape
    tail = _native.BATCH_TAIL.pack(
        rows, cols, count(batch), 1, strides[-1], strides[-1] * max(cols, 1)
    )
    return Output(shape, strides, tail)


def vector_output(shape: tuple[int, ...]) -> Output:
    *batch, size = shape
    step = max(size, 1)
    tail = _native.BATCH_TAIL.pack(size, 1, count(batch), 1, step, step)
    return Output(shape, row_major_strides(shape), tail)


def empty_info(batch: tuple[int, ...]) -> torch.Tensor:
    """The `info` of a batch on the CPU, not yet written."""
    return torch.empty_strided(batch, row_major_strides(batch), dtype=torch.int32)


def input_tail(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[bytes, bool]:
    """A's lanepack_batch behind its address, and whether one stride walks the batch.

    Where none does, A has to be copied.
    """
    *batch, m, n = shape
    batch_stride = collapsed_stride(batch, strides[:-2])
    tail = _native.BATCH_TAIL.pack(m, n, count(batch), *strides[-2:], batch_stride or 0)
    return tail, batch_stride is not None


def served(shape: tuple[int, ...], dtype: torch.dtype) -> bool:
    return len(shape) >= 2 and dtype in _native.DTYPES


def keep(plans: dict, key: tuple, plan: tuple) -> tuple:
    if len(plans) >= _PLANS:
        plans.clear()
    plans[key] = plan
    return plan


def describe(A: torch.Tensor) -> tuple:
    pointer = A.data_ptr()
    if not pointer and A.numel():
        raise ArgumentError(
            f"lanepack: A has shape {tuple(A.shape)} and no memory; it must hold its elements"
        )
    return pointer, A.shape, A.stride(), A.dtype
