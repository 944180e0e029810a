# SPDX-License-Identifier: Apache-2.0
"""The native calls of cholesky and the solves on plain tensors: as `_kernels`, which see.

CUDA tensors go on to `_cuda_solves`.
"""

from __future__ import annotations

import torch

from . import _cuda_solves, _native, _routing
from ._plans import NO_ELEMENTS, describe, empty_info, input_tail, keep, matrix_output, served
from ._sides import sides_layout

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
    if not A.is_cpu:
        return _cuda_solves.cholesky(A, described, upper, want_info)
    pointer, shape, strides, dtype = described
    key = (shape, strides, dtype, upper, _get_num_threads(), _routing_mode()[0])
    plan = _cholesky_plans.get(key) or _plan_square(key)
    if plan is None:
        return None
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
    if not L.is_cpu:
        return _cuda_solves.cholesky_inverse(L, described, upper)
    pointer, shape, strides, dtype = described
    key = (shape, strides, dtype, upper, _get_num_threads(), _routing_mode()[0])
    plan = _cholesky_plans.get(key) or _plan_square(key)
    if plan is None:
        return None
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


def _plan_solve(key: tuple) -> tuple | None:
    a_shape, a_strides, b_shape, b_strides, dtype, flags, (threads, routing) = key
    layout = sides_layout(a_shape, a_strides, b_shape, b_strides, dtype, flags)
    if layout is None:
        return None
    return keep(_solve_plans, key, (_native.call_head(3, dtype, threads, routing, flags), *layout))


def solve(name, A, B, described_A, described_B, flags):
    """X of solve_triangular or cholesky_solve; A is the factor."""
    if A.device != B.device:
        return None
    if not A.is_cpu:
        return _cuda_solves.solve(name, A, B, described_A, described_B, flags)
    a_pointer, a_shape, a_strides, dtype = described_A
    b_pointer, b_shape, b_strides, b_dtype = described_B
    if b_dtype is not dtype:
        return None
    state = _get_num_threads(), _routing_mode()[0]
    key = (a_shape, a_strides, b_shape, b_strides, dtype, flags, state)
    plan = _solve_plans.get(key) or _plan_solve(key)
    if plan is None:
        return None
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
