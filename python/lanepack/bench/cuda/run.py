# SPDX-License-Identifier: Apache-2.0
"""Runs the rows of a CUDA device: draws inputs, times the contestants, checks results.

Without host time: lanepack's calls are captured into a CUDA graph of CALLS calls on inputs of their
own, and a replay is timed by events, so that inputs come from memory and not from a cache. Beside
that, and for the ratio, single calls of lanepack are timed as the rivals' are: by events around the
call, or by the host's clock for a library that does not work on torch's stream. What a vendor's
routine serves is not captured (some of them wait for the device, which ends a capture in an error)
and is timed by events alone.

A rival that fails on a row is shown as such. One whose call on the whole batch would take longer
than the row's share of time is timed once on the first matrices, one whose call is slow once.
"""

from __future__ import annotations

import dataclasses
import datetime
import gc
import math
import platform
import time
from collections.abc import Callable
from typing import Any

import torch

import lanepack

from .. import check
from ..contestants import describe_failure
from ..measure import quartiles
from . import first
from .cases import SOLVES, Case, moved_bytes, operations_count
from .contestants import NAMES, Contestant
from .device import Device, Rates, host, wall

CALLS = 8
_INPUT_BYTES = 4e9  # of all inputs of a row together
_GRAPH_CALL_S = 5e-3  # a longer call fills the device: a graph of more than one shows nothing new
_HOST_CALLS = 100
_LEAST_ROUNDS, _MOST_ROUNDS = 5, 31
_SLOW_PART = 0.1  # of the row's budget: a rival's call that takes longer is timed once
_CHECKED_BYTES = 1 << 28  # of a part of a batch that is checked at once
_CHECKED_VALUES = 1 << 16  # matrices whose eigen- or singular values are compared with LAPACK's


class DeviceLostError(RuntimeError):
    """The CUDA device does not answer any more in this process: no further row can be run."""


@dataclasses.dataclass
class Time:
    """One contestant's seconds, or why there are none.

    `seconds` are of `matrices` of the batch, where it was not the whole; `median`, `low` and `high`
    are scaled to the whole then.
    """

    seconds: list[float] = dataclasses.field(default_factory=list)
    batch: int = 1
    matrices: int | None = None
    failure: str = ""
    errors: check.Errors | None = None
    peak_bytes: int | None = None

    def _quartile(self, which: int) -> float:
        if not self.seconds:
            return math.nan
        scale = 1.0 if self.matrices is None else self.batch / self.matrices
        return quartiles(self.seconds)[which] * scale

    @property
    def low(self) -> float:
        return self._quartile(0)

    @property
    def median(self) -> float:
        return self._quartile(1)

    @property
    def high(self) -> float:
        return self._quartile(2)

    @property
    def right(self) -> bool:
        return self.errors is None or self.errors.right

    @property
    def usable(self) -> bool:
        """Whether it may stand for its library: not where the result is not even finite."""
        return bool(self.seconds) and (self.errors is None or not math.isnan(self.errors.residual))


@dataclasses.dataclass
class Row:
    """The outcome of one case.

    `times` holds lanepack's time and the rivals'; `alike` lanepack's seconds by each of the two
    methods that rivals are timed by. `ratio` is the time of the fastest rival, which `reference`
    names, over lanepack's by the same method. `verdict` is 'met' or 'missed' (the target), 'none'
    where there is no target, 'wrong' (a result of ours beyond its bound) or 'failed'.
    """

    case: Case
    route: str = ""
    method: str = ""
    times: dict[str, Time] = dataclasses.field(default_factory=dict)
    alike: dict[str, Time] = dataclasses.field(default_factory=dict)
    floor: float = math.nan
    reference: str = ""
    ratio: float = math.nan
    ratio_low: float = math.nan
    ratio_high: float = math.nan
    verdict: str = "failed"

    @property
    def rounds(self) -> int:
        return len(self.times["lanepack"].seconds)

    @property
    def needed(self) -> float:
        """The ratio at which the target is met: infinite or NaN where there is none."""
        if self.case.target_ms is None or not self.reference:
            return math.nan
        return self.times[self.reference].median / (self.case.target_ms * 1e-3)


def environment(device: Device, rates: Rates | None) -> dict[str, Any]:
    """What a reader needs to judge the figures: date, machine, versions, rates."""
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": device.name,
        "device": device.type,
        "python": platform.python_version(),
        "cuda": torch.version.cuda or "",
        "memory_gb_s": rates and round(rates.bytes_per_s / 1e9),
        "float32_tflops": rates and round(rates.operations_per_s["float32"] / 1e12, 1),
        "float64_tflops": rates and round(rates.operations_per_s["float64"] / 1e12, 1),
    }


def floor_seconds(case: Case, rates: Rates) -> float:
    """The time below which the device cannot come: its memory's rate or its arithmetic's."""
    of_memory = moved_bytes(case) / rates.bytes_per_s
    return max(of_memory, operations_count(case) / rates.operations_per_s[case.real_dtype])


def make_input(case: Case, device: str, generator: torch.Generator) -> tuple[torch.Tensor, ...]:
    """The tensors of a call: standard normal matrices, Hermitian for the eigenvalue operations,
    positive definite for cholesky_ex; a lower triangular factor and right-hand sides for solves."""
    options = {"dtype": getattr(torch, case.dtype), "device": device}
    columns = case.m if case.operation in SOLVES else case.n
    a = torch.randn(case.batch, case.m, columns, generator=generator, **options)
    if case.operation.startswith("eig"):
        return (((a + a.mH) / 2).contiguous(),)
    if case.operation == "cholesky_ex":
        return (a @ a.mH / case.n + torch.eye(case.n, **options),)
    if case.operation not in SOLVES:
        return (a,)
    factor = (a / case.m**0.5).tril()
    factor.diagonal(0, -2, -1).real.abs_().add_(4.0)
    return factor, torch.randn(case.batch, case.m, case.n, generator=generator, **options)


def route(case: Case, device: str) -> str:
    """The identifier of the algorithm that lanepack takes for the case."""
    where = {"dtype": getattr(torch, case.dtype), "device": device}
    if case.operation in SOLVES:
        return lanepack.solve_triangular_backend(case.m, case.batch, columns=case.n, **where)
    name = case.operation.removesuffix("_ex")
    if name in ("eigh", "eigvalsh", "cholesky"):
        return lanepack.backend(name, case.n, case.batch, **where)
    return getattr(lanepack, f"{name}_backend")(case.m, case.n, case.batch, **where)


def capturable(identifier: str) -> bool:
    """Whether calls of that route may be tried in a CUDA graph: a capture that a vendor's routine
    breaks can leave the process without a usable device."""
    return not {"vendor", "host"} & set(identifier.split("."))


def errors(
    operation: str, tensors: tuple[torch.Tensor, ...], result: tuple[torch.Tensor, ...]
) -> check.Errors:
    """The largest errors over the batch, in parts that fit into memory."""
    a = tensors[0]
    count = min(len(a), *(len(part) for part in result))
    if operation in ("eigvalsh", "svdvals"):
        count = min(count, _CHECKED_VALUES)
    sizes = [math.prod(part.shape[1:]) for part in (*tensors, *result)]
    step = max(1, _CHECKED_BYTES // (16 * max(sizes)))
    found = []
    for start in range(0, count, step):
        part = slice(start, min(start + step, count))
        inputs = [each[part] for each in tensors]
        outputs = tuple(each[part] for each in result)
        if operation in SOLVES:
            found.append(check.solve_errors(operation, *inputs, outputs[0]))
        elif operation == "cholesky_ex":
            found.append(check.errors("cholesky", *inputs, outputs[:1]))
        else:
            found.append(check.errors(operation, *inputs, outputs))
    orthogonality = None
    if found[0].orthogonality is not None:
        orthogonality = _largest(each.orthogonality for each in found)
    return check.Errors(_largest(each.residual for each in found), orthogonality, found[0].bound)


def _largest(values) -> float:
    values = list(values)
    return math.nan if any(math.isnan(value) for value in values) else max(values)


@dataclasses.dataclass
class _Rival:
    """A rival that is ready to be timed in rounds."""

    contestant: Contestant
    time: Time
    call: Callable[[int], Any] | None = None  # on one of the row's inputs
    last: Any = None  # the result of its first input


class _Runner:
    def __init__(
        self,
        device: Device,
        contestants: list[Contestant],
        budget_s: float,
        generator: torch.Generator,
        rates: Rates | None,
    ) -> None:
        self._device = device
        self._ours, *self._rivals = contestants
        self._budget_s = budget_s
        self._generator = generator
        self._rates = rates

    def run(self, case: Case) -> Row:
        row = Row(case, times={"lanepack": Time(batch=case.batch)})
        try:
            row.route = route(case, self._device.type)
            if case.measure == "first":
                self._first(row)
            else:
                self._timed(row)
        except DeviceLostError:
            raise
        except Exception as error:
            row.times["lanepack"].failure = f"{type(error).__name__}: {error}"
            self._after_failure(error)
        finally:
            self._device.release()
            for contestant in (self._ours, *self._rivals):
                contestant.release()
        self._compare(row)
        return row

    def _after_failure(self, error: BaseException) -> None:
        """Frees what the failed call held; ends the run where the device is gone with it."""
        error.__traceback__ = None
        gc.collect()
        try:
            self._device.synchronise()
        except Exception as lost:
            raise DeviceLostError(f"after {type(error).__name__}: {error}: {lost}") from error
        self._device.release()

    def _first(self, row: Row) -> None:
        row.method = "wall"
        with_torch = any(rival.name == "torch" for rival in self._rivals)
        cold, warm = first.times(row.case, with_torch)
        row.times["lanepack"].seconds = [cold["lanepack"]]
        row.times["warm cache"] = Time([warm["lanepack"]], row.case.batch)
        row.times["second call"] = Time([warm["second call"]], row.case.batch)
        if with_torch:
            failure = warm.get("torch failure", "")
            seconds = [] if failure else [warm["torch"]]
            row.times["torch"] = Time(seconds, row.case.batch, failure=failure)

    def _timed(self, row: Row) -> None:
        case = row.case
        inputs = self._inputs(case)
        function = self._ours.function(case, inputs[0])
        function(*inputs[0])  # compiles
        self._device.synchronise()
        if self._rates is not None and case.measure == "batch":
            row.floor = floor_seconds(case, self._rates)
        rivals = [
            self._prepare_rival(rival, case, inputs) for rival in self._rivals if rival.serves(case)
        ]
        row.times.update((rival.contestant.name, rival.time) for rival in rivals)
        samplers = {
            "batch": self._batch_samplers, "call": self._call_samplers, "host": self._host_samplers
        }[case.measure](row, inputs, function, rivals)  # fmt: skip
        self._rounds(samplers)
        ours = row.times["lanepack"]
        result = function(*inputs[0])
        ours.errors = errors(case.operation, inputs[0], self._ours.to_torch(result))
        del result
        for rival in rivals:
            if rival.last is not None:
                self._check_rival(rival, case, inputs[0])
        if case.measure == "batch":
            ours.peak_bytes = self._device.peak_bytes(lambda: function(*inputs[0]))
            for rival in rivals:
                whole = rival.time.seconds and rival.time.matrices is None
                if rival.contestant.name == "torch" and whole:
                    call = rival.call or self._call_of(rival.contestant, case, inputs)
                    rival.time.peak_bytes = self._device.peak_bytes(lambda call=call: call(0))

    def _inputs(self, case: Case) -> list[tuple[torch.Tensor, ...]]:
        drawn = [make_input(case, self._device.type, self._generator)]
        bytes_each = sum(each.nbytes for each in drawn[0])
        while len(drawn) < min(CALLS, _INPUT_BYTES // bytes_each):
            drawn.append(make_input(case, self._device.type, self._generator))
        return drawn

    def _call_of(
        self, rival: Contestant, case: Case, inputs: list[tuple[torch.Tensor, ...]]
    ) -> Callable[[int], Any]:
        prepared = [rival.prepare(each) for each in inputs]
        function = rival.function(case, prepared[0])
        return lambda index: function(*prepared[index % len(prepared)])

    def _seconds(self, rival: Contestant, call: Callable[[], Any]) -> float:
        if rival.on_stream:
            return self._device.events(call)
        return wall(lambda: rival.wait(call()), self._device)

    def _prepare_rival(self, rival: Contestant, case: Case, inputs: list) -> _Rival:
        """Finds out what a call takes, from few matrices to all of them, and what can be timed."""
        found = _Rival(rival, Time(batch=case.batch))
        limit = self._budget_s
        count = min(case.batch, rival.probe)
        warm = False
        try:
            while True:
                part = [tuple(each[:count] for each in inputs[0])]
                call = self._call_of(rival, case, part if count < case.batch else inputs)
                if not warm:
                    # Libraries open handles in their first call, which a few matrices show as well.
                    rival.wait(call(0))
                    self._device.synchronise()
                    warm = True
                results = [None]

                def keep(call: Callable[[int], Any] = call, results: list = results) -> Any:
                    results[0] = call(0)
                    return results[0]

                seconds = self._seconds(rival, keep)
                if _SLOW_PART * limit < seconds < limit / 4:
                    seconds = self._seconds(rival, keep)  # now without a first call's loading
                if count == case.batch:
                    break
                # A routine that takes one matrix after the other stays within the limit.
                larger = min(case.batch, int(count * limit / seconds))
                if larger < min(case.batch, 1.5 * count):
                    found.time.matrices = count
                    break
                count = larger
            if found.time.matrices is None and seconds <= _SLOW_PART * self._budget_s:
                found.call = call
            else:
                found.time.seconds = [seconds]
            found.last = results[0]
        except Exception as error:
            found.time = Time(batch=case.batch, failure=describe_failure(error))
            self._after_failure(error)
            rival.release()
        return found

    def _check_rival(self, rival: _Rival, case: Case, tensors: tuple) -> None:
        try:
            result = rival.contestant.to_torch(rival.last)
            count = rival.time.matrices or case.batch
            part = tuple(each[:count] for each in tensors)
            rival.time.errors = errors(case.operation, part, result)
        except Exception as error:
            rival.time.failure = f"unchecked ({describe_failure(error)})"
            self._after_failure(error)
        rival.last = None

    def _batch_samplers(self, row, inputs, function, rivals) -> list:
        ours, device = row.times["lanepack"], self._device
        calls = [lambda each=each: function(*each) for each in inputs]
        row.alike["events"] = Time(batch=row.case.batch)
        samplers = [(row.alike["events"], lambda round_: device.events(calls[round_ % len(calls)]))]
        row.method = "events"
        if capturable(row.route):
            row.method = "graph"
            single = min(device.events(calls[0]) for _ in range(3))
            count = CALLS if single < _GRAPH_CALL_S else 1
            replay = device.capture([calls[i % len(calls)] for i in range(count)])
            samplers.append((ours, lambda round_: device.events(replay) / count))
        else:
            ours.seconds = row.alike["events"].seconds
        ready = [rival for rival in rivals if rival.call is not None]
        if any(not rival.contestant.on_stream for rival in rivals):
            row.alike["wall"] = Time(batch=row.case.batch)
            samplers.append(
                (row.alike["wall"], lambda round_: wall(calls[round_ % len(calls)], device))
            )
        for rival in ready:
            samplers.append(
                (
                    rival.time,
                    lambda round_, rival=rival: self._seconds(
                        rival.contestant, lambda: rival.call(round_)
                    ),
                )
            )
        return samplers

    def _call_samplers(self, row, inputs, function, rivals) -> list:
        row.method = "wall"
        ours = row.times["lanepack"]
        row.alike["wall"] = row.alike["events"] = ours
        device = self._device

        def mean(call: Callable[[int], Any]) -> float:
            # A single call is as short as what disturbs it.
            return sum(wall(lambda i=i: call(i), device) for i in range(CALLS)) / CALLS

        samplers = [(ours, lambda _: mean(lambda i: function(*inputs[i % len(inputs)])))]
        for rival in rivals:
            if rival.call is not None:
                wait = rival.contestant.wait
                call = rival.call
                samplers.append((rival.time, lambda _, w=wait, c=call: mean(lambda i: w(c(i)))))
        return samplers

    def _host_samplers(self, row, inputs, function, rivals) -> list:
        row.method = "host"
        ours, device = row.times["lanepack"], self._device
        row.alike["wall"] = row.alike["events"] = ours
        calls = [lambda each=each: function(*each) for each in inputs]
        many = [calls[i % len(calls)] for i in range(_HOST_CALLS)]
        samplers = [(ours, lambda _: host(many, device))]
        for rival in rivals:
            if rival.call is not None:
                theirs = [lambda i=i, call=rival.call: call(i) for i in range(_HOST_CALLS)]
                samplers.append((rival.time, lambda _, theirs=theirs: host(theirs, device)))
        return samplers

    def _rounds(self, samplers: list) -> None:
        """Each sampler once a round, in an order that changes from round to round."""
        began = time.perf_counter()
        for round_ in range(_MOST_ROUNDS):
            spent = time.perf_counter() - began
            enough = round_ >= _LEAST_ROUNDS and spent > self._budget_s / 2
            if enough or spent > self._budget_s:
                break
            shift = round_ % len(samplers)
            order = samplers[shift:] + samplers[:shift]
            for seconds_of, sample in order[::-1] if round_ % 2 else order:
                seconds_of.seconds.append(sample(round_))

    def _compare(self, row: Row) -> None:
        ours = row.times["lanepack"]
        usable = {name: t for name, t in row.times.items() if name in NAMES[1:] and t.usable}
        if row.alike and usable:
            row.reference = min(usable, key=lambda name: usable[name].median)
            ratios = self.ratios(row, row.reference)
            row.ratio_low, row.ratio, row.ratio_high = ratios
        if ours.failure or not ours.seconds:
            row.verdict = "failed"
        elif not ours.right:
            row.verdict = "wrong"
        elif row.case.target_ms is None:
            row.verdict = "none"
        else:
            row.verdict = "met" if ours.median * 1e3 <= row.case.target_ms else "missed"

    def ratios(self, row: Row, name: str) -> tuple[float, float, float]:
        """A rival's time over ours by the same method: within rounds where both have all."""
        theirs = row.times[name]
        by_name = {rival.name: rival for rival in self._rivals}
        ours = row.alike["events" if by_name[name].on_stream else "wall"]
        if not ours.seconds:
            return (math.nan,) * 3
        if len(theirs.seconds) == len(ours.seconds) and theirs.matrices is None:
            pairs = zip(theirs.seconds, ours.seconds, strict=True)
            return quartiles([a / b for a, b in pairs])
        return quartiles([theirs.median / seconds for seconds in ours.seconds])


def run(
    cases: list[Case],
    contestants: list[Contestant],
    *,
    device: Device,
    rates: Rates | None,
    budget_s: float,
    seed: int = 0,
    report: Callable[[Row], None] = lambda row: None,
) -> list[Row]:
    """Runs `cases` in order and hands each finished row to `report`.

    Raises:
        DeviceLostError: an error took the CUDA device with it; `report` has had the rows before.
    """
    generator = torch.Generator(device.type).manual_seed(seed)
    runner = _Runner(device, contestants, budget_s, generator, rates)
    rows = []
    for case in cases:
        row = runner.run(case)
        report(row)
        rows.append(row)
    return rows
