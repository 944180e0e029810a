# SPDX-License-Identifier: Apache-2.0
"""A run on a CUDA device as text, as CSV and as JSON-ready records."""

from __future__ import annotations

import math
from typing import Any

from ..report import (
    align,
    count_verdicts,
    format_ratio,
    format_time,
    problem_columns,
    rounded,
    short_dtype,
    versions_text,
)
from .contestants import NAMES
from .run import Row, Time

_HEADINGS = {
    "batch": (
        "Batches, without host time (quartiles); target and floor; one call, timed as the rivals "
        "are; the fastest rival's time / lanepack's"
    ),
    "call": "One small matrix, the whole call until the result is there",
    "host": "Host time of a call: until it returns",
    "first": "The first call of a fresh process, which compiles, and with a warm cache of kernels",
}
_RIVALS = NAMES[1:]


def _milliseconds(seconds: float) -> str:
    return "-" if math.isnan(seconds) else f"{seconds * 1e3:.3g}"


def _mebibytes(time: Time | None) -> str:
    if time is None or time.peak_bytes is None:
        return "-"
    return f"{time.peak_bytes / 2**20:.3g}"


def _rival(time: Time | None) -> str:
    """'1.29 ms'; with '~' where scaled from a part, with '!' where beyond its bound."""
    if time is None:
        return "-"
    if not time.seconds:
        return time.failure
    about = "" if time.matrices is None else "~"
    return about + format_time(time.median) + ("" if time.right else "!")


def _ours(row: Row) -> str:
    ours = row.times["lanepack"]
    if not ours.seconds:
        return "failed"
    return format_time(ours.median) + ("" if ours.right else "!")


def _to_target(row: Row) -> list[str]:
    target = row.case.target_ms
    ours = row.times["lanepack"]
    if target is None:
        return ["-", "-"]
    times = ours.median * 1e3 / target
    return [format_time(target * 1e-3), "-" if math.isnan(times) else f"{times:.2f}x"]


def _batch_cells(row: Row, rivals: list[str]) -> list[str]:
    ours = row.times["lanepack"]
    spread = "-"
    if ours.seconds:
        spread = f"{_milliseconds(ours.low)}..{_milliseconds(ours.high)}"
    single = row.alike.get("events")
    peaks = "-"
    if ours.peak_bytes is not None:
        peaks = f"{_mebibytes(ours)} / {_mebibytes(row.times.get('torch'))}"
    cells = [spread, format_time(row.floor), *_to_target(row)]
    cells.append("-" if single is None else format_time(single.median))
    cells += [_rival(row.times.get(name)) for name in rivals]
    return [*cells, format_ratio(row.ratio), row.reference or "-", peaks]


def _cells(row: Row, rivals: list[str]) -> list[str]:
    case = row.case
    cells = [case.operation, short_dtype(case.dtype), case.shape, _ours(row)]
    theirs = [_rival(row.times.get(name)) for name in rivals]
    if case.measure == "batch":
        cells += _batch_cells(row, rivals)
    elif case.measure == "first":
        cells += [_rival(row.times.get(name)) for name in ("warm cache", "second call")] + theirs
    else:
        cells += [*_to_target(row), *theirs, format_ratio(row.ratio)]
    return [*cells, row.verdict, row.route or "-"]


def _head(measure: str, rivals: list[str]) -> list[str]:
    head = ["operation", "dtype", "shape", "lanepack"]
    if measure == "batch":
        head += ["ms", "floor", "target", "of it", "one call", *rivals, "ratio", "against"]
        head.append("MiB, torch's")
    elif measure == "first":
        head += ["warm cache", "second call", *rivals]
    else:
        head += ["target", "of it", *rivals, "ratio"]
    return [*head, "verdict", "route"]


def table(rows: list[Row], missing: list[str] = ()) -> str:
    """Aligned text, a block per measure, and behind it what the marks stand for."""
    blocks = []
    for measure, heading in _HEADINGS.items():
        chosen = [row for row in rows if row.case.measure == measure]
        if not chosen:
            continue
        rivals = [name for name in _RIVALS if any(name in row.times for row in chosen)]
        lines = [_head(measure, rivals)] + [_cells(row, rivals) for row in chosen]
        blocks.append(f"{heading}\n{align(lines)}")
    notes = _notes(rows)
    notes += [f"Left out: {text}." for text in missing]
    if notes:
        blocks.append("\n".join(notes))
    return "\n\n".join(blocks)


def _notes(rows: list[Row]) -> list[str]:
    notes = []
    named = [(row, name, time) for row in rows for name, time in row.times.items()]
    scaled = [
        f"{name} in {row.case.name} from {time.matrices}"
        for row, name, time in named
        if time.matrices is not None
    ]
    if scaled:
        notes.append(
            "~ scaled from the first matrices, since the whole batch would take too long: "
            + ", ".join(scaled)
        )
    beyond = [
        f"{name} in {row.case.name} ({_errors_text(time)})"
        for row, name, time in named
        if not time.right
    ]
    if beyond:
        notes.append(
            "! beyond the bound of residual or orthogonality, and compared with all the same: "
            + ", ".join(beyond)
        )
    notes += [
        f"Failed: {row.case.name}: {row.times['lanepack'].failure}"
        for row in rows
        if row.times["lanepack"].failure
    ]
    return notes


def _errors_text(time: Time) -> str:
    errors = time.errors
    assert errors is not None
    text = f"{errors.residual:.3g}"
    return text if errors.orthogonality is None else f"{text}, {errors.orthogonality:.3g}"


def summary(rows: list[Row]) -> str:
    """One line: how many rows met their target, missed it, were wrong, failed, have none."""
    words = {name: name for name in ("met", "missed", "wrong", "failed")}
    return count_verdicts(rows, {**words, "none": "without a target"})


def _time_record(key: str, time: Time | None) -> dict[str, Any]:
    record: dict[str, Any] = dict.fromkeys((f"{key}_ms", f"{key}_low_ms", f"{key}_high_ms"), None)
    if time is not None:
        for part, value in (("", time.median), ("_low", time.low), ("_high", time.high)):
            record[f"{key}{part}_ms"] = rounded(value * 1e3, 7)
    return record


def _note(time: Time | None) -> str:
    if time is None or not (time.seconds or time.failure):
        return ""
    parts = [time.failure] if time.failure else []
    if time.matrices is not None:
        parts.append(f"scaled from {time.matrices} matrices")
    if len(time.seconds) == 1:
        parts.append("timed once")
    if not time.right:
        parts.append("beyond its bound")
    return "; ".join(parts)


def records(
    rows: list[Row], environment: dict[str, Any], versions: dict[str, str]
) -> list[dict[str, Any]]:
    """One flat dict per row, as written to CSV and JSON; times in milliseconds, NaN as None."""
    result = []
    for row in rows:
        case, ours = row.case, row.times["lanepack"]
        record: dict[str, Any] = {
            **problem_columns(case),
            "threads": "",  # `--compare` knows a row by it, and by the columns above
            "route": row.route,
            "method": row.method,
            "rounds": row.rounds,
            **_time_record("lanepack", ours),
            **_time_record("one_call", row.alike.get("events")),
            "floor_ms": rounded(row.floor * 1e3, 7),
            "target_ms": rounded(case.target_ms, 7),
            "of_target": rounded(
                math.nan if case.target_ms is None else ours.median * 1e3 / case.target_ms
            ),
            "verdict": row.verdict,
            "residual": ours.errors and rounded(ours.errors.residual),
            "orthogonality": ours.errors and rounded(ours.errors.orthogonality),
            "peak_bytes": ours.peak_bytes,
            "note": _note(ours),
        }
        for name in _RIVALS:
            time = row.times.get(name)
            record.update(_time_record(name, time))
            record[f"{name}_residual"] = (
                rounded(time.errors.residual) if time is not None and time.errors else None
            )
            record[f"{name}_note"] = _note(time)
        torch_time = row.times.get("torch")
        record["torch_peak_bytes"] = torch_time and torch_time.peak_bytes
        for name in ("warm cache", "second call"):
            record.update(_time_record(name.replace(" ", "_"), row.times.get(name)))
        record["reference"] = row.reference or None
        record["ratio"] = rounded(row.ratio)
        record["ratio_low"] = rounded(row.ratio_low)
        record["ratio_high"] = rounded(row.ratio_high)
        # The ratio to torch is for `--compare` of CPU runs; a device's own time needs none.
        record.update(dict.fromkeys(("torch_ratio", "torch_ratio_low", "torch_ratio_high"), None))
        record.update(environment)
        record["versions"] = versions_text(versions)
        result.append(record)
    return result
