# SPDX-License-Identifier: Apache-2.0
"""Every case of the table on every algorithm that takes it, each matrix measured by the oracle."""

import contextlib
import dataclasses

import pytest
import torch

from . import cases, checks, implementations


def _parameters():
    return [
        pytest.param(case, id=str(case), marks=[pytest.mark.slow] if case.slow else [])
        for case in cases.CASES
    ]


def _run(case, implementation, algorithm, batch, record):
    """The texts of this algorithm's faults."""
    before = batch.a.clone()
    results, info = implementation.run(case, algorithm, batch.a)
    faults = checks.shape_faults(case, results)
    if faults:
        return faults
    if not torch.equal(torch.nan_to_num(before), torch.nan_to_num(batch.a)):
        faults.append("the input was written to")
    if case.expect == "not_finite":
        return faults + checks.not_finite_faults(case, batch, results, info)
    wrong = torch.nonzero(info).flatten().tolist()
    if wrong:
        faults.append(f"info is {info[wrong[:8]].tolist()} for matrices {wrong[:8]}")
    measured = checks.measure(case, batch, results)
    if case.operation in cases.WITH_VECTORS:
        # An algorithm may serve larger matrices' values than it serves with vectors.
        with contextlib.suppress(implementations.NotServedError):
            measured["difference"] = _difference(case, implementation, algorithm, batch, results[0])
    rows, judged = checks.judge(case, algorithm, batch, measured, implementation.excused)
    name = f"{case.operation} {case.variant}".strip()
    shape = str(case.n) if case.m == case.n else f"{case.m}x{case.n}"
    dtype = str(case.dtype).removeprefix("torch.")
    record.rows += [
        (name, dtype, algorithm, family, shape, measure, ours, lapack)
        for family, measure, ours, lapack in rows
    ]
    return faults + judged


def _difference(case, implementation, algorithm, batch, values):
    """Values alone against those that come with vectors, by the same algorithm."""
    operation, variant = checks.with_vectors(case)
    other = dataclasses.replace(case, operation=operation, variant=variant)
    results, _ = implementation.run(other, algorithm, batch.a)
    return checks.difference(case, batch, values, results)


@pytest.mark.parametrize("case", _parameters())
def test_case(case, implementation, record):
    batch = checks.prepare(case)
    faults, served = [], 0
    for algorithm in implementation.algorithms(case):
        try:
            found = _run(case, implementation, algorithm, batch, record)
        except implementations.NotServedError:
            record.not_served += 1
            continue
        served += 1
        record.ran += 1
        faults += [f"{algorithm}: {fault}" for fault in found]
    # A bound that is exceeded fails. Twice LAPACK's maximum, within the bound, is a gap that is
    # known: it shows as "xfailed", with its figures.
    gaps = [fault for fault in faults if fault.endswith(checks.BEYOND_LAPACK)]
    faults = [fault for fault in faults if not fault.endswith(checks.BEYOND_LAPACK)]
    assert not faults, f"{case}:\n  " + "\n  ".join(faults)
    if gaps:
        pytest.xfail("; ".join(gaps))
    if not served and implementation.name == "torch":
        pytest.skip("torch.linalg does not promise this")
    assert served, f"{case}: no algorithm takes it"


def test_every_algorithm_has_cases():
    """The table names an operation family's algorithms once, and every family of matrices is in
    the fast tier for every operation and dtype."""
    for operation in cases.VARIANTS:
        for dtype in cases.DTYPES:
            seen = {
                family
                for case in cases.CASES
                for family in case.families
                if case.operation == operation and case.dtype == dtype and not case.slow
            }
            wanted = set(cases._families(operation)) | {"not_finite"}
            assert wanted <= seen, f"{operation} {dtype}: {sorted(wanted - seen)} are not tried"
