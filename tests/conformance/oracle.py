# SPDX-License-Identifier: Apache-2.0
"""The oracle (tests/oracle) on torch tensors: what a result is worth, in wider arithmetic."""

import ctypes
import fcntl
import functools
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
DTYPES = {torch.float32: 0, torch.float64: 1, torch.complex64: 2, torch.complex128: 3}
REAL = {
    torch.float32: torch.float32,
    torch.complex64: torch.float32,
    torch.float64: torch.float64,
    torch.complex128: torch.float64,
}
WIDE = {torch.float32: np.float64, torch.float64: np.longdouble}
UNIT_ROUNDOFF = {torch.float32: 2.0**-24, torch.float64: 2.0**-53}
SUBNORMAL = {torch.float32: 2.0**-149, torch.float64: 2.0**-1074}
GENERAL, LOWER, UPPER = 0, 1, 2
THREADS = min(2, os.cpu_count() or 1)


class _Batch(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p)] + [
        (name, ctypes.c_int64)
        for name in ("rows", "cols", "batch", "row_stride", "col_stride", "batch_stride")
    ]


def _build():
    """The path of the library, built (or found up to date) under build/oracle of the checkout."""
    folder = ROOT / "build" / "oracle"
    folder.mkdir(parents=True, exist_ok=True)
    # several processes share the tests, and one of them builds
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _run_cmake(folder)
    return folder / "liblanepack_oracle.so"


def _run_cmake(folder):
    cmake = shutil.which("cmake") or str(pathlib.Path(sys.executable).with_name("cmake"))
    for command in (
        [cmake, "-S", str(ROOT / "tests" / "oracle"), "-B", str(folder)],
        [cmake, "--build", str(folder)],
    ):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise RuntimeError(f"building the oracle: {' '.join(command)} failed:\n{done.stdout}")


@functools.cache
def _library():
    return ctypes.CDLL(os.environ.get("LANEPACK_ORACLE") or str(_build()))


def _batch(tensor, columns=True):
    """A tensor (batch, rows, cols), or (batch, rows) for vectors, as the oracle reads it."""
    if tensor.is_conj() or tensor.is_neg():
        raise ValueError("the oracle reads memory: resolve conjugate and negative views first")
    matrix = tensor if columns else tensor.unsqueeze(-1)
    batch, rows, cols = matrix.shape
    batch_stride, row_stride, col_stride = matrix.stride()
    return ctypes.byref(
        _Batch(matrix.data_ptr(), rows, cols, batch, row_stride, col_stride, batch_stride)
    )


def _call(name, *arguments):
    if getattr(_library(), name)(*arguments):
        raise RuntimeError(
            f"{name}: the arguments do not fit together, or Jacobi's method did not converge"
        )


def _measures(name, a, arguments, labels, part=None):
    out = np.empty((a.shape[0], len(labels)))
    head = (DTYPES[a.dtype], THREADS) + (() if part is None else (part,))
    _call(name, *head, _batch(a), *arguments, out.ctypes.data_as(ctypes.c_void_p))
    return dict(zip(labels, out.T, strict=True))


def measure_qr(a, q, r):
    return _measures(
        "oracle_measure_qr",
        a,
        (_batch(q), _batch(r)),
        ("residual", "orthogonality", "below_diagonal", "complex_diagonal", "signs"),
    )


def measure_r(a, r):
    return _measures(
        "oracle_measure_r", a, (_batch(r),), ("gram", "below_diagonal", "complex_diagonal")
    )


def measure_eigh(a, w, v, part=LOWER):
    return _measures(
        "oracle_measure_eigh",
        a,
        (_batch(w, columns=False), _batch(v)),
        ("residual", "orthogonality", "order"),
        part,
    )


def measure_svd(a, u, s, vh):
    return _measures(
        "oracle_measure_svd",
        a,
        (_batch(u), _batch(s, columns=False), _batch(vh)),
        ("residual", "orthogonality_u", "orthogonality_v", "order"),
    )


def measure_values(a, values, reference, part=GENERAL):
    """`values` (batch, k) against `reference`: a NumPy array of the wider type, or a tensor."""
    if isinstance(reference, torch.Tensor):
        reference = reference.numpy()
    reference = np.ascontiguousarray(reference, WIDE[REAL[a.dtype]])
    if reference.shape != tuple(values.shape):
        raise ValueError(f"reference has shape {reference.shape}, values {tuple(values.shape)}")
    return _measures(
        "oracle_measure_values",
        a,
        (_batch(values, columns=False), reference.ctypes.data_as(ctypes.c_void_p)),
        ("error", "relative", "order"),
        part,
    )


def _reference(name, a, count, *part):
    values = np.empty((a.shape[0], count), WIDE[REAL[a.dtype]])
    _call(name, DTYPES[a.dtype], THREADS, *part, _batch(a), values.ctypes.data_as(ctypes.c_void_p))
    return values


def eigenvalues(a, part=LOWER):
    """(batch, n) ascending, by Jacobi's method in the wider arithmetic."""
    return _reference("oracle_eigenvalues", a, a.shape[-1], part)


def singular_values(a):
    """(batch, min(m, n)) descending, by one-sided Jacobi in the wider arithmetic."""
    return _reference("oracle_singular_values", a, min(a.shape[-2:]))
