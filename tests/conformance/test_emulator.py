# SPDX-License-Identifier: Apache-2.0
"""The GPU's kernels on the cases of the table that are small enough, a few matrices of each family:
no report of the emulator, the same bits in every order of lanes, and the bounds of accuracy.md."""

import dataclasses
import os
import random

import pytest

from . import cases, checks, conftest, emulator, test_conformance

# Printed with every failure; set it to see the same order again.
SEED = int(os.environ.get("LANEPACK_EMULATOR_SEED", 0)) or random.SystemRandom().getrandbits(32)
# Families of entries whose products, or that themselves, are subnormal.
UNDERFLOW = ("subnormal", "near_underflow")


def _small(case):
    """The case with a few matrices of each family, or None where they take too long."""
    if case.slow or max(case.m, case.n) > 128 or min(case.m, case.n) > 33:
        return None
    few = 40 if case.expect == "not_finite" else 3 if max(case.m, case.n) <= 8 else 1
    return dataclasses.replace(case, count=min(case.count, few))


CASES = tuple(dict.fromkeys(filter(None, map(_small, cases.CASES))))


def _faults(case, implementation):
    """The texts of the faults of every algorithm that serves the case."""
    served = implementation.algorithms(case)
    batch = checks.prepare(case) if served else None
    faults = []
    for algorithm in served:
        try:
            found = test_conformance._run(case, implementation, algorithm, batch, conftest.Record())
        except emulator.FaultError as fault:
            found = [str(fault)]
        # So few matrices are no sample to compare LAPACK's maximum with.
        found = [fault for fault in found if not fault.endswith(checks.BEYOND_LAPACK)]
        faults += [f"{algorithm}: {fault}" for fault in found]
    return faults


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case):
    faults = _faults(case, emulator.Emulator(case, SEED))
    assert not faults, f"{case}, seed {SEED}:\n  " + "\n  ".join(faults)


FLUSHED = tuple(
    dataclasses.replace(case, families=tuple(f for f in case.families if f not in UNDERFLOW))
    for case in CASES
    if case.dtype in (cases.F32, cases.C64)
    and case.m == case.n
    and case.n in (3, 8, 17, 32)
    and case.expect == "accurate"
)


@pytest.mark.parametrize("case", FLUSHED, ids=str)
def test_flushed(case):
    """As on a GPU that flushes subnormal numbers: the bounds hold where the data are normal."""
    faults = _faults(case, emulator.Emulator(case, SEED, orders=(0,), flush=True))
    assert not faults, f"{case}:\n  " + "\n  ".join(faults)


MANY = tuple(
    dict.fromkeys(
        dataclasses.replace(case, count=min(case.count, 64 if case.n <= 8 else 8))
        for case in cases.CASES
        if not case.slow
        and case.m == case.n
        and case.n in (3, 8, 32)
        and case.count < 1000
        and case.dtype in (cases.F32, cases.C128)
    )
)


@pytest.mark.parametrize("case", MANY, ids=str)
def test_many(case):
    """More matrices than the checks have time for."""
    faults = _faults(case, emulator.Emulator(case, SEED, orders=(2,), checked=False))
    assert not faults, f"{case}, seed {SEED}:\n  " + "\n  ".join(faults)


# Of the others torch's routine serves the problem.
DTYPES_SERVED = {"svd.vendor": (cases.F32, cases.C64)}


def test_every_algorithm_has_cases():
    """Each algorithm of the GPU serves some case of its dtypes; test_case runs what serves it."""
    own = (*cases.CUDA_FACTOR_ALGORITHMS, *cases.CUDA_SOLVE_ALGORITHMS)  # test_emulator_solves.py
    names = [name for name in emulator.algorithms() if name not in own]
    assert names
    wanted = {(name, dtype) for name in names for dtype in DTYPES_SERVED.get(name, cases.DTYPES)}
    served = {
        (algorithm, case.dtype)
        for case in CASES
        for algorithm in emulator.Emulator(case, SEED).algorithms(case)
    }
    assert wanted == served, sorted(map(str, wanted ^ served))
