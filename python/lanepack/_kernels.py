# SPDX-License-Identifier: Apache-2.0
"""The native calls on plain tensors: outputs allocated, struct packed, library called.

What a call needs besides addresses (output shapes, strides, the packed constants) depends only on
the key that `_plan` builds, and is kept: for one small matrix working it out would cost more than
the decomposition. CUDA tensors go on to `_cuda`.
"""

from __future__ import annotations

import torch

from . import _cuda, _native, _routing
from ._arguments import DRIVERS, QR_MODES, UPLO_UPPER
from ._plans import (
    NO_ELEMENTS,
    NOTHING,
    describe,
    empty_info,
    input_tail,
    keep,
    matrix_output,
    served,
    vector_output,
)

_empty_strided = torch.empty_strided
_get_num_threads = torch.get_num_threads
_pack_three = _native.ARGS_OF_THREE.pack
_pack_four = _native.ARGS_OF_FOUR.pack
_native_qr = _native.qr
_native_eigh = _native.eigh
_native_svd = _native.svd
_raise_status = _native.raise_status
_routing_mode = _routing.get_mode

_qr_plans: dict[tuple, tuple] = {}
_eigh_plans: dict[tuple, tuple] = {}
_svd_plans: dict[tuple, tuple] = {}


def _plan_qr(key: tuple) -> tuple | None:
    shape, strides, dtype, mode, threads, routing = key
    if not served(shape, dtype) or mode not in QR_MODES:
        return None
    *batch, m, n = shape
    inner = m if mode == "complete" else min(m, n)
    r = matrix_output((*batch, inner, n))
    q = NOTHING if mode == "r" else matrix_output((*batch, m, inner))
    head = _native.call_head(3, dtype, threads, routing, 0)
    return keep(_qr_plans, key, (head, *input_tail(shape, strides), *q, *r))


def _plan_eigh(key: tuple) -> tuple | None:
    shape, strides, dtype, UPLO, vectors, threads, routing = key
    if not served(shape, dtype) or shape[-1] != shape[-2] or UPLO not in UPLO_UPPER:
        return None
    w = vector_output(tuple(shape[:-1]))
    v = matrix_output(tuple(shape)) if vectors else NOTHING
    flags = _native.FLAG_UPPER if UPLO_UPPER[UPLO] else 0
    head = _native.call_head(3, dtype, threads, routing, flags)
    real = _native.REAL_DTYPES[dtype]
    return keep(_eigh_plans, key, (head, *input_tail(shape, strides), real, *w, *v))


def _plan_svd(key: tuple) -> tuple | None:
    shape, strides, dtype, full, vectors, driver, threads, routing = key
    if not served(shape, dtype) or driver not in DRIVERS:
        return None
    *batch, m, n = shape
    k = min(m, n)
    s = vector_output((*batch, k))
    u = vh = NOTHING
    if vectors:
        u = matrix_output((*batch, m, m if full else k))
        vh = matrix_output((*batch, n if full else k, n))
    flags = _native.FLAG_JACOBI if driver == "jacobi" else 0
    head = _native.call_head(4, dtype, threads, routing, flags)
    real = _native.REAL_DTYPES[dtype]
    return keep(_svd_plans, key, (head, *input_tail(shape, strides), real, *u, *s, *vh))


# The functions below take a plain tensor (strided, no conjugate or negative bit) and what the
# callers have read of it already: (address, shape, strides, dtype). They give the results, with
# info behind them if it is wanted; None if the arguments are not of a kind that is served.


def qr(A, described, mode, want_info):
    """Q, R; Q has shape (0,) in mode "r"."""
    if not A.is_cpu:
        return _cuda.qr(A, described, mode, want_info)
    pointer, shape, strides, dtype = described
    key = (shape, strides, dtype, mode, _get_num_threads(), _routing_mode()[0])
    plan = _qr_plans.get(key) or _plan_qr(key)
    if plan is None:
        return None
    head, tail, collapses, q_shape, q_strides, q_tail, r_shape, r_strides, r_tail = plan
    if not collapses:
        A = A.contiguous()
        return qr(A, describe(A), mode, want_info)
    info = empty_info(shape[:-2]) if want_info else None
    Q = _empty_strided(q_shape, q_strides, dtype=dtype)
    R = _empty_strided(r_shape, r_strides, dtype=dtype)
    status = _native_qr(
        _pack_three(
            head, info.data_ptr() if want_info else 0,
            pointer or NO_ELEMENTS, tail,
            0 if mode == "r" else Q.data_ptr() or NO_ELEMENTS, q_tail,
            R.data_ptr() or NO_ELEMENTS, r_tail,
        )
    )  # fmt: skip
    if status:
        _raise_status(status)
    return (Q, R, info) if want_info else (Q, R)


def eigh(A, described, UPLO, want_info):
    """Eigenvalues, eigenvectors."""
    if not A.is_cpu:
        return _cuda.eigh(A, described, UPLO, want_info)
    pointer, shape, strides, dtype = described
    key = (shape, strides, dtype, UPLO, True, _get_num_threads(), _routing_mode()[0])
    plan = _eigh_plans.get(key) or _plan_eigh(key)
    if plan is None:
        return None
    head, tail, collapses, real, w_shape, w_strides, w_tail, v_shape, v_strides, v_tail = plan
    if not collapses:
        A = A.contiguous()
        return eigh(A, describe(A), UPLO, want_info)
    info = empty_info(shape[:-2]) if want_info else None
    L = _empty_strided(w_shape, w_strides, dtype=real)
    V = _empty_strided(v_shape, v_strides, dtype=dtype)
    status = _native_eigh(
        _pack_three(
            head, info.data_ptr() if want_info else 0,
            pointer or NO_ELEMENTS, tail,
            L.data_ptr() or NO_ELEMENTS, w_tail,
            V.data_ptr() or NO_ELEMENTS, v_tail,
        )
    )  # fmt: skip
    if status:
        _raise_status(status)
    return (L, V, info) if want_info else (L, V)


def eigvalsh(A, described, UPLO, want_info):
    """Eigenvalues, as a tuple."""
    if not A.is_cpu:
        return _cuda.eigvalsh(A, described, UPLO, want_info)
    pointer, shape, strides, dtype = described
    key = (shape, strides, dtype, UPLO, False, _get_num_threads(), _routing_mode()[0])
    plan = _eigh_plans.get(key) or _plan_eigh(key)
    if plan is None:
        return None
    head, tail, collapses, real, w_shape, w_strides, w_tail, _, _, v_tail = plan
    if not collapses:
        A = A.contiguous()
        return eigvalsh(A, describe(A), UPLO, want_info)
    info = empty_info(shape[:-2]) if want_info else None
    L = _empty_strided(w_shape, w_strides, dtype=real)
    status = _native_eigh(
        _pack_three(
            head, info.data_ptr() if want_info else 0,
            pointer or NO_ELEMENTS, tail,
            L.data_ptr() or NO_ELEMENTS, w_tail,
            0, v_tail,
        )
    )  # fmt: skip
    if status:
        _raise_status(status)
    return (L, info) if want_info else (L,)


def svd(A, described, full, driver, want_info):
    """U, S, Vh."""
    if not A.is_cpu:
        return _cuda.svd(A, described, full, driver, want_info)
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
    info = empty_info(shape[:-2]) if want_info else None
    U = _empty_strided(u_shape, u_strides, dtype=dtype)
    S = _empty_strided(s_shape, s_strides, dtype=real)
    Vh = _empty_strided(vh_shape, vh_strides, dtype=dtype)
    status = _native_svd(
        _pack_four(
            head, info.data_ptr() if want_info else 0,
            pointer or NO_ELEMENTS, tail,
            U.data_ptr() or NO_ELEMENTS, u_tail,
            S.data_ptr() or NO_ELEMENTS, s_tail,
            Vh.data_ptr() or NO_ELEMENTS, vh_tail,
        )
    )  # fmt: skip
    if status:
        _raise_status(status)
    return (U, S, Vh, info) if want_info else (U, S, Vh)


def svdvals(A, described, driver, want_info):
    """Singular values, as a tuple."""
    if not A.is_cpu:
        return _cuda.svdvals(A, described, driver, want_info)
    pointer, shape, strides, dtype = described
    key = (shape, strides, dtype, False, False, driver, _get_num_threads(), _routing_mode()[0])
    plan = _svd_plans.get(key) or _plan_svd(key)
    if plan is None:
        return None
    head, tail, collapses, real, _, _, u_tail, s_shape, s_strides, s_tail, _, _, vh_tail = plan
    if not collapses:
        A = A.contiguous()
        return svdvals(A, describe(A), driver, want_info)
    info = empty_info(shape[:-2]) if want_info else None
    S = _empty_strided(s_shape, s_strides, dtype=real)
    status = _native_svd(
        _pack_four(
            head, info.data_ptr() if want_info else 0,
            pointer or NO_ELEMENTS, tail,
            0, u_tail,
            S.data_ptr() or NO_ELEMENTS, s_tail,
            0, vh_tail,
        )
    )  # fmt: skip
    if status:
        _raise_status(status)
    return (S, info) if want_info else (S,)
