# SPDX-License-Identifier: Apache-2.0
"""Interleaved timing.

In each round every function is called once on an input drawn for that round, so a drift of the
machine meets all of them alike, and a ratio is formed from times that lie close together. The order
rotates from round to round and is turned round in every second one: what ran just before a function
matters to it, and should not always be the same.
"""

from __future__ import annotations

import gc
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# OpenMP and OpenBLAS threads spin for some milliseconds after a call; the pause keeps one
# contestant's spinning out of the next one's time.
SETTLE_S = 0.02

# A sample repeats a call until about this much time is filled, after as many calls untimed: the
# pause and the other contestants have cooled caches, memory and the scheduler (a kernel may leave a
# woken thread on its waker's core for some milliseconds).
SAMPLE_S = 20e-3
MAX_REPEATS = 1000

# Rounds end early, with fewer than the least number, when they take this many budgets.
PATIENCE = 10


class Timed:
    """A function to be timed: `prepare(input)` outside the clock, `call(prepared)` inside."""

    def __init__(
        self, name: str, prepare: Callable[[Any], Any], call: Callable[[Any], Any]
    ) -> None:
        self.name = name
        self.prepare = prepare
        self.call = call
        self.repeats = 1
        self.seconds: list[float] = []
        self.result: Any = None

    def sample(self, inputs: list[Any]) -> float:
        """Seconds per call over `repeats` warm calls that go through `inputs` in turn."""
        call = self.call
        cycle = [inputs[i % len(inputs)] for i in range(self.repeats)]
        for argument in cycle:
            result = call(argument)
        start = time.perf_counter()
        for argument in cycle:
            result = call(argument)
        elapsed = time.perf_counter() - start
        self.result = result
        return elapsed / self.repeats

    def estimate(self, a: Any) -> float:
        """Seconds of one warm call on `a`."""
        return self.sample([self.prepare(a)])


def _warm_up(timed: Timed, inputs: list[Any]) -> None:
    """Compiles, fills caches, and sets how often a sample repeats the call."""
    prepared = [timed.prepare(a) for a in inputs]
    timed.sample(prepared)
    estimate = timed.sample(prepared)
    if estimate < SAMPLE_S:
        timed.repeats = min(MAX_REPEATS, max(1, int(SAMPLE_S / max(estimate, 1e-9))))
        estimate = timed.sample(prepared)
        timed.repeats = min(MAX_REPEATS, max(1, int(SAMPLE_S / max(estimate, 1e-9))))


def interleave(
    functions: list[Timed],
    make_inputs: Callable[[], list[Any]],
    *,
    budget_s: float,
    min_rounds: int = 5,
    max_rounds: int = 31,
) -> Any:
    """Times `functions` in rounds until `budget_s` is spent, and at least `min_rounds` times.

    On a machine where that would take more than PATIENCE budgets there are fewer rounds.

    `make_inputs` draws the inputs of a round, shared by all functions. Afterwards each function's
    `seconds` holds one figure per round and `result` its last result, which belongs to the last
    of the inputs used; those of the last round are returned.
    """
    inputs = make_inputs()
    for timed in functions:
        timed.seconds = []
        _warm_up(timed, inputs)
    start = time.perf_counter()
    collecting = gc.isenabled()
    gc.disable()
    try:
        for round_ in range(max_rounds):
            spent = time.perf_counter() - start
            if (round_ >= min_rounds and spent > budget_s) or spent > PATIENCE * max(budget_s, 1):
                break
            inputs = make_inputs()
            for timed in _order(functions, round_):
                prepared = [timed.prepare(a) for a in inputs]
                timed.result = None
                time.sleep(SETTLE_S)
                timed.seconds.append(timed.sample(prepared))
    finally:
        if collecting:
            gc.enable()
    return inputs


def _order(functions: list[Timed], round_: int) -> list[Timed]:
    shift = round_ % len(functions)
    order = functions[shift:] + functions[:shift]
    return order[::-1] if round_ % 2 else order


def last_input(timed: Timed, inputs: list[Any]) -> Any:
    """The input that `timed.result` belongs to."""
    return inputs[(timed.repeats - 1) % len(inputs)]


def quartiles(values: list[float]) -> tuple[float, float, float]:
    """Lower quartile, median, upper quartile."""
    if len(values) == 1:
        return (values[0],) * 3
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


@contextmanager
def busy_process() -> Iterator[None]:
    """Another process that keeps one core busy while the block runs."""
    # It ends by itself when this process dies and its pipe closes.
    program = (
        "import os, sys, threading\n"
        "threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()\n"
        "print('ready', flush=True)\n"
        "while True: pass\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield
    finally:
        process.kill()
        process.communicate()
