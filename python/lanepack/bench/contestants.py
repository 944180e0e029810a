# SPDX-License-Identifier: Apache-2.0
"""The libraries that are timed, each behind the same three calls."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import torch

import lanepack

# Ours first; the order in tables and plots.
NAMES = ("lanepack", "torch", "numpy", "jax")


class Contestant:
    """One library.

    `prepare` turns the torch input into what the library takes, outside the timed part; `function`
    gives the callable that is timed, which returns only when the result is there; `to_torch` turns
    its result back into a tuple of tensors.
    """

    name: str
    version: str

    def prepare(self, a: torch.Tensor) -> Any:
        raise NotImplementedError

    def preparation(self, operation: str) -> Callable[[torch.Tensor], Any]:
        """`prepare`, or what does it to the matrices and the right-hand sides of a solve."""
        if operation != "solve_triangular":
            return self.prepare
        return lambda a: tuple(self.prepare(part) for part in split_sides(a))

    def serves(self, operation: str) -> bool:
        return True

    def function(self, operation: str) -> Callable[[Any], Any]:
        raise NotImplementedError

    def to_torch(self, result: Any) -> tuple[torch.Tensor, ...]:
        raise NotImplementedError


def split_sides(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The lower triangular matrices and their right-hand sides of an input of solve_triangular."""
    order = a.shape[-2]
    return a[..., :order].contiguous(), a[..., order:].contiguous()


def as_tuple(result: Any) -> tuple:
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def describe_failure(error: BaseException) -> str:
    """A few words for a table: 'out of memory', 'cuSOLVER error', or the exception's name."""
    text = str(error).lower()
    if isinstance(error, torch.OutOfMemoryError):
        return "out of memory"
    if any(words in text for words in ("out of memory", "resource_exhausted", "outofmemory")):
        return "out of memory"
    for library in ("cuSOLVER", "cuBLAS"):
        if library.lower() in text:
            return f"{library} error"
    return type(error).__name__


def jax_decompositions(jax: Any) -> dict[str, Callable[[Any], Any]]:
    """JAX's functions of one matrix, by operation."""
    linalg = jax.numpy.linalg
    # symmetrize_input=False spares JAX a pass over the input that the others do not make.
    return {
        "eigh": lambda a: linalg.eigh(a, symmetrize_input=False),
        "eigvalsh": lambda a: linalg.eigh(a, symmetrize_input=False)[0],
        "svd": lambda a: linalg.svd(a, full_matrices=False),
        "svdvals": lambda a: linalg.svd(a, compute_uv=False),
        "qr": linalg.qr,
        "cholesky": lambda a: linalg.cholesky(a, symmetrize_input=False),
    }


class Lanepack(Contestant):
    name = "lanepack"

    def __init__(self) -> None:
        self.version = lanepack.__version__

    def prepare(self, a):
        return a

    def function(self, operation):
        if operation == "solve_triangular":
            solve = lanepack.solve_triangular
            return lambda pair: solve(*pair, upper=False)
        return getattr(lanepack, operation)

    def to_torch(self, result):
        return as_tuple(result)


class Torch(Contestant):
    name = "torch"

    def __init__(self) -> None:
        self.version = torch.__version__

    def prepare(self, a):
        return a

    def function(self, operation):
        if operation == "svd":
            svd = torch.linalg.svd
            return lambda a: svd(a, full_matrices=False)
        if operation == "solve_triangular":
            solve = torch.linalg.solve_triangular
            return lambda pair: solve(*pair, upper=False)
        if operation == "cholesky":  # the one of its two forms that does not look at info
            factor = torch.linalg.cholesky_ex
            return lambda a: factor(a)[0]
        return getattr(torch.linalg, operation)

    def to_torch(self, result):
        return as_tuple(result)


class Numpy(Contestant):
    name = "numpy"

    def __init__(self) -> None:
        import numpy

        self.version = numpy.__version__
        self._linalg = numpy.linalg

    def prepare(self, a):
        return a.numpy()

    def serves(self, operation):
        return operation != "solve_triangular"

    def function(self, operation):
        linalg = self._linalg
        if operation == "svd":
            return lambda a: linalg.svd(a, full_matrices=False)
        if operation == "svdvals":
            return lambda a: linalg.svd(a, compute_uv=False)
        return getattr(linalg, operation)

    def to_torch(self, result):
        return tuple(torch.from_numpy(part) for part in as_tuple(result))


class Jax(Contestant):
    """JAX on its CPU platform, jitted, with 64-bit types on; a call waits for its result."""

    name = "jax"

    def __init__(self) -> None:
        import jax

        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_enable_x64", True)
        self.version = jax.__version__
        self._jax = jax

    def prepare(self, a):
        return self._jax.block_until_ready(self._jax.device_put(a.numpy()))

    def function(self, operation):
        bodies = {
            **jax_decompositions(self._jax),
            "solve_triangular": lambda pair: self._jax.lax.linalg.triangular_solve(
                *pair, left_side=True, lower=True
            ),
        }
        jitted = self._jax.jit(bodies[operation])
        wait = self._jax.block_until_ready
        return lambda a: wait(jitted(a))

    def to_torch(self, result):
        import numpy

        return tuple(torch.from_numpy(numpy.array(part)) for part in as_tuple(result))


def available(names: list[str] | None = None) -> list[Contestant]:
    """lanepack and those rivals that are installed; `names` narrows the rivals down.

    Raises:
        ModuleNotFoundError: a rival was asked for by name and is not installed.
    """
    contestants: list[Contestant] = [Lanepack()]
    for kind in (Torch, Numpy, Jax):
        if names is not None and kind.name not in names:
            continue
        if importlib.util.find_spec(kind.name) is None:
            if names is not None:
                raise ModuleNotFoundError(f"lanepack bench: the rival {kind.name} is not installed")
            continue
        contestants.append(kind())
    return contestants
