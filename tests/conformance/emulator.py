# SPDX-License-Identifier: Apache-2.0
"""The GPU's algorithms on this machine's CPU (tests/emulator): runs the cases of the table."""

import concurrent.futures
import ctypes
import functools
import math
import os
import pathlib

import torch

from . import cases, checks, implementations

ROOT = pathlib.Path(__file__).resolve().parents[2]
DTYPES = {torch.float32: 0, torch.float64: 1, torch.complex64: 2, torch.complex128: 3}
REAL = {torch.complex64: torch.float32, torch.complex128: torch.float64}
OPERATIONS = {"qr": 0, "eigh": 1, "eigvalsh": 2, "svd": 3, "svdvals": 4}
OPERATIONS |= {"cholesky": 5, "solve_triangular": 6, "cholesky_solve": 7}
OK, FAULTS, NOT_SERVED = 0, 1, 2
ORDERS = ("ascending", "descending", "shuffled")


class FaultError(AssertionError):
    """The emulator reported something."""


class _Batch(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p)] + [
        (name, ctypes.c_int64)
        for name in ("rows", "cols", "batch", "row_stride", "col_stride", "batch_stride")
    ]


class _Call(ctypes.Structure):
    """lanepack_emulator_call of tests/emulator/harness.h."""

    _fields_ = [
        ("algorithm", ctypes.c_char_p),
        *((name, ctypes.c_int32) for name in ("operation", "dtype", "upper", "jacobi", "full")),
        *((name, ctypes.c_int32) for name in ("want_q", "order", "flush_subnormals")),
        ("seed", ctypes.c_uint64),
        *((name, ctypes.c_int64) for name in ("most_blocks", "m", "n", "batch")),
        ("a", _Batch),
        ("outputs", _Batch * 3),
        ("info", ctypes.c_void_p),
        ("text", ctypes.c_char_p),
        ("text_bytes", ctypes.c_int64),
        *((name, ctypes.c_int32) for name in ("lower", "conjugate", "unit", "reserved")),
        ("b", _Batch),
    ]


@functools.cache
def library(checked=True):
    name = f"liblanepack_emulator_{'checked' if checked else 'plain'}.so"
    path = ROOT / "build" / "editable" / "tests" / "emulator" / name
    path = pathlib.Path(os.environ.get("LANEPACK_EMULATOR", path.parent)) / name
    if not path.exists():
        raise RuntimeError(f"{path} is missing: ./dev test builds it")
    loaded = ctypes.CDLL(str(path))
    loaded.lanepack_emulator_algorithm.restype = ctypes.c_char_p
    assert loaded.lanepack_emulator_checked() == int(checked)
    return loaded


def algorithms():
    """Every algorithm of the library that runs on a GPU."""
    names = []
    while (name := library().lanepack_emulator_algorithm(len(names))) is not None:
        names.append(name.decode())
    return names


def _batch(x):
    if x is None:
        return _Batch()
    matrix = x if x.dim() == 3 else x.unsqueeze(-1)
    batch_stride, row_stride, col_stride = matrix.stride()
    batch, rows, cols = matrix.shape
    return _Batch(matrix.data_ptr(), rows, cols, batch, row_stride, col_stride, batch_stride)


def _values_of(case):
    """Index of the output that holds real values, or None."""
    return {"qr": None, "eigh": 0, "eigvalsh": 0, "svd": 1, "svdvals": 1}[case.operation]


def _shapes(case):
    """Of the outputs in the order of the C interface; None: not wanted."""
    shapes = checks.expected_shapes(case)
    if case.operation == "eigvalsh":
        return [*shapes, None, None]
    if case.operation == "svdvals":
        return [None, *shapes, None]
    if case.operation == "qr" and case.variant == "r":
        return [None, *shapes, None]
    return [*shapes, *[None] * (3 - len(shapes))]


def _output(index, shape, count, dtype, layout):
    """Memory for an output; each order has another layout, and the results must not depend on it:
    packed by columns, packed by rows, and with gaps or ahead of a wide access's alignment."""
    if layout == 2 and index != 0:
        size = count * math.prod(shape)
        return torch.empty(size + 1, dtype=dtype)[1:].view(count, *shape)
    x = torch.empty((count, *shape), dtype=dtype)
    if len(shape) == 1:
        return torch.empty((count, 2 * shape[0]), dtype=dtype)[:, ::2] if layout == 2 else x
    return cases.LAYOUTS[("column", "row", "padded")[layout]](x)


def _request(case, algorithm, count):
    """A call without data."""
    return _Call(
        algorithm=algorithm.encode(),
        operation=OPERATIONS[case.operation],
        dtype=DTYPES[case.dtype],
        upper=case.operation in cases.SQUARE_ONLY and case.variant == "U",
        jacobi=case.variant == "jacobi",
        full=case.variant in ("complete", "full"),
        want_q=case.variant != "r",
        m=case.m,
        n=case.n,
        batch=count,
    )


def serves(case, algorithm):
    return library().lanepack_emulator_run(ctypes.byref(_request(case, algorithm, 1))) == OK


def call(case, algorithm, a, order=0, seed=1, checked=True, flush=False, most_blocks=0):
    """(factors, info) of one run with the lanes in this order; the outputs' layout follows it."""
    shapes, values = _shapes(case), _values_of(case)
    real = REAL.get(case.dtype, case.dtype)
    outputs = [
        None
        if shape is None
        else _output(index, shape, len(a), real if index == values else case.dtype, order)
        for index, shape in enumerate(shapes)
    ]
    info = torch.empty(len(a), dtype=torch.int32)
    request = _request(case, algorithm, len(a))
    request.order, request.seed = order, seed
    request.flush_subnormals, request.most_blocks = flush, most_blocks
    request.a = _batch(a)
    request.outputs = (_Batch * 3)(*(_batch(x) for x in outputs))
    request.info = info.data_ptr()
    _run(request, str(case), checked)
    return tuple(x for x in outputs if x is not None), info


def _run(request, what, checked):
    text = ctypes.create_string_buffer(20_000)
    request.text = ctypes.cast(text, ctypes.c_char_p)
    request.text_bytes = len(text)
    result = library(checked).lanepack_emulator_run(ctypes.byref(request))
    algorithm, order, seed = request.algorithm.decode(), request.order, request.seed
    if result == NOT_SERVED:
        raise implementations.NotServedError(algorithm)
    said = text.value.decode()
    if result == FAULTS:
        raise FaultError(f"{algorithm}, lanes {ORDERS[order]}, seed {seed}:\n{said}")
    if result != OK:
        raise RuntimeError(f"{algorithm} on {what}: the emulator cannot run {said!r} ({result})")


def _of_order(operation, algorithm, a, batch, order, seed, most_blocks):
    """A call of cholesky or a solve, without its output."""
    return _Call(
        algorithm=algorithm.encode(), operation=OPERATIONS[operation], dtype=DTYPES[a.dtype],
        order=order, seed=seed, most_blocks=most_blocks, m=a.shape[-1], n=a.shape[-1],
        batch=batch, a=_batch(a),
    )  # fmt: skip


def cholesky(algorithm, a, upper, out, order=0, seed=1, checked=True, flush=False, most_blocks=0):
    """info; `out` gets the factors, and may be `a`."""
    request = _of_order("cholesky", algorithm, a, len(a), order, seed, most_blocks)
    request.flush_subnormals = flush
    request.upper = upper
    info = torch.empty(len(a), dtype=torch.int32)
    request.outputs[0], request.info = _batch(out), info.data_ptr()
    _run(request, f"{tuple(a.shape)} {a.dtype}", checked)
    return info


def solve(operation, algorithm, a, b, out, lower=True, conjugate=False, unit=False, order=0,
          seed=1, checked=True, flush=False, most_blocks=0):  # fmt: skip
    """`out` gets X, and may be `b`; a is the factor as lanepack::Factor has it."""
    request = _of_order(operation, algorithm, a, len(b), order, seed, most_blocks)
    request.flush_subnormals = flush
    request.lower, request.conjugate, request.unit = lower, conjugate, unit
    request.b, request.outputs[0] = _batch(b), _batch(out)
    _run(request, f"{tuple(a.shape)} {tuple(b.shape)} {a.dtype}", checked)


def serves_order(operation, algorithm, n, dtype, columns=0):
    """Whether an algorithm of cholesky or of the solves takes the order."""
    request = _of_order(operation, algorithm, torch.empty(1, n, n, dtype=dtype), 1, 0, 1, 0)
    request.a.data, request.b.cols = None, columns
    return library().lanepack_emulator_run(ctypes.byref(request)) == OK


def _same(one, other):
    """Equal bits, whatever the strides; every NaN is the same."""
    if one.is_complex():
        one, other = torch.view_as_real(one), torch.view_as_real(other)
    whole = {4: torch.int32, 8: torch.int64}[one.element_size()]
    one, other = one.contiguous().view(whole), other.contiguous().view(whole)
    return torch.equal(one, other)


class Emulator:
    """All orders of lanes, with few blocks or a matrix less in some: the bits must be the same."""

    name = "emulator"
    excused = ()

    def __init__(self, case, seed, orders=(0, 1, 2), **options):
        self.case, self.seed, self.orders, self.options = case, seed, orders, options

    def algorithms(self, case):
        family = cases.OPERATION_FAMILY[case.operation]
        mine = [name for name in algorithms() if name.split(".")[0] == family]
        return [name for name in mine if serves(case, name)]

    def run(self, case, algorithm, a):
        # What the case is compared with is a case of its own: one order is enough here.
        orders = self.orders if case == self.case else self.orders[:1]

        def run_order(order):
            few = (0, 1, 2)[order]
            # Without the last matrix, the last block and group are filled otherwise.
            part = a[:-1] if order == 2 and len(a) > 1 and len(orders) > 1 else a
            return call(case, algorithm, part, order, self.seed, most_blocks=few, **self.options)

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            runs = list(pool.map(run_order, orders))
        for order, (results, info) in zip(orders[1:], runs[1:], strict=True):
            for index, (one, other) in enumerate(
                zip((*runs[0][0], runs[0][1]), (*results, info), strict=True)
            ):
                if not _same(one[: len(other)], other):
                    raise FaultError(
                        f"{algorithm}: output {index} has other bits with the lanes "
                        f"{ORDERS[order]} (seed {self.seed}) than ascending"
                    )
        return runs[0]
