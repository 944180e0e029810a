# SPDX-License-Identifier: Apache-2.0
"""Two CSV files of `lanepack bench` against each other, row by row, with the band of their noise.

What is compared is the ratio torch / lanepack, formed within each round, so that a machine that was
slower as a whole on one day does not count as a change; where a run left torch out, lanepack's own
time. Only what lies outside the noise band is called a change.
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
    return {tuple(row[name] for name in _KEY): row for row in rows}


def _measured(row: dict[str, str], name: str, sign: int) -> tuple[float, float]:
    """A speed, as the median of a column or its reciprocal, and that median's relative error."""
    unit = "_ms" if sign < 0 else ""
    low, median, high = (float(row[f"{name}{part}{unit}"]) for part in ("_low", "", "_high"))
    return median**sign, _MEDIAN_ERROR * (high - low) / median / math.sqrt(float(row["rounds"]))


def _change(key: tuple[str, ...], before: dict[str, str], after: dict[str, str]) -> Change:
    if before["torch_ratio"] and after["torch_ratio"]:
        (old, old_error), (new, new_error) = (
            _measured(r, "torch_ratio", 1) for r in (before, after)
        )
    else:
        (old, old_error), (new, new_error) = (_measured(r, "lanepack", -1) for r in (before, after))
    speed = new / old
    band = max(_LEAST_BAND, _BAND_IN_ERRORS * math.hypot(old_error, new_error))
    verdict = "faster" if speed > 1 + band else "slower" if speed < 1 / (1 + band) else "same"
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
