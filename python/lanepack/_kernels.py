# SPDX-License-Identifier: Apache-2.0
"""The native calls on plain CPU tensors: outputs allocated, struct packed, library called.

What a call needs besides addresses (output shapes, strides, the packed constants) depends only on
the key that `_plan` builds, and is kept: for one small matrix working it out would cost more than
the decomposition.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from . import _native, _routing
from ._layout import collapsed_stride, column_major_strides, count, row_major_strides

_empty_strided = torch.empty_strided
_get_num_threads = torch.get_num_threads
_pack_three = _native.ARGS_OF_THREE.pack
_pack_four = _native.ARGS_OF_FOUR.pack
_native_qr = _native.qr
_native_eigh = _native.eigh
_native_svd = _native.svd
_raise_status = _native.raise_status
_routing_mode = _routing.current
_real_dtypes = _native.REAL_DTYPES

# Stands for an array without elements, whose address torch gives as null: to the C interface null
# means "not wanted".
_NO_ELEMENTS = 4096

# As many different calls as a program may mix before all are worked out anew.
_PLANS = 1024


class Output(NamedTuple):
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    tail: bytes  # of its lanepack_batch


_NOTHING = Output((0,), (1,), _native.BATCH_TAIL.pack(0, 0, 0, 0, 0, 0))


class Plan(NamedTuple):
    head: bytes  # lanepack_call up to info
    input_tail: bytes
    outputs: tuple[Output, ...]  # in the order of the C struct
    info_shape: tuple[int, ...]
    collapses: bool  # whether one stride walks the input's batch, so that it needs no copy


def _matrices(shape: tuple[int, ...]) -> Output:
    strides = column_major_strides(shape)
    *batch, rows, cols = shape
    tail = _native.BATCH_TAIL.pack(
        rows, cols, count(batch), 1, strides[-1], strides[-1] * max(cols, 1)
    )
    return Output(shape, strides, tail)


def _vectors(shape: tuple[int, ...]) -> Output:
    *batch, size = shape
    step = max(size, 1)
    tail = _native.BATCH_TAIL.pack(size, 1, count(batch), 1, step, step)
    return Output(shape, row_major_strides(shape), tail)


def _plan(
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: torch.dtype,
    threads: int,
    routing: int,
    flags: int,
    outputs: tuple[Output, ...],
) -> Plan:
    *batch, m, n = shape
    batch_stride = collapsed_stride(batch, strides[:-2])
    tail = _native.BATCH_TAIL.pack(m, n, count(batch), *strides[-2:], batch_stride or 0)
    head = _native.call_head(1 + len(outputs), dtype, threads, routing, flags)
    return Plan(head, tail, outputs, tuple(batch), batch_stride is not None)


def _keep(plans: dict, key: tuple, plan: Plan) -> Plan:
    if len(plans) >= _PLANS:
        plans.clear()
    plans[key] = plan
    return plan


_qr_plans: dict[tuple, Plan] = {}
_eigh_plans: dict[tuple, Plan] = {}
_svd_plans: dict[tuple, Plan] = {}


def _plan_qr(key: tuple) -> Plan:
    shape, strides, dtype, mode, threads, routing = key
    *batch, m, n = shape
    inner = m if mode == "complete" else min(m, n)
    r = _matrices((*batch, inner, n))
    q = _NOTHING if mode == "r" else _matrices((*batch, m, inner))
    return _keep(_qr_plans, key, _plan(shape, strides, dtype, threads, routing, 0, (q, r)))


def _plan_eigh(key: tuple) -> Plan:
    shape, strides, dtype, upper, vectors, threads, routing = key
    w = _vectors(tuple(shape[:-1]))
    v = _matrices(tuple(shape)) if vectors else _NOTHING
    flags = _native.FLAG_UPPER if upper else 0
    return _keep(_eigh_plans, key, _plan(shape, strides, dtype, threads, routing, flags, (w, v)))


def _plan_svd(key: tuple) -> Plan:
    shape, strides, dtype, full, vectors, jacobi, threads, routing = key
    *batch, m, n = shape
    k = min(m, n)
    s = _vectors((*batch, k))
    u = vh = _NOTHING
    if vectors:
        u = _matrices((*batch, m, m if full else k))
        vh = _matrices((*batch, n if full else k, n))
    flags = _native.FLAG_JACOBI if jacobi else 0
    return _keep(_svd_plans, key, _plan(shape, strides, dtype, threads, routing, flags, (u, s, vh)))


def _empty_info(shape: tuple[int, ...]) -> torch.Tensor:
    return _empty_strided(shape, row_major_strides(shape), dtype=torch.int32)


# The functions below take a plain CPU tensor (strided, conjugate and negative bits resolved, one of
# the C interface's dtypes) with its address, shape, strides and dtype, which the callers have read
# already. `info` is None unless it is wanted.


def qr(A, pointer, shape, strides, dtype, mode, want_info):
    """(Q, R, info); Q has shape (0,) in mode "r"."""
    key = (shape, strides, dtype, mode, _get_num_threads(), _routing_mode())
    head, tail, (q, r), info_shape, collapses = _qr_plans.get(key) or _plan_qr(key)
    if not collapses:
        A = A.contiguous()
        return qr(A, A.data_ptr(), A.shape, A.stride(), dtype, mode, want_info)
    info = _empty_info(info_shape) if want_info else None
    q_shape, q_strides, q_tail = q
    r_shape, r_strides, r_tail = r
    Q = _empty_strided(q_shape, q_strides, dtype=dtype)
    R = _empty_strided(r_shape, r_strides, dtype=dtype)
    status = _native_qr(
        _pack_three(
            head, info.data_ptr() if want_info else 0,
            pointer or _NO_ELEMENTS, tail,
            0 if mode == "r" else Q.data_ptr() or _NO_ELEMENTS, q_tail,
            R.data_ptr() or _NO_ELEMENTS, r_tail,
        )
    )  # fmt: skip
    if status:
        _raise_status(status)
    return Q, R, info


def eigh(A, pointer, shape, strides, dtype, upper, vectors, want_info):
    """(eigenvalues, eigenvectors, info); eigenvectors are None unless they are wanted."""
    key = (shape, strides, dtype, upper, vectors, _get_num_threads(), _routing_mode())
    head, tail, (w, v), info_shape, collapses = _eigh_plans.get(key) or _plan_eigh(key)
    if not collapses:
        A = A.contiguous()
        return eigh(A, A.data_ptr(), A.shape, A.stride(), dtype, upper, vectors, want_info)
    info = _empty_info(info_shape) if want_info else None
    w_shape, w_strides, w_tail = w
    v_shape, v_strides, v_tail = v
    L = _empty_strided(w_shape, w_strides, dtype=_real_dtypes[dtype])
    V = _empty_strided(v_shape, v_strides, dtype=dtype) if vectors else None
    status = _native_eigh(
        _pack_three(
            head, info.data_ptr() if want_info else 0,
            pointer or _NO_ELEMENTS, tail,
            L.data_ptr() or _NO_ELEMENTS, w_tail,
            V.data_ptr() or _NO_ELEMENTS if vectors else 0, v_tail,
        )
    )  # fmt: skip
    if status:
        _raise_status(status)
    return L, V, info


def svd(A, pointer, shape, strides, dtype, full, vectors, jacobi, want_info):
    """(U, S, Vh, info); U and Vh are None unless they are wanted."""
    key = (shape, strides, dtype, full, vectors, jacobi, _get_num_threads(), _routing_mode())
    head, tail, (u, s, vh), info_shape, collapses = _svd_plans.get(key) or _plan_svd(key)
    if not collapses:
        A = A.contiguous()
        return svd(A, A.data_ptr(), A.shape, A.stride(), dtype, full, vectors, jacobi, want_info)
    info = _empty_info(info_shape) if want_info else None
    u_shape, u_strides, u_tail = u
    s_shape, s_strides, s_tail = s
    vh_shape, vh_strides, vh_tail = vh
    S = _empty_strided(s_shape, s_strides, dtype=_real_dtypes[dtype])
    U = Vh = None
    u_pointer = vh_pointer = 0
    if vectors:
        U = _empty_strided(u_shape, u_strides, dtype=dtype)
        Vh = _empty_strided(vh_shape, vh_strides, dtype=dtype)
        u_pointer = U.data_ptr() or _NO_ELEMENTS
        vh_pointer = Vh.data_ptr() or _NO_ELEMENTS
    status = _native_svd(
        _pack_four(
            head, info.data_ptr() if want_info else 0,
            pointer or _NO_ELEMENTS, tail,
            u_pointer, u_tail,
            S.data_ptr() or _NO_ELEMENTS, s_tail,
            vh_pointer, vh_tail,
        )
    )  # fmt: skip
    if status:
        _raise_status(status)
    return U, S, Vh, info
