# SPDX-License-Identifier: Apache-2.0
"""cholesky, cholesky_solve, cholesky_inverse and solve_triangular by every algorithm: residuals of
accuracy.md, info, what is never read, bits."""

import itertools
import math

import lanepack
import numpy as np
import pytest
import torch

from . import cases, implementations, positive

FACTOR, SOLVE = cases.FACTOR_ALGORITHMS, cases.SOLVE_ALGORITHMS
SIZES = (1, 2, 3, 4, 5, 8, 9, 17, 32, 33, 64)
BOUND = 20.0
LAYOUTS = ("column", "row", "strided", "batch_last")


@pytest.fixture(params=cases.DTYPES, ids=lambda dtype: str(dtype).removeprefix("torch."))
def dtype(request):
    return request.param


def _unit(n, dtype):
    return math.sqrt(n) * torch.finfo(dtype).eps / 2


def _count(n, dtype):
    return (24 if n <= 9 else 10) if dtype in (cases.F32, cases.C64) else (12 if n <= 9 else 3)


def _poisoned(a, upper):
    """NaN where A must not be read."""
    unread = torch.ones(a.shape[-2:], dtype=torch.bool)
    return a.masked_fill(unread.tril(-1) if upper else unread.triu(1), math.nan)


def _bits(x):
    x = torch.view_as_real(x.resolve_conj()) if x.is_complex() else x
    return x.contiguous().reshape(-1).view(torch.uint8)


def _same(x, y):
    return x.shape == y.shape and torch.equal(_bits(x), _bits(y))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("algorithm", FACTOR)
def test_cholesky(algorithm, n, dtype):
    rng = np.random.default_rng(n)
    for (index, family), upper in itertools.product(enumerate(positive.POSITIVE), (False, True)):
        a = positive.positive(family, rng, _count(n, dtype), n, dtype)
        given = cases.LAYOUTS[LAYOUTS[index % len(LAYOUTS)]](_poisoned(a, upper))
        with implementations.environment(LANEPACK_FORCE=algorithm):
            factor, info = lanepack.cholesky_ex(given, upper=upper)
        assert not info.any(), f"{family}: info {info}"
        other = factor.tril(-1) if upper else factor.triu(1)
        assert not other.any(), f"{family}: the other triangle of the factor is not zero"
        w = positive.wide(factor)
        adjoint = np.conj(np.swapaxes(w, -1, -2))
        made = positive.product(adjoint, w) if upper else positive.product(w, adjoint)
        exact = positive.wide(a)
        error = positive.norm(exact - made) - positive.rounding(dtype, n)
        worst = (error / positive.norm(exact)).max() / _unit(n, dtype)
        assert worst <= BOUND, f"{family} {'upper' if upper else 'lower'}: {worst:.1f} of {BOUND}"


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 17, 33, 70])
@pytest.mark.parametrize("algorithm", FACTOR)
def test_the_minor_that_fails(algorithm, n, dtype):
    """info is the order of the first minor that is not positive, whatever stands beside it."""
    rng = np.random.default_rng(n)
    for upper in (False, True):
        a = positive.positive("gram", rng, 3 * n + 7, n, dtype)
        wanted = torch.zeros(len(a), dtype=torch.int32)
        for minor in range(n):
            a[3 * minor, minor, minor] = -1.0
            wanted[3 * minor] = minor + 1
            if minor + 1 < n:  # a later one is not counted
                a[3 * minor, n - 1, n - 1] = -1.0
        a[1, -1, -1] = math.nan
        a[-1, 0, 0] = math.inf
        wanted[1] = wanted[-1] = 2**31 - 1
        with implementations.environment(LANEPACK_FORCE=algorithm):
            factor, info = lanepack.cholesky_ex(_poisoned(a, upper), upper=upper)
            alone = lanepack.cholesky(_poisoned(a, upper)[2], upper=upper)
        assert torch.equal(info, wanted)
        triangle = torch.ones(n, n).triu() if upper else torch.ones(n, n).tril()
        lost = torch.isnan(factor) == (triangle > 0)
        bad = wanted != 0
        assert lost[bad].all()
        assert torch.isfinite(factor[~bad]).all()
        assert _same(factor[2], alone) or algorithm.endswith("parallel")


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("algorithm", SOLVE)
def test_solve_triangular(algorithm, n, dtype):
    rng = np.random.default_rng(n)
    choices = itertools.product((False, True), (False, True), (False, True), ("n", "t", "c"))
    for index, (upper, left, unit, op) in enumerate(choices):
        family = positive.TRIANGULAR[index % len(positive.TRIANGULAR)]
        if op != "n" and not left:
            continue
        if unit and family in ("near_overflow", "subnormal", "graded"):
            family = "normal"
        count, k = _count(n, dtype) // 3 + 1, (1, 3, 4, 9)[index % 4]
        a = positive.triangular(family, rng, count, n, dtype)
        if upper:
            a = a.mT.contiguous()
        if unit:
            a = a / n
            a.diagonal(0, -2, -1).fill_(math.nan)
        b = torch.from_numpy(rng.standard_normal((count, n, k))).to(dtype)
        b = b if left else b.mT.contiguous()
        a = cases.LAYOUTS[LAYOUTS[index % 4]](a)
        b = cases.LAYOUTS[LAYOUTS[(index // 4) % 4]](b)
        with implementations.environment(LANEPACK_FORCE=algorithm):
            if op == "n":
                x = lanepack.solve_triangular(a, b, upper=upper, left=left, unitriangular=unit)
            else:
                x = lanepack.triangular_solve(
                    b, a, upper, op == "t", unit, adjoint=op == "c"
                ).solution
        w = positive.wide(torch.nan_to_num(a.resolve_conj()))
        w = np.triu(w, 1 if unit else 0) if upper else np.tril(w, -1 if unit else 0)
        if unit:
            w = w + np.eye(n)
        if op != "n":
            w = np.swapaxes(w, -1, -2)
        if op == "c":
            w = np.conj(w)
        y, z = positive.wide(x), positive.wide(b)
        if not left:  # X W = B is W^T X^T = B^T
            w, y, z = (np.swapaxes(each, -1, -2) for each in (w, y, z))
        assert np.isfinite(y).all(), f"{family} {upper} {left} {unit} {op}"
        rest = np.abs(z - positive.product(w, y)).sum(-2)
        scale = positive.norm(w)[:, None] * np.abs(y).sum(-2) + np.abs(z).sum(-2)
        rest = rest - positive.rounding(dtype, n) * positive.norm(w)[:, None]
        worst = (rest / scale).max() / _unit(n, dtype)
        assert worst <= BOUND, f"{family} {upper} {left} {unit} {op}: {worst:.1f} of {BOUND}"


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("algorithm", SOLVE)
def test_cholesky_solve_and_inverse(algorithm, n, dtype):
    rng = np.random.default_rng(n)
    for index, upper in enumerate((False, True)):
        count = _count(n, dtype)
        a = positive.positive("even", rng, count, n, dtype)
        factor = torch.linalg.cholesky(a, upper=upper)
        b = torch.from_numpy(rng.standard_normal((count, n, 5))).to(dtype)
        given = cases.LAYOUTS[LAYOUTS[index]](_poisoned(factor, upper))
        with implementations.environment(LANEPACK_FORCE=algorithm):
            x = lanepack.cholesky_solve(b, given, upper)
            inverse = lanepack.cholesky_inverse(given, upper)
        w, y = positive.wide(factor), positive.wide(x)
        adjoint = np.conj(np.swapaxes(w, -1, -2))
        made = positive.product(adjoint, w) if upper else positive.product(w, adjoint)
        rest = np.abs(positive.wide(b) - positive.product(made, y)).sum(-2)
        scale = (positive.norm(w) * positive.norm(adjoint))[:, None] * np.abs(y).sum(-2)
        worst = (rest / scale).max() / _unit(n, dtype)
        assert worst <= BOUND, f"solve: {worst:.1f} of {BOUND}"
        v = positive.wide(inverse)
        rest = positive.norm(np.eye(n) - positive.product(made, v))
        scale = positive.norm(w) * positive.norm(adjoint) * positive.norm(v)
        worst = (rest / scale).max() / _unit(n, dtype)
        assert worst <= BOUND, f"inverse: {worst:.1f} of {BOUND}"
        assert torch.equal(inverse, inverse.mH), "an inverse is Hermitian to the last bit"


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 9, 17, 32, 33])
def test_bits_of_the_lanes(n, dtype):
    """A matrix's bits depend on nothing but itself: batch, position, layout, columns beside it."""
    rng = np.random.default_rng(n)
    count = 67
    a = positive.positive("gram", rng, count, n, dtype)
    b = torch.from_numpy(rng.standard_normal((count, n, 9))).to(dtype)
    with implementations.environment(LANEPACK_FORCE=FACTOR[0]):
        factor = lanepack.cholesky(a)
        for first, last in ((0, 1), (1, 2), (3, 9), (5, 40), (0, 66)):
            assert _same(lanepack.cholesky(a[first:last]), factor[first:last])
        for layout in cases.LAYOUTS.values():
            assert _same(lanepack.cholesky(layout(a)), factor)
        upper = lanepack.cholesky(a, upper=True)
        spoiled = a.clone()
        spoiled[1::3, -1, 0] = math.nan
        beside = lanepack.cholesky(spoiled)
        keep = torch.arange(count) % 3 != 1
        assert _same(beside[keep], factor[keep])
        assert _same(lanepack.cholesky(a * 4), factor * 2)
    if not dtype.is_complex:
        assert _same(upper, factor.mT)
    with implementations.environment(LANEPACK_FORCE=SOLVE[0]):
        for solve in (
            lambda f, b: lanepack.solve_triangular(f, b, upper=False),
            lambda f, b: lanepack.cholesky_solve(b, f),
        ):
            x = solve(factor, b)
            for first, last in ((0, 1), (2, 3), (5, 40)):
                assert _same(solve(factor[first:last], b[first:last]), x[first:last])
            for column in (0, 4, 8):
                one = solve(factor, b[..., column : column + 1])
                assert _same(one, x[..., column : column + 1])
                assert _same(solve(factor[3], b[3, :, column : column + 1]), one[3])
            for layout in cases.LAYOUTS.values():
                assert _same(solve(layout(factor), layout(b)), x)
            shared = solve(factor[:1], b)
            assert _same(shared[0], x[0])
            assert _same(shared[9], solve(factor[0], b[9]))
            nan = b.clone()
            nan[4, 0, 2] = math.nan
            other = solve(factor, nan)
            keep = torch.arange(9) != 2
            assert _same(other[4][:, keep], x[4][:, keep])
            assert _same(other[5], x[5])


@pytest.mark.parametrize("n", [3, 40])
def test_bits_of_lapack_under_invariant(n, dtype):
    rng = np.random.default_rng(n)
    a = positive.positive("gram", rng, 5, n, dtype)
    b = torch.from_numpy(rng.standard_normal((5, n, 4))).to(dtype)
    with lanepack.invariant():
        with implementations.environment(LANEPACK_FORCE="cholesky.lapack.serial"):
            factor = lanepack.cholesky(a)
            assert _same(lanepack.cholesky(a[3]), factor[3])
            assert _same(lanepack.cholesky(cases.LAYOUTS["padded"](a)), factor)
        with implementations.environment(LANEPACK_FORCE="solve_triangular.lapack.serial"):
            x = lanepack.solve_triangular(factor, b, upper=False)
            assert _same(lanepack.solve_triangular(factor[3], b[3], upper=False), x[3])
            padded = cases.LAYOUTS["padded"]
            assert _same(lanepack.solve_triangular(padded(factor), padded(b), upper=False), x)
