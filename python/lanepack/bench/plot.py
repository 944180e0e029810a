# SPDX-License-Identifier: Apache-2.0
"""A picture of a run: ratio against target, a panel per operation."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

_OFFSETS = {"float32": 0.17, "float64": -0.17, "complex64": 0.0, "complex128": -0.32}
_MARKERS = {"float32": "o", "float64": "s", "complex64": "^", "complex128": "D"}
_COLOURS = {"met": "#1b7f4d", "missed": "#c0392b", "wrong": "#8e44ad"}
_ORDER = (
    "eigh", "svd", "qr", "eigvalsh", "svdvals", "cholesky", "cholesky_ex", "solve_triangular",
    "cholesky_solve",
)  # fmt: skip
_COLUMNS = 3


def plot(path: str | Path, rows: list[Any], environment: dict[str, Any]) -> None:
    """Writes the batch rows of the CPU or of a CUDA device as a PNG (or what the file's ending
    asks for).

    Raises:
        ValueError: there is no batch row with a ratio.
    """
    chosen = [
        row
        for row in rows
        if row.case.measure == "batch" and row.verdict in _COLOURS and not math.isnan(row.ratio)
    ]
    if not chosen:
        raise ValueError("lanepack bench --plot: no row that compares a batch with a rival was run")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    operations = [op for op in _ORDER if any(row.case.operation == op for row in chosen)]
    longest = max(
        len({row.case.shape for row in chosen if row.case.operation == op}) for op in operations
    )
    columns = min(len(operations), _COLUMNS)
    lines = math.ceil(len(operations) / columns)
    figure = Figure(
        figsize=(4.6 * columns + 1.0, lines * (0.36 * longest + 1.3) + 0.8),
        dpi=130,
        layout="constrained",
    )
    FigureCanvasAgg(figure)
    axes = figure.subplots(lines, columns, squeeze=False).flat
    for operation, axis in zip(operations, axes, strict=False):
        _panel(axis, operation, [row for row in chosen if row.case.operation == operation])
    for axis in axes:  # those that are left
        axis.set_axis_off()
    _legend(figure, chosen)
    figure.suptitle(
        f"Best rival's time / lanepack's, {environment['machine']}, {environment['date']}",
        fontsize=11,
    )
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def _panel(axis: Any, operation: str, rows: list[Any]) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    shapes = list(dict.fromkeys(row.case.shape for row in rows))
    for row in rows:
        y = len(shapes) - 1 - shapes.index(row.case.shape) + _OFFSETS[row.case.dtype]
        colour = _COLOURS[row.verdict]
        axis.plot([row.ratio_low, row.ratio_high], [y, y], color=colour, linewidth=1.4, zorder=2)
        axis.plot(row.ratio, y, _MARKERS[row.case.dtype], color=colour, markersize=5, zorder=3)
        axis.plot([row.needed] * 2, [y - 0.15, y + 0.15], color="#222222", linewidth=1.6, zorder=4)
    axis.axvline(1, color="#999999", linewidth=0.8, zorder=1)
    axis.set_xscale("log")
    axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set_yticks(range(len(shapes)), shapes[::-1], fontsize=8, family="monospace")
    axis.set_ylim(-0.7, len(shapes) - 0.3)
    axis.grid(axis="x", which="major", color="#e4e4e4", linewidth=0.7)
    axis.set_axisbelow(True)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
    axis.set_title(operation, fontsize=12, loc="left", fontweight="bold")
    axis.set_xlabel("times as fast as the best rival", fontsize=9)


def _legend(figure: Any, rows: list[Any]) -> None:
    from matplotlib.lines import Line2D

    dtypes = [name for name in _MARKERS if any(row.case.dtype == name for row in rows)]
    verdicts = [name for name in _COLOURS if any(row.verdict == name for row in rows)]
    handles = [
        Line2D([], [], color="#555555", marker=_MARKERS[name], linestyle="none", label=name)
        for name in dtypes
    ]
    handles += [
        Line2D(
            [],
            [],
            color=_COLOURS[name],
            linewidth=3,
            label=f"target {name}" if name != "wrong" else "result wrong",
        )
        for name in verdicts
    ]
    handles.append(
        Line2D([], [], color="#222222", marker="|", markersize=9, linestyle="none", label="needed")
    )
    figure.legend(
        handles=handles, loc="outside lower center", ncols=len(handles), fontsize=9, frameon=False
    )
