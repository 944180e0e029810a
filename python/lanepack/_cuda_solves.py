# SPDX-License-Identifier: Apache-2.0
"""The native calls of cholesky and the solves on CUDA tensors: as `_cuda`, which see.

What the library has no kernel for, or cannot run on this machine, `_vendor_solves` serves.
"""

from __future__ import annotations

import torch

from . import _cuda, _native, _routing, _vendor_solves
from ._plans import NO_ELEMENTS, describe, keep
from ._sides import sides_layout

_empty_strided = torch.empty_strided
_pack = _native.CUDA_ARGS_OF_THREE.pack
_routing_mode = _routing.get_mode
_native_solves = {
    "solve_triangular": _native.solve_triangular,
    "cholesky_solve": _native.cholesky_solve,
}
_plans: dict[tuple, tuple] = {}


def cholesky(A, described, upper, want_info):
    """L (with upper, U) as a tuple."""
    return _cuda.cholesky(A, described, bool(upper), want_info)


def _make_plan(key: tuple) -> tuple | None:
    a_shape, a_strides, b_shape, b_strides, dtype, flags, index, routing = key
    layout = sides_layout(a_shape, a_strides, b_shape, b_strides, dtype, flags)
    if layout is None:
        return None
    return keep(_plans, key, (_native.cuda_call_head(3, dtype, index, routing, flags), *layout))


def solve(name, A, B, described_A, described_B, flags):
    """X of solve_triangular or cholesky_solve; A is the factor."""
    a_pointer, a_shape, a_strides, dtype = described_A
    b_pointer, b_shape, b_strides, b_dtype = described_B
    if b_dtype is not dtype:
        return None
    index = _cuda._index_of(A)
    key = (a_shape, a_strides, b_shape, b_strides, dtype, flags, index, _routing_mode()[0])
    plan = _plans.get(key) or _make_plan(key)
    if plan is None:
        return None
    if _cuda._problem is not None and _cuda._unready():
        return _vendor_solves.SOLVES[name](A, B, flags)
    head, (a_tail, b_tail, x_tail), offsets, x_shape, x_strides = plan
    X = _empty_strided(x_shape, x_strides, dtype=dtype, device=A.device)
    x_pointer = X.data_ptr()
    native, stream = _native_solves[name], _cuda._current_stream(index)
    for a, b, x in offsets or ((0, 0, 0),):
        status = native(
            _pack(
                head, stream, 0, 0, 0,
                (a_pointer + a) or NO_ELEMENTS, a_tail,
                (b_pointer + b) or NO_ELEMENTS, b_tail,
                (x_pointer + x) or NO_ELEMENTS, x_tail,
            )
        )  # fmt: skip
        if status:
            if _cuda._goes_to_vendor(status, _native.last_error()):
                return _vendor_solves.SOLVES[name](A, B, flags)
            _native.raise_status(status)
    return X


def cholesky_inverse(L, described, upper):
    """(L L^H)^-1, its triangles made to agree by torch's own operations."""
    n = described[1][-1]
    unit = torch.eye(n, dtype=L.dtype, device=L.device)
    flags = _native.FLAG_UPPER if upper else 0
    X = solve("cholesky_solve", L, unit, described, describe(unit), flags)
    return None if X is None else _vendor_solves.mirrored(X)
