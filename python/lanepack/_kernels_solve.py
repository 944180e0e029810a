# SPDX-License-Identifier: Apache-2.0
"""The native calls of cholesky and the solves on plain tensors: as `_kernels`, which see.

CUDA tensors go on to torch's routines.

Of a solve's two batches each may be broadcast against the other: a dimension of one entry is walked
with a stride of zero, so that no factor is copied. Where no single stride walks what is left, the
outer dimensions are walked here, one native call for each entry.
"""

from __future__ import annotations

import itertools

import torch

from . import _native, _routing, _vendor_solves
from ._layout import collapsed_stride, count
from ._plans import NO_ELEMENTS, describe, empty_info, input_tail, keep, matrix_output, served

_empty_strided = torch.empty_strided
_get_num_threads = torch.get_num_threads
_pack_two = _native.ARGS_OF_TWO.pack
_pack_three = _native.ARGS_OF_THREE.pack
_native_cholesky = _native.cholesky
_native_inverse = _native.cholesky_inverse
_native_solves = {
    "solve_triangular": _native.solve_triangular,
    "cholesky_solve": _native.cholesky_solve,
}
_raise_status = _native.raise_status
_routing_mode = _routing.get_mode

_cholesky_plans: dict[tuple, tuple] = {}
_solve_plans: dict[tuple, tuple] = {}


def _plan_square(key: tuple) -> tuple | None:
    shape, strides, dtype, upper, threads, routing = key
    if not served(shape, dtype) or shape[-1] != shape[-2]:
        return None
    head = _native.call_head(2, dtype, threads, routing, _native.FLAG_UPPER if upper else 0)
    return keep(
        _cholesky_plans, key, (head, *input_tail(shape, strides), *matrix_output(tuple(shape)))
    )


def cholesky(A, described, upper, want_info):
    """L (with upper, U) as a tuple."""
    pointer, shape, strides, dtype = described
    key = (shape, strides, dtype, upper, _get_num_threads(), _routing_mode()[0])
    plan = _cholesky_plans.get(key) or _plan_square(key)
    if plan is None:
        return None
    if not A.is_cpu:
        results = _vendor_solves.cholesky(A, upper)
        return results if want_info else results[:1]
    head, tail, collapses, l_shape, l_strides, l_tail = plan
    if not collapses:
        A = A.contiguous()
        return cholesky(A, describe(A), upper, want_info)
    info = empty_info(shape[:-2]) if want_info else None
    L = _empty_strided(l_shape, l_strides, dtype=dtype)
    status = _native_cholesky(
        _pack_two(
            head, info.data_ptr() if want_info else 0,
            pointer or NO_ELEMENTS, tail,
            L.data_ptr() or NO_ELEMENTS, l_tail,
        )
    )  # fmt: skip
    if status:
        _raise_status(status)
    return (L, info) if want_info else (L,)


def cholesky_inverse(L, described, upper):
    """(L L^H)^-1."""
    pointer, shape, strides, dtype = described
    key = (shape, strides, dtype, upper, _get_num_threads(), _routing_mode()[0])
    plan = _cholesky_plans.get(key) or _plan_square(key)
    if plan is None:
        return None
    if not L.is_cpu:
        return _vendor_solves.cholesky_inverse(L, upper)
    head, tail, collapses, x_shape, x_strides, x_tail = plan
    if not collapses:
        L = L.contiguous()
        return cholesky_inverse(L, describe(L), upper)
    X = _empty_strided(x_shape, x_strides, dtype=dtype)
    status = _native_inverse(
        _pack_two(head, 0, pointer or NO_ELEMENTS, tail, X.data_ptr() or NO_ELEMENTS, x_tail)
    )
    if status:
        _raise_status(status)
    return X


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


def _plan_solve(key: tuple) -> tuple | None:
    a_shape, a_strides, b_shape, b_strides, dtype, flags, (threads, routing) = key
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
    head = _native.call_head(3, dtype, threads, routing, flags)
    size, matrix = dtype.itemsize, x.strides[-1] * max(cols, 1)
    tails = (
        _native.BATCH_TAIL.pack(n, n, inner, *a_strides[-2:], a_batch),
        _native.BATCH_TAIL.pack(rows, cols, inner, *b_strides[-2:], b_batch),
        _native.BATCH_TAIL.pack(rows, cols, inner, 1, x.strides[-1], matrix),
    )
    offsets = [(a * size, b * size, before * matrix * size) for a, b, before in places]
    return keep(
        _solve_plans, key, (head, tails, None if len(offsets) == 1 else offsets, x.shape, x.strides)
    )


def solve(name, A, B, described_A, described_B, flags):
    """X of solve_triangular or cholesky_solve; A is the factor."""
    a_pointer, a_shape, a_strides, dtype = described_A
    b_pointer, b_shape, b_strides, b_dtype = described_B
    if b_dtype is not dtype:
        return None
    state = _get_num_threads(), _routing_mode()[0]
    key = (a_shape, a_strides, b_shape, b_strides, dtype, flags, state)
    plan = _solve_plans.get(key) or _plan_solve(key)
    if plan is None or A.device != B.device:
        return None
    if not A.is_cpu:
        return _vendor_solves.SOLVES[name](A, B, flags)
    head, (a_tail, b_tail, x_tail), offsets, x_shape, x_strides = plan
    X = _empty_strided(x_shape, x_strides, dtype=dtype)
    x_pointer = X.data_ptr()
    native = _native_solves[name]
    if offsets is None:
        status = native(
            _pack_three(
                head, 0,
                a_pointer or NO_ELEMENTS, a_tail,
                b_pointer or NO_ELEMENTS, b_tail,
                x_pointer or NO_ELEMENTS, x_tail,
            )
        )  # fmt: skip
        if status:
            _raise_status(status)
        return X
    for a, b, x in offsets:
        status = native(
            _pack_three(
                head, 0, a_pointer + a, a_tail, b_pointer + b, b_tail, x_pointer + x, x_tail
            )
        )
        if status:
            _raise_status(status)
    return X
