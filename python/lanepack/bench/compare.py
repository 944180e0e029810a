# SPDX-License-Identifier: Apache-2.0
"""Two CSV files of `lanepack bench` against each other, row by row, with the band of their noise.

What is compared is the ratio torch / lanepack, formed within each round, so that a machine that was
slower as a whole on one day does not count as a change; where a run left torch out, and on a CUDA
device, whose clock no other work disturbs, lanepack's own time. Only what lies outside the noise
band is called a change.
"""

from __future__ import annotations

import csv
import dataclasses
import math
from pathlib import Path

from .report import align, format_time, short_dtype

# Runs differ by more than the spread inside one run shows: placement in memory, frequency.
_LEAST_BAND = 0.03
# Of a median over N rounds: 1.2533 sigma / sqrt(N), sigma = interquartile range / 1.349.
_MEDIAN_ERROR = 1.2533 / 1.349
_BAND_IN_ERRORS = 2.0

_KEY = ("measure", "operation", "dtype", "batch", "m", "n", "threads")
_COLUMNS = {*_KEY, "rounds", "lanepack_ms", "lanepack_low_ms", "lanepack_high_ms"}
_COLUMNS |= {"torch_ratio", "torch_ratio_low", "torch_ratio_high"}


@dataclasses.dataclass(frozen=True)
class Change:
    """One row that both files have; `speed` above 1: the second run is faster."""

    key: tuple[str, ...]
    before_ms: float
    after_ms: float
    speed: float
    band: float
    verdict: str


def _read(path: str | Path) -> dict[tuple[str, ...], dict[str, str]]:
    wanted = "it must be a file that `lanepack bench --csv` wrote"
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            missing = _COLUMNS - set(reader.fieldnames or ())
            rows = list(reader)
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"lanepack bench --compare: {path} is no CSV file; {wanted}") from error
    if missing:
        raise ValueError(
            f"lanepack bench --compare: {path} lacks the columns {', '.join(sorted(missing))}; "
            f"{wanted}"
        )
    # A row that failed on a CUDA device has no time.
    return {tuple(row[name] for name in _KEY): row for row in rows if row["lanepack_ms"]}


@dataclasses.dataclass(frozen=True)
class _Speed:
    median: float
    low: float
    high: float
    error: float  # relative, of the median


def _speed(row: dict[str, str], column: str) -> _Speed:
    """torch_ratio as it stands, or the reciprocal of lanepack's time."""
    unit = "_ms" if column == "lanepack" else ""
    low, median, high = (float(row[f"{column}{part}{unit}"]) for part in ("_low", "", "_high"))
    error = _MEDIAN_ERROR * (high - low) / median / math.sqrt(float(row["rounds"]))
    if unit:
        low, median, high = 1 / high, 1 / median, 1 / low
    return _Speed(median, low, high, error)


def _change(key: tuple[str, ...], before: dict[str, str], after: dict[str, str]) -> Change:
    column = "torch_ratio" if before["torch_ratio"] and after["torch_ratio"] else "lanepack"
    old, new = _speed(before, column), _speed(after, column)
    speed = new.median / old.median
    band = max(_LEAST_BAND, _BAND_IN_ERRORS * math.hypot(old.error, new.error))
    # A machine that switches between two speeds has medians that jump: neither may lie where the
    # middle half of the other run lies.
    apart = not (old.low <= new.median <= old.high or new.low <= old.median <= new.high)
    verdict = "same"
    if apart and not 1 / (1 + band) <= speed <= 1 + band:
        verdict = "faster" if speed > 1 else "slower"
    times = (float(row["lanepack_ms"]) for row in (before, after))
    return Change(key, *times, speed, band, verdict)


def compare(before: str | Path, after: str | Path) -> list[Change]:
    """The rows that both files have, in the order of the second.

    Raises:
        ValueError: a file is not one of `lanepack bench --csv`, or they share no row.
    """
    old, new = _read(before), _read(after)
    changes = [_change(key, old[key], row) for key, row in new.items() if key in old]
    if not changes:
        raise ValueError(f"lanepack bench --compare: {before} and {after} have no row in common")
    return changes


def table(changes: list[Change]) -> str:
    """Aligned text: times, speed of the second run in units of the first, noise band, verdict."""
    lines = [["measure", "operation", "dtype", "shape", "before", "after", "speed", "noise", ""]]
    for change in changes:
        measure, operation, dtype, batch, m, n, _ = change.key
        lines.append(
            [
                measure,
                operation,
                short_dtype(dtype),
                f"{batch} x {m}x{n}",
                format_time(change.before_ms / 1e3),
                format_time(change.after_ms / 1e3),
                f"{change.speed:.2f}x",
                f"+-{change.band:.0%}",
                "" if change.verdict == "same" else change.verdict,
            ]
        )
    counts = {verdict: 0 for verdict in ("faster", "slower", "same")}
    for change in changes:
        counts[change.verdict] += 1
    text = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    return f"{align(lines)}\n\n{len(changes)} rows: {text} (within the noise)"
