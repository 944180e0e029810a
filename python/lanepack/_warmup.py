# SPDX-License-Identifier: Apache-2.0
"""Kernels compiled and loaded ahead of their first use."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch

from . import linalg, solves
from ._arguments import as_shape, as_whole
from ._errors import ArgumentError
from .policy import FAMILIES, SQUARE, _served_device

_SOLVES = ("solve_triangular", "cholesky_solve", "cholesky_inverse")


def _names(functions) -> list[str]:
    if isinstance(functions, str) or not isinstance(functions, Iterable):
        functions = (functions,)
    names = []
    for each in functions:
        name = getattr(each, "__name__", each)
        name = name.removesuffix("_ex") if isinstance(name, str) else name
        if not isinstance(name, str) or name not in FAMILIES:
            raise ArgumentError(
                f"lanepack.warmup: functions holds {name!r}; each must be one of "
                f"{', '.join(FAMILIES)}, or that function"
            )
        names.append(name)
    return names


def _shapes(shapes) -> list[tuple[int, ...]]:
    if not isinstance(shapes, Iterable):
        raise ArgumentError(
            f"lanepack.warmup: shapes is {shapes!r}; it must be a shape (..., m, n) or a list of "
            "such"
        )
    shapes = list(shapes)
    if shapes and all(as_whole(size) is not None for size in shapes):
        shapes = [shapes]
    found = [as_shape(shape) for shape in shapes]
    for shape, sizes in zip(shapes, found, strict=True):
        if sizes is None:
            raise ArgumentError(
                f"lanepack.warmup: a shape is {shape!r}; it must be at least two sizes, (..., m, n)"
            )
    return found


def _dtypes(dtypes) -> tuple[torch.dtype, ...]:
    if isinstance(dtypes, (str, torch.dtype)) or not isinstance(dtypes, Iterable):
        dtypes = (dtypes,)
    dtypes = tuple(dtypes)
    for dtype in dtypes:
        if not isinstance(dtype, torch.dtype):
            raise TypeError(f"lanepack.warmup: a dtype is {dtype!r}; it must be one of torch's")
    return dtypes


def _call(name: str, A: torch.Tensor, options: dict) -> None:
    """One call; right-hand sides of a solve are A's first column, `columns` times."""
    if name not in _SOLVES:
        getattr(solves if name == "cholesky" else linalg, name)(A, **options)
        return
    options = dict(options)
    B = A[..., :1].expand(*A.shape[:-1], options.pop("columns", 1))
    if name == "solve_triangular":
        solves.solve_triangular(A, B, **{"upper": False, **options})
    elif name == "cholesky_solve":
        solves.cholesky_solve(B, A, **options)
    else:
        solves.cholesky_inverse(A, **options)


def _served(names: list[str], shape: tuple[int, ...]) -> list[str]:
    """Those of the functions that take matrices of this shape."""
    return [name for name in names if shape[-2] == shape[-1] or name not in SQUARE]


def warmup(
    functions: str | Callable | Iterable[str | Callable],
    shapes: Sequence[int] | Iterable[Sequence[int]],
    dtypes: torch.dtype | Iterable[torch.dtype] = torch.float32,
    device=None,
    **options,
) -> None:
    """Compiles and loads what calls will need, ahead of a first request or a graph capture.

    Each function is called once on an identity for each shape and dtype, and waited for. Results
    of the whole shape are allocated for that time; the input is not.

    Args:
        functions: names such as "eigh", or the functions, or a list of them.
        shapes: (..., m, n), or a list of such; the batch may decide the algorithm. A function of
            square matrices skips others, but each shape must fit one of the functions.
        dtypes: one or several.
        device: None means the accelerator if there is one, else the CPU.
        options: passed on, such as mode="complete" of qr: other modes may be other kernels. Of the
            solves `columns` is the number of right-hand sides, 1 if it is not given.

    Example:
        >>> import lanepack, torch
        >>> lanepack.warmup(["eigh", "svd"], [(1000, 3, 3), (1000, 8, 8)], torch.float64, "cpu")
    """
    names = _names(functions)
    shapes = _shapes(shapes)
    dtypes = _dtypes(dtypes)
    where = _served_device(device, "warmup")
    for shape in shapes:
        if not _served(names, shape):
            raise ArgumentError(
                f"lanepack.warmup: no function of {', '.join(names)} takes the shape {shape}: "
                "their matrices are square, (..., n, n)"
            )
    for dtype in dtypes:
        for shape in shapes:
            *_, m, n = shape
            A = torch.eye(m, n, dtype=dtype, device=where).expand(shape)
            for name in _served(names, shape):
                with torch.no_grad():
                    _call(name, A, options)
    if where.type == "cuda":
        torch.cuda.synchronize(where)
