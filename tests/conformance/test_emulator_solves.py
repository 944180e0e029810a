# SPDX-License-Identifier: Apache-2.0
"""The GPU's kernels of cholesky and the solves in the emulator: no report, the same bits in every
order of lanes, layout, batch and place, and, bit for bit, what the CPU's lanes give."""

import itertools
import math
import os
import random

import lanepack
import numpy as np
import pytest
import torch

from . import cases, emulator, implementations, positive

SEED = int(os.environ.get("LANEPACK_EMULATOR_SEED", 0)) or random.SystemRandom().getrandbits(32)
ORDERS = (1, 2, 3, 4, 5, 8, 9, 16, 17, 20, 32, 33, 64, 65, 100)
FACTOR, SOLVE = cases.CUDA_FACTOR_ALGORITHMS, cases.CUDA_SOLVE_ALGORITHMS
CPU_FACTOR, CPU_SOLVE = cases.FACTOR_ALGORITHMS[0], cases.SOLVE_ALGORITHMS[0]
LAYOUTS = ("column", "row", "strided", "padded", "batch_last")


@pytest.fixture(params=cases.DTYPES, ids=lambda dtype: str(dtype).removeprefix("torch."))
def dtype(request):
    return request.param


def _count(n):
    """More than a warp of small matrices, with a rest; few of the larger ones."""
    return 37 if n <= 4 else 35 if n <= 8 else 5 if n <= 32 else 3


def _same(x, y):
    """Equal bits; every NaN is the same."""
    if x.is_complex():
        x, y = torch.view_as_real(x.resolve_conj()), torch.view_as_real(y.resolve_conj())
    lost = torch.isnan(x)
    return torch.equal(lost, torch.isnan(y)) and emulator._same(
        x.masked_fill(lost, 0.0), y.masked_fill(lost, 0.0)
    )


def _lanes(name, call, *arguments, **options):
    with implementations.environment(LANEPACK_FORCE=name):
        return call(*arguments, **options)


def _like(a, layout):
    """Memory for an output of a's shape in a layout, NaN."""
    return cases.LAYOUTS[layout](torch.full(a.shape, math.nan, dtype=a.dtype))


def _poisoned(a, upper):
    unread = torch.ones(a.shape[-2:], dtype=torch.bool)
    return a.masked_fill(unread.tril(-1) if upper else unread.triu(1), math.nan)


def _bad_minors(a):
    """Some matrices that cannot be factored, each by a minor of its own."""
    n, wanted = a.shape[-1], torch.zeros(len(a), dtype=torch.int32)
    for k in range(1, len(a), 4):
        minor = (5 * k) % n
        a[k, minor, minor] = -1.0
        a[k, n - 1, n - 1] = -1.0
        wanted[k] = minor + 1
    a[2] = torch.eye(n, dtype=a.dtype)
    a[2].masked_fill_(torch.ones(n, n, dtype=torch.bool).tril(-1), -0.0)  # and so they stay
    if len(a) > 3:
        a[3, n - 1, 0] = math.nan
        wanted[3] = 2**31 - 1
    return a, wanted


@pytest.mark.parametrize("n", ORDERS)
@pytest.mark.parametrize("algorithm", FACTOR)
def test_cholesky(algorithm, n, dtype):
    if not emulator.serves_order("cholesky", algorithm, n, dtype):
        pytest.skip("not served by this algorithm")
    rng = np.random.default_rng(n)
    for index, upper in enumerate((False, True)):
        count = _count(n)
        a = torch.cat(
            [
                positive.positive(family, rng, -(-count // 3), n, dtype)
                for family in ("gram", "subnormal", "near_overflow")
            ]
        )[:count]
        a, wanted = _bad_minors(a)
        a = _poisoned(a, False)
        if upper:
            a = a.mH.contiguous()
        lanes = _lanes(CPU_FACTOR, lanepack.cholesky_ex, a, upper=upper)
        assert torch.equal(lanes.info, wanted)
        for order in range(3):
            layout = LAYOUTS[(order + 2 * index) % len(LAYOUTS)]
            given = cases.LAYOUTS[layout](a)
            out = _like(a, LAYOUTS[order])
            part = slice(0, len(a) - (order == 2 and len(a) > 1))
            info = emulator.cholesky(
                algorithm, given[part], upper, out[part], order, SEED, most_blocks=(0, 1, 2)[order]
            )
            assert torch.equal(info, wanted[part]), f"order {order}, upper {upper}"
            assert _same(out[part], lanes.L[part]), f"order {order}, upper {upper}: bits"
        inside = cases.LAYOUTS["row"](a).clone()
        emulator.cholesky(algorithm, inside, upper, inside, 2, SEED)
        assert _same(inside, lanes.L), "in place"


def _problems(n, dtype, columns):
    """(lower, conjugate, unit, a, b) in various layouts; a as it stands to the left of X."""
    rng = np.random.default_rng(n + columns)
    choices = list(itertools.product((True, False), (False, True), (False, True)))
    for index, (lower, conjugate, unit) in enumerate(choices):
        if conjugate and not dtype.is_complex and n > 8:
            continue
        count = 1 + _count(n) // (1 if columns == 1 else 5)
        family = ("normal", "factor", "near_overflow", "subnormal")[index % 4]
        if unit and family in ("near_overflow", "subnormal"):
            family = "normal"
        a = positive.triangular(family, rng, count, n, dtype)
        if not lower:
            a = a.mT.contiguous()
        if unit:
            a = a / n
            a.diagonal(0, -2, -1).fill_(math.nan)
        b = torch.from_numpy(rng.standard_normal((count, n, columns))).to(dtype)
        yield lower, conjugate, unit, a, b


@pytest.mark.parametrize("columns", [1, 2, 3, 7, 9, 33])
@pytest.mark.parametrize("n", ORDERS)
@pytest.mark.parametrize("algorithm", SOLVE)
def test_solve_triangular(algorithm, n, columns, dtype):
    if not emulator.serves_order("solve_triangular", algorithm, n, dtype, columns):
        pytest.skip("not served by this algorithm")
    for index, (lower, conjugate, unit, a, b) in enumerate(_problems(n, dtype, columns)):
        where = f"lower {lower}, conjugate {conjugate}, unit {unit}"
        if index == 0 and len(b) > 2:  # a zero on the diagonal, a side that is not finite
            a[1, -1, -1] = 0.0
            b[2, 0, -1] = math.inf
        op = a.conj() if conjugate else a
        options = {"upper": not lower, "unitriangular": unit}
        lanes = _lanes(CPU_SOLVE, lanepack.solve_triangular, op, b, **options)
        # all orders of lanes for one problem, one for the others
        for order in range(3) if index == 0 else (index % 3,):
            given = cases.LAYOUTS[LAYOUTS[(index + order) % len(LAYOUTS)]](a)
            sides = cases.LAYOUTS[LAYOUTS[(index + 2 * order) % len(LAYOUTS)]](b)
            out = _like(b, LAYOUTS[(order + index // 2) % len(LAYOUTS)])
            emulator.solve(
                "solve_triangular", algorithm, given, sides, out, lower, conjugate, unit,
                order, SEED, most_blocks=(0, 1, 2)[order],
            )  # fmt: skip
            assert _same(out, lanes), f"{where}, order {order}: bits"
        if index == 1:
            inside = b.clone()
            emulator.solve(
                "solve_triangular", algorithm, a, inside, inside, lower, conjugate, unit, 2, SEED
            )
            assert _same(inside, lanes), f"{where}: in place"
        if index == 2:  # one factor for all
            shared = a[:1].expand(len(b), n, n)
            alone = _lanes(CPU_SOLVE, lanepack.solve_triangular, op[:1], b, **options)
            out = _like(b, "column")
            emulator.solve(
                "solve_triangular", algorithm, shared, b, out, lower, conjugate, unit, 1, SEED
            )
            assert _same(out, alone), f"{where}: one factor"


@pytest.mark.parametrize("columns", [1, 3, 8, 20])
@pytest.mark.parametrize("n", ORDERS)
@pytest.mark.parametrize("algorithm", SOLVE)
def test_cholesky_solve(algorithm, n, columns, dtype):
    if not emulator.serves_order("cholesky_solve", algorithm, n, dtype, columns):
        pytest.skip("not served by this algorithm")
    rng = np.random.default_rng(n)
    count = 1 + _count(n) // (1 if columns == 1 else 4)
    a = torch.linalg.cholesky(positive.positive("even", rng, count, n, dtype))
    b = torch.from_numpy(rng.standard_normal((count, n, columns))).to(dtype)
    a = _poisoned(a, False)
    for index, upper in enumerate((False, True)):
        factor = a.mH.contiguous() if upper else a
        if index == 0 and count > 1:
            factor = factor.clone()
            factor[1, 0, 0] = 0.0
        lanes = _lanes(CPU_SOLVE, lanepack.cholesky_solve, b, factor, upper)
        for order in range(3) if index == 0 else (2,):
            given = cases.LAYOUTS[LAYOUTS[(index + order) % len(LAYOUTS)]](factor)
            out = _like(b, LAYOUTS[order])
            sides = cases.LAYOUTS[LAYOUTS[(order + 1) % len(LAYOUTS)]](b)
            emulator.solve(
                "cholesky_solve", algorithm, given.mT if upper else given, sides, out, True, upper,
                order=order, seed=SEED, most_blocks=(1, 0, 2)[order],
            )  # fmt: skip
            assert _same(out, lanes), f"upper {upper}, order {order}: bits"


def test_every_algorithm_runs():
    """Each algorithm serves an order above in every dtype."""
    for dtype, name in itertools.product(cases.DTYPES, FACTOR):
        served = any(emulator.serves_order("cholesky", name, n, dtype) for n in ORDERS)
        # two rows of complex128 do not fit in the registers of a lane
        fits = (dtype, name) != (torch.complex128, "cholesky.right_looking.block")
        assert served == fits
    for dtype, name in itertools.product(cases.DTYPES, SOLVE):
        assert any(emulator.serves_order("solve_triangular", name, n, dtype, 3) for n in ORDERS)
    found = [name for name in emulator.algorithms() if name.startswith(("cholesky", "solve"))]
    assert sorted(found) == sorted((*FACTOR, *SOLVE))
