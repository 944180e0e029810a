# SPDX-License-Identifier: Apache-2.0
"""Times lanepack on one CUDA device beside torch.linalg (CuPy and JAX with --rivals), row by row.

Ours: replays of a CUDA graph that holds eight calls on eight inputs, so that host time is not part
of it and inputs come from memory; the median over replays, divided by eight. Rivals: events around
single calls. Every matrix of every row is checked in float64 on the device. A row that fails is
printed and does not stop the rest.

    python benchmarks/cuda_rows.py --csv rows.csv
"""

import argparse
import csv
import os
import statistics
import sys
import time

import lanepack
import torch

# operation, batch, m, n, target in ms (float32; or float32, and the dtypes of twice its bytes);
# of the solves m is the number of right-hand sides
ROWS = (
    ("eigh", 1_000_000, 2, 2, 0.014), ("eigh", 1_000_000, 3, 3, 0.034),
    ("eigh", 100_000, 4, 4, 0.012), ("eigh", 30_000, 8, 8, 0.022), ("eigh", 100_000, 8, 8, 0.050),
    ("eigh", 16384, 16, 16, 0.095), ("eigh", 4096, 32, 32, 0.17),
    ("eigvalsh", 4096, 32, 32, 0.060),
    ("svd", 1_000_000, 3, 3, 0.045), ("svd", 100_000, 8, 8, 0.115), ("svd", 16384, 16, 16, 0.185),
    ("svd", 4096, 32, 32, 0.33), ("svd", 1000, 64, 32, 0.20),
    ("svdvals", 4096, 32, 32, 0.20),
    ("qr", 1_000_000, 3, 3, 0.031), ("qr", 100_000, 8, 8, 0.024), ("qr", 16384, 16, 16, 0.030),
    ("qr", 4096, 32, 32, 0.044), ("qr", 1000, 64, 32, 0.030),
    ("cholesky_ex", 1_000_000, 3, 3, (0.024, 0.045)),
    ("cholesky_ex", 100_000, 8, 8, (0.020, 0.040)),
    ("cholesky_ex", 16384, 16, 16, (0.014, 0.028)),
    ("cholesky_ex", 4096, 32, 32, (0.015, 0.030)),
    ("cholesky_ex", 1024, 64, 64, (0.032, 0.064)),
    ("cholesky_ex", 256, 128, 128, (0.050, 0.100)),
    ("solve_triangular", 1_000_000, 1, 3, (0.022, 0.044)),
    ("solve_triangular", 1_000_000, 3, 3, (0.035, 0.070)),
    ("solve_triangular", 100_000, 8, 8, (0.030, 0.055)),
    ("solve_triangular", 4096, 1, 32, (0.012, 0.018)),
    ("solve_triangular", 4096, 32, 32, (0.030, 0.050)),
    ("solve_triangular", 1024, 64, 64, (0.080, 0.160)),
    ("solve_triangular", 256, 128, 128, (0.100, 0.200)),
    ("cholesky_solve", 1_000_000, 1, 3, (0.022, 0.044)),
    ("cholesky_solve", 1_000_000, 3, 3, (0.035, 0.070)),
    ("cholesky_solve", 100_000, 8, 8, (0.040, 0.070)),
    ("cholesky_solve", 4096, 32, 32, (0.050, 0.080)),
)  # fmt: skip
# How much longer the other dtypes may take.
FACTORS = {
    torch.float32: 1.0,
    torch.float64: 2.6,
    torch.complex64: 2.5,
    torch.complex128: 5.0,
}
OF_ORDER = ("cholesky_ex", "solve_triangular", "cholesky_solve")
# As torch spells what the rows ask for.
OPTIONS = {"svd": {"full_matrices": False}, "solve_triangular": {"upper": False}}
CALLS = 8
COLUMNS = (
    "operation", "dtype", "batch", "m", "n", "ms", "low", "high", "goal", "residual",
    "orthogonality", "first_s", "host_us", "torch_ms", "route",
)  # fmt: skip


def make(operation, batch, m, n, dtype):
    """The tensors of a call."""
    if operation in OF_ORDER:
        A = torch.randn(batch, n, n, dtype=dtype, device="cuda")
        if operation == "solve_triangular":
            A.diagonal(0, -2, -1).add_(n)
        else:
            A = A @ A.mH / n + torch.eye(n, dtype=dtype, device="cuda")
        if operation == "cholesky_ex":
            return (A,)
        if operation == "cholesky_solve":
            A = lanepack.cholesky(A)
        return A, torch.randn(batch, n, m, dtype=dtype, device="cuda")
    A = torch.randn(batch, m, n, dtype=dtype, device="cuda")
    return (A + A.mH if operation.startswith("eig") else A,)


def norm(A):
    return A.abs().sum(-2).amax(-1)


def worst_of_order(operation, inputs, result):
    """The residual of cholesky and the solves in sqrt(n) u, the largest over the batch."""
    A = inputs[0]
    unit = A.shape[-1] ** 0.5 * torch.finfo(A.dtype).eps / 2
    wide = torch.complex128 if A.is_complex() else torch.float64
    largest = 0.0
    for part in torch.arange(len(A), device="cuda").split(100_000):
        X = A[part].to(wide)
        if operation == "cholesky_ex":
            L = result[0][part].to(wide)
            rest = norm(X - L @ L.mH) / norm(X)
        else:
            X = X.tril()
            scale = norm(X)
            if operation == "cholesky_solve":
                X, scale = X @ X.mH, scale * norm(X.mH)
            B, Y = inputs[1][part].to(wide), result[0][part].to(wide)
            rest = (B - X @ Y).abs().sum(-2) / (scale[:, None] * Y.abs().sum(-2))
        largest = max(largest, float(rest.max()))
    return largest / unit


def worst(operation, inputs, result):
    """(residual, orthogonality) in sqrt(n) u, the largest over the batch."""
    if operation in OF_ORDER:
        return worst_of_order(operation, inputs, result), 0.0
    (A,) = inputs
    unit = max(A.shape[-2:]) ** 0.5 * torch.finfo(A.dtype).eps / 2
    wide = torch.complex128 if A.is_complex() else torch.float64
    residual = orthogonality = 0.0
    for part in torch.arange(len(A), device="cuda").split(100_000):
        X = A[part].to(wide)
        each = [r[part].to(torch.promote_types(r.dtype, torch.float64)) for r in result]
        if operation == "eigh":
            L, V = each
            rest, Qs = X @ V - V * L[:, None, :], [V]
        elif operation == "svd":
            U, S, Vh = each
            rest, Qs = X - (U * S[:, None, :]) @ Vh, [U, Vh.mH]
        elif operation == "qr":
            Q, R = each
            rest, Qs = X - Q @ R, [Q]
        else:
            reference = getattr(torch.linalg, operation)(X[:4096])
            error = (each[0][:4096] - reference).abs().amax(-1) / norm(X[:4096])
            return float(error.max()) / unit, 0.0
        residual = max(residual, float((norm(rest) / norm(X)).max()))
        for Q in Qs:
            eye = torch.eye(Q.shape[-1], dtype=wide, device="cuda")
            orthogonality = max(orthogonality, float(norm(Q.mH @ Q - eye).max()))
    return residual / unit, orthogonality / unit


def events(function, repeats):
    times = []
    for _ in range(repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        function()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return times


def ours(function, inputs, route):
    """(median ms of one call, spread, first call's seconds)."""
    torch.cuda.synchronize()
    began = time.perf_counter()
    function(*inputs[0])
    torch.cuda.synchronize()
    first = time.perf_counter() - began
    if route == "vendor":  # torch's routines wait for the device and cannot be captured
        times = sorted(events(lambda: function(*inputs[0]), 9))
        return statistics.median(times), (times[2], times[-3]), first
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kept = [function(*each) for each in inputs]
    graph.replay()
    torch.cuda.synchronize()
    times = sorted(each / CALLS for each in events(graph.replay, 15))
    quarter = len(times) // 4
    del kept
    return statistics.median(times), (times[quarter], times[-1 - quarter]), first


def torch_time(operation, inputs, limit):
    if operation == "cholesky_solve":
        return torch_time_of(lambda: torch.cholesky_solve(inputs[1], inputs[0]), limit)
    function = getattr(torch.linalg, operation)
    options = OPTIONS.get(operation, {})
    return torch_time_of(lambda: function(*inputs, **options), limit)


def torch_time_of(call, limit):
    try:
        began = time.perf_counter()
        call()
        torch.cuda.synchronize()
        if time.perf_counter() - began > limit:
            return (time.perf_counter() - began) * 1e3
        return statistics.median(events(call, 5))
    except Exception as error:  # out of memory, cuSOLVER's errors: part of the table
        torch.cuda.empty_cache()
        return f"{type(error).__name__}"


def host_time(function, inputs, count=200):
    """Microseconds of host time a call, the device kept out of the way."""
    function(*inputs)
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(count):
        function(*inputs)
    spent = time.perf_counter() - began
    torch.cuda.synchronize()
    return spent / count * 1e6


def ours_of(operation):
    if operation == "solve_triangular":
        return lambda A, B: lanepack.solve_triangular(A, B, upper=False)
    if operation == "cholesky_solve":
        return lambda A, B: lanepack.cholesky_solve(B, A)
    return getattr(lanepack, operation)


def route_of(operation, batch, m, n, dtype):
    where = {"dtype": dtype, "device": "cuda"}
    if operation in ("solve_triangular", "cholesky_solve"):
        return lanepack.solve_triangular_backend(n, batch, columns=m, **where)
    if operation == "cholesky_ex" or operation.startswith("eig"):
        return lanepack.backend(operation.removesuffix("_ex"), n, batch, **where)
    return getattr(lanepack, f"{operation}_backend")(m, n, batch, **where)


def goal_of(target, dtype):
    if isinstance(target, tuple):
        return target[0] if dtype == torch.float32 else target[1] * (dtype.itemsize // 8)
    return target * FACTORS[dtype]


def run(dtypes, operations, with_rivals):
    for dtype in dtypes:
        for operation, batch, m, n, target in ROWS:
            if operations and operation not in operations:
                continue
            function = ours_of(operation)
            name = f"{operation} {str(dtype)[6:]} {batch}x{m}x{n}"
            try:
                count = max(1, min(CALLS, int(4e9 // (batch * m * n * dtype.itemsize))))
                inputs = [make(operation, batch, m, n, dtype) for _ in range(count)]
                inputs = (inputs * CALLS)[:CALLS]
                route = route_of(operation, batch, m, n, dtype)
                median, spread, first = ours(function, inputs, route)
                result = function(*inputs[0])
                result = (result,) if isinstance(result, torch.Tensor) else tuple(result)
                residual, orthogonality = worst(operation, inputs[0], result)
                host = host_time(function, [each[:1] for each in inputs[0]])
                theirs = torch_time(operation, inputs[0], 2.0) if with_rivals else ""
            except Exception as error:
                print(f"{name}: {type(error).__name__}: {error}", flush=True)
                torch.cuda.empty_cache()
                continue
            goal = goal_of(target, dtype)
            print(
                f"{name:34s} {median:8.4f} ms ({spread[0]:.4f}..{spread[1]:.4f}) goal {goal:.4f} "
                f"{'met' if median <= goal else 'MISSED':6s} res {residual:6.1f} "
                f"orth {orthogonality:6.1f} first {first:5.1f} s host {host:5.1f} us torch {theirs}"
                f" {route}",
                flush=True,
            )
            yield (
                operation, str(dtype)[6:], batch, m, n, median, *spread, goal, residual,
                orthogonality, first, host, theirs, route,
            )  # fmt: skip
            del inputs, result
            torch.cuda.empty_cache()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--csv")
    parser.add_argument("--dtypes", default="float32,float64,complex64,complex128")
    parser.add_argument("--operations", default="")
    parser.add_argument("--no-rivals", action="store_true")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit("cuda_rows: torch finds no CUDA device")
    torch.manual_seed(0)
    dtypes = [getattr(torch, name) for name in options.dtypes.split(",")]
    operations = options.operations.split(",") if options.operations else ()
    with open(options.csv or os.devnull, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for row in run(dtypes, operations, not options.no_rivals):
            writer.writerow(row)
            file.flush()


if __name__ == "__main__":
    main()
