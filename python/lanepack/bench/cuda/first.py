# SPDX-License-Identifier: Apache-2.0
"""The first call of a fresh process: `python -m lanepack.bench.cuda.first CASE`.

Twice with the same empty folder for compiled kernels: the first process compiles, the second finds
them on disk. torch's context, the input and a first kernel of torch's come before the clock starts;
opening NVRTC, compiling and loading are in it.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from typing import Any

from .cases import Case

_LONGEST_S = 120


def times(case: Case, with_torch: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the process that compiles and the one after it measured.

    Raises:
        RuntimeError: a process failed; the text ends with what it said last.
    """
    described = json.dumps([dataclasses.asdict(case), with_torch])
    found = []
    with tempfile.TemporaryDirectory(prefix="lanepack_bench_") as folder:
        environment = {**os.environ, "LANEPACK_CACHE_DIR": folder}
        for _ in range(2):
            process = subprocess.run(
                [sys.executable, "-m", "lanepack.bench.cuda.first", described],
                env=environment, capture_output=True, text=True, timeout=_LONGEST_S,
            )  # fmt: skip
            if process.returncode:
                last = process.stderr.strip().splitlines()[-1:] or ["no message"]
                raise RuntimeError(f"the fresh process ended with {last[0]}")
            found.append(json.loads(process.stdout.splitlines()[-1]))
    return found[0], found[1]


def measure(case: Case, with_torch: bool) -> dict[str, Any]:
    """Seconds of lanepack's first and second call in this process, and of torch's first."""
    import torch

    from ..contestants import describe_failure
    from . import contestants, run
    from .device import Device, wall

    device = Device()
    tensors = run.make_input(case, device.type, torch.Generator(device.type).manual_seed(0))
    ours = contestants.Lanepack().function(case, tensors)
    found: dict[str, Any] = {"lanepack": wall(lambda: ours(*tensors), device)}
    found["second call"] = wall(lambda: ours(*tensors), device)
    if with_torch:
        theirs = contestants.Torch().function(case, tensors)
        try:
            found["torch"] = wall(lambda: theirs(*tensors), device)
        except Exception as error:
            found["torch failure"] = describe_failure(error)
    return found


if __name__ == "__main__":
    fields, asked = json.loads(sys.argv[1])
    print(json.dumps(measure(Case(**fields), asked)))
