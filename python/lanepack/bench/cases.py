# SPDX-License-Identifier: Apache-2.0
"""The case table: which problems are timed, and the ratio that each must reach.

`cases.csv` has one row per case:

measure    what is timed and what the ratio is
           batch     a batch of random matrices; best rival / lanepack
           values    the same without vectors; lanepack with vectors / lanepack without
           call      one small matrix, the whole Python call; torch / lanepack
           gradient  one small matrix, forward and backward; torch / lanepack
           busy      as call, while another process keeps one core busy
operation  eigh, eigvalsh, svd, svdvals, qr, cholesky, solve_triangular
dtype      float32, float64, complex64, complex128
batch m n  sizes; of solve_triangular m is the order and n the number of right-hand sides
target     the ratio aimed at
needed     the ratio below which the row counts as missed
behind_us  where given, being at most this many microseconds behind also meets the row
quick      1: part of `--quick`
"""

from __future__ import annotations

import csv
import dataclasses
import fnmatch
from pathlib import Path
from typing import Any

MEASURES = ("batch", "values", "call", "gradient", "busy")
OPERATIONS = ("eigh", "eigvalsh", "svd", "svdvals", "qr", "cholesky", "solve_triangular")
DTYPES = ("float32", "float64", "complex64", "complex128")

# Complex rows have no target of their own: losing to a rival is a defect on any row.
_COMPLEX_TARGET = 0.95
_COMPLEX_OF = {"float32": "complex64", "float64": "complex128"}


@dataclasses.dataclass(frozen=True)
class Problem:
    """What a row of a case table times, on whatever device."""

    measure: str
    operation: str
    dtype: str
    batch: int
    m: int
    n: int

    @property
    def shape(self) -> str:
        """The shape as it is written in tables: '4096 x 16x16'."""
        return f"{self.batch} x {self.m}x{self.n}"

    @property
    def name(self) -> str:
        """The row's identifier, which `--rows` patterns are matched with."""
        return f"{self.measure}/{self.operation}/{self.dtype}/{self.shape.replace(' ', '')}"


@dataclasses.dataclass(frozen=True)
class Case(Problem):
    """One row of the case table."""

    target: float
    needed: float
    behind_us: float | None
    quick: bool


def read_table(path: Path) -> list[dict[str, str]]:
    """The rows of a case table."""
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def problem_fields(row: dict[str, str]) -> dict[str, Any]:
    """The columns that every case table has, but for the dtype."""
    names = {name: row[name] for name in ("measure", "operation")}
    return {**names, **{name: int(row[name]) for name in ("batch", "m", "n")}}


def load_cases() -> list[Case]:
    """Reads the table that lies beside this file, and derives the complex batch rows from it."""
    cases = []
    for row in read_table(Path(__file__).with_name("cases.csv")):
        cases.append(
            Case(
                **problem_fields(row),
                dtype=row["dtype"],
                target=float(row["target"]),
                needed=float(row["needed"]),
                behind_us=float(row["behind_us"]) if row["behind_us"] else None,
                quick=row["quick"] == "1",
            )
        )
    derived = [
        dataclasses.replace(
            case, dtype=_COMPLEX_OF[case.dtype], target=_COMPLEX_TARGET, needed=_COMPLEX_TARGET
        )
        for case in cases
        if case.measure == "batch"
    ]
    return cases + derived


def select(
    cases: list[Case],
    *,
    operations: list[str] | None = None,
    dtypes: list[str] | None = None,
    rows: list[str] | None = None,
    quick: bool = False,
) -> list[Case]:
    """The cases of the given operations and dtypes whose name matches one of the `rows` patterns.

    Without `dtypes` the complex rows are left out unless a pattern names them.
    """

    named = any("complex" in pattern for pattern in rows or ())
    unnamed = [name for name in DTYPES if named or not name.startswith("complex")]
    cases = [case for case in cases if case.dtype in (dtypes or unnamed)]
    return select_named(cases, operations=operations, rows=rows, quick=quick)


def select_named(
    cases: list[Any], *, operations: list[str] | None, rows: list[str] | None, quick: bool
) -> list[Any]:
    """What of `select` is the same for every case table: all but the dtypes."""
    return [
        case
        for case in cases
        if (not operations or case.operation in operations)
        and (not quick or case.quick)
        and (not rows or any(matches(case.name, pattern) for pattern in rows))
    ]


def matches(name: str, pattern: str) -> bool:
    """Whether a row's name fits: as a shell pattern with a wildcard, as a part without."""
    pattern = pattern.replace(" ", "")
    if any(letter in pattern for letter in "*?["):
        return fnmatch.fnmatchcase(name, pattern)
    return pattern in name
