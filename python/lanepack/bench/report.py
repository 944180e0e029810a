# SPDX-License-Identifier: Apache-2.0
"""A run as text, as CSV and as JSON-ready records."""

from __future__ import annotations

import csv
import dataclasses
import math
from pathlib import Path
from typing import Any

from .cases import Problem
from .run import LONGEST_CALL_S, NAMES, Row

_SHORT_DTYPE = {"float32": "f32", "float64": "f64", "complex64": "c64", "complex128": "c128"}

_HEADINGS = {
    "batch": "Batches: the best rival's time / lanepack's",
    "values": "Values alone: lanepack's time with vectors / without",
    "call": "One small matrix, the whole call: torch's time / lanepack's",
    "gradient": "One small matrix, forward and backward: torch's time / lanepack's",
    "busy": "One small matrix beside a busy process: torch's time / lanepack's",
}


def short_dtype(dtype: str) -> str:
    return _SHORT_DTYPE[dtype]


def format_time(seconds: float) -> str:
    """'4.71 us', '12.3 ms': three digits and a unit."""
    if math.isnan(seconds):
        return "-"
    for unit, scale in (("us", 1e-6), ("ms", 1e-3), ("s", 1.0)):
        value = seconds / scale
        if value < 999.5 or unit == "s":
            digits = 2 if value < 9.995 else 1 if value < 99.95 else 0
            return f"{value:.{digits}f} {unit}"
    raise AssertionError("unreachable: seconds is the last unit")


def progress_text(row: Any) -> str:
    """A finished row in a few words."""
    case, time = row.case, format_time(row.times["lanepack"].median)
    return (
        f"{case.operation} {short_dtype(case.dtype)} {case.shape}: {time}, "
        f"ratio {format_ratio(row.ratio)} ({row.verdict})"
    )


def format_ratio(value: float) -> str:
    if math.isnan(value):
        return "-"
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}"


def _cells(row: Row, names: list[str]) -> list[str]:
    case = row.case
    cells = [case.operation, short_dtype(case.dtype), case.shape]
    for name in names:
        time = row.times.get(name)
        mark = "" if time is None or time.right else "!"
        cells.append("-" if time is None else format_time(time.median) + mark)
    spread = "-"
    if not math.isnan(row.ratio):
        spread = f"{format_ratio(row.ratio_low)}..{format_ratio(row.ratio_high)}"
    target = f"{case.target:g}"
    cells += [format_ratio(row.ratio), spread, target, row.reference or "-", row.verdict, row.route]
    return cells


def table(rows: list[Row]) -> str:
    """Aligned text, a block per measure; '!' marks a time whose result was beyond its bound."""
    blocks = []
    for measure, heading in _HEADINGS.items():
        chosen = [row for row in rows if row.case.measure == measure]
        if not chosen:
            continue
        names = [name for name in NAMES if any(name in row.times for row in chosen)]
        if measure == "values":
            names.append("with vectors")
        head = ["operation", "dtype", "shape", *names]
        head += ["ratio", "quartiles", "target", "against", "verdict", "route"]
        lines = [head] + [_cells(row, names) for row in chosen]
        blocks.append(f"{heading}\n{align(lines)}")
    left_out = [f"{name} in {row.case.name}" for row in rows for name in row.left_out]
    if left_out:
        blocks.append(
            f"Left out, since a call would take more than {LONGEST_CALL_S:g} s: "
            + ", ".join(left_out)
        )
    return "\n\n".join(blocks)


def align(lines: list[list[str]]) -> str:
    """Columns padded to their widest cell; those that hold figures are set to the right."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    right = [
        all(line[i][:1].isdigit() or line[i] == "-" for line in lines[1:]) and i > 2
        for i in range(len(lines[0]))
    ]
    text = []
    for line in lines:
        cells = (
            cell.rjust(width) if at_right else cell.ljust(width)
            for cell, width, at_right in zip(line, widths, right, strict=True)
        )
        text.append("  ".join(cells).rstrip())
    return "\n".join(text)


def summary(rows: list[Row]) -> str:
    """One line: how many rows met, missed, wrong."""
    return count_verdicts(rows, {name: name for name in ("met", "missed", "wrong", "alone")})


def count_verdicts(rows: list[Any], words: dict[str, str]) -> str:
    """'56 rows: 26 met, 30 missed'; words: what each verdict is called, in this order."""
    counts = dict.fromkeys(words, 0)
    for row in rows:
        counts[row.verdict] += 1
    parts = [f"{count} {words[verdict]}" for verdict, count in counts.items() if count]
    return f"{len(rows)} {'row' if len(rows) == 1 else 'rows'}: " + ", ".join(parts)


def records(rows: list[Row], environment: dict[str, Any], versions: dict[str, str]) -> list[dict]:
    """One flat dict per row, as written to CSV and JSON; times in milliseconds, NaN as None."""
    result = []
    for row in rows:
        case = row.case
        record: dict[str, Any] = {
            **problem_columns(case),
            "route": row.route,
            "rounds": row.rounds,
        }
        for name in (*NAMES, "with vectors"):
            time = row.times.get(name)
            key = name.replace(" ", "_")
            record[f"{key}_ms"] = time and round(time.median * 1e3, 7)
            record[f"{key}_low_ms"] = time and round(time.low * 1e3, 7)
            record[f"{key}_high_ms"] = time and round(time.high * 1e3, 7)
        errors = row.times["lanepack"].errors
        record["residual"] = None if errors is None else rounded(errors.residual)
        record["orthogonality"] = None if errors is None else rounded(errors.orthogonality)
        record["reference"] = row.reference or None
        record["ratio"] = rounded(row.ratio)
        record["ratio_low"] = rounded(row.ratio_low)
        record["ratio_high"] = rounded(row.ratio_high)
        torch_ratio = row.torch_ratio or (None, None, None)
        record["torch_ratio_low"], record["torch_ratio"], record["torch_ratio_high"] = (
            rounded(value) for value in torch_ratio
        )
        record["target"] = case.target
        record["needed"] = case.needed
        record["verdict"] = row.verdict
        record.update(environment)
        record["versions"] = versions_text(versions)
        result.append(record)
    return result


def rounded(value: float | None, digits: int = 4) -> float | None:
    return None if value is None or math.isnan(value) else round(value, digits)


def problem_columns(case: Problem) -> dict[str, Any]:
    """What `--compare` knows a row by, beside the number of threads."""
    return {field.name: getattr(case, field.name) for field in dataclasses.fields(Problem)}


def versions_text(versions: dict[str, str]) -> str:
    return " ".join(f"{name}={version}" for name, version in versions.items())


def write_csv(path: str | Path, rows: list[dict]) -> None:
    """Writes `records`, creating the folder where it is missing."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
