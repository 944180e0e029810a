# SPDX-License-Identifier: Apache-2.0
"""Real failures of other libraries (cases.md), sections E, F, G, J, N, O, P: how it is called."""

import subprocess
import sys
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
    column_major,
    eps,
    hermitian,
    norm,
    randn,
)
from torch.utils._python_dispatch import TorchDispatchMode


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(2078879, 2, 2), (2047171, 4, 4)])
def test_c45_very_many(shape):
    A = hermitian(*shape, seed=18, dtype=torch.complex64)
    L, V = lanepack.eigh(A)
    residual = (A @ V - V * L[..., None, :]).abs().amax((-2, -1))
    assert (residual <= 100 * eps(A.dtype) * A.abs().amax((-2, -1)) * shape[-1]).all()
    for i in range(0, shape[0], shape[0] // 1000):
        single = lanepack.eigh(A[i])
        assert torch.equal(single.eigenvalues, L[i])
        assert torch.equal(single.eigenvectors, V[i])


def test_c51_too_large_to_be_served():
    # In a process of its own, which may not take the machine's memory.
    program = """
import resource, time, torch, lanepack
lanepack.eigh(torch.eye(2))
resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30, 8 * 2**30))
A = torch.tensor(1.0).expand(53000, 53000)
start = time.perf_counter()
try:
    lanepack.eigh(A)
except (MemoryError, NotImplementedError, RuntimeError) as error:
    text = str(error)
    assert "53000" in text or str(53000**2 * 4) in text, text
    assert "assert" not in text.lower().replace("allocat", ""), text
else:
    raise SystemExit("served within 8 GiB")
assert time.perf_counter() - start < 1
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_c56_wide_layer():
    A = randn(64, 20000, seed=19, dtype=torch.float32)
    check_svd(A, *lanepack.svd(A, full_matrices=False))


@pytest.mark.parametrize("dtype", DTYPES)
def test_c58_zero_batch_dims_stay(dtype):
    A = torch.zeros(1, 0, 2, 4, 5, dtype=dtype)
    for mode, q, r in (
        ("reduced", (1, 0, 2, 4, 4), (1, 0, 2, 4, 5)),
        ("complete", (1, 0, 2, 4, 4), (1, 0, 2, 4, 5)),
        ("r", (0,), (1, 0, 2, 4, 5)),
    ):
        Q, R = lanepack.qr(A, mode)
        assert Q.shape == q
        assert R.shape == r


@pytest.mark.parametrize("dtype", DTYPES)
def test_c60_leading_dimension_zero(dtype):
    U, S, Vh = lanepack.svd(torch.zeros(0, 2, dtype=dtype), full_matrices=True)
    assert (U.shape, S.shape, Vh.shape) == ((0, 0), (0,), (2, 2))
    check_orthonormal(Vh)
    U, S, Vh = lanepack.svd(torch.zeros(2, 0, dtype=dtype), full_matrices=True)
    assert (U.shape, S.shape, Vh.shape) == ((2, 2), (0,), (0, 0))
    check_orthonormal(U)


@pytest.mark.parametrize("shape", [(0, 4), (4, 0)])
def test_c62_empty_blocks_and_gradients(shape):
    m, n = shape
    A = torch.zeros(shape, dtype=torch.float64, requires_grad=True)
    Q, R = lanepack.qr(A)
    U, S, Vh = lanepack.svd(A)
    assert (Q.shape, R.shape) == ((m, 0), (0, n))
    assert (U.shape, S.shape, Vh.shape) == ((m, 0), (0,), (0, n))
    sum(each.sum() for each in (Q, R, U, S, Vh)).backward()
    assert A.grad.shape == shape


@pytest.mark.parametrize(
    "layout",
    [
        lambda *shape: torch.zeros(shape, dtype=torch.float64),
        lambda *shape: torch.zeros(shape[::-1], dtype=torch.float64).permute(
            *reversed(range(len(shape)))
        ),
        lambda *shape: torch.zeros(*shape[:-1], 2 * shape[-1], dtype=torch.float64)[..., ::2],
    ],
    ids=["C", "F", "every other"],
)
def test_c66_the_same_out_twice(layout):
    generator = torch.Generator().manual_seed(25)
    outs = layout(3), layout(3, 3)
    for _ in range(2):
        X = torch.rand(100, 3, generator=generator, dtype=torch.float64)
        C = X.mT @ X
        w, V = lanepack.eigh(C, out=outs)
        assert torch.allclose((V * w) @ V.mT, C, atol=1e-8, rtol=0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_c68_storage_offset(dtype):
    mats = torch.stack(
        (torch.diag(torch.tensor([1, 0.5, 0.25, 0.125])), torch.diag(torch.arange(1.0, 5)))
    ).to(dtype)
    flat = torch.cat((torch.zeros(3, dtype=dtype), mats.flatten()))
    for view in (mats[1], mats[1:], flat[3:].view(2, 4, 4), flat[19:].view(4, 4)):
        for function in (lanepack.qr, lanepack.eigh, lanepack.svd):
            for mine, other in zip(function(view), function(view.clone()), strict=True):
                assert torch.equal(mine, other)
        assert torch.equal(lanepack.svdvals(view), lanepack.svdvals(view.clone()))
        assert torch.equal(lanepack.eigvalsh(view), lanepack.eigvalsh(view.clone()))


def test_c72_the_input_stays():
    for A in (
        randn(6, 4, seed=27),
        randn(4, 6, seed=27).mT,
        randn(3, 6, 6, seed=27),
        randn(6, 6, seed=27).expand(3, 6, 6),
    ):
        before = A.clone()
        functions = [lanepack.qr, lanepack.svd, lanepack.svdvals]
        functions += [lanepack.eigh, lanepack.eigvalsh] if A.shape[-1] == A.shape[-2] else []
        for function in functions:
            function(A)
            assert torch.equal(A, before)
        bad = A.clone()
        bad[..., 0, 0] = float("nan")
        copy = bad.clone()
        with pytest.raises(torch.linalg.LinAlgError):
            lanepack.svd(bad, check_errors=True)
        assert torch.equal(bad.nan_to_num(7), copy.nan_to_num(7))


class PassThrough(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_c74_conjugate_views_under_modes(dtype):
    A = randn(2, 3, 5, seed=27, dtype=dtype)
    H = hermitian(2, 3, 3, seed=27, dtype=dtype)

    def products(A, H):
        U, S, Vh = lanepack.svd(A)
        L, V = lanepack.eigh(H)
        return (U * S[..., None, :]) @ Vh, (V * L[..., None, :]) @ V.mH

    torch._dynamo.reset()
    compiled = torch.compile(products, fullgraph=True, backend="aot_eager")
    for X, Y in ((A, H), (A.conj(), H.conj()), (A.mH, H.mH)):
        with PassThrough():
            moded = products(X, Y)
        for result in (products(X, Y), moded, compiled(X, Y)):
            for mine, other in zip(result, (X, Y), strict=True):
                assert torch.allclose(mine, other.resolve_conj(), atol=100 * eps(dtype))


def test_c77_one_documented_layout():
    for shape in ((5, 5), (3, 5, 2)):
        A = randn(*shape, seed=28, dtype=torch.float32)
        fake = A.to("meta")
        for op in (torch.ops.lanepack.qr, torch.ops.lanepack.svd):
            for mine, other in zip(op(A), op(fake), strict=True):
                assert mine.stride() == other.stride()
        for X in (*lanepack.qr(A), lanepack.svd(A).U, lanepack.svd(A).Vh):
            assert X.stride() == column_major(X.shape)


def test_c93_triangular_storage():
    A = randn(100, 100, seed=0)
    H = A + A.mT
    whole = lanepack.eigh(H)
    for half, UPLO in ((H.tril(), "L"), (H.triu(), "U")):
        values = lanepack.eigh(half, UPLO).eigenvalues
        assert (values - whole.eigenvalues).abs().max() <= 10 * 100 * eps(H.dtype) * norm(H)
    assert torch.equal(lanepack.eigh(H.tril()).eigenvectors, whole.eigenvectors)


@pytest.mark.parametrize("dtype", DTYPES)
def test_c95_c96_which_half_is_read(dtype):
    cases = [
        ([[1.0, 0.0], [1.0, 2.0]], "L", [0.3819660113, 2.6180339887]),
        ([[1.0, 0.0], [1.0, 2.0]], "U", [1.0, 2.0]),
        ([[0.0, 1.0], [2.0, 3.0]], "L", [-1.0, 4.0]),
        ([[0.0, 1.0], [2.0, 3.0]], "U", [-0.3027756377, 3.3027756377]),
    ]
    for rows, UPLO, expected in cases:
        A = torch.tensor(rows).to(dtype)
        for values in (lanepack.eigvalsh(A, UPLO), lanepack.eigh(A, UPLO).eigenvalues):
            assert torch.allclose(
                values.double(), torch.tensor(expected, dtype=torch.float64),
                atol=8 * eps(dtype) + 1e-10, rtol=0,
            )  # fmt: skip


@pytest.mark.parametrize("name", ["eigh", "eigvalsh", "eigh_ex", "eigvalsh_ex"])
def test_c98_invalid_uplo(name):
    function = getattr(lanepack, name)
    A = hermitian(3, 3, seed=29)
    for UPLO in ("l", "u"):
        for mine, other in zip(function(A, UPLO), function(A, UPLO.upper()), strict=True):
            assert torch.equal(mine, other)
    for UPLO in ("X", "", None, "LU", 1, ["L"]):
        with pytest.raises(lanepack.ArgumentError, match=rf"lanepack\.{name}: UPLO is"):
            function(A, UPLO)
        with pytest.raises(lanepack.ArgumentError, match="UPLO is"):
            function(A.to("meta"), UPLO)
    torch._dynamo.reset()
    compiled = torch.compile(lambda A: function(A, "X"), fullgraph=True, backend="eager")
    with pytest.raises((ValueError, RuntimeError)):
        compiled(A)


@pytest.mark.parametrize("n", [16, 17, 24, 32, 40, 48])
def test_c138_the_same_tensor_later(n):
    values = torch.logspace(0, -2, n, dtype=torch.float64)
    Q = torch.linalg.qr(randn(512, n, n, seed=45, dtype=torch.complex128))[0]
    A = ((Q * values) @ Q.mH).to(torch.complex64)
    first = None
    for _ in range(6):
        torch.full((512, n, n), float("nan"), dtype=torch.complex64)
        L, V = lanepack.eigh(A)
        first = (L, V) if first is None else first
        assert torch.equal(L, first[0])
        assert torch.equal(V, first[1])
        assert (V.mH @ V - torch.eye(n)).abs().max() <= 2e-5


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [3, 20, 33, 100])
def test_c140_values_with_and_without_vectors(n, dtype):
    A = hermitian(50, n, n, seed=46, dtype=dtype)
    difference = (lanepack.eigvalsh(A) - lanepack.eigh(A).eigenvalues).abs().amax(-1)
    assert (difference <= 10 * eps(dtype) * norm(A) * max(1, n**0.5)).all()
    B = randn(5, 40, 25, seed=46, dtype=dtype)
    difference = (lanepack.svdvals(B) - lanepack.svd(B).S).abs().amax(-1)
    assert (difference <= 10 * eps(dtype) * norm(B) * 40**0.5).all()


def test_c142_known_eigenvalues():
    A = torch.tensor([[-1.0, 2, -3], [4, -5, 6], [-7, 8, -9]])
    expected = torch.tensor([-18.8302358, 0.6727680, 3.1574678])
    L, V = lanepack.eigh(A)
    check_eigh(A, L, V)
    assert torch.allclose(L, expected, atol=1e-5)
    fixed = lanepack.canonical(lanepack.eigh(A)).eigenvectors
    theirs = lanepack.canonical(torch.linalg.eigh(A)).eigenvectors
    assert torch.allclose(fixed, theirs, atol=1e-5)


def test_c143_gauge_across_routes():
    A = 2 * torch.eye(4) + torch.ones(4, 4)
    check_eigh(A, *lanepack.eigh(A))
    noise = hermitian(4, 4, seed=48, dtype=torch.float32)
    B = A + noise
    routes = [lanepack.eigh(B), lanepack.svd(B)]
    batched = lanepack.eigh(B.expand(30, 4, 4))
    lanepack.set_eigh_policy(lanes_max_n=1, device="cpu")
    try:
        routes.append(lanepack.eigh(B))
    finally:
        lanepack.set_eigh_policy(device="cpu")
    fixed = lanepack.canonical(routes[0])
    assert torch.allclose(
        lanepack.canonical(batched).eigenvectors[29], fixed.eigenvectors, atol=1e-5
    )
    assert torch.allclose(lanepack.canonical(routes[2]).eigenvectors, fixed.eigenvectors, atol=1e-5)


def test_c149_set_num_threads_before_a_batch():
    A = randn(20, 300, 300, seed=42)
    A = A + A.mT
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        two = lanepack.eigvalsh(A)
        torch.set_num_threads(1)
        assert torch.equal(lanepack.eigvalsh(A), two)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("n", [31, 32, 33, 64, 96])
def test_c156_repeats(n):
    A = randn(4, n, n, seed=49, dtype=torch.float32)
    Q, R = lanepack.qr(A)
    check_qr(A, Q, R)
    for _ in range(50):
        again = lanepack.qr(A)
        assert torch.equal(again.Q, Q)
        assert torch.equal(again.R, R)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("shape", [(64, 64), (3, 256, 32), (64, 25)])
def test_c158_c164_qr_of_half(shape, dtype):
    A = randn(*shape, seed=50).to(dtype)
    Q, R = lanepack.qr(A)
    assert Q.dtype == R.dtype == torch.float32
    check_qr(A.float(), Q, R)


def test_c160_alignment_of_bfloat16():
    generator = torch.Generator().manual_seed(51)
    points = torch.randn(16, 50, 3, generator=generator, dtype=torch.float64)
    rotation = torch.linalg.qr(torch.randn(16, 3, 3, generator=generator, dtype=torch.float64))[0]
    rotation = rotation * torch.linalg.det(rotation)[:, None, None]
    covariance = (points.mT @ (points @ rotation)).bfloat16()
    U, _, Vh = lanepack.svd(covariance)
    sign = torch.ones(16, 3)
    sign[:, 2] = torch.linalg.det(U @ Vh)
    found = (U * sign[:, None, :]) @ Vh
    assert (found - rotation).abs().max() <= 2e-2


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_c162_complex_hermitian(dtype):
    A = torch.eye(6, dtype=dtype)
    A = A + 1j * torch.diag(torch.ones(5), 1) - 1j * torch.diag(torch.ones(5), -1)
    A = A.to(dtype)
    expected = 1 + 2 * torch.cos(torch.arange(6, 0, -1, dtype=torch.float64) * torch.pi / 7)
    L, V = lanepack.eigh(A)
    check_eigh(A, L, V)
    assert (L - expected).abs().max() <= 20 * eps(dtype)


def test_invalid_calls_end_early():
    start = time.perf_counter()
    with pytest.raises(lanepack.ArgumentError):
        lanepack.eigh(torch.tensor(1.0).expand(200000, 100000))
    assert time.perf_counter() - start < 1


def test_dtypes_of_the_cases_are_the_served_ones():
    assert set(REAL) < set(DTYPES)
