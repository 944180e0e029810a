# SPDX-License-Identifier: Apache-2.0
"""The rows of CUDA devices: which problems are timed, and how long each may take.

`cases.csv` has one row per case:

measure    what is timed
           batch   a batch of random matrices, without host time
           call    one small matrix, the whole Python call until the result is there
           host    the same until the call returns, the device still at work
           first   the first call of a fresh process: kernels compiled; then with a warm cache
operation  eigh, eigvalsh, svd, svdvals, qr, cholesky_ex, solve_triangular, cholesky_solve
batch m n  sizes; of the solves m is the order and n the number of right-hand sides
target_ms  the time aimed at on an H200, float32; none where no one has set it
complex64_ms  the same for complex64, where it is not the factor below
quick      1: part of `--quick`

A row stands for all dtypes. The targets of `batch` rows are multiplied by a factor for the others.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

from ..cases import DTYPES, Problem, problem_fields, read_table, select_named

MEASURES = ("batch", "call", "host", "first")
OPERATIONS = (
    "eigh", "eigvalsh", "svd", "svdvals", "qr", "cholesky_ex", "solve_triangular", "cholesky_solve",
)  # fmt: skip
SOLVES = ("solve_triangular", "cholesky_solve")

# float64 runs at half the float32 rate and has twice the bytes, complex has four times the
# operations.
_FACTORS = {"float32": 1.0, "float64": 2.6, "complex64": 2.5, "complex128": 5.0}
_FACTOR_AT_32_FLOAT64 = 3.0


@dataclasses.dataclass(frozen=True)
class Case(Problem):
    """One row of the table in one dtype."""

    target_ms: float | None
    quick: bool

    @property
    def item_bytes(self) -> int:
        return {"float32": 4, "float64": 8, "complex64": 8, "complex128": 16}[self.dtype]

    @property
    def real_dtype(self) -> str:
        return "float64" if self.dtype in ("float64", "complex128") else "float32"


def target_of(row: dict[str, str], dtype: str) -> float | None:
    """The target of a row of the file, in milliseconds, for `dtype`."""
    if not row["target_ms"]:
        return None
    target = float(row["target_ms"])
    if row["measure"] != "batch":  # times of the host, which know no dtype
        return target
    if dtype == "complex64" and row["complex64_ms"]:
        return float(row["complex64_ms"])
    factor = _FACTORS[dtype]
    if dtype == "float64" and row["operation"] in ("eigh", "svd") and row["n"] == "32":
        factor = _FACTOR_AT_32_FLOAT64
    return target * factor


def load_cases() -> list[Case]:
    """Every row of the table in every dtype, float32 first."""
    rows = read_table(Path(__file__).with_name("cases.csv"))
    return [
        Case(
            **problem_fields(row),
            dtype=dtype,
            target_ms=target_of(row, dtype),
            quick=row["quick"] == "1",
        )
        for dtype in DTYPES
        for row in rows
    ]


def select(
    cases: list[Case],
    *,
    operations: list[str] | None = None,
    dtypes: list[str] | None = None,
    rows: list[str] | None = None,
    quick: bool = False,
) -> list[Case]:
    """The cases of the given operations and dtypes whose name matches one of the `rows` patterns.

    Without `dtypes`: float32, and what a pattern names. 'cholesky' is taken for cholesky_ex.
    """
    operations = [{"cholesky": "cholesky_ex"}.get(name, name) for name in operations or ()]

    named = [name for name in DTYPES if any(name in pattern for pattern in rows or ())]
    cases = [case for case in cases if case.dtype in (dtypes or ("float32", *named))]
    return select_named(cases, operations=operations, rows=rows, quick=quick)


def moved_bytes(case: Case) -> int:
    """Bytes of the inputs, each read once, and of the results, each written once."""
    m, n, k = case.m, case.n, min(case.m, case.n)
    item, real = case.item_bytes, 8 if case.real_dtype == "float64" else 4
    if case.operation in SOLVES:
        return case.batch * item * (m * m + 2 * m * n)
    results = {
        "eigh": item * n * n + real * n,
        "eigvalsh": real * n,
        "svd": item * k * (m + n) + real * k,
        "svdvals": real * k,
        "qr": item * k * (m + n),
        "cholesky_ex": item * n * n,
    }[case.operation]
    return case.batch * (item * m * n + results)


def operations_count(case: Case) -> float:
    """Real operations that the direct algorithms of LAPACK need at least, in leading order.

    eigh, svd: the reduction to tridiagonal or bidiagonal form, and its reflectors applied to the
    vectors; what the iteration in between costs is left out. Complex operations count for four.
    """
    m, n = max(case.m, case.n), min(case.m, case.n)
    tall = 2 * m * n**2 + 2 * n**3 if 3 * m > 5 * n else 4 * m * n**2 - 4 * n**3 / 3
    each = {
        "eigh": 4 * n**3 / 3 + 2 * n**3,
        "eigvalsh": 4 * n**3 / 3,
        "svd": tall + 2 * m * n**2 + 2 * n**3,
        "svdvals": tall,
        "qr": 4 * m * n**2 - 4 * n**3 / 3,
        "cholesky_ex": n**3 / 3,
        "solve_triangular": case.m**2 * case.n,
        "cholesky_solve": 2 * case.m**2 * case.n,
    }[case.operation]
    return case.batch * each * (4 if case.dtype.startswith("complex") else 1)
