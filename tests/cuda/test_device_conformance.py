# SPDX-License-Identifier: Apache-2.0
"""The case table on every CUDA algorithm, each matrix measured by the oracle on the host."""

import dataclasses

import pytest
import torch
from conformance import cases, checks
from device_problems import family_of, is_vendor, run, serves

# The vendor's accuracy is its own: what counts is that it is called right.
_VENDOR_SIZES = ((3, 3), (33, 33), (64, 64), (36, 9), (9, 36))


def _taken(algorithm, case):
    if max(case.m, case.n) > 256 or (is_vendor(algorithm) and case.slow):
        return False
    if is_vendor(algorithm):
        if case.variant == "jacobi":  # none of torch's routines is that
            return False
        return (case.m, case.n) in _VENDOR_SIZES or case.expect == "not_finite"
    return min(case.m, case.n) <= 32


def _parameters():
    for case in cases.CASES:
        for algorithm in cases.CUDA_ALGORITHMS[family_of(case.operation)]:
            if _taken(algorithm, case):
                marks = [pytest.mark.slow] if case.slow else []
                yield pytest.param(case, algorithm, id=f"{algorithm}-{case}", marks=marks)


def _on_device(case, a):
    """The case's batch on the device, laid out as the case says."""
    return cases.LAYOUTS[case.layout](a.contiguous().cuda())


@pytest.mark.parametrize(("case", "algorithm"), _parameters())
def test_device_case(case, algorithm, record):
    if not serves(algorithm, case.operation, case.variant, case.m, case.n, case.dtype):
        record.not_served += 1
        pytest.skip("not served by this algorithm")
    batch = checks.prepare(case)
    a = _on_device(case, batch.a)
    before = a.clone()
    *results, info = (each.cpu() for each in run(algorithm, case.operation, case.variant, a))
    record.ran += 1
    faults = checks.shape_faults(case, results)
    assert not faults, faults
    assert torch.equal(torch.nan_to_num(before), torch.nan_to_num(a)), "the input was written to"
    if case.expect == "not_finite":
        assert not checks.not_finite_faults(case, batch, results, info)
        return
    assert not info.any(), f"info {info[info != 0][:8].tolist()}"
    measured = checks.measure(case, batch, results)
    if case.operation in cases.WITH_VECTORS:
        operation, variant = checks.with_vectors(case)
        if serves(algorithm, operation, variant, case.m, case.n, case.dtype):
            other = dataclasses.replace(case, operation=operation, variant=variant)
            whole = [each.cpu() for each in run(algorithm, operation, other.variant, a)]
            measured["difference"] = checks.difference(case, batch, results[0], whole[:-1])
    judged_as = "torch.linalg" if is_vendor(algorithm) else algorithm
    rows, faults = checks.judge(case, judged_as, batch, measured)
    name = f"{case.operation} {case.variant}".strip()
    shape = str(case.n) if case.m == case.n else f"{case.m}x{case.n}"
    dtype = str(case.dtype).removeprefix("torch.")
    record.rows += [
        (name, dtype, f"{algorithm} on CUDA", family, shape, measure, ours, lapack)
        for family, measure, ours, lapack in rows
    ]
    if is_vendor(algorithm) and faults:
        pytest.xfail("cuSOLVER's accuracy: " + "; ".join(faults))
    gaps = [fault for fault in faults if fault.endswith(checks.BEYOND_LAPACK)]
    faults = [fault for fault in faults if not fault.endswith(checks.BEYOND_LAPACK)]
    assert not faults, f"{case}:\n  " + "\n  ".join(faults)
    if gaps:
        pytest.xfail("; ".join(gaps))
