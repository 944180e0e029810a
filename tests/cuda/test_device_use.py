# SPDX-License-Identifier: Apache-2.0
"""How CUDA tensors are used: streams, graphs, threads, memory, sizes, torch's transforms."""

import threading

import lanepack
import pytest
import torch
from device_problems import same_bits

FUNCTIONS = ("qr", "eigh", "eigvalsh", "svd", "svdvals")


def _call(name, A):
    results = getattr(lanepack, name)(A)
    return (results,) if isinstance(results, torch.Tensor) else tuple(results)


def _random(*shape, dtype=torch.float32, seed=0):
    generator = torch.Generator("cuda").manual_seed(seed)
    A = torch.randn(shape, dtype=dtype, device="cuda", generator=generator)
    return A + A.mH if shape[-1] == shape[-2] else A


@pytest.mark.parametrize("n", [3, 8, 20, 32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_nothing_waits(name, n):
    A = _random(100, n, n)
    if lanepack.backend(name, n, 100, device="cuda") == "vendor":
        pytest.skip("torch's own routine")
    _call(name, A)
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        torch.cuda._sleep(100_000_000)
        done = torch.cuda.Event()
        _call(name, A)
        done.record()
        assert not done.query(), "the call waited for the device"
    finally:
        torch.cuda.set_sync_debug_mode("default")
    torch.cuda.synchronize()


@pytest.mark.parametrize("n", [3, 8, 20, 32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_graph_capture_and_replay(name, n):
    if lanepack.backend(name, n, 64, device="cuda") == "vendor":
        pytest.skip("torch's own routine")
    lanepack.warmup(name, (64, n, n), device="cuda")
    A = _random(64, n, n)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = _call(name, A)
    for seed in (1, 2):
        A.copy_(_random(64, n, n, seed=seed))
        graph.replay()
        torch.cuda.synchronize()
        assert same_bits(captured, _call(name, A))


def test_a_first_use_inside_a_capture():
    """Loading a kernel does not spoil a capture; values alone of an odd size are new here."""
    A = _random(10, 7, 7, dtype=torch.float64)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        L = lanepack.eigvalsh(A, UPLO="U")
    graph.replay()
    assert torch.allclose(L, torch.linalg.eigvalsh(A), atol=1e-10)


def test_side_stream_and_order():
    A = _random(1000, 4, 4)
    expected = _call("eigh", A)
    stream = torch.cuda.Stream()
    later = torch.empty_like(A)
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        later.copy_(A)  # on this stream, behind the sleep: another stream would read rubbish
        results = _call("eigh", later)
    torch.cuda.synchronize()
    assert same_bits(results, expected)


def test_threads_with_streams_of_their_own():
    inputs = [_random(500, n, n, seed=n) for n in (3, 5, 8, 3)]
    expected = [[_call(name, A) for name in FUNCTIONS] for A in inputs]
    torch.cuda.synchronize()
    faults = []

    def work(index):
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(30):
                results = [_call(name, inputs[index]) for name in FUNCTIONS]
                torch.cuda.current_stream().synchronize()
                for mine, theirs in zip(results, expected[index], strict=True):
                    if not same_bits(mine, theirs):
                        faults.append(index)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(inputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults


@pytest.mark.parametrize("name", FUNCTIONS)
def test_memory_is_results_and_little_more(name):
    A = _random(200_000, 4, 4)
    results = _call(name, A)
    bytes_ = sum(each.numel() * each.element_size() for each in results)
    del results
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    results = _call(name, A)
    assert len(results) > 0
    # torch's allocator hands out a block that is up to 1 MiB too large as it is
    slack = len(results) * 2**20
    assert torch.cuda.max_memory_allocated() - before <= 1.02 * bytes_ + slack


@pytest.mark.parametrize(
    ("name", "batch"), [("eigh", 10_000_000), ("svd", 5_000_000), ("qr", 5_000_000)]
)
def test_a_huge_batch(name, batch):
    A = _random(batch, 3, 3)
    results = getattr(lanepack, f"{name}_ex")(A)
    assert not results.info.any()
    for place in (slice(0, 100), slice(batch // 2, batch // 2 + 100), slice(batch - 100, batch)):
        part = getattr(lanepack, f"{name}_ex")(A[place])
        assert same_bits(part, [each[place] for each in results])


def test_more_than_2_31_elements():
    batch = (2**31 + 1000) // 9 + 1
    A = torch.empty(batch, 3, 3, device="cuda").normal_()
    values = lanepack.eigvalsh(A)
    assert torch.equal(values[-50:], lanepack.eigvalsh(A[-50:].clone()))
    assert torch.isfinite(values).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex128], ids=str)
@pytest.mark.parametrize(
    "shape", [(0, 3, 3), (3, 0, 0), (2, 4, 0), (2, 0, 4), (0, 0), (5, 0, 2, 2)]
)
def test_zero_sizes(shape, dtype):
    A = torch.zeros(shape, dtype=dtype)
    for name in ("qr", "svd", "svdvals") + (("eigh", "eigvalsh") if shape[-1] == shape[-2] else ()):
        for options in {"qr": ({}, {"mode": "complete"}), "svd": ({}, {"full_matrices": True})}.get(
            name, ({},)
        ):
            host = getattr(lanepack, f"{name}_ex")(A, **options)
            device = getattr(lanepack, f"{name}_ex")(A.cuda(), **options)
            for a, b in zip(host, device, strict=True):
                assert b.is_cuda
                assert a.shape == b.shape
                assert torch.equal(a, b.cpu())


@pytest.mark.parametrize("n", [3, 20, 40])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_bad_matrices(name, n):
    A = _random(9, n, n)
    A[4, n - 1, 0] = float("nan")
    results = getattr(lanepack, f"{name}_ex")(A)
    assert results.info.tolist() == [0] * 4 + [2**31 - 1] + [0] * 4
    with pytest.raises(torch.linalg.LinAlgError, match="Batch element 4"):
        getattr(lanepack, name)(A, check_errors=True)


def test_strides_and_types():
    A = _random(6, 5, 5)
    U, S, Vh = lanepack.svd(A)
    assert U.stride() == Vh.stride() == (25, 1, 5)
    assert S.stride() == (5, 1)
    assert all(each.device == A.device for each in (U, S, Vh))
    half = lanepack.eigvalsh(A.half())
    assert half.dtype == torch.float32
    complex_ = _random(6, 5, 5, dtype=torch.complex64)
    assert torch.allclose(lanepack.svdvals(complex_.conj()), lanepack.svdvals(complex_))
    out = torch.empty(6, 5, device="cuda")
    assert lanepack.eigvalsh(A, out=out) is out
    assert torch.equal(out, lanepack.eigvalsh(A))
    view = A.expand(4, 6, 5, 5).transpose(0, 1)
    assert torch.equal(lanepack.eigvalsh(view)[:, 2], lanepack.eigvalsh(A))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives(name):
    A = _random(3, 4, 4, dtype=torch.float64)
    A.requires_grad_(True)

    def loss(A):
        A = A + A.mT if name.startswith("eig") else A
        results = _call(name, A)
        return sum(
            (each.abs() ** 2 * torch.arange(1.0, 5.0, device="cuda")).sum() for each in results
        )

    (mine,) = torch.autograd.grad(loss(A), A)
    host = A.detach().cpu().requires_grad_(True)

    def host_loss(A):
        A = A + A.mT if name.startswith("eig") else A
        results = _call(name, A)
        return sum((each.abs() ** 2 * torch.arange(1.0, 5.0)).sum() for each in results)

    (theirs,) = torch.autograd.grad(host_loss(host), host)
    assert torch.allclose(mine.cpu(), theirs, rtol=1e-7, atol=1e-9)


def test_vmap_and_compile():
    A = _random(3, 6, 4, 4)
    mapped = torch.func.vmap(lanepack.eigvalsh)(A)
    assert torch.equal(mapped, lanepack.eigvalsh(A))
    compiled = torch.compile(lambda A: lanepack.svd(A)[1] * 2, fullgraph=True)
    assert torch.allclose(compiled(A), lanepack.svdvals(A) * 2, atol=1e-4)


def test_second_device():
    if torch.cuda.device_count() < 2:
        pytest.skip("one device")
    A = _random(10, 3, 3)
    B = A.to("cuda:1")
    assert torch.cuda.current_device() == 0
    L, V = lanepack.eigh(B)
    assert L.device == B.device
    assert same_bits([each.to("cuda:0") for each in (L, V)], _call("eigh", A))


def test_names():
    assert lanepack.backend("eigh", 3, 10, device="cuda") == "eigh.small.thread"
    assert lanepack.backend("eigh", 500, 10, device="cuda") == "vendor"
    assert lanepack.svd_backend(500, 500, driver="jacobi", device="cuda") == "host"
    text = lanepack.explain("eigh", 10, 3, 3, device="cuda")
    assert torch.cuda.get_device_name() in text
    assert "thread_max_n=" in text
    lanepack.set_eigh_policy(device="cuda", gpu_min_batch=11)
    try:
        assert lanepack.backend("eigh", 3, 10, device="cuda") == "vendor"
    finally:
        lanepack.set_eigh_policy(device="cuda")
