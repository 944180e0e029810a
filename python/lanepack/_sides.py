# SPDX-License-Identifier: Apache-2.0
"""How a solve's factor and right-hand sides lie, for the native calls of every device.

Of the two batches each may be broadcast against the other: a dimension of one entry is walked with
a stride of zero, so that no factor is copied. Where no single stride walks what is left, the outer
dimensions are walked by the caller, one native call for each entry.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import torch

from . import _native
from ._layout import collapsed_stride, count
from ._plans import matrix_output, served


class SidesLayout(NamedTuple):
    """tails: the lanepack_batch of A, B and X behind its address; offsets: of each call from their
    addresses, in bytes, or None for a single call without any; X's shape and strides."""

    tails: tuple[bytes, bytes, bytes]
    offsets: list[tuple[int, int, int]] | None
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def _expanded(shape, strides, batch) -> list[int]:
    """The batch strides of a tensor of `shape` that is broadcast to `batch`."""
    own, own_strides = shape[:-2], strides[:-2]
    lead = len(batch) - len(own)
    result = [0] * lead
    for size, stride in zip(own, own_strides, strict=True):
        result.append(0 if size == 1 else stride)
    return result


def _walk(batch, a_strides, b_strides):
    """(inner batch, their strides, [(offset in A, in B, matrices of X before)]).

    The inner dimensions are as many of the last ones as one stride walks in A and B alike.
    """
    outer = 0
    while outer < len(batch):
        a = collapsed_stride(batch[outer:], a_strides[outer:])
        b = collapsed_stride(batch[outer:], b_strides[outer:])
        if a is not None and b is not None:
            break
        outer += 1
    else:
        a = b = 0
    inner = count(batch[outer:])
    places = [
        (
            sum(i * stride for i, stride in zip(index, a_strides[:outer], strict=True)),
            sum(i * stride for i, stride in zip(index, b_strides[:outer], strict=True)),
            number * inner,
        )
        for number, index in enumerate(itertools.product(*map(range, batch[:outer])))
    ]
    return inner, a, b, places


def sides_layout(a_shape, a_strides, b_shape, b_strides, dtype, flags) -> SidesLayout | None:
    """None for what is no pair of a square factor and right-hand sides of its order."""
    if not served(a_shape, dtype) or not served(b_shape, dtype):
        return None
    n = a_shape[-1]
    order = b_shape[-1 if flags & _native.FLAG_RIGHT else -2]
    if a_shape[-2] != n or order != n:
        return None
    if a_shape[:-2] == b_shape[:-2]:
        batch = tuple(a_shape[:-2])
    else:
        try:
            batch = tuple(torch.broadcast_shapes(a_shape[:-2], b_shape[:-2]))
        except RuntimeError:
            return None
    rows, cols = b_shape[-2:]
    x = matrix_output((*batch, rows, cols))
    inner, a_batch, b_batch, places = _walk(
        batch, _expanded(a_shape, a_strides, batch), _expanded(b_shape, b_strides, batch)
    )
    size, matrix = dtype.itemsize, x.strides[-1] * max(cols, 1)
    tails = (
        _native.BATCH_TAIL.pack(n, n, inner, *a_strides[-2:], a_batch),
        _native.BATCH_TAIL.pack(rows, cols, inner, *b_strides[-2:], b_batch),
        _native.BATCH_TAIL.pack(rows, cols, inner, 1, x.strides[-1], matrix),
    )
    offsets = [(a * size, b * size, before * matrix * size) for a, b, before in places]
    return SidesLayout(tails, None if len(offsets) == 1 else offsets, x.shape, x.strides)
