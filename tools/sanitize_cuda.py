# SPDX-License-Identifier: Apache-2.0
"""Calls every CUDA kernel of ours on small batches, for compute-sanitizer to watch.

for tool in memcheck racecheck initcheck synccheck; do
  PYTHONPATH=python compute-sanitizer --tool $tool --error-exitcode 1 python3 tools/sanitize_cuda.py
done
"""

import argparse
import functools
import sys

import lanepack
import torch

BATCH = 67  # two blocks' worth, with a rest
SQUARES = (1, 2, 3, 5, 8, 9, 16, 21, 32)
RECTANGLES = ((5, 3), (3, 5), (8, 1), (12, 9), (9, 12), (40, 20), (20, 40), (64, 32), (100, 32))


def calls(dtype):
    generator = torch.Generator(device="cuda").manual_seed(0)

    def matrix(m, n):
        return torch.randn(BATCH, m, n, dtype=dtype, device="cuda", generator=generator)

    for n in SQUARES:
        A = matrix(n, n)
        A = A + A.mH
        for view in (A, A.mT.contiguous().mT, A.flip(1, 2)):
            yield "eigh", n, n, lambda A=view: lanepack.eigh_ex(A)
        yield "eigvalsh", n, n, lambda A=A: lanepack.eigvalsh_ex(A, "U")
    for n in (*SQUARES, 33, 64, 96, 128):
        A = matrix(n, n)
        A = A @ A.mH / n + torch.eye(n, dtype=dtype, device="cuda")
        A[5, -1, -1] = float("nan")
        for view in (A, A.mT.contiguous().mT, A.flip(1, 2)):
            yield "cholesky", n, n, lambda A=view: lanepack.cholesky_ex(A)
        yield "cholesky", n, n, lambda A=A: lanepack.cholesky_ex(A, upper=True)
        for columns in (1, 2, 3, 7, 12, 40):
            B = matrix(n, columns)
            yield (
                "solve_triangular", columns, n,
                lambda A=A, B=B: lanepack.solve_triangular(A, B, upper=True),
            )  # fmt: skip
            yield (
                "solve_triangular", columns, n,
                lambda A=A, B=B: lanepack.cholesky_solve(B.mT.contiguous().mT, A[:1]),
            )  # fmt: skip
    for m, n in (*((n, n) for n in SQUARES), *RECTANGLES):
        A = matrix(m, n)
        A[5, -1, -1] = float("nan")
        yield "qr", m, n, lambda A=A: lanepack.qr_ex(A)
        yield "qr", m, n, lambda A=A: lanepack.qr_ex(A.mT.contiguous().mT, "r")
        yield "svd", m, n, lambda A=A: lanepack.svd_ex(A)
        yield "svdvals", m, n, lambda A=A: lanepack.svdvals_ex(A)


def main():
    if not torch.cuda.is_available():
        sys.exit("sanitize_cuda: torch finds no CUDA device")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dtypes", nargs="*")
    parser.add_argument("--operations", default="", help="such as cholesky,solve_triangular")
    parser.add_argument("--share", default="0/1", help="i/n: every n-th call, from the i-th on")
    options = parser.parse_args()
    share, shares = (int(x) for x in options.share.split("/"))
    names = options.dtypes or ["float32", "float64", "complex64", "complex128"]
    only = options.operations.split(",") if options.operations else ()
    count = index = 0
    for name in names:
        dtype = getattr(torch, name)
        for operation, m, n, call in calls(dtype):
            if only and operation not in only:
                continue
            index += 1
            if index % shares != share % shares:
                continue
            route = getattr(lanepack, f"{operation}_backend")
            if operation == "solve_triangular":
                route = functools.partial(route, columns=m)
            sizes = (m, n) if operation in ("qr", "svd", "svdvals") else (n,)
            if route(*sizes, BATCH, dtype=dtype, device="cuda") == "vendor":
                continue  # torch's routines are not ours to watch
            call()
            count += 1
        torch.cuda.synchronize()
    print(f"{count} calls on {', '.join(names)}")


if __name__ == "__main__":
    main()
