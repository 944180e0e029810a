# SPDX-License-Identifier: Apache-2.0
"""cholesky, cholesky_ex and the solves: results, errors, broadcasting, out, derivatives,
transforms; and the rows of cases.md about them, by their numbers."""

import itertools
import math
import warnings

import lanepack
import numpy as np
import pytest
import torch
from properties import DTYPES, column_major, eps, randn, wide
from torch.autograd import gradcheck, gradgradcheck
from torch.func import jvp, vmap

ops = torch.ops.lanepack


def positive(*shape, seed, dtype=torch.float64):
    G = randn(*shape, seed=seed, dtype=dtype)
    n = shape[-1]
    return G @ G.mH + n * torch.eye(n, dtype=dtype)


def triangular(*shape, seed, dtype=torch.float64, upper=False):
    n = shape[-1]
    A = randn(*shape, seed=seed, dtype=dtype) + 3 * torch.eye(n, dtype=dtype)
    return A.triu() if upper else A.tril()


def close(mine, other, factor=100.0):
    scale = max(1.0, float(other.abs().max())) if other.numel() else 1.0
    assert mine.shape == other.shape
    assert mine.dtype == other.dtype
    assert ((mine - other).abs() <= factor * eps(mine.dtype) * scale).all()


# ---- results ----


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_is_torchs(dtype, upper):
    A = positive(3, 2, 5, 5, seed=1, dtype=dtype)
    L = lanepack.cholesky(A, upper=upper)
    close(L, torch.linalg.cholesky(A, upper=upper))
    assert L.stride() == column_major(L.shape)
    both = lanepack.cholesky_ex(A, upper=upper)
    assert type(both) is torch.return_types.linalg_cholesky_ex
    assert torch.equal(both.L, L)
    assert both.info.dtype == torch.int32
    assert both.info.shape == (3, 2)
    assert not both.info.any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_solves_are_torchs(dtype):
    for upper, left, unit in itertools.product((False, True), repeat=3):
        A = triangular(2, 4, 4, seed=2, dtype=dtype, upper=upper)
        B = randn(2, *((4, 3) if left else (3, 4)), seed=3, dtype=dtype)
        options = {"upper": upper, "left": left, "unitriangular": unit}
        X = lanepack.solve_triangular(A, B, **options)
        close(X, torch.linalg.solve_triangular(A, B, **options), 1e3)
        assert X.stride() == column_major(X.shape)
    for upper, transpose, unit in itertools.product((False, True), repeat=3):
        A = triangular(2, 4, 4, seed=2, dtype=dtype, upper=upper)
        b = randn(2, 4, 3, seed=3, dtype=dtype)
        mine = lanepack.triangular_solve(b, A, upper, transpose, unit)
        with _silent():
            theirs = torch.triangular_solve(b, A, upper, transpose, unit)
        close(mine.solution, theirs.solution, 1e3)
        assert torch.equal(mine.cloned_coefficient, A)
        adjoint = (A if not unit else _unit_diagonal(A)).mH
        X = lanepack.triangular_solve(b, A, upper, unitriangular=unit, adjoint=True).solution
        close(adjoint @ X, b, 1e3)


def _silent():
    """torch.triangular_solve warns that it will go."""
    return warnings.catch_warnings(action="ignore")


def _unit_diagonal(A):
    return A - torch.diag_embed(A.diagonal(0, -2, -1)) + torch.eye(A.shape[-1], dtype=A.dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("upper", [False, True])
def test_cholesky_solve_and_inverse_are_torchs(dtype, upper):
    A = positive(3, 5, 5, seed=4, dtype=dtype)
    F = torch.linalg.cholesky(A, upper=upper)
    B = randn(3, 5, 2, seed=5, dtype=dtype)
    close(lanepack.cholesky_solve(B, F, upper), torch.cholesky_solve(B, F, upper))
    close(A @ lanepack.cholesky_solve(B, F, upper), B, 1e3)
    close(lanepack.cholesky_inverse(F, upper), torch.cholesky_inverse(F, upper))


def test_conversions():
    A = positive(3, 3, seed=6)
    assert lanepack.cholesky(A.half()).dtype == torch.float32
    assert lanepack.cholesky(A.tolist()).dtype == torch.float32
    assert lanepack.cholesky(A.numpy()).dtype == torch.float64
    assert lanepack.cholesky(torch.eye(3, dtype=torch.int64)).dtype == torch.float32
    T, B = triangular(3, 3, seed=7), randn(3, 2, seed=8, dtype=torch.complex128)
    X = lanepack.solve_triangular(T, B, upper=False)  # a real A with a complex B is promoted
    assert X.dtype == torch.complex128
    close(T.to(torch.complex128) @ X, B)
    X = lanepack.solve_triangular(T.float(), randn(3, 2, seed=8), upper=False)
    assert X.dtype == torch.float64


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_conjugate_and_negative_views(dtype):
    T, B = triangular(2, 4, 4, seed=9, dtype=dtype), randn(2, 4, 3, seed=10, dtype=dtype)
    expected = lanepack.solve_triangular(T.conj().resolve_conj(), B, upper=False)
    assert torch.equal(lanepack.solve_triangular(T.conj(), B, upper=False), expected)
    X = lanepack.solve_triangular(T.mH, B, upper=True)
    close(T.mH @ X, B, 1e3)
    close(T @ lanepack.solve_triangular(T, B.conj(), upper=False), B.conj().resolve_conj(), 1e3)
    A = positive(2, 4, 4, seed=9, dtype=dtype)
    close(lanepack.cholesky(A.conj()), lanepack.cholesky(A).conj().resolve_conj())
    real = triangular(4, 4, seed=11)
    assert torch.equal(
        lanepack.solve_triangular((-real)._neg_view(), B[0].real, upper=False),
        lanepack.solve_triangular(real, B[0].real, upper=False),
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex128])
def test_broadcasting(dtype):
    """Either batch against the other, in any of their dimensions, and no copy of the factor."""
    for a_batch, b_batch in (
        ((), (5,)), ((5,), ()), ((1,), (5,)), ((3, 1), (1, 4)), ((3, 1), (4,)), ((4,), (3, 1)),
        ((2, 1, 3), (5, 1)), ((0,), (1,)), ((3, 0), (1,)), ((), (2, 0)),
    ):  # fmt: skip
        A = triangular(*a_batch, 4, 4, seed=12, dtype=dtype)
        B = randn(*b_batch, 4, 2, seed=13, dtype=dtype)
        X = lanepack.solve_triangular(A, B, upper=False)
        close(X, torch.linalg.solve_triangular(A, B, upper=False), 1e3)
        batch = torch.broadcast_shapes(a_batch, b_batch)
        each = lanepack.solve_triangular(
            A.expand(*batch, 4, 4).contiguous(), B.expand(*batch, 4, 2).contiguous(), upper=False
        )
        assert torch.equal(X, each)
        close(lanepack.cholesky_solve(B, A), torch.cholesky_solve(B, A), 1e3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex128])
def test_strides(dtype):
    base = randn(4, 3, 10, 12, seed=14, dtype=dtype)
    A = base[::2, :, 1:9:2, 2:6] + 4 * torch.eye(4, dtype=dtype)
    batch_last = A.permute(2, 3, 0, 1).contiguous().permute(2, 3, 0, 1)
    for view in (A, A.mT, A.flip(0), A.transpose(0, 1), batch_last):
        B = randn(*view.shape[:-2], 4, 3, seed=15, dtype=dtype)
        for sides in (B, B.mT.contiguous().mT, B.flip(-1), B[..., :1].expand(*B.shape)):
            expected = lanepack.solve_triangular(view.contiguous(), sides.contiguous(), upper=True)
            assert torch.equal(lanepack.solve_triangular(view, sides, upper=True), expected)


@pytest.mark.parametrize("n", [0, 1, 3])
@pytest.mark.parametrize("batch", [(), (0,), (2, 0), (3,)])
def test_zero_sizes(n, batch):
    A = torch.eye(n).expand(*batch, n, n)
    assert lanepack.cholesky(A).shape == (*batch, n, n)
    assert lanepack.cholesky_ex(A).info.shape == batch
    assert lanepack.cholesky_inverse(A).shape == (*batch, n, n)
    for k in (0, 2):
        B = torch.ones(*batch, n, k)
        assert torch.equal(lanepack.solve_triangular(A, B, upper=False), B)
        assert torch.equal(lanepack.cholesky_solve(B, A), B)
        C = torch.ones(*batch, k, n)
        assert torch.equal(lanepack.solve_triangular(A, C, upper=False, left=False), C)


# ---- errors ----


def test_errors_name_what_came():
    eye, wrong = torch.eye(3), torch.ones(4, 2)
    with pytest.raises(lanepack.ArgumentError, match=r"lanepack\.cholesky: A has shape \(3, 4\)"):
        lanepack.cholesky(torch.ones(3, 4))
    with pytest.raises(lanepack.ArgumentError, match=r"lanepack\.cholesky_ex: A has shape \(3,\)"):
        lanepack.cholesky_ex(torch.ones(3))
    for call in (
        lambda: lanepack.solve_triangular(eye, wrong, upper=True),
        lambda: lanepack.cholesky_solve(wrong, eye),
        lambda: lanepack.triangular_solve(wrong, eye),
        lambda: lanepack.solve_triangular(eye, wrong, upper=True, left=False),
    ):
        with pytest.raises(lanepack.ArgumentError, match=r"must have 3 (rows|columns)"):
            call()
    with pytest.raises(lanepack.ArgumentError, match="must broadcast"):
        lanepack.solve_triangular(eye.expand(2, 3, 3), torch.ones(5, 3, 1), upper=True)
    with pytest.raises(lanepack.ArgumentError, match="square"):
        lanepack.cholesky_inverse(torch.ones(3, 4))
    with pytest.raises(lanepack.ArgumentError, match="both True"):
        lanepack.triangular_solve(eye, eye, transpose=True, adjoint=True)
    with pytest.raises(TypeError):
        lanepack.solve_triangular(eye, eye)  # upper is not given
    for result in (lanepack.cholesky_ex, lanepack.cholesky):
        with pytest.raises(torch.linalg.LinAlgError, match=r"Batch element 1.*minor of order 2"):
            result(torch.tensor([[[1.0, 0], [0, 1]], [[1, 2], [2, 1]]]), check_errors=True)


def test_c_status_of_info_on_a_solve():
    """A solve gives no info: asking for one is an error, and nothing is written."""
    from lanepack import _native

    A, X = torch.eye(2), torch.full((2, 2), 7.0)
    tail = _native.BATCH_TAIL.pack(2, 2, 1, 2, 1, 4)
    head = _native.call_head(3, torch.float32, 1, 0, 0)
    info = torch.zeros(1, dtype=torch.int32)
    status = _native.solve_triangular(
        _native.ARGS_OF_THREE.pack(
            head, info.data_ptr(), A.data_ptr(), tail, A.data_ptr(), tail, X.data_ptr(), tail
        )
    )
    with pytest.raises(lanepack.ArgumentError, match="a solve gives none"):
        _native.raise_status(status)
    assert (X == 7).all()


# ---- out ----


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex128])
def test_out(dtype):
    A, B = triangular(2, 4, 4, seed=16, dtype=dtype), randn(2, 4, 3, seed=17, dtype=dtype)
    X = lanepack.solve_triangular(A, B, upper=False)
    F = lanepack.cholesky(positive(2, 4, 4, seed=18, dtype=dtype))
    Y = lanepack.cholesky_solve(B, F)
    for make in (
        lambda: torch.zeros(2, 4, 3, dtype=dtype),
        lambda: torch.zeros(2, 3, 4, dtype=dtype).mT,
        lambda: torch.zeros(2, 4, 6, dtype=dtype)[..., ::2],
        lambda: torch.empty(0, dtype=dtype),
    ):
        out = make()
        assert lanepack.solve_triangular(A, B, upper=False, out=out) is out
        assert torch.equal(out, X)
        out = make()
        assert torch.equal(lanepack.cholesky_solve(B, F, out=out), Y)
    for same in (B.clone(), B.mT.contiguous().mT):  # out is B
        lanepack.solve_triangular(A, same, upper=False, out=same)
        assert torch.equal(same, X)
    own = positive(2, 4, 4, seed=18, dtype=dtype)
    lanepack.cholesky(own, out=own)
    assert torch.equal(own, F)
    outs = torch.zeros(2, 4, 4, dtype=dtype), torch.ones(2, dtype=torch.int32)
    lanepack.cholesky_ex(positive(2, 4, 4, seed=18, dtype=dtype), out=outs)
    assert torch.equal(outs[0], F)
    assert not outs[1].any()
    with pytest.raises(lanepack.ArgumentError, match="dtype"):
        lanepack.solve_triangular(A, B, upper=False, out=torch.zeros(2, 4, 3, dtype=torch.float16))
    with pytest.raises(RuntimeError, match="requires grad"):
        lanepack.cholesky_inverse(F.clone().requires_grad_(), out=torch.zeros_like(F))


# ---- derivatives and transforms ----

WIDE = [torch.float64, torch.complex128]


def check(function, *inputs):
    inputs = tuple(each.clone().requires_grad_() for each in inputs)
    assert gradcheck(function, inputs, check_forward_ad=True, check_batched_grad=True)
    assert gradgradcheck(function, inputs, check_fwd_over_rev=True, check_rev_over_rev=True)


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("upper", [False, True])
def test_derivatives_of_cholesky(dtype, upper):
    def factor(A):
        return lanepack.cholesky(A + A.mH, upper=upper)

    check(factor, positive(2, 3, 3, seed=20, dtype=dtype))
    check(factor, positive(3, 3, seed=20, dtype=dtype))


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("unit", [False, True])
def test_derivatives_of_solve_triangular(dtype, unit):
    for upper, left in itertools.product((False, True), repeat=2):
        A = randn(2, 3, 3, seed=21, dtype=dtype) + 3 * torch.eye(3, dtype=dtype)
        B = randn(*((3, 2) if left else (2, 3)), seed=22, dtype=dtype)

        def solve(A, B, upper=upper, left=left):
            return lanepack.solve_triangular(A, B, upper=upper, left=left, unitriangular=unit)

        check(solve, A, B)  # B is broadcast
    for transpose, adjoint in ((True, False), (False, True)):

        def solve(b, A, transpose=transpose, adjoint=adjoint):
            return lanepack.triangular_solve(
                b, A, transpose=transpose, adjoint=adjoint, unitriangular=unit
            )[0]

        check(solve, randn(3, 2, seed=23, dtype=dtype), A[0])


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("upper", [False, True])
def test_derivatives_of_cholesky_solve_and_inverse(dtype, upper):
    L = triangular(2, 3, 3, seed=24, dtype=dtype, upper=upper)
    B = randn(3, 4, seed=25, dtype=dtype)
    check(lambda B, L: lanepack.cholesky_solve(B, L, upper), B, L)
    check(lambda L: lanepack.cholesky_inverse(L, upper), L)


@pytest.mark.skipif(not hasattr(torch.library, "register_vmap"), reason="no rule before torch 2.5")
def test_vmap_is_one_call():
    A, B = triangular(5, 2, 3, 3, seed=26), randn(5, 2, 3, 4, seed=27)

    def solve(A, B):
        return lanepack.solve_triangular(A, B, upper=False)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert torch.equal(vmap(solve)(A, B), solve(A, B))
        assert torch.equal(vmap(vmap(solve))(A, B), solve(A, B))
        assert torch.equal(vmap(solve, (None, 0))(A[0], B), solve(A[0], B))
        assert torch.equal(vmap(solve, (0, None))(A[:, 0], B[0, 0]), solve(A[:, 0], B[0, 0]))
        assert torch.equal(vmap(solve, (0, None))(A[:, 0], B[0]), solve(A[:, :1], B[0]))
        assert torch.equal(vmap(solve, (None, 0))(A[0], B[:, 0]), solve(A[0], B[:, :1]))
        assert torch.equal(
            vmap(lanepack.cholesky_solve, (0, None))(B, A[0]), lanepack.cholesky_solve(B, A[0])
        )
        P = positive(5, 3, 3, seed=28)
        assert torch.equal(vmap(lanepack.cholesky)(P), lanepack.cholesky(P))
        assert torch.equal(vmap(lanepack.cholesky_inverse)(A), lanepack.cholesky_inverse(A))


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex128])
def test_fakes_and_opcheck(dtype):
    A, B = triangular(2, 3, 3, seed=29, dtype=dtype), randn(3, 4, seed=30, dtype=dtype)
    for needs in (False, True):
        a, b = A.clone().requires_grad_(needs), B.clone().requires_grad_(needs)
        p = positive(2, 3, 3, seed=31, dtype=dtype).requires_grad_(needs)
        calls = (
            (ops.cholesky.default, (p, True)),
            (ops.solve_triangular.default, (a, b, False)),
            (ops.solve_triangular.default, (a, b.mT, False, False, True, True, True)),
            (ops.cholesky_solve.default, (b, a, False)),
            (ops.cholesky_inverse.default, (a, True)),
        )
        for op, args in calls:
            torch.library.opcheck(op, args)


def test_compiled():
    def both(A, B):
        L = lanepack.cholesky(A)
        X = lanepack.solve_triangular(L, B, upper=False)
        return X, lanepack.cholesky_solve(B, L), lanepack.cholesky_inverse(L), L

    A, B = positive(2, 4, 4, seed=32), randn(2, 4, 3, seed=33)
    for backend in ("eager", "aot_eager"):
        compiled = torch.compile(both, fullgraph=True, backend=backend, dynamic=True)
        for mine, other in zip(compiled(A, B), both(A, B), strict=True):
            assert torch.equal(mine, other)
            assert mine.stride() == other.stride()


# ---- cases.md ----


def test_c09_nan_input():
    bad = torch.full((2, 2), math.nan)
    L, info = lanepack.cholesky_ex(bad)
    assert info > 0
    assert torch.isnan(L.tril()[torch.ones(2, 2).tril() > 0]).all()
    batch = torch.eye(2).repeat(8, 1, 1)
    batch[3] = bad
    L, info = lanepack.cholesky_ex(batch)
    assert torch.equal(info > 0, torch.arange(8) == 3)
    with pytest.raises(torch.linalg.LinAlgError, match="element 3"):
        lanepack.cholesky(batch, check_errors=True)


@pytest.mark.parametrize("shape", [(1, 2, 524281), (3, 1048576)])
def test_c47_very_many_columns(shape):
    n = shape[-2]
    A = triangular(*shape[:-2], n, n, seed=20, dtype=torch.float32)
    B = randn(*shape, seed=21, dtype=torch.float32)
    X = lanepack.solve_triangular(A, B, upper=False)
    bound = 20 * eps(torch.float32) * torch.linalg.cond(wide(A)).max() * X.abs().max()
    assert ((wide(A) @ wide(X) - wide(B)).abs() <= bound).all()
    part = slice(1000, 1017)
    assert torch.equal(lanepack.solve_triangular(A, B[..., part], upper=False), X[..., part])


def test_c64_out_is_a_negative_or_conjugate_view():
    for dtype in (torch.float32, torch.complex64):
        A = _unit_diagonal(randn(5, 5, seed=24, dtype=dtype).tril())
        B = randn(5, 3, seed=24, dtype=dtype)
        X = lanepack.solve_triangular(A, B, upper=False)
        views = [(-B)._neg_view()]
        if dtype.is_complex:
            views += [B.conj().resolve_conj().conj(), (-B).conj().resolve_conj().conj()._neg_view()]
        for out in views:
            assert torch.equal(out, B)
            lanepack.solve_triangular(A, out, upper=False, out=out)
            assert torch.equal(out, X)


def test_c70_identical_elements():
    A = randn(274, 274, seed=26, dtype=torch.float32).tril() + 274 * torch.eye(274)
    A, B = torch.stack([A, A]), torch.ones(2, 274, 1)
    X = lanepack.solve_triangular(A, B, upper=False)
    assert torch.equal(X[0], X[1])


def test_c72_inputs_are_not_written():
    A, B = positive(3, 6, 6, seed=34), randn(3, 6, 2, seed=35)
    for view in (A, A.mT, A[:1].expand(3, 6, 6)):
        kept, sides = view.clone(), B.clone()
        lanepack.cholesky(view)
        lanepack.cholesky_inverse(view)
        lanepack.cholesky_solve(B, view)
        lanepack.solve_triangular(view, B, upper=True)
        with pytest.raises(lanepack.ArgumentError):
            lanepack.solve_triangular(view, B[:, :5], upper=True)
        assert torch.equal(view, kept)
        assert torch.equal(B, sides)


def test_c79_singular_system():
    A, b = torch.tensor([[1.0, 1.0], [0.0, 0.0]]), torch.ones(2, 1)
    expected = torch.tensor([[-math.inf], [math.inf]])
    assert torch.equal(lanepack.solve_triangular(A, b, upper=True), expected)
    assert torch.equal(lanepack.solve_triangular(A[None], b[None], upper=True)[0], expected)
    many = torch.eye(2).repeat(7, 1, 1)
    many[4] = A
    X = lanepack.solve_triangular(many, b.expand(7, 2, 1), upper=True)
    assert torch.equal(X[4], expected)
    assert torch.equal(X[3], b)
    left = lanepack.solve_triangular(A.mT, b.mT, upper=False, left=False)
    assert torch.equal(left, expected.mT)


def test_c81_vmap_keeps_the_triangle():
    rng = np.random.default_rng(0)
    A = torch.from_numpy(rng.normal(size=(3, 3)).astype(np.float32))
    b = torch.from_numpy(rng.normal(size=3).astype(np.float32))
    X = vmap(lambda A: lanepack.solve_triangular(A, b[:, None], upper=False)[:, 0])(
        A.expand(4, 3, 3)
    )
    expected = torch.tensor([-10.064577, -0.80740255, -19.794674])
    assert torch.allclose(X, expected.expand(4, 3), rtol=1e-5)


def test_c84_inconsistent_system():
    A, b = torch.diag(torch.tensor([1.0, 1.0, 0.0])), torch.rand(3, 1)
    lower = lanepack.solve_triangular(A, b, upper=False)
    assert torch.equal(lower[:2], b[:2])
    assert lower[2] == math.inf
    upper = lanepack.solve_triangular(A, b, upper=True)
    assert upper[2] == math.inf
    assert torch.isnan(upper[:2]).all()  # 0 times inf


def test_c85_only_one_half_is_read():
    A = torch.rand(4, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    A = A + 10 * torch.eye(4)
    L = lanepack.cholesky(A)
    close(L @ L.mT, A.tril() + A.tril(-1).mT)
    U = lanepack.cholesky(A, upper=True)
    close(U.mT @ U, A.triu() + A.triu(1).mT)


def test_c87_one_bad_matrix():
    bad = torch.ones(2, 2)
    for A in (bad, bad[None]):
        L, info = lanepack.cholesky_ex(A)
        assert (info == 2).all()
        assert torch.isnan(L[..., 1, 1]).all()
    A = torch.eye(2).repeat(6, 1, 1)
    A[4] = bad
    L, info = lanepack.cholesky_ex(A)
    assert info.tolist() == [0, 0, 0, 0, 2, 0]
    assert torch.equal(L[5], torch.eye(2))
    with pytest.raises(torch.linalg.LinAlgError, match=r"linalg.cholesky.*element 4.*order 2"):
        lanepack.cholesky(A, check_errors=True)


@pytest.mark.parametrize("n", [31, 32, 33, 95, 96, 97, 128, 160])
def test_c89_every_part_of_the_factor(n):
    for batch, upper in itertools.product((1, 3), (False, True)):
        A = positive(batch, n, n, seed=n, dtype=torch.float32)
        L = lanepack.cholesky(A, upper=upper)
        made = wide(L).mH @ wide(L) if upper else wide(L) @ wide(L).mH
        assert ((made - wide(A)).abs() <= 10 * n * eps(A.dtype) * A.abs().max()).all()
        assert not (L.tril(-1) if upper else L.triu(1)).any()


@pytest.mark.parametrize("n", [32, 33, 64, 500, 2000])
def test_c91_is_not_rejected(n):
    A = positive(n, n, seed=34)
    L, info = lanepack.cholesky_ex(A)
    assert info == 0
    assert (L @ L.mT - A).abs().max() <= 10 * n * eps(A.dtype) * torch.linalg.matrix_norm(A)


@pytest.mark.parametrize("upper", [False, True])
def test_c108_gradient_stays_in_the_directional_rule(upper):
    A = torch.tensor([[4.0, 1.0], [1.0, 3.0]], dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(lanepack.cholesky(A, upper=upper).sum(), A)
    found = torch.stack([g[0, 0], g[1, 1], g[0, 1] + g[1, 0]])
    expected = torch.tensor([0.2063444589, 0.3015113448, 0.3492443277], dtype=torch.float64)
    assert torch.allclose(found, expected, atol=1e-9)
    assert g[0, 1] == g[1, 0]


def test_c112_one_by_one():
    a = torch.tensor([[-1.0]], requires_grad=True)
    b = torch.tensor([[-1.0]], requires_grad=True)
    c = lanepack.solve_triangular(a, b, upper=False)
    ga, gb = torch.autograd.grad(c.sum(), (a, b))
    assert (c.item(), ga.item(), gb.item()) == (1.0, 1.0, -1.0)


def test_c114_ignored_entries_have_no_gradient():
    for upper, left, unit in itertools.product((False, True), repeat=3):
        A = randn(5, 5, seed=39).requires_grad_()
        B = randn(5, 5, seed=38)
        X = lanepack.solve_triangular(A, B, upper=upper, left=left, unitriangular=unit)
        (g,) = torch.autograd.grad((X**2).sum(), A)
        unread = g.tril(-1) if upper else g.triu(1)
        assert not unread.any()
        if unit:
            assert not g.diagonal().any()


def test_c116_tangent_through_a_broadcast():
    b = torch.tensor([[1.0, 2.0], [-1.0, 3.0]], dtype=torch.float64)
    w = torch.tensor([[[1.0, 2], [3, 4]], [[2, -1], [4, 3]]], dtype=torch.float64)

    def loss(t):
        zero = torch.zeros_like(t)
        L0 = torch.stack([zero + 2, zero, t, zero + 3]).reshape(2, 2)
        L1 = torch.stack([zero + 3, zero, 2 * t + 1, zero + 2]).reshape(2, 2)
        return (w * lanepack.cholesky_solve(b, torch.stack([L0, L1]))).sum()

    t = torch.tensor(-7.0, dtype=torch.float64)
    value, tangent = jvp(loss, (t,), (torch.ones_like(t),))
    assert abs(value.item() - 21.9444444) < 1e-6
    assert abs(tangent.item() + 11 / 3) < 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_c122_second_order(seed):
    for dtype, upper in itertools.product(WIDE, (False, True)):
        root = randn(3, 3, seed=seed, dtype=dtype) + 2 * torch.eye(3, dtype=dtype)
        b = randn(3, 4, seed=seed + 100, dtype=dtype)

        def solve(root, b, upper=upper):
            A = root @ root.mH + torch.eye(3, dtype=root.dtype)
            return lanepack.cholesky_solve(b, lanepack.cholesky(A, upper=upper), upper)

        assert gradgradcheck(solve, (root.requires_grad_(), b.requires_grad_()))


def test_c125_the_same_compiled():
    A = torch.tensor([[1.0, 2.0], [2.0, 1.0]])
    compiled = torch.compile(lanepack.cholesky_ex, fullgraph=True, backend="aot_eager")
    L, info = compiled(A)
    assert info == 2
    assert torch.isnan(L[1, 1])
    raising = torch.compile(
        lambda A: lanepack.cholesky(A, check_errors=True), fullgraph=True, backend="aot_eager"
    )
    with pytest.raises(torch.linalg.LinAlgError, match="minor of order 2"):
        raising(A)


def test_c149_threads():
    A = positive(40, 300, 300, seed=42)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        two = lanepack.cholesky(A)
        torch.set_num_threads(1)
        one = lanepack.cholesky(A)
    finally:
        torch.set_num_threads(before)
    close(two, one)


@pytest.mark.slow
def test_c54_a_large_factor():
    L, B = torch.eye(12161), torch.ones(1, 12161, 1)
    assert torch.equal(lanepack.cholesky_solve(B, L), B)


@pytest.mark.slow
@pytest.mark.parametrize("batch", [262144, 263169])
def test_c49_very_many(batch):
    G = randn(batch, 10, 10, seed=23, dtype=torch.float32)
    A = G @ G.mT + torch.eye(10)
    L, info = lanepack.cholesky_ex(A)
    assert not info.any()
    assert ((L @ L.mT - A).abs().amax((-2, -1)) <= 20 * eps(A.dtype) * A.abs().amax((-2, -1))).all()
