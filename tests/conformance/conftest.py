# SPDX-License-Identifier: Apache-2.0
"""Counts what ran, and writes the accuracy table when asked."""

import datetime
import pathlib

import pytest

from . import implementations


class Record:
    """What the run found: combinations run and left out, and the table's rows."""

    def __init__(self):
        self.ran = 0
        self.not_served = 0
        self.rows = []


_record = Record()


@pytest.fixture(scope="session")
def record():
    return _record


@pytest.fixture(scope="session")
def implementation(pytestconfig):
    return {"lanepack": implementations.Lanepack, "torch": implementations.Torch}[
        pytestconfig.getoption("--implementation")
    ]()


def _format(value):
    return "-" if value != value else f"{value:.3g}"


def _table(rows):
    """Markdown: per operation, dtype, algorithm, family and measure the maximum over the shapes,
    ours and LAPACK's, with the n of our maximum, and the ratio where above the floor."""
    lines = [
        "| operation | dtype | algorithm | family | n | measure | ours | LAPACK |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in sorted(rows):
        operation, dtype, algorithm, family, n, measure, ours, lapack = row
        lines.append(
            f"| {operation} | {dtype} | {algorithm} | {family} | {n} | {measure} "
            f"| {_format(ours)} | {_format(lapack)} |"
        )
    return lines


def pytest_terminal_summary(terminalreporter, config):
    if not (_record.ran or _record.not_served):
        return
    terminalreporter.write_line(
        f"conformance: {_record.ran} combinations of case and algorithm ran, "
        f"{_record.not_served} are not served by that algorithm"
    )
    path = config.getoption("--accuracy-table")
    if path:
        head = [
            f"Measured on {datetime.date.today()}. In units of sqrt(n) u: the largest over "
            "every matrix; `relative` in u.",
            "",
        ]
        pathlib.Path(path).write_text("\n".join(head + _table(_record.rows)) + "\n")
        terminalreporter.write_line(f"accuracy table: {path}")
