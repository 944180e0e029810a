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


def pytest_sessionfinish(session):
    output = getattr(session.config, "workeroutput", None)  # of pytest-xdist's workers
    if output is not None:
        output["conformance"] = [_record.ran, _record.not_served, _record.rows]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    ran, not_served, rows = getattr(node, "workeroutput", {}).get("conformance", (0, 0, []))
    _record.ran += ran
    _record.not_served += not_served
    _record.rows += [tuple(row) for row in rows]


def _format(value):
    return "-" if value != value else f"{value:.3g}"


def _table(rows):
    """Markdown: per operation, dtype, algorithm and measure the largest value over every family and
    shape, LAPACK's largest, and the largest ratio of the two in one family and shape above n = 32
    (where ours is above 2)."""
    groups = {}
    for operation, dtype, algorithm, family, n, measure, ours, lapack in rows:
        groups.setdefault((operation, dtype, algorithm, measure), []).append(
            (ours, lapack, family, n)
        )
    titles = ["operation", "dtype", "algorithm", "measure", "ours", "of", "LAPACK", "of"]
    titles += ["ratio above n = 32", "of"]
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    for key, found in sorted(groups.items()):
        known = [each for each in found if each[1] == each[1]]
        ours = max(found, key=lambda each: each[0])
        lapack = max(known, key=lambda each: each[1], default=None)
        ratios = [
            (mine / max(theirs, 1e-9), family, n)
            for mine, theirs, family, n in known
            if max(map(int, n.split("x"))) > 32 and mine > 2
        ]
        cells = [*key, _format(ours[0]), f"{ours[2]}, {ours[3]}"]
        cells += [_format(lapack[1]), f"{lapack[2]}, {lapack[3]}"] if lapack else ["-", "-"]
        if ratios:
            ratio, family, n = max(ratios)
            cells += [f"{ratio:.2f}", f"{family}, {n}"]
        else:
            cells += ["-", "-"]
        lines.append("| " + " | ".join(cells) + " |")
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
