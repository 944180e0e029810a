# SPDX-License-Identifier: Apache-2.0
"""The PNG of `lanepack demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from .bench.report import format_time

_OURS, _THEIRS = "#1b7f4d", "#9aa3ab"


def orientation_colours(energies: torch.Tensor, directions: torch.Tensor) -> Any:
    """(height, width, 3) colours: hue the direction along the texture, strength its coherence.

    energies (height, width, 2) ascending eigenvalues, directions (height, width, 2, 2) with the
    eigenvectors in columns; the one of the smaller eigenvalue runs along the texture.
    """
    from matplotlib.colors import hsv_to_rgb

    along = directions[..., :, 0]
    angle = torch.atan2(along[..., 1], along[..., 0]) % torch.pi
    low, high = energies[..., 0].clamp(min=0), energies[..., 1].clamp(min=0)
    total = low + high
    # A floor on the energy keeps the noise of flat regions from looking like texture.
    floor = 0.02 * torch.quantile(total.flatten()[::17], 0.95)
    coherence = (high - low) / (total + floor)
    strength = (total / (total + floor)) ** 0.5
    hsv = torch.stack((angle / torch.pi, coherence, 0.12 + 0.88 * strength * coherence), dim=-1)
    return hsv_to_rgb(hsv.clamp(0, 1).numpy())


def write(
    path: Path,
    *,
    picture: torch.Tensor,
    energies: torch.Tensor,
    directions: torch.Tensor,
    low_rank: torch.Tensor,
    noisy: torch.Tensor,
    fitted: torch.Tensor,
    timings: list[dict[str, Any]],
    titles: dict[str, str],
) -> None:
    """Draws the six panels and writes them to `path`, creating its folder where it is missing."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    height, width = picture.shape
    panel = 4.2
    figure = Figure(
        figsize=(3 * panel, 2 * panel * height / width + 0.7), dpi=120, layout="constrained"
    )
    FigureCanvasAgg(figure)
    axes = figure.subplots(2, 3)
    panels = [
        (axes[0, 0], "the picture", picture.numpy()),
        (
            axes[0, 1],
            "eigh: direction (colour) and clarity of the texture",
            orientation_colours(energies, directions),
        ),
        (axes[1, 0], titles["low_rank"], low_rank.numpy()),
        (axes[1, 1], titles["noisy"], noisy.numpy()),
        (axes[1, 2], titles["fitted"], fitted.numpy()),
    ]
    for axis, title, pixels in panels:
        axis.imshow(pixels, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
        axis.set_title(title, fontsize=11, loc="left")
        axis.set_axis_off()
    _direction_key(axes[0, 1])
    _bars(axes[0, 2], timings)
    axes[0, 2].set_box_aspect(height / width)
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def _direction_key(axis: Any) -> None:
    """A small wheel in the corner: the colour of each direction."""
    import numpy as np

    key = axis.inset_axes([0.02, 0.02, 0.17, 0.17 * 0.85])
    y, x = np.mgrid[1:-1:81j, -1:1:81j]
    radius = np.hypot(x, y)
    # Image rows run downwards, so does the angle of the eigenvectors.
    angle = np.arctan2(-y, x) % np.pi
    from matplotlib.colors import hsv_to_rgb

    colours = hsv_to_rgb(np.stack((angle / np.pi, np.ones_like(x), np.ones_like(x)), axis=-1))
    inside = (radius <= 1) & (radius >= 0.35)
    key.imshow(np.concatenate((colours, inside[..., None].astype(float)), axis=-1))
    key.set_axis_off()


def _bars(axis: Any, timings: list[dict[str, Any]]) -> None:
    """Bars on a linear scale, so that their lengths are the ratio."""
    longest = max(max(timing["lanepack_ms"], timing["torch_ms"] or 0) for timing in timings)
    for row, timing in enumerate(timings):
        count, m, n = timing["shape"]
        axis.text(
            0,
            row - 0.36,
            f"{timing['operation']}: {count:,} matrices {m}x{n}",
            fontsize=10,
            va="center",
        )
        for offset, key, colour, name in (
            (-0.12, "lanepack_ms", _OURS, "lanepack"),
            (0.17, "torch_ms", _THEIRS, "torch.linalg"),
        ):
            about = "~" if name != "lanepack" and timing["torch_scaled_from"] else ""
            length = timing[key] or 0
            said = timing["torch_failure"]
            if timing[key] is not None:
                axis.barh(row + offset, length, 0.26, color=colour)
                said = about + format_time(length / 1e3)
            axis.text(
                length + 0.01 * longest,
                row + offset,
                f"{name} {said}",
                va="center",
                fontsize=9,
            )
    axis.set_ylim(len(timings) - 0.5, -0.6)
    axis.set_xlim(0, 1.75 * longest)
    axis.set_axis_off()
    axis.set_title("time, median of interleaved calls", fontsize=11, loc="left")
