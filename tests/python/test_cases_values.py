# SPDX-License-Identifier: Apache-2.0
"""Real failures of other libraries (cases.md), sections A to D: hard values."""

import time

import lanepack
import pytest
import torch
from properties import (
    DTYPES,
    REAL,
    check_eigh,
    check_orthonormal,
    check_qr,
    check_svd,
    eps,
    from_half,
    norm,
    randn,
    wide,
)

NAN = float("nan")
INF = float("inf")


def symmetric_part(A):
    return (A + A.mH) / 2


def with_values(values, seeds, dtype, m=None):
    """U diag(values) V^H with orthogonal U and V of the seeds."""
    n = len(values)
    U = torch.linalg.qr(randn(m or n, n, seed=seeds[0]))[0]
    V = torch.linalg.qr(randn(n, n, seed=seeds[1]))[0]
    return ((U * values) @ V.mT).to(dtype)


def tridiagonal(diagonal, off):
    return torch.diag(diagonal) + torch.diag(off, 1) + torch.diag(off, -1)


@pytest.mark.parametrize("dtype", DTYPES)
def test_c01_svdvals_keeps_a_nan(dtype):
    A = torch.tensor([[NAN, 0.0], [0.0, 1.0]]).to(dtype)
    for S in (lanepack.svdvals(A), lanepack.svd(A).S, lanepack.svd(A, True).S):
        assert torch.isnan(S).all()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [3, 4, 8, 32, 64, 150])
def test_c03_infinity_ends(n, dtype):
    A = torch.ones(n, n, dtype=dtype)
    A[0, 0] = INF
    batch = torch.stack((torch.eye(n, dtype=dtype), A, 2 * torch.eye(n, dtype=dtype)))
    for call in (lanepack.svd_ex, lambda A: lanepack.svd_ex(A, True), lanepack.svdvals_ex):
        call(batch[:1])
        start = time.perf_counter()
        alone, mixed = call(A), call(batch)
        assert time.perf_counter() - start < 2
        assert torch.isnan(alone.S).all()
        assert mixed.info.tolist() == [0, 2**31 - 1, 0]
        assert torch.isnan(mixed.S[1]).all()
        assert torch.allclose(mixed.S[[0, 2]], torch.tensor([[1.0], [2.0]], dtype=mixed.S.dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [4, 40])
def test_c06_eigh_and_eigvalsh_agree_on_nan(n, dtype):
    A = torch.diag(torch.arange(1.0, n + 1)).to(dtype)
    A[1, 0] = A[0, 1] = NAN
    vectors, values = lanepack.eigh_ex(A), lanepack.eigvalsh_ex(A)
    assert torch.isnan(vectors.eigenvalues).all()
    assert torch.isnan(values.eigenvalues).all()
    assert vectors.info == values.info == 2**31 - 1


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bad", [NAN, INF])
def test_c07_the_unread_half_has_no_effect(bad, dtype):
    A = torch.tensor([[1.0, bad], [1.0, 2.0]]).to(dtype)
    expected = torch.tensor([0.3819660113, 2.6180339887], dtype=torch.float64)
    for values in (
        lanepack.eigvalsh(A),
        lanepack.eigh(A).eigenvalues,
        lanepack.eigvalsh(A.mT, UPLO="U"),
        lanepack.eigh(A, check_errors=True).eigenvalues,
    ):
        assert torch.allclose(values.double(), expected, atol=4 * eps(dtype), rtol=1e-9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex128])
def test_c11_one_bad_element_of_a_long_batch(dtype):
    A = randn(64, 49, 49, seed=2, dtype=dtype)
    A = A + A.mH
    A[7, 3, 3] = NAN
    result = lanepack.eigh_ex(A)
    assert result.info.nonzero().flatten().tolist() == [7]
    good = [i for i in range(64) if i != 7]
    check_eigh(A[good], result.eigenvalues[good], result.eigenvectors[good])
    with lanepack.invariant():
        result = lanepack.eigh(A)
        for i in good:
            for whole, single in zip(result, lanepack.eigh(A[i]), strict=True):
                assert torch.equal(whole[i], single)


@pytest.mark.parametrize("dtype", REAL)
def test_c14_gram_matrices_of_low_rank(dtype):
    A = torch.zeros(784, 784, dtype=dtype)
    for seed in range(3, 23):
        X = randn(512, 784, seed=seed, dtype=dtype).relu()
        X[:, :100] = 0
        X[:, 684:] = 0
        A += X.mT @ X
    result = lanepack.eigh_ex(A)
    assert result.info == 0
    check_eigh(A, result.eigenvalues, result.eigenvectors)
    assert result.eigenvalues.min() >= -20 * 784 * eps(dtype) * norm(A)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("small", [0, 32])
def test_c16_equal_singular_values(small, dtype):
    s = torch.ones(512, dtype=torch.float64)
    s[512 - small :] = 0.5
    A = with_values(s, (5, 6), dtype)
    result = lanepack.svd(A)
    check_svd(A, *result)
    assert (result.S - s).abs().max() <= 10 * 512 * eps(dtype)


@pytest.mark.parametrize("n", [12, 40, 200])
def test_c18_spectrum_of_many_decades(n):
    s = torch.logspace(0, -40, n, dtype=torch.float64)
    A = with_values(s, (8, 9), torch.float64)
    results = []
    for scale in (1.0, 3.0, 1e-5):
        result = lanepack.svd(A * scale)
        check_svd(A * scale, *result)
        results.append(result.S / scale)
        assert (results[-1] - s).abs().max() <= 10 * n * eps(torch.float64)
        assert (results[-1] - results[0]).abs().max() <= 10 * n * eps(torch.float64)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(3, 3), (5, 2), (2, 5), (64, 64), (200, 130)])
def test_c20_zero_matrices(shape, dtype):
    batch = torch.stack((torch.zeros(shape, dtype=dtype), randn(*shape, seed=10, dtype=dtype)))
    for A in (batch[0], batch, torch.zeros(40, *shape, dtype=dtype)):
        for full in (False, True):
            result = lanepack.svd(A, full)
            check_svd(A, *result)
            zero = A.abs().amax((-2, -1)) == 0
            assert (result.S[zero] == 0).all()
        assert (lanepack.svdvals(A)[zero] == 0).all()
    Q, R = lanepack.qr(torch.zeros(shape, dtype=dtype))
    assert (R == 0).all()
    check_orthonormal(Q)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [17, 64, 255])
def test_c22_toeplitz_and_clement(n, dtype):
    i = torch.arange(1, n, dtype=torch.float64)
    toeplitz = tridiagonal(torch.full((n,), 2.0, dtype=torch.float64), -torch.ones_like(i))
    clement = tridiagonal(torch.zeros(n, dtype=torch.float64), (i * (n - i)).sqrt())
    k = torch.arange(1, n + 1, dtype=torch.float64)
    expected = {
        0: 2 - 2 * torch.cos(k * torch.pi / (n + 1)),
        1: 2 * k - n - 1,
    }
    for which, A in enumerate((toeplitz, clement)):
        A = A.to(dtype)
        result = lanepack.eigh(A)
        check_eigh(A, *result)
        bound = 10 * n * eps(dtype) * norm(A)
        for values in (result.eigenvalues, lanepack.eigvalsh(A)):
            assert (values - expected[which]).abs().max() <= bound


@pytest.mark.parametrize("spins", [8, pytest.param(10, marks=pytest.mark.slow)])
def test_c25_degenerate_spins(spins):
    x = torch.tensor([[0.0, 0.5], [0.5, 0.0]], dtype=torch.float64)
    n = 2**spins
    A = torch.zeros(n, n, dtype=torch.float64)
    for spin in range(spins):
        left = torch.eye(2**spin, dtype=torch.float64)
        right = torch.eye(2 ** (spins - spin - 1), dtype=torch.float64)
        A += torch.kron(torch.kron(left, x), right)
    L, V = lanepack.eigh(A)
    check_eigh(A, L, V)
    counts = L.round().long() + spins // 2
    choose = [1]
    for i in range(spins):
        choose.append(choose[-1] * (spins - i) // (i + 1))
    assert torch.bincount(counts).tolist() == choose


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("n", [3, 50, 500])
def test_c26_graph_laplacian(n, dtype):
    diagonal = torch.full((n,), 2.0, dtype=dtype)
    diagonal[0] = diagonal[-1] = 1
    A = tridiagonal(diagonal, -torch.ones(n - 1, dtype=dtype))
    expected = 2 - 2 * torch.cos(torch.arange(n, dtype=torch.float64) * torch.pi / n)
    for values in (lanepack.eigvalsh(A), lanepack.eigh(A).eigenvalues):
        assert values[0].abs() <= n * eps(dtype) * norm(A)
        assert (values - expected).abs().max() <= 10 * n * eps(dtype) * 4


@pytest.mark.parametrize("dtype", REAL)
def test_c27_almost_diagonal(dtype):
    noise = randn(40, 40, seed=13) * 1e-9
    A = (torch.diag(torch.linspace(-1, 1, 40, dtype=torch.float64)) + noise + noise.mT).to(dtype)
    equal = torch.diag(torch.ones(40, dtype=dtype))
    equal[20:, 20:] *= 2
    for matrix in (A, equal):
        diagonal = matrix.diagonal().sort().values
        tolerance = 40 * eps(dtype) * diagonal.abs().max() + (1e-8 if dtype == torch.float64 else 0)
        for values in (lanepack.eigvalsh(matrix), lanepack.eigh(matrix).eigenvalues):
            assert (values - diagonal).abs().max() <= tolerance


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_c29_batched_equals_single(n, dtype):
    A = randn(1000, n, n, seed=1, dtype=dtype)
    L, V = lanepack.eigh(A)
    check_eigh(A, L, V)
    for i in range(0, 1000, 7):
        single = lanepack.eigh(A[i])
        assert torch.equal(single.eigenvalues, L[i])
        assert torch.equal(single.eigenvectors, V[i])
    squares = (from_half(A).abs().double() ** 2).sum((-2, -1))
    assert torch.allclose((L.double() ** 2).sum(-1), squares, rtol=40 * eps(dtype))


@pytest.mark.parametrize("dtype", REAL)
def test_c32_scaled_rotations(dtype):
    def rotation(angle):
        angle = torch.tensor(angle, dtype=torch.float64)
        c, s = angle.cos(), angle.sin()
        return torch.stack((torch.stack((c, -s)), torch.stack((s, c))))

    eye = torch.eye(2, dtype=torch.float64)
    A = torch.stack(
        [
            torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64), rotation(0.5),
            2 * rotation(0.5), -eye, torch.diag(torch.tensor([1.0, -1.0], dtype=torch.float64)),
            eye, 5 * eye, torch.tensor([[0.0, 2.0], [1.0, 0.0]], dtype=torch.float64),
        ]
    ).to(dtype)  # fmt: skip
    expected = torch.tensor(
        [[1.0] * 2, [1] * 2, [2] * 2, [1] * 2, [1] * 2, [1] * 2, [5] * 2, [2, 1]]
    )
    U, S, Vh = lanepack.svd(A)
    check_svd(A, U, S, Vh)
    assert ((S - expected).abs() <= 10 * eps(dtype) * expected).all()
    for i in range(8):
        assert torch.equal(lanepack.svd(A[i]).U, U[i])


def test_c34_almost_a_rotation():
    A = torch.tensor([[0.999688, 0.0249922, 0], [-0.0249922, 0.999688, 0], [0, 0, 1]])
    U, S, Vh = lanepack.svd(A)
    check_svd(A, U, S, Vh)
    expected = torch.tensor([1.0000003537, 1.0000003537, 1.0], dtype=torch.float64)
    assert (S - expected).abs().max() <= 4 * eps(torch.float32)
    check_orthonormal(U @ Vh)


def test_c36_a_batch_of_1x1():
    generator = torch.Generator().manual_seed(395)
    A = torch.rand(2, 8, 96, 62, 1, 1, generator=generator, dtype=torch.float64) * 207 - 127
    L, V = lanepack.eigh(A)
    assert torch.equal(L, A[..., 0])
    assert (V.abs() == 1).all()


def test_c38_multiples_of_the_identity():
    for diagonal in ([2.0, 2.0], [2.0, 2.0, 2.0], [2.0, 2.0, 1.0], [2.0] * 4):
        for dtype in DTYPES:
            A = torch.diag(torch.tensor(diagonal)).to(dtype)
            U, S, Vh = lanepack.svd(A)
            L, V = lanepack.eigh(A)
            check_svd(A, U, S, Vh)
            check_eigh(A, L, V)
            assert S.tolist() == diagonal
            assert L.tolist() == diagonal[::-1]


@pytest.mark.parametrize(("exponent", "expected"), [(19, 2.07070707e-20), (-19, 2.07070707e18)])
def test_c39_second_derivative_at_extreme_scale(exponent, expected):
    A = torch.tensor([[4.0, 1, 0], [1, 3, 1], [0, 1, 2]]) * float(f"1e{exponent}")
    second = torch.func.hessian(lambda A: lanepack.svdvals(A).sum())(A)
    assert torch.isfinite(second).all()
    assert second.abs().max().item() == pytest.approx(expected, rel=2e-4)


@pytest.mark.parametrize("shift", [0.0, 1e-30])
def test_c41_statistics_near_underflow(shift):
    G = (randn(32, 16, seed=15) * 1e-21).float()
    for m in (G @ G.mT + shift * torch.eye(32), torch.zeros(32, 32)):
        result = lanepack.eigh_ex(m)
        assert result.info == 0
        check_orthonormal(result.eigenvectors)
        exact = torch.linalg.eigvalsh(m.double())
        assert (result.eigenvalues - exact).abs().max() <= 32 * 1.4013e-45 + 320 * eps(
            torch.float32
        ) * exact.abs().max()


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64])
@pytest.mark.parametrize("scale", [1e30, 1e-30, 1e37, 1e-41])
def test_c43_qr_of_extreme_entries(scale, dtype):
    A = (randn(16, 8, seed=17, dtype=torch.complex128 if dtype.is_complex else torch.float64)
         * scale).to(dtype)  # fmt: skip
    Q, R = lanepack.qr(A)
    assert torch.isfinite(R.abs()).all()
    check_orthonormal(Q)
    error = (wide(Q) @ wide(R) - wide(A)).abs().max()
    step = 1.4013e-45
    bound = 20 * eps(dtype) * wide(A).abs().max()
    assert error <= bound + (2 if dtype.is_complex else 1) * 16 * step * (scale < 1e-38)
    if scale >= 1e-38:
        check_qr(A, Q, R)
