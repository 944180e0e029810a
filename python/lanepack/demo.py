# SPDX-License-Identifier: Apache-2.0
"""The demonstration: one photograph, three decompositions, times beside torch.linalg's, a PNG.

- eigh: the structure tensor of every pixel, a symmetric 2x2 matrix, tells which way the picture's
  texture runs there and how clearly (Bigun and Granlund 1987).
- svd: overlapping 8x8 patches, each cut to its two largest singular values, averaged where they
  overlap.
- qr: a plane is fitted to the neighbourhood of every pixel by weighted least squares, with weights
  that fall off across edges; its value at the pixel replaces a noisy one (local linear regression;
  Takeda, Farsiu and Milanfar 2007).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import lanepack

from .bench import check, contestants, measure
from .bench.report import align, format_time

_PATCH = 8
_PATCH_STEP = 4
_RANK = 2
_WINDOW = 5
_NOISE = 0.08
_SPATIAL_WIDTH = 1.6
_MAX_PIXELS = 600_000

# torch's qr wakes all OpenMP threads for every matrix of a batch, and takes minutes for this one
# where another process keeps a core busy. On a GPU it takes one matrix after the other.
_LONGEST_CALL_S = {"cpu": 3.0, "cuda": 0.3}


@dataclasses.dataclass(frozen=True)
class Step:
    """One operation of the demonstration on its batch."""

    operation: str
    what: str
    batch: torch.Tensor  # (count, m, n)


def load_picture(image: Path | None = None) -> torch.Tensor:
    """The grey levels of a picture, (height, width) float32 in 0..1.

    Without `image`: the photograph of Grace Hopper that matplotlib ships (US Navy, public domain).
    A picture of more than 600,000 pixels is thinned out.

    Raises:
        ModuleNotFoundError: matplotlib is missing; the text says how to get it.
        OSError: `image` cannot be read as a picture.
    """
    try:
        from matplotlib import cbook
        from matplotlib import image as reader
    except ImportError as error:
        raise ModuleNotFoundError(
            "lanepack demo needs matplotlib, which is not installed: pip install lanepack[demo]"
        ) from error
    if image is None:
        with cbook.get_sample_data("grace_hopper.jpg") as file:
            pixels = torch.tensor(reader.imread(file, format="jpg"))
    else:
        pixels = torch.tensor(reader.imread(image))
    grey = pixels.to(torch.float32) / (1.0 if pixels.is_floating_point() else 255.0)
    if grey.ndim == 3 and grey.shape[2] >= 3:
        grey = grey[..., :3] @ torch.tensor([0.299, 0.587, 0.114])
    elif grey.ndim == 3:
        grey = grey[..., 0]
    step = math.ceil(math.sqrt(grey.numel() / _MAX_PIXELS))
    grey = grey[::step, ::step].contiguous()
    if min(grey.shape) < 4 * _PATCH:
        raise ValueError(
            f"lanepack demo: the picture is {grey.shape[1]} x {grey.shape[0]} pixels, wanted at "
            f"least {4 * _PATCH} x {4 * _PATCH}"
        )
    return grey


def _gaussian(width: float) -> torch.Tensor:
    radius = math.ceil(3 * width)
    x = torch.arange(-radius, radius + 1, dtype=torch.float32)
    kernel = torch.exp(-0.5 * (x / width) ** 2)
    return kernel / kernel.sum()


def _filter(image: torch.Tensor, along_y: torch.Tensor, along_x: torch.Tensor) -> torch.Tensor:
    """Separable correlation with edges continued."""
    radius_y, radius_x = len(along_y) // 2, len(along_x) // 2
    padded = torch.nn.functional.pad(
        image[None, None], (radius_x, radius_x, radius_y, radius_y), mode="replicate"
    )
    filtered = torch.nn.functional.conv2d(padded, along_y.view(1, 1, -1, 1))
    return torch.nn.functional.conv2d(filtered, along_x.view(1, 1, 1, -1))[0, 0]


def structure_tensors(image: torch.Tensor) -> torch.Tensor:
    """The smoothed outer product of the gradient at every pixel, (height * width, 2, 2)."""
    smooth = _gaussian(1.0)
    difference = torch.tensor([-0.5, 0.0, 0.5])
    smoothed = _filter(image, smooth, smooth)
    one = torch.ones(1)
    gx, gy = _filter(smoothed, one, difference), _filter(smoothed, difference, one)
    window = _gaussian(2.0)
    xx, xy, yy = (_filter(part, window, window) for part in (gx * gx, gx * gy, gy * gy))
    return torch.stack((xx, xy, xy, yy), dim=-1).view(-1, 2, 2)


def patches(image: torch.Tensor) -> torch.Tensor:
    """Overlapping patches, (count, 8, 8)."""
    tiles = image.unfold(0, _PATCH, _PATCH_STEP).unfold(1, _PATCH, _PATCH_STEP)
    return tiles.reshape(-1, _PATCH, _PATCH).contiguous()


def assemble(tiles: torch.Tensor, shape: tuple[int, int]) -> torch.Tensor:
    """The picture whose `patches` are `tiles`, averaged where they overlap."""
    columns = tiles.reshape(len(tiles), -1).T[None]
    counts = torch.ones_like(columns)
    # Rows and columns that no whole patch reaches are left out.
    covered = tuple((size - _PATCH) // _PATCH_STEP * _PATCH_STEP + _PATCH for size in shape)
    summed, weight = (
        torch.nn.functional.fold(part, covered, _PATCH, stride=_PATCH_STEP)[0, 0]
        for part in (columns, counts)
    )
    return summed / weight


def plane_fits(noisy: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Weighted least-squares problems: matrices (height * width, 25, 3), right sides (..., 25, 1).

    Columns are 1, x, y around the pixel, rows the pixels of its 5x5 neighbourhood, each row times
    the square root of its weight. The weights compare a lightly smoothed picture, so that noise
    alone does not open edges.
    """
    radius = _WINDOW // 2
    height, width = noisy.shape

    def neighbourhoods(image: torch.Tensor) -> torch.Tensor:
        padded = torch.nn.functional.pad(image[None, None], (radius,) * 4, mode="replicate")
        return torch.nn.functional.unfold(padded, _WINDOW)[0].T  # (height * width, 25)

    y, x = torch.meshgrid(
        *(torch.arange(-radius, radius + 1, dtype=torch.float32),) * 2, indexing="ij"
    )
    design = torch.stack((torch.ones(_WINDOW**2), x.flatten(), y.flatten()), dim=-1)
    distance = (x.flatten() ** 2 + y.flatten() ** 2) / (2 * _SPATIAL_WIDTH**2)
    smooth = _filter(noisy, _gaussian(1.0), _gaussian(1.0))
    steps = neighbourhoods(smooth) - smooth.reshape(height * width, 1)
    roots = torch.exp(-0.5 * (distance + steps**2 / (2 * _NOISE**2)))
    matrices = roots.unsqueeze(-1) * design
    return matrices, (roots * neighbourhoods(noisy)).unsqueeze(-1)


def _finished(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function, waiting for the device where its result lies on one."""

    def call(batch: torch.Tensor) -> Any:
        result = function(batch)
        if batch.is_cuda:
            torch.cuda.synchronize()
        return result

    return call


def _torch_share(step: Step, function: Callable[[Any], Any]) -> int:
    """How many of the batch's matrices torch.linalg decomposes within the longest call."""
    count = len(step.batch)
    part = min(count, 64)
    limit = _LONGEST_CALL_S[step.batch.device.type]
    timed = measure.Timed("torch", lambda a: a, function)
    while part < count:
        seconds = timed.estimate(step.batch[:part])
        larger = max(part, min(count, int(limit * part / seconds)))
        # On a GPU a routine for batches takes for few matrices as long as for many.
        if not step.batch.is_cuda or larger < 1.5 * part:
            return larger
        part = larger
    return part


def _time(step: Step, repeats: int) -> dict[str, Any]:
    """Interleaved times of lanepack and torch.linalg on the batch, and the errors of ours.

    Where torch would need many seconds it gets the first matrices alone, and its time is scaled;
    where it fails on a GPU its time is None.
    """
    count, m, n = step.batch.shape
    ours, theirs = (
        _finished(library.function(step.operation))
        for library in (contestants.Lanepack(), contestants.Torch())
    )
    timed = [measure.Timed("lanepack", lambda a: a, ours)]
    part, failure = count, None
    try:
        part = _torch_share(step, theirs)
        theirs(step.batch[:part])
        timed.append(measure.Timed("torch", lambda a: a[:part], theirs))
    except RuntimeError as error:  # out of memory, or what cuSOLVER does not take
        if not step.batch.is_cuda:
            raise
        failure = contestants.describe_failure(error)
    if failure is not None:
        torch.cuda.empty_cache()
    measure.interleave(
        timed, lambda: [step.batch], budget_s=0, min_rounds=repeats, max_rounds=repeats
    )
    errors = check.errors(step.operation, step.batch, tuple(timed[0].result))
    medians = {t.name: measure.quartiles(t.seconds)[1] for t in timed}
    if failure is None:
        medians["torch"] *= count / part
    torch_s = medians.get("torch")
    return {
        "operation": step.operation,
        "what": step.what,
        "shape": [count, m, n],
        "lanepack_ms": round(medians["lanepack"] * 1e3, 4),
        "torch_ms": torch_s and round(torch_s * 1e3, 4),
        "torch_scaled_from": part if part < count else None,
        "torch_failure": failure,
        "ratio": torch_s and round(torch_s / medians["lanepack"], 2),
        "residual": round(errors.residual, 3),
        "orthogonality": round(errors.orthogonality, 3),
        "right": errors.right,
    }


def run(
    *, image: Path | None = None, output: Path, repeats: int = 5, device: str = "cpu"
) -> dict[str, Any]:
    """Decomposes the picture, times it, writes the PNG, and returns what `lanepack demo` prints.

    The matrices are made on the CPU and decomposed on `device`, "cpu" or "cuda".

    Raises:
        ValueError: `device` is "cuda" and torch finds none.
    """
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("lanepack demo: --device cuda, but torch finds no CUDA device")
    picture = load_picture(image)
    height, width = picture.shape

    tensors = structure_tensors(picture).to(device)
    energies, directions = (part.cpu() for part in lanepack.eigh(tensors))

    tiles = patches(picture).to(device)
    u, s, vh = (part.cpu() for part in lanepack.svd(tiles))
    low_rank = assemble((u[..., :_RANK] * s[..., None, :_RANK]) @ vh[..., :_RANK, :], picture.shape)

    generator = torch.Generator().manual_seed(0)
    noisy = picture + _NOISE * torch.randn(height, width, generator=generator)
    matrices, right_sides = (part.to(device) for part in plane_fits(noisy))
    q, r = lanepack.qr(matrices)
    planes = lanepack.solve_triangular(r, q.mT @ right_sides, upper=True)
    fitted = planes[:, 0, 0].view(height, width).cpu()

    steps = [
        Step("eigh", "structure tensor of every pixel", tensors),
        Step("svd", f"{_PATCH}x{_PATCH} patches, every {_PATCH_STEP} pixels", tiles),
        Step("qr", "a plane fitted around every pixel", matrices),
    ]
    timings = [_time(step, repeats) for step in steps]
    covered = picture[: low_rank.shape[0], : low_rank.shape[1]]
    quality = {
        "low_rank": psnr(covered, low_rank),
        "noisy": psnr(picture, noisy),
        "fitted": psnr(picture, fitted),
    }
    from . import demo_figure

    demo_figure.write(
        output,
        picture=picture,
        energies=energies.view(height, width, 2),
        directions=directions.view(height, width, 2, 2),
        low_rank=low_rank,
        noisy=noisy,
        fitted=fitted,
        timings=timings,
        titles={
            "low_rank": f"svd: {_RANK} of {_PATCH} values kept per patch, {quality['low_rank']} dB",
            "noisy": f"the picture with noise, {quality['noisy']} dB",
            "fitted": f"qr: a plane fitted around every pixel, {quality['fitted']} dB",
        },
    )
    return {
        "picture": [height, width],
        "machine": lanepack.device_name(device),
        "device": device,
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "repeats": repeats,
        "steps": timings,
        "psnr_db": quality,
        "output": str(output),
        "right": all(timing["right"] for timing in timings),
    }


def psnr(reference: torch.Tensor, other: torch.Tensor) -> float:
    """Peak signal-to-noise ratio in dB for grey levels in 0..1."""
    return round(float(-10 * torch.log10(((reference - other) ** 2).mean())), 1)


def text(result: dict[str, Any]) -> str:
    """What `lanepack demo` prints."""
    height, width = result["picture"]
    quality = result["psnr_db"]
    lines = [["", "batch", "lanepack", "torch.linalg", "ratio", "residual", "orthogonality"]]
    for step in result["steps"]:
        count, m, n = step["shape"]
        about = "" if step["torch_scaled_from"] is None else "~"
        theirs, ratio = step["torch_failure"], "-"
        if theirs is None:
            theirs = about + format_time(step["torch_ms"] / 1e3)
            ratio = f"{about}{step['ratio']:.1f}x"
        lines.append(
            [
                f"{step['operation']}: {step['what']}",
                f"{count} x {m}x{n}",
                format_time(step["lanepack_ms"] / 1e3),
                theirs,
                ratio,
                f"{step['residual']:.2f}" + ("" if step["right"] else " (beyond its bound)"),
                f"{step['orthogonality']:.2f}",
            ]
        )
    scaled = [
        f"~ scaled from torch's time for {step['torch_scaled_from']} of the matrices."
        for step in result["steps"]
        if step["torch_scaled_from"] is not None
    ]
    threads = f"{result['threads']} threads, " if result["device"] == "cpu" else ""
    waited = ", the device waited for" if result["device"] == "cuda" else ""
    return "\n".join(
        [
            f"A picture of {width} x {height} pixels on {result['machine']}, "
            f"{threads}torch {result['torch']}",
            "",
            align(lines),
            "",
            *scaled,
            f"Times: median of {result['repeats']}, interleaved{waited}. Residual and "
            "orthogonality: the worst matrix of the batch, in units of",
            f"sqrt(n)*u (n = larger dimension, u = 2^-24); bounds {check.RESIDUAL_BOUND:g} and "
            f"{check.ORTHOGONALITY_BOUND:g}.",
            f"Against the picture: patches cut to rank {_RANK} of {_PATCH} {quality['low_rank']} "
            f"dB; with noise {quality['noisy']} dB, after the fits {quality['fitted']} dB.",
            f"Picture of the results: {result['output']}",
        ]
    )
