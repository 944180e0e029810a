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

MEASURES = ("batch", "values", "call", "gradient", "busy")
OPERATIONS = ("eigh", "eigvalsh", "svd", "svdvals", "qr", "cholesky", "solve_triangular")
DTYPES = ("float32", "float64", "complex64", "complex128")

# Complex rows have no target of their own: losing to a rival is a defect on any row.
_COMPLEX_TARGET = 0.95
_COMPLEX_OF = {"float32": "complex64", "float64": "complex128"}


@dataclasses.dataclass(frozen=True)
class Case:
    """One row of the case table."""

    measure: str
    operation: str
    dtype: str
    batch: int
    m: int
    n: int
    target: float
    needed: float
    behind_us: float | None
    quick: bool

    @property
    def shape(self) -> str:
        """The shape as it is written in tables: '4096 x 16x16'."""
        return f"{self.batch} x {self.m}x{self.n}"

    @property
    def name(self) -> str:
        """The row's identifier, which `--rows` patterns are matched with."""
        return f"{self.measure}/{self.operation}/{self.dtype}/{self.shape.replace(' ', '')}"


def load_cases() -> list[Case]:
    """Reads the table that lies beside this file, and derives the complex batch rows from it."""
    text = Path(__file__).with_name("cases.csv").read_text(encoding="utf-8")
    cases = []
    for row in csv.DictReader(text.splitlines()):
        cases.append(
            Case(
                measure=row["measure"],
                operation=row["operation"],
                dtype=row["dtype"],
                batch=int(row["batch"]),
                m=int(row["m"]),
                n=int(row["n"]),
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

    def wanted(case: Case) -> bool:
        if operations and case.operation not in operations:
            return False
        if dtypes and case.dtype not in dtypes:
            return False
        named = any("complex" in pattern for pattern in rows or ())
        if case.dtype.startswith("complex") and not (dtypes or named):
            return False
        if quick and not case.quick:
            return False
        return not rows or any(matches(case.name, pattern) for pattern in rows)

    return [case for case in cases if wanted(case)]


def matches(name: str, pattern: str) -> bool:
    """Whether a row's name fits: as a shell pattern with a wildcard, as a part without."""
    pattern = pattern.replace(" ", "")
    if any(letter in pattern for letter in "*?["):
        return fnmatch.fnmatchcase(name, pattern)
    return pattern in name
