# SPDX-License-Identifier: Apache-2.0
"""The libraries that are timed on a CUDA device, each behind the same calls.

All take the same tensors, which pass through DLPack without a copy.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from typing import Any

import torch

import lanepack

from ..contestants import as_tuple, jax_decompositions
from .cases import Case

# Ours first; the order in tables and plots.
NAMES = ("lanepack", "torch", "cupy", "jax")


class Contestant:
    """One library.

    `prepare` turns the tensors of a call into what the library takes; `function` gives the
    callable that is timed, compiled where the library compiles for shapes; `wait` waits for what
    torch.cuda.synchronize does not, work that a library has not handed to the device yet;
    `to_torch` makes tensors of its result.

    `on_stream`: its work goes to torch's current stream, where events time it; else it is timed by
    the host's clock. `probe`: how many matrices of a large batch are tried first.
    """

    name: str
    version: str
    on_stream = True
    probe = 64

    def serves(self, case: Case) -> bool:
        return True

    def prepare(self, tensors: tuple[torch.Tensor, ...]) -> tuple:
        return tensors

    def function(self, case: Case, arguments: tuple) -> Callable[..., Any]:
        raise NotImplementedError

    def wait(self, result: Any) -> None:
        """Nothing by default: work is on the device's queue when a call returns."""

    def to_torch(self, result: Any) -> tuple[torch.Tensor, ...]:
        return as_tuple(result)

    def release(self) -> None:
        """Gives unused memory back."""


class Lanepack(Contestant):
    name = "lanepack"

    def __init__(self) -> None:
        self.version = lanepack.__version__

    def function(self, case, arguments):
        if case.operation == "solve_triangular":
            solve = lanepack.solve_triangular
            return lambda L, B: solve(L, B, upper=False)
        if case.operation == "cholesky_solve":
            cholesky_solve = lanepack.cholesky_solve
            return lambda L, B: cholesky_solve(B, L)
        return getattr(lanepack, case.operation)


class Torch(Contestant):
    name = "torch"

    def __init__(self) -> None:
        self.version = torch.__version__

    def function(self, case, arguments):
        if case.operation == "svd":
            svd = torch.linalg.svd
            return lambda A: svd(A, full_matrices=False)
        if case.operation == "solve_triangular":
            solve = torch.linalg.solve_triangular
            return lambda L, B: solve(L, B, upper=False)
        if case.operation == "cholesky_solve":
            return lambda L, B: torch.cholesky_solve(B, L)
        return getattr(torch.linalg, case.operation)


class Cupy(Contestant):
    """CuPy on the default stream, which is torch's too unless a program sets another."""

    name = "cupy"

    def __init__(self) -> None:
        import cupy

        self.version = cupy.__version__
        self._cupy = cupy
        cupy.cuda.runtime.getDeviceCount()  # raises where there is none

    def serves(self, case):
        # Its triangular solve takes a single matrix; a solve behind Cholesky it has not.
        if case.operation == "solve_triangular":
            return case.batch == 1
        return case.operation != "cholesky_solve"

    def prepare(self, tensors):
        return tuple(self._cupy.from_dlpack(each) for each in tensors)

    def function(self, case, arguments):
        linalg = self._cupy.linalg
        if case.operation == "solve_triangular":
            from cupyx.scipy.linalg import solve_triangular

            return lambda L, B: solve_triangular(L[0], B[0], lower=True)[None]
        if case.operation == "svd":
            return lambda A: linalg.svd(A, full_matrices=False)
        if case.operation == "svdvals":
            return lambda A: linalg.svd(A, compute_uv=False)
        return getattr(linalg, case.operation.removesuffix("_ex"))

    def to_torch(self, result):
        return tuple(torch.from_dlpack(each) for each in as_tuple(result))

    def release(self):
        self._cupy.get_default_memory_pool().free_all_blocks()


class Jax(Contestant):
    """JAX, compiled ahead for the shapes, with 64-bit types on."""

    name = "jax"
    on_stream = False
    probe = 1024  # each number of matrices is a compilation

    def __init__(self) -> None:
        # It would take three quarters of the device's memory at once; read when a device is opened.
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        import jax

        jax.config.update("jax_enable_x64", True)
        self.version = jax.__version__
        self._jax = jax
        jax.devices("gpu")  # RuntimeError where it has none

    def prepare(self, tensors):
        return tuple(self._jax.dlpack.from_dlpack(each) for each in tensors)

    def function(self, case, arguments):
        jax = self._jax
        triangular = jax.lax.linalg.triangular_solve

        def cholesky_solve(L, B):
            first = triangular(L, B, left_side=True, lower=True)
            options = {"transpose_a": True, "conjugate_a": True}
            return triangular(L, first, left_side=True, lower=True, **options)

        bodies = {
            **jax_decompositions(jax),
            "solve_triangular": lambda L, B: triangular(L, B, left_side=True, lower=True),
            "cholesky_solve": cholesky_solve,
        }
        return jax.jit(bodies[case.operation.removesuffix("_ex")]).lower(*arguments).compile()

    def wait(self, result):
        self._jax.block_until_ready(result)

    def to_torch(self, result):
        return tuple(torch.from_dlpack(each) for each in as_tuple(result))


def available(names: list[str] | None = None) -> tuple[list[Contestant], list[str]]:
    """lanepack and those rivals that can be used here, and why others cannot.

    Raises:
        ModuleNotFoundError: a rival was asked for by name and cannot be used.
    """
    contestants: list[Contestant] = [Lanepack()]
    missing = []
    for kind in (Torch, Cupy, Jax):
        if names is not None and kind.name not in names:
            continue
        problem = None
        if importlib.util.find_spec(kind.name) is None:
            problem = "is not installed"
        else:
            try:
                contestants.append(kind())
            except Exception as error:  # a library that finds no driver or no device of its own
                first_line = str(error).strip().splitlines()[:1]
                problem = f"finds no CUDA device: {first_line[0] if first_line else error!r}"
        if problem is None:
            continue
        if names is not None:
            raise ModuleNotFoundError(f"lanepack bench: the rival {kind.name} {problem}")
        missing.append(f"{kind.name} {problem}")
    return contestants, missing
