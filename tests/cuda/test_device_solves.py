# SPDX-License-Identifier: Apache-2.0
"""cholesky and the solves on a GPU: bit for bit what the CPU's lanes give, by every kernel; and how
they are used."""

import itertools
import math

import lanepack
import numpy as np
import pytest
import torch
from conformance import cases, implementations, positive

CPU_FACTOR, CPU_SOLVE = cases.FACTOR_ALGORITHMS[0], cases.SOLVE_ALGORITHMS[0]
LAYOUTS = tuple(cases.LAYOUTS)
ORDERS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16, 17, 24, 25, 32, 33, 40, 64, 65, 96, 97, 128)


@pytest.fixture(params=cases.DTYPES, ids=lambda dtype: str(dtype).removeprefix("torch."))
def dtype(request):
    return request.param


def _count(n):
    return 333 if n <= 8 else 67 if n <= 32 else 13


def _same(x, y):
    """Equal bits; every NaN is the same."""
    x, y = x.cpu().resolve_conj(), y.cpu().resolve_conj()
    if x.is_complex():
        x, y = torch.view_as_real(x), torch.view_as_real(y)
    lost = torch.isnan(x)
    if x.shape != y.shape or not torch.equal(lost, torch.isnan(y)):
        return False
    whole = {4: torch.int32, 8: torch.int64}[x.element_size()]
    x, y = (each.masked_fill(lost, 0.0).contiguous().view(whole) for each in (x, y))
    return torch.equal(x, y)


def _forced(name, call, *arguments, **options):
    with implementations.environment(LANEPACK_FORCE=name):
        return call(*arguments, **options)


def _served(algorithm, function, *arguments, **options):
    """Results by a forced algorithm, None where it does not serve the call."""
    try:
        return _forced(algorithm, function, *arguments, **options)
    except NotImplementedError:
        return None


def _poisoned(a, upper):
    unread = torch.ones(a.shape[-2:], dtype=torch.bool)
    return a.masked_fill(unread.tril(-1) if upper else unread.triu(1), math.nan)


@pytest.mark.parametrize("n", ORDERS)
@pytest.mark.parametrize("algorithm", cases.CUDA_FACTOR_ALGORITHMS)
def test_cholesky(algorithm, n, dtype):
    rng = np.random.default_rng(n)
    each = -(-_count(n) // len(positive.POSITIVE))
    a = torch.cat([positive.positive(f, rng, each, n, dtype) for f in positive.POSITIVE])
    for k in range(1, len(a), 5):
        a[k, (3 * k) % n, (3 * k) % n] = -1.0
    a[3, -1, 0] = math.nan
    a[6, 0, 0] = math.inf
    for upper in (False, True):
        given = _poisoned(a, upper)
        lanes = _forced(CPU_FACTOR, lanepack.cholesky_ex, given, upper=upper)
        assert int((lanes.info > 0).sum()) > 2
        for name, layout in cases.LAYOUTS.items():
            x = layout(given.cuda())
            result = _served(algorithm, lanepack.cholesky_ex, x, upper=upper)
            if result is None:
                pytest.skip("not served by this algorithm")
            assert torch.equal(result.info.cpu(), lanes.info), f"{name}, upper {upper}"
            assert _same(result.L, lanes.L), f"{name}, upper {upper}: bits"
            alone = _served(algorithm, lanepack.cholesky, x[5], upper=upper)
            assert _same(alone, lanes.L[5]), f"{name}, upper {upper}: alone"


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 8, 9, 17, 33, 100])
@pytest.mark.parametrize("n", ORDERS)
@pytest.mark.parametrize("algorithm", cases.CUDA_SOLVE_ALGORITHMS)
def test_solve_triangular(algorithm, n, columns, dtype):
    rng = np.random.default_rng(n + columns)
    count = _count(n)
    choices = itertools.product((False, True), (True, False), (False, True), ("n", "t", "c"))
    for index, (upper, left, unit, op) in enumerate(choices):
        if op != "n" and not left:
            continue
        family = positive.TRIANGULAR[index % len(positive.TRIANGULAR)]
        if unit and family in ("near_overflow", "subnormal", "graded"):
            family = "normal"
        a = positive.triangular(family, rng, count, n, dtype)
        a = a.mT.contiguous() if upper else a
        if unit:
            a = a / n
            a.diagonal(0, -2, -1).fill_(math.nan)
        else:
            a[7, -1, -1] = 0.0
        b = torch.from_numpy(rng.standard_normal((count, n, columns))).to(dtype)
        b = b if left else b.mT.contiguous()
        b[4, 0, 0] = math.nan

        def call(a, b, upper=upper, left=left, unit=unit, op=op):
            if op == "n":
                return lanepack.solve_triangular(a, b, upper=upper, left=left, unitriangular=unit)
            return lanepack.triangular_solve(
                b, a, upper, op == "t", unit, adjoint=op == "c"
            ).solution

        where = f"{family} upper {upper} left {left} unit {unit} {op}"
        lanes = _forced(CPU_SOLVE, call, a, b)
        x = cases.LAYOUTS[LAYOUTS[index % len(LAYOUTS)]](a.cuda())
        y = cases.LAYOUTS[LAYOUTS[(index // 2) % len(LAYOUTS)]](b.cuda())
        result = _served(algorithm, call, x, y)
        if result is None:
            pytest.skip("not served by this algorithm")
        assert _same(result, lanes), f"{where}: bits"
        assert _same(_forced(algorithm, call, x[5], y[5]), lanes[5]), f"{where}: alone"
        if index % 4 == 0:
            shared = _forced(algorithm, call, x[:1], y)
            assert _same(shared, _forced(CPU_SOLVE, call, a[:1], b)), f"{where}: one factor"
            shared = _forced(algorithm, call, x, y[2])
            assert _same(shared, _forced(CPU_SOLVE, call, a, b[2])), f"{where}: the same sides"


@pytest.mark.parametrize("columns", [1, 3, 8, 32])
@pytest.mark.parametrize("n", ORDERS)
@pytest.mark.parametrize("algorithm", cases.CUDA_SOLVE_ALGORITHMS)
def test_cholesky_solve_and_inverse(algorithm, n, columns, dtype):
    rng = np.random.default_rng(n)
    a = torch.linalg.cholesky(positive.positive("even", rng, _count(n), n, dtype))
    b = torch.from_numpy(rng.standard_normal((len(a), n, columns))).to(dtype)
    for upper in (False, True):
        factor = _poisoned(a.mH.contiguous() if upper else a, upper)
        lanes = _forced(CPU_SOLVE, lanepack.cholesky_solve, b, factor, upper)
        for layout in LAYOUTS[:3]:
            x = cases.LAYOUTS[layout](factor.cuda())
            result = _served(algorithm, lanepack.cholesky_solve, b.cuda(), x, upper)
            if result is None:
                pytest.skip("not served by this algorithm")
            assert _same(result, lanes), f"{layout}, upper {upper}: bits"
        if columns == 1:
            inverse = _served(algorithm, lanepack.cholesky_inverse, factor.cuda(), upper)
            if inverse is not None:
                expected = _forced(CPU_SOLVE, lanepack.cholesky_inverse, factor, upper)
                assert _same(inverse, expected), f"upper {upper}: the inverse"


def _positive(*shape, dtype=torch.float32, seed=0):
    generator = torch.Generator("cuda").manual_seed(seed)
    G = torch.randn(shape, dtype=dtype, device="cuda", generator=generator)
    return G @ G.mH / shape[-1] + torch.eye(shape[-1], dtype=dtype, device="cuda")


CALLS = {
    "cholesky": lambda A, B: lanepack.cholesky_ex(A),
    "solve_triangular": lambda A, B: (lanepack.solve_triangular(A, B, upper=False),),
    "cholesky_solve": lambda A, B: (lanepack.cholesky_solve(B, A),),
    "cholesky_inverse": lambda A, B: (lanepack.cholesky_inverse(A),),
}


@pytest.mark.parametrize("n", [3, 8, 20, 64])
@pytest.mark.parametrize("name", CALLS)
def test_nothing_waits(name, n):
    A, B = _positive(100, n, n), torch.randn(100, n, 2, device="cuda")
    CALLS[name](A, B)
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        torch.cuda._sleep(100_000_000)
        done = torch.cuda.Event()
        CALLS[name](A, B)
        done.record()
        assert not done.query(), "the call waited for the device"
    finally:
        torch.cuda.set_sync_debug_mode("default")
    torch.cuda.synchronize()


@pytest.mark.parametrize("n", [3, 8, 20, 64])
@pytest.mark.parametrize("name", CALLS)
def test_graph_capture_and_replay(name, n):
    lanepack.warmup(name, (64, n, n), device="cuda")
    A, B = _positive(64, n, n), torch.randn(64, n, 1, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = CALLS[name](A, B)
    for seed in (1, 2):
        A.copy_(_positive(64, n, n, seed=seed))
        graph.replay()
        torch.cuda.synchronize()
        for mine, theirs in zip(captured, CALLS[name](A, B), strict=True):
            assert _same(mine, theirs)


def test_more_than_two_to_the_31_elements():
    """Offsets of 64 bits: the last matrices of a batch that an int does not count."""
    batch = 2**29 + 1000
    A = torch.ones(batch, 2, 2, device="cuda")
    A[-3:] = torch.tensor([[4.0, 2.0], [2.0, 5.0]], device="cuda")
    A[:-3, 0, 0] = 2.0
    L, info = lanepack.cholesky_ex(A)
    expected = lanepack.cholesky(A[-5:].cpu())
    assert _same(L[-5:], expected)
    assert not bool(info.any())
    B = A[..., :1]
    X = lanepack.solve_triangular(L, B, upper=False)
    assert _same(X[-5:], lanepack.solve_triangular(expected, B[-5:].cpu(), upper=False))


def test_routes():
    for dtype in cases.DTYPES:
        assert lanepack.cholesky_backend(3, 10, dtype=dtype, device="cuda").endswith(".thread")
        assert lanepack.cholesky_backend(32, 10, dtype=dtype, device="cuda").endswith(".warp")
        level = ".warp" if dtype == torch.float32 else ".block"
        assert lanepack.cholesky_backend(96, 10, dtype=dtype, device="cuda").endswith(level)
        assert lanepack.cholesky_backend(129, 10, dtype=dtype, device="cuda") == "vendor"
        where = {"dtype": dtype, "device": "cuda"}
        assert lanepack.solve_triangular_backend(3, 10, columns=50, **where).endswith(".thread")
        assert lanepack.solve_triangular_backend(64, 10, columns=50, **where).endswith(".warp")
        assert lanepack.solve_triangular_backend(129, 10, **where) == "vendor"


@pytest.mark.parametrize("n", [3, 20, 64])
def test_gradients(n):
    A = _positive(4, n, n, dtype=torch.float64).requires_grad_()
    B = torch.randn(4, n, 2, dtype=torch.float64, device="cuda", requires_grad=True)
    L = lanepack.cholesky(A)
    mine = torch.autograd.grad(lanepack.cholesky_solve(B, L).square().sum(), (A, B))
    theirs = torch.autograd.grad(
        torch.cholesky_solve(B, torch.linalg.cholesky(A)).square().sum(), (A, B)
    )
    for one, other in zip(mine, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)
