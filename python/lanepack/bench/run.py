# SPDX-License-Identifier: Apache-2.0
"""Runs cases: draws inputs, times the contestants, checks results, forms ratio and verdict."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import math
import platform
from collections.abc import Callable
from typing import Any

import torch

import lanepack

from . import check
from .cases import Case
from .contestants import NAMES, Contestant
from .measure import Timed, busy_process, interleave, last_input, quartiles

_WITH_VECTORS = {"eigvalsh": "eigh", "svdvals": "svd"}
_SMALL_INPUTS = 64

# A rival whose call would take longer than this is left out of the row: torch's qr wakes all OpenMP
# threads for every matrix of a batch, and takes minutes where another process keeps a core busy.
LONGEST_CALL_S = 3.0
_PROBE_MATRICES = 32


@dataclasses.dataclass(frozen=True)
class Time:
    """Seconds of one contestant: median and quartiles over the rounds."""

    median: float
    low: float
    high: float
    errors: check.Errors | None = None

    @property
    def right(self) -> bool:
        return self.errors is None or self.errors.right


@dataclasses.dataclass(frozen=True)
class Row:
    """The outcome of one case.

    `reference` names what lanepack is compared with; `ratio` is reference time / lanepack time,
    formed within each round, as median and quartiles; `torch_ratio` is the same against torch, as
    (lower quartile, median, upper quartile). `verdict` is 'met', 'missed' or 'wrong'
    (a result of ours beyond its error bound), or 'alone' where there was nothing to compare with.
    """

    case: Case
    rounds: int
    times: dict[str, Time]
    reference: str
    ratio: float
    ratio_low: float
    ratio_high: float
    torch_ratio: tuple[float, float, float] | None
    verdict: str
    route: str
    left_out: tuple[str, ...] = ()  # rivals whose call would have taken too long

    @property
    def needed(self) -> float:
        """The ratio below which the row counts as missed."""
        return self.case.needed


def environment() -> dict[str, Any]:
    """What a reader needs to judge the figures: date, machine, versions, threads."""
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": lanepack.device_name("cpu"),
        "python": platform.python_version(),
        "threads": torch.get_num_threads(),
    }


def make_input(case: Case, generator: torch.Generator) -> torch.Tensor:
    """A standard normal batch (batch, m, n), Hermitian for the eigenvalue operations, positive
    definite for cholesky, (batch, m, m + n) for solve_triangular."""
    dtype = getattr(torch, case.dtype)
    columns = case.m + case.n if case.operation == "solve_triangular" else case.n
    a = torch.randn(case.batch, case.m, columns, dtype=dtype, generator=generator)
    if case.operation == "cholesky":
        return a @ a.mH / case.n + torch.eye(case.n, dtype=dtype)
    if case.operation == "solve_triangular":
        # A lower triangle far from singular, and behind it the right-hand sides.
        a[..., : case.m] = (a[..., : case.m] / case.m**0.5).tril()
        a.diagonal(0, -2, -1).add_(4.0)
        return a
    if case.operation.startswith("eig"):
        a = (a + a.mH) / 2
    return a


def _gradient_call(function: Callable[[Any], Any]) -> Callable[[torch.Tensor], Any]:
    """Forward and backward with a cotangent of ones for every output."""

    def call(a: torch.Tensor) -> Any:
        outputs = tuple(function(a))
        ones = [torch.ones_like(part) for part in outputs]
        torch.autograd.grad(outputs, a, ones)
        return outputs

    return call


def _too_slow(case: Case, contestant: Contestant, generator: torch.Generator) -> bool:
    """Whether a call on the whole batch would take too long, judged from a few of its matrices."""
    if case.measure not in ("batch", "values") or case.batch <= _PROBE_MATRICES:
        return False
    if contestant.name == "lanepack":
        return False
    probe = dataclasses.replace(case, batch=_PROBE_MATRICES)
    function, prepare = contestant.function(case.operation), contestant.preparation(case.operation)
    timed = Timed(contestant.name, prepare, function)
    estimate = timed.estimate(make_input(probe, generator))
    return estimate * case.batch / _PROBE_MATRICES > LONGEST_CALL_S


def _timed_functions(
    case: Case, contestants: list[Contestant], generator: torch.Generator
) -> tuple[list[Timed], list[str]]:
    """What is timed, and the names of those that would take too long."""
    functions, left_out = [], []
    for contestant in contestants:
        if not contestant.serves(case.operation):
            continue
        if _too_slow(case, contestant, generator):
            left_out.append(contestant.name)
            continue
        function = contestant.function(case.operation)
        if case.measure == "gradient":
            if contestant.name not in ("lanepack", "torch"):
                continue
            function = _gradient_call(function)
        prepare = contestant.preparation(case.operation)
        functions.append(Timed(contestant.name, prepare, function))
    if case.measure == "values":
        ours = contestants[0]
        vectors = ours.function(_WITH_VECTORS[case.operation])
        functions.append(Timed("with vectors", ours.prepare, vectors))
    return functions, left_out


def _input_source(case: Case, generator: torch.Generator) -> Callable[[], list[torch.Tensor]]:
    if case.measure in ("batch", "values"):
        return lambda: [make_input(case, generator)]

    def small() -> list[torch.Tensor]:
        batch = dataclasses.replace(case, batch=_SMALL_INPUTS)
        matrices = [a.clone() for a in make_input(batch, generator)]
        if case.measure == "gradient":
            matrices = [a.requires_grad_() for a in matrices]
        return matrices

    return small


def _check(
    case: Case, timed: Timed, contestants: dict[str, Contestant], inputs: list[torch.Tensor]
) -> check.Errors | None:
    contestant = contestants.get(timed.name)
    if contestant is None:
        return None
    a = last_input(timed, inputs).detach()
    result = tuple(part.detach() for part in contestant.to_torch(timed.result))
    return check.errors(case.operation, a, result)


def _reference(case: Case, times: dict[str, Time]) -> str:
    """The name of what our time is compared with, or '' if it was not run."""
    if case.measure == "values":
        return "with vectors"
    if case.measure != "batch":
        return "torch" if "torch" in times else ""
    rivals = {name: t.median for name, t in times.items() if name != "lanepack" and t.right}
    return min(rivals, key=rivals.__getitem__) if rivals else ""


def _verdict(case: Case, times: dict[str, Time], reference: str, ratio: float) -> str:
    if not times["lanepack"].right:
        return "wrong"
    if not reference:
        return "alone"
    behind_us = (times["lanepack"].median - times[reference].median) * 1e6
    if ratio >= case.needed or (case.behind_us is not None and behind_us <= case.behind_us):
        return "met"
    return "missed"


def run_case(
    case: Case, contestants: list[Contestant], *, budget_s: float, generator: torch.Generator
) -> Row:
    """Times one case; `budget_s` bounds its rounds, of which there are five at least."""
    functions, left_out = _timed_functions(case, contestants, generator)
    with busy_process() if case.measure == "busy" else contextlib.nullcontext():
        inputs = interleave(functions, _input_source(case, generator), budget_s=budget_s)
    by_name = {contestant.name: contestant for contestant in contestants}
    times = {}
    for timed in functions:
        low, median, high = quartiles(timed.seconds)
        times[timed.name] = Time(median, low, high, _check(case, timed, by_name, inputs))
        timed.result = None
    reference = _reference(case, times)
    ratio = ratio_low = ratio_high = math.nan
    seconds = {timed.name: timed.seconds for timed in functions}
    if reference:
        ratio_low, ratio, ratio_high = _ratios(seconds, reference)
    return Row(
        case=case,
        rounds=len(seconds["lanepack"]),
        times=times,
        reference=reference,
        ratio=ratio,
        ratio_low=ratio_low,
        ratio_high=ratio_high,
        torch_ratio=_ratios(seconds, "torch") if "torch" in seconds else None,
        verdict=_verdict(case, times, reference, ratio),
        route=route(case),
        left_out=tuple(left_out),
    )


def _ratios(seconds: dict[str, list[float]], reference: str) -> tuple[float, float, float]:
    pairs = zip(seconds[reference], seconds["lanepack"], strict=True)
    return quartiles([theirs / ours for theirs, ours in pairs])


def route(case: Case) -> str:
    """The identifier of the algorithm that lanepack takes for the case."""
    dtype = getattr(torch, case.dtype)
    if case.operation == "solve_triangular":
        return lanepack.solve_triangular_backend(
            case.m, case.batch, columns=case.n, dtype=dtype, device="cpu"
        )
    square = case.operation.startswith("eig") or case.operation == "cholesky"
    shape = (case.n,) if square else (case.m, case.n)
    function = getattr(lanepack, f"{case.operation}_backend")
    return function(*shape, case.batch, dtype=dtype, device="cpu")


def run(
    cases: list[Case],
    contestants: list[Contestant],
    *,
    budget_s: float = 3.0,
    seed: int = 0,
    report: Callable[[Row], None] = lambda row: None,
) -> list[Row]:
    """Runs `cases` in order and hands each finished row to `report`."""
    generator = torch.Generator().manual_seed(seed)
    rows = []
    for case in cases:
        row = run_case(case, contestants, budget_s=budget_s, generator=generator)
        report(row)
        rows.append(row)
    return rows


__all__ = ["NAMES", "Row", "Time", "environment", "make_input", "route", "run", "run_case"]
