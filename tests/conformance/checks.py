# SPDX-License-Identifier: Apache-2.0
"""Builds the batch of a case, measures results by the oracle, and judges them."""

import dataclasses
import functools
import math
import zlib

import numpy as np
import torch

from . import cases, families, implementations, oracle

INFO_NOT_FINITE = 2**31 - 1
# Flops that reference spectra of one case may cost, in double's speed.
_REFERENCE_BUDGET = 5e8


@dataclasses.dataclass
class Batch:
    """The input of a case and what is known of it."""

    a: torch.Tensor
    slices: dict  # family -> slice of the batch
    bad: torch.Tensor  # which matrices are not finite
    sample: np.ndarray  # the matrices whose spectrum is known
    reference: np.ndarray  # their spectra, wide; None for qr
    lapack: dict  # measure -> per matrix, of torch.linalg's result


def part(case):
    """How the oracle reads A."""
    if case.operation in cases.SQUARE_ONLY:
        return oracle.UPPER if case.variant == "U" else oracle.LOWER
    return oracle.GENERAL


def _generator(case, family):
    key = f"{case.operation} {family} {case.m} {case.n} {case.dtype}"
    return np.random.default_rng(zlib.crc32(key.encode()))


def _matrices(case, family):
    """(matrices, bad) of one family."""
    rng = _generator(case, family)
    hermitian = case.operation in cases.SQUARE_ONLY
    if family == "not_finite":
        return families.not_finite(
            rng, case.count, case.m, case.n, case.dtype, case.variant if hermitian else None
        )
    if family == "graded_product":
        a = families.graded_product(rng, case.count, case.m, case.n, case.dtype)
    elif hermitian:
        a = families.hermitian(family, rng, case.count, case.n, case.dtype)
    else:
        a = families.general(family, rng, case.count, case.m, case.n, case.dtype)
    return a, torch.zeros(case.count, dtype=torch.bool)


def _poison_unread_triangle(case, a):
    """Puts NaN where a Hermitian matrix must not be read."""
    unread = torch.ones(case.n, case.n, dtype=torch.bool)
    unread = unread.triu(1) if case.variant == "L" else unread.tril(-1)
    return a.masked_fill(unread, math.nan)


def _sample(case, slices):
    """All matrices where their spectra are cheap, else as many of each family as fit."""
    complex_factor = 4 if case.dtype.is_complex else 1
    wide_factor = 6 if case.dtype in (cases.F64, cases.C128) else 1
    k = min(case.m, case.n)
    each = 60 * max(case.m, case.n) * k * k * complex_factor * wide_factor
    allowed = max(1, int(_REFERENCE_BUDGET / each / len(slices)))
    picked = []
    for place in slices.values():
        count = place.stop - place.start
        picked.append(
            place.start + np.unique(np.linspace(0, count - 1, min(count, allowed)).astype(int))
        )
    return np.concatenate(picked)


@functools.lru_cache(maxsize=2)
def prepare(case):
    """The Batch of a case; the last two are kept."""
    tensors, bads, slices, start = [], [], {}, 0
    for family in case.families:
        a, bad = _matrices(case, family)
        tensors.append(a)
        bads.append(bad)
        slices[family] = slice(start, start + len(a))
        start += len(a)
    a = torch.cat(tensors)
    if case.operation in cases.SQUARE_ONLY:
        a = _poison_unread_triangle(case, a)
    a = cases.LAYOUTS[case.layout](a)
    batch = Batch(a, slices, torch.cat(bads), np.arange(0), None, {})
    if case.expect == "not_finite":
        return batch
    if case.operation != "qr":
        batch.sample = _sample(case, slices)
        picked = a[torch.from_numpy(batch.sample)]
        batch.reference = (
            oracle.eigenvalues(picked, part(case))
            if case.operation in cases.SQUARE_ONLY
            else oracle.singular_values(picked)
        )
    batch.lapack = _lapack_measures(case, batch)
    return batch


def _lapack_measures(case, batch):
    """The larger of LAPACK's errors for each matrix and for an image of it that is as hard: eigh
    backwards from the other triangle, svd of the adjoint, qr of other roundings. One lucky run of
    LAPACK would be no yardstick: it differs from itself by more than twice at times."""
    if case.variant == "jacobi":
        plain = cases.VARIANTS[case.operation][0]
        case = dataclasses.replace(case, variant=plain)
    if case.operation in cases.SQUARE_ONLY:
        image = dataclasses.replace(case, variant="U" if case.variant == "L" else "L")
        turned = batch.a.flip(1, 2)
    elif case.operation == "qr":
        image, turned = case, batch.a * 0.7
    else:
        image, turned = dataclasses.replace(case, m=case.n, n=case.m), batch.a.mH.resolve_conj()
    run = implementations.run_torch
    own = measure(case, batch, run(case.operation, case.variant, batch.a))
    other_batch = dataclasses.replace(batch, a=turned)
    other = measure(image, other_batch, run(image.operation, image.variant, turned))
    if case.operation == "svd":
        other["orthogonality_u"], other["orthogonality_v"] = (
            other["orthogonality_v"],
            other["orthogonality_u"],
        )
    larger = {name: np.maximum(own[name], other[name]) for name in own}
    if case.operation in cases.WITH_VECTORS:
        alone = run(case.operation, case.variant, batch.a)[0]
        larger["difference"] = difference(case, batch, alone, run(*with_vectors(case), batch.a))
    return larger


def with_vectors(case):
    """(operation, variant) that gives the same values with vectors."""
    return cases.WITH_VECTORS[case.operation], case.variant or "thin"


def difference(case, batch, values, results):
    """Per matrix, of values alone from those that came with vectors, in norm(A) sqrt(n) u."""
    reference = results[1] if case.operation == "svdvals" else results[0]
    return oracle.measure_values(batch.a, values, reference, part(case))["error"]


def measure(case, batch, results):
    """measure -> values per matrix; of spectra only those in batch.sample."""
    a = batch.a
    if case.operation == "qr":
        return (
            oracle.measure_r(a, *results) if case.variant == "r" else oracle.measure_qr(a, *results)
        )
    values = results[1] if case.operation == "svd" else results[0]
    picked = torch.from_numpy(batch.sample)
    spectrum = oracle.measure_values(a[picked], values[picked], batch.reference, part(case))
    if case.operation == "eigh":
        measured = oracle.measure_eigh(a, *results, part(case))
    elif case.operation == "svd":
        measured = oracle.measure_svd(a, *results)
    else:
        own = oracle.measure_values(a, values, values.to(oracle.REAL[case.dtype]), part(case))
        measured = {"order": own["order"]}
    for name in ("error", "relative"):
        measured[name] = np.full(len(a), np.nan)
        measured[name][batch.sample] = spectrum[name]
    return measured


def expected_shapes(case):
    m, n, k = case.m, case.n, min(case.m, case.n)
    if case.operation == "qr":
        return {"reduced": [(m, k), (k, n)], "complete": [(m, m), (m, n)], "r": [(k, n)]}[
            case.variant
        ]
    if case.operation == "eigh":
        return [(n,), (n, n)]
    if case.operation == "svd":
        return [(m, m), (k,), (n, n)] if case.variant == "full" else [(m, k), (k,), (k, n)]
    return [(k,)]


def shape_faults(case, results):
    shapes = [tuple(result.shape[1:]) for result in results]
    wanted = expected_shapes(case)
    return [] if shapes == wanted else [f"shapes {shapes}, expected {wanted}"]


def _largest(values):
    """The maximum over the matrices measured; NaN where none was."""
    values = values[~np.isnan(values)]
    return float(values.max()) if len(values) else math.nan


# How the text of an excess ends that keeps its bound and not the second rule.
BEYOND_LAPACK = "exceeds twice LAPACK's"


def limits(case, algorithm, family, name, lapack):
    """(bound, second rule) of a measure; infinity where a rule does not apply.

    accuracy.md: up to n = 32 the bound counts, above it twice LAPACK's own maximum. Where
    LAPACK decides, a result of the second rule's quality passes the first: above n = 32, for
    the family that exceeds the bound by every method, and for LAPACK's own routines, whose SVD
    stops at an error of up to 100 u in double precision (bdsqr's tolerance). It does not decide
    where it failed itself.
    """
    if name in cases.EXACT:
        return 0.0, math.inf
    if name == "relative":
        wanted = cases.RELATIVE * max(case.m, case.n)
        return (wanted if case.expect == "relative" else math.inf), math.inf
    bound = cases.BOUNDS[name]
    if math.isnan(lapack):
        return bound, math.inf
    second = max(cases.LAPACK_FLOOR, cases.LAPACK_FACTOR * lapack)
    large = max(case.m, case.n) > cases.LAPACK_DECIDES_ABOVE
    lapack_decides = (
        large
        or family == "clustered_at_1"
        or ".lapack." in algorithm
        or algorithm == "torch.linalg"
    )
    if lapack_decides and lapack <= cases.LAPACK_FAILED:
        bound = max(bound, second)
    return bound, second if large else math.inf


def judge(case, algorithm, batch, measured, excused=()):
    """(rows, faults): a row (family, measure, ours, LAPACK's) per measure, a text per fault."""
    rows, faults = [], []
    for family, place in batch.slices.items():
        for name, values in measured.items():
            ours, lapack = _largest(values[place]), math.nan
            if name in batch.lapack:
                lapack = _largest(batch.lapack[name][place])
            rows.append((family, name, ours, lapack))
            if family in excused or math.isnan(ours):
                continue
            bound, second = limits(case, algorithm, family, name, lapack)
            worst = place.start + int(np.nanargmax(values[place]))
            where = f"{family}: {name} {ours:.4g} (LAPACK {lapack:.4g}, matrix {worst})"
            if ours > bound:
                faults.append(f"{where} exceeds {bound:g}")
            elif ours > second:
                faults.append(f"{where} {BEYOND_LAPACK}")
    return rows, faults


def not_finite_faults(case, batch, results, info):
    """Bad matrices: all NaN with info INT32_MAX. The others: finite and info 0."""
    faults = []
    wanted = torch.where(batch.bad, INFO_NOT_FINITE, 0).to(torch.int32)
    if not torch.equal(info, wanted):
        wrong = torch.nonzero(info != wanted).flatten().tolist()
        faults.append(f"info is wrong for matrices {wrong[:8]}: {info[wrong[:8]].tolist()}")
    for index, result in enumerate(results):
        flat = result.reshape(len(result), -1)
        bad, good = flat[batch.bad], flat[~batch.bad]
        if index == len(results) - 1 and case.operation == "qr":
            # R keeps exact zeros below its diagonal.
            keep = torch.ones(result.shape[-2:], dtype=torch.bool).triu().flatten()
            bad = bad[:, keep]
        if not torch.isnan(bad).all():
            faults.append(f"output {index} of a bad matrix is not all NaN")
        if not torch.isfinite(good).all():
            faults.append(f"output {index} of a good matrix is not finite")
    return faults
