# SPDX-License-Identifier: Apache-2.0
"""What the benchmark does with the GPU itself: clocks, graphs, memory, rates."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

import lanepack

Call = Callable[[], Any]

_COPY_BYTES = 1 << 30
_PRODUCT_ORDER = 4096


@dataclasses.dataclass(frozen=True)
class Rates:
    """What the device was seen to do: a large copy, and a product of matrices per real dtype."""

    bytes_per_s: float
    operations_per_s: dict[str, float]


class Device:
    """The current CUDA device; work is timed on torch's current stream.

    Raises:
        ValueError: torch finds no CUDA device.
    """

    type = "cuda"

    def __init__(self) -> None:
        if not torch.cuda.is_available():
            raise ValueError("lanepack bench: --device cuda, but torch finds no CUDA device")

    @property
    def name(self) -> str:
        return lanepack.device_name(self.type)

    def synchronise(self) -> None:
        torch.cuda.synchronize()

    def events(self, call: Call) -> float:
        """Seconds of a call on the device's clock: between events before and behind it."""
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e-3

    def capture(self, calls: list[Call]) -> Call:
        """A function that replays a CUDA graph of `calls`, whose kernels must be loaded."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            results = [call() for call in calls]

        def replay() -> list[Any]:
            graph.replay()
            return results  # kept, so that no call writes over the one before

        replay()
        self.synchronise()
        return replay

    def peak_bytes(self, call: Call) -> int:
        """Bytes that the call takes from torch's allocator at its height, results included."""
        self.synchronise()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        call()
        self.synchronise()
        return torch.cuda.max_memory_allocated() - before

    def release(self) -> None:
        """Gives torch's unused memory back, so that the other libraries find some."""
        torch.cuda.empty_cache()

    def rates(self) -> Rates:
        a, b = (torch.empty(_COPY_BYTES // 4, device=self.type) for _ in range(2))
        copy = self._best(lambda: a.copy_(b))
        operations = {}
        for name in ("float32", "float64"):
            shape, dtype = (_PRODUCT_ORDER, _PRODUCT_ORDER), getattr(torch, name)
            factor = torch.rand(shape, dtype=dtype, device=self.type)
            product = self._best(lambda factor=factor: factor @ factor)
            operations[name] = 2 * _PRODUCT_ORDER**3 / product
        return Rates(2 * _COPY_BYTES / copy, operations)

    def _best(self, call: Call) -> float:
        call()
        return min(self.events(call) for _ in range(5))


def wall(call: Call, device: Device) -> float:
    """Seconds of a call on the host's clock, until the device has done it."""
    device.synchronise()
    start = time.perf_counter()
    call()
    device.synchronise()
    return time.perf_counter() - start


def host(calls: list[Call], device: Device) -> float:
    """Seconds of host time a call, median over `calls` one behind the other, without waiting."""
    device.synchronise()
    seconds = []
    for call in calls:
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    device.synchronise()
    return statistics.median(seconds)
