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
from ._arguments import DRIVERS, QR_MODES, UPLO_UPPER
from ._errors import ArgumentError
from ._layout import collapsed_stride, column_major_strides, count, row_major_strides

_empty_strided = torch.empty_strided
_get_num_threads = torch.get_num_threads
_pack_three = _native.ARGS_OF_THREE.pack
_pack_four = _native.ARGS_OF_FOUR.pack
_native_qr = _native.qr
_native_eigh = _native.eigh
_native_svd = _native.svd
_raise_status = _native.raise_status
_routing_mode = _routing.get_mode

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


def _input(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[bytes, bool]:
    """A's lanepack_batch behind its address, and whether one stride walks the batch.

    Where none does, A has to be copied.
    """
    *batch, m, n = shape
    batch_stride = collapsed_stride(batch, strides[:-2])
    tail = _native.BATCH_TAIL.pack(m, n, count(batch), *strides[-2:], batch_stride or 0)
    return tail, batch_stride is not None


def _served(shape: tuple[int, ...], dtype: torch.dtype) -> bool:
    return len(shape) >= 2 and dtype in _native.DTYPES


def _keep(plans: dict, key: tuple, plan: tuple) -> tuple:
    if len(plans) >= _PLANS:
        plans.clear()
    plans[key] = plan
    return plan


_qr_plans: dict[tuple, tuple] = {}
_eigh_plans: dict[tuple, tuple] = {}
_svd_plans: dict[tuple, tuple] = {}


def _plan_qr(key: tuple) -> tuple | None:
    shape, strides, dtype, mode, threads, routing = key
    if not _served(shape, dtype) or mode not in QR_MODES:
        return None
    *batch, m, n = shape
    inner = m if mode == "complete" else min(m, n)
    r = _matrices((*batch, inner, n))
    q = _NOTHING if mode == "r" else _matrices((*batch, m, inner))
    head = _native.call_head(3, dtype, threads, routing, 0)
    return _keep(_qr_plans, key, (head, *_input(shape, strides), *q, *r))


def _plan_eigh(key: tuple) -> tuple | None:
    shape, strides, dtype, UPLO, vectors, threads, routing = key
    if not _served(shape, dtype) or shape[-1] != shape[-2] or UPLO not in UPLO_UPPER:
        return None
    w = _vectors(tuple(shape[:-1]))
    v = _matrices(tuple(shape)) if vectors else _NOTHING
    flags = _native.FLAG_UPPER if UPLO_UPPER[UPLO] else 0
    head = _native.call_head(3, dtype, threads, routing, flags)
    real = _native.REAL_DTYPES[dtype]
    return _keep(_eigh_plans, key, (head, *_input(shape, strides), real, *w, *v))


def _plan_svd(key: tuple) -> tuple | None:
    shape, strides, dtype, full, vectors, driver, threads, routing = key
    if not _served(shape, dtype) or driver not in DRIVERS:
        return None
    *batch, m, n = shape
    k = min(m, n)
    s = _vectors((*batch, k))
    u = vh = _NOTHING
    if vectors:
        u = _matrices((*batch, m, m if full else k))
        vh = _matrices((*batch, n if full else k, n))
    flags = _native.FLAG_JACOBI if driver == "jacobi" else 0
    head = _native.call_head(4, dtype, threads, routing, flags)
    real = _native.REAL_DTYPES[dtype]
    return _keep(_svd_plans, key, (head, *_input(shape, strides), real, *u, *s, *vh))


# The functions below take a plain CPU tensor (strided, no conjugate or negative bit) and what the
# callers have read of it already: (address, shape, strides, dtype). They give the results, with
# info behind them if it is wanted; None if the arguments are not of a kind that is served.


def _empty_info(shape: tuple[int, ...]) -> torch.Tensor:
    return _empty_strided(shape, row_major_strides(shape), dtype=torch.int32)


def describe(A: torch.Tensor) -> tuple:
    pointer = A.data_ptr()
    if not pointer and A.numel():
        raise ArgumentError(
            f"lanepack: A has shape {tuple(A.shape)} and no memory; it must hold its elements"
        )
    return pointer, A.shape, A.stride(), A.dtype


def qr(A, described, mode, want_info):
    """Q, R; Q has shape (0,) in mode "r"."""
    pointer, shape, strides, dtype = described
    key = (shape, strides, dtype, mode, _get_num_threads(), _routing_mode()[0])
    plan = _qr_plans.get(key) or _plan_qr(key)
    if plan is None:
        return None
    head, tail, collapses, q_shape, q_strides, q_tail, r_shape, r_strides, r_tail = plan
    if not collapses:
        A = A.contiguous()
        return qr(A, describe(A), mode, want_info)
    info = _empty_info(shape[:-2]) if want_info else None
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
    return (Q, R, info) if want_info else (Q, R)


def eigh(A, described, UPLO, want_info):
    """Eigenvalues, eigenvectors."""
    pointer, shape, strides, dtype = described
    key = (shape, strides, dtype, UPLO, True, _get_num_threads(), _routing_mode()[0])
    plan = _eigh_plans.get(key) or _plan_eigh(key)
    if plan is None:
        return None
    head, tail, collapses, real, w_shape, w_strides, w_tail, v_shape, v_strides, v_tail = plan
    if not collapses:
        A = A.contiguous()
        return eigh(A, describe(A), UPLO, want_info)
    info = _empty_info(shape[:-2]) if want_info else None
    L = _empty_strided(w_shape, w_strides, dtype=real)
    V = _empty_strided(v_shape, v_strides, dtype=dtype)
    status = _native_eigh(
        _pack_three(
            head, info.data_ptr() if want_info else 0,
            pointer or _NO_ELEMENTS, tail,
            L.data_ptr() or _NO_ELEMENTS, w_tail,
            V.data_ptr() or _NO_ELEMENTS, v_tail,
        )
    )  # fmt: skip
    if status:
        _raise_status(status)
    return (L, V, info) if want_info else (L, V)


def eigvalsh(A, described, UPLO, want_info):
    """Eigenvalues, as a tuple."""
    pointer, shape, strides, dtype = described
    key = (shape, strides, dtype, UPLO, False, _get_num_threads(), _routing_mode()[0])
    plan = _eigh_plans.get(key) or _plan_eigh(key)
    if plan is None:
        return None
    head, tail, collapses, real, w_shape, w_strides, w_tail, _, _, v_tail = plan
    if not collapses:
        A = A.contiguous()
        return eigvalsh(A, describe(A), UPLO, want_info)
    info = _empty_info(shape[:-2]) if want_info else None
    L = _empty_strided(w_shape, w_strides, dtype=real)
    status = _native_eigh(
        _pack_three(
            head, info.data_ptr() if want_info else 0,
            pointer or _NO_ELEMENTS, tail,
            L.data_ptr() or _NO_ELEMENTS, w_tail,
            0, v_tail,
        )
    )  # fmt: skip
    if status:
        _raise_status(status)
    return (L, info) if want_info else (L,)


def svd(A, described, full, driver, want_info):
    """U, S, Vh."""
    pointer, shape, strides, dtype = described
    key = (shape, strides, dtype, full, True, driver, _get_num_threads(), _routing_mode()[0])
    plan = _svd_plans.get(key) or _plan_svd(key)
    if plan is None:
        return None
    (
        head, tail, collapses, real, u_shape, u_strides, u_tail, s_shape, s_strides, s_tail,
        vh_shape, vh_strides, vh_tail,
    ) = plan  # fmt: skip
    if not collapses:
        A = A.contiguous()
        return svd(A, describe(A), full, driver, want_info)
    info = _empty_info(shape[:-2]) if want_info else None
    U = _empty_strided(u_shape, u_strides, dtype=dtype)
    S = _empty_strided(s_shape, s_strides, dtype=real)
    Vh = _empty_strided(vh_shape, vh_strides, dtype=dtype)
    status = _native_svd(
        _pack_four(
            head, info.data_ptr() if want_info else 0,
            pointer or _NO_ELEMENTS, tail,
            U.data_ptr() or _NO_ELEMENTS, u_tail,
            S.data_ptr() or _NO_ELEMENTS, s_tail,
            Vh.data_ptr() or _NO_ELEMENTS, vh_tail,
        )
    )  # fmt: skip
    if status:
        _raise_status(status)
    return (U, S, Vh, info) if want_info else (U, S, Vh)


def svdvals(A, described, driver, want_info):
    """Singular values, as a tuple."""
    pointer, shape, strides, dtype = described
    key = (shape, strides, dtype, False, False, driver, _get_num_threads(), _routing_mode()[0])
    plan = _svd_plans.get(key) or _plan_svd(key)
    if plan is None:
        return None
    head, tail, collapses, real, _, _, u_tail, s_shape, s_strides, s_tail, _, _, vh_tail = plan
    if not collapses:
        A = A.contiguous()
        return svdvals(A, describe(A), driver, want_info)
    info = _empty_info(shape[:-2]) if want_info else None
    S = _empty_strided(s_shape, s_strides, dtype=real)
    status = _native_svd(
        _pack_four(
            head, info.data_ptr() if want_info else 0,
            pointer or _NO_ELEMENTS, tail,
            0, u_tail,
            S.data_ptr() or _NO_ELEMENTS, s_tail,
            0, vh_tail,
        )
    )  # fmt: skip
    if status:
        _raise_status(status)
    return (S, info) if want_info else (S,)
