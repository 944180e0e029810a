# SPDX-License-Identifier: Apache-2.0
"""The CUDA path without a GPU: CPU tensors passed off as a device's, on stand-ins for libcuda,
NVRTC and cuSOLVER (tests/cuda/fake_*.cc). Kernels do not run there: what is looked at is what is
called. Each case is a process: the driver is opened once.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import lanepack
import pytest
import torch
from lanepack import _cuda, _vendor

SOURCES = Path(__file__).resolve().parents[1] / "cuda"

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="there is no CUDA on this system"
)

PREAMBLE = """
import ctypes, os, warnings
import torch, lanepack
from lanepack import _cuda, _kernels, _native
_cuda._index_of = lambda A: 1
_cuda._current_stream = lambda index: 0x1234
driver = ctypes.CDLL(os.environ["FAKE_DRIVER"])
driver.fake_launch_kernel.restype = ctypes.c_char_p
driver.fake_launch_stream.restype = ctypes.c_void_p
solver = ctypes.CDLL(os.environ["FAKE_CUSOLVER"])
solver.fake_cusolver_stream.restype = ctypes.c_void_p
solver.fake_cusolver_problem.restype = ctypes.c_char_p
def call(name, A, *variant):
    return getattr(_cuda, name)(A, _kernels.describe(A), *variant, True)
torch.manual_seed(0)
"""


@pytest.fixture(scope="module")
def fakes(tmp_path_factory):
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("needs a C++ compiler")
    folder = tmp_path_factory.mktemp("fakes")
    for name in ("fake_driver", "fake_nvrtc", "fake_cusolver"):
        command = [compiler, "-std=c++20", "-fPIC", "-shared", "-o", folder / f"{name}.so"]
        subprocess.run([*command, SOURCES / f"{name}.cc"], check=True)
    return folder


@pytest.fixture
def run(fakes, tmp_path):
    def run(script, **variables):
        environment = {
            **os.environ,
            "FAKE_DRIVER": str(fakes / "fake_driver.so"),
            "LANEPACK_CUDA_LIBRARY": str(fakes / "fake_driver.so"),
            "LANEPACK_NVRTC_LIBRARY": str(fakes / "fake_nvrtc.so"),
            "FAKE_CUSOLVER": str(fakes / "fake_cusolver.so"),
            "LANEPACK_CUSOLVER_LIBRARY": str(fakes / "fake_cusolver.so"),
            "LANEPACK_CUBLAS_LIBRARY": str(fakes / "fake_cusolver.so"),
            "LANEPACK_CACHE_DIR": str(tmp_path),
            **variables,
        }
        done = subprocess.run(
            [sys.executable, "-c", PREAMBLE + script],
            env=environment, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run


def test_calls_reach_the_driver(run):
    out = run("""
A = torch.randn(5, 3, 3)
with warnings.catch_warnings():
    warnings.simplefilter("error")
    L, V, info = call("eigh", A, "L")
    call("eigvalsh", A, "U")
    call("qr", A[:, :, :2], "complete")
    call("qr", A, "r")
    call("svd", A.double(), True, None)
    call("svdvals", A.to(torch.complex64), None)
assert V.stride() == (9, 1, 3) and L.shape == (5, 3) and info.dtype == torch.int32
for i in range(driver.fake_launch_count()):
    assert driver.fake_launch_stream(i) == 0x1234
    print(driver.fake_launch_kernel(i).decode())
""")
    assert [line.removeprefix("lowered ") for line in out.splitlines()] == [
        "eigh::kernel_thread<float, 3, true>",
        "eigh::kernel_thread<float, 3, false>",
        "qr::kernel_thread<float, 3, 2, 3, 3>",
        "qr::kernel_thread<float, 3, 3, 0, 3>",
        "svd::kernel_thread<double, 3, 3, true, false>",
        "svd::kernel_thread<simt::complex<float>, 3, 3, false, false>",
    ]


def test_cholesky_and_the_solves_reach_the_driver(run):
    out = run("""
from lanepack import _cuda_solves
describe = _kernels.describe
def solve(name, A, B, flags):
    return _cuda_solves.solve(name, A, B, describe(A), describe(B), flags)
A = torch.randn(5, 3, 3)
with warnings.catch_warnings():
    warnings.simplefilter("error")
    L, info = call("cholesky", A, True)
    (alone,) = _cuda.cholesky(A[0], describe(A[0]), False, False)
    X = solve("solve_triangular", A, torch.randn(2, 5, 3, 4), 1)
    Y = solve("cholesky_solve", torch.randn(2, 1, 20, 20), torch.randn(5, 20, 1), 0)
    Z = solve("solve_triangular", torch.randn(3, 4, 8, 8)[:, ::2], torch.randn(3, 2, 8, 2), 0)
    empty = solve("solve_triangular", torch.randn(0, 3, 3), torch.randn(0, 3, 2), 0)
    inverse = _cuda_solves.cholesky_inverse(A, describe(A), False)
assert L.stride() == (9, 1, 3) and info.dtype == torch.int32 and alone.shape == (3, 3)
assert X.shape == (2, 5, 3, 4) and X.stride() == (60, 12, 1, 3)
assert Y.shape == (2, 5, 20, 1) and Z.shape == (3, 2, 8, 2) and empty.shape == (0, 3, 2)
assert inverse.shape == (5, 3, 3)
assert solve("solve_triangular", A, torch.randn(4, 3, 1), 0) is None
for i in range(driver.fake_launch_count()):
    assert driver.fake_launch_stream(i) == 0x1234
    print(driver.fake_launch_kernel(i).decode())
""")
    assert [line.removeprefix("lowered ") for line in out.splitlines()] == [
        "cholesky::kernel_thread<float, 3>",
        "cholesky::kernel_thread<float, 3>",
        # factors for each of two, right-hand sides for each of ten: no single stride
        *["solve::kernel_matrix<float, 3, 4, false>"] * 2,
        *["solve::kernel_rows<float, 32, 1, true, false, 128>"] * 2,
        "solve::kernel_thread<float, 8, 16, false, false>",
        "solve::kernel_matrix<float, 3, 3, true>",
    ]


def test_orders_above_go_to_the_vendors_solves(run):
    run("""
from lanepack import _cuda_solves
describe = _kernels.describe
G = torch.randn(2, 150, 150, dtype=torch.float64)
A = G @ G.mT + 150 * torch.eye(150, dtype=torch.float64)
B = torch.randn(2, 150, 3, dtype=torch.float64)
with warnings.catch_warnings():
    warnings.simplefilter("error")
    L, info = call("cholesky", A, False)
    X = _cuda_solves.solve("cholesky_solve", L, B, describe(L), describe(B), 0)
    Y = _cuda_solves.cholesky_inverse(L, describe(L), False)
assert torch.allclose(A @ X, B) and torch.equal(Y, Y.mH) and not info.any()
assert driver.fake_launch_count() == 0
where = {"dtype": A.dtype, "routing": 0, "device_index": 1}
for n, name in ((4, "cholesky.small.thread"), (64, "cholesky.right_looking.warp"),
                (90, "cholesky.left_looking.block"), (150, "vendor")):
    assert _cuda.route("cholesky", n, n, 3, **where) == name
for n, name in ((4, "solve_triangular.small.thread"), (90, "solve_triangular.substitution.warp"),
                (150, "vendor")):
    for operation in ("solve_triangular", "cholesky_solve", "cholesky_inverse"):
        assert _cuda.route(operation, 5, n, 3, **where) == name, (operation, n)
""")


def test_other_sizes_go_to_the_vendor_without_a_word(run):
    out = run("""
A = torch.randn(3, 300, 300)
with warnings.catch_warnings():
    warnings.simplefilter("error")
    L, V, info = call("eigh", A, "L")
    call("eigvalsh", A[:1], "U")
names = [driver.fake_launch_kernel(i).decode() for i in range(driver.fake_launch_count())]
for name, variant in (("svd", (True, None)), ("svdvals", (None,))):
    U = call(name, A[:, :, :40].to(torch.complex64), *variant)[0]
assert _cuda.route("svd", 300, 40, 3, dtype=A.dtype, routing=0, device_index=1) == "vendor"
assert _cuda.route("svd", 300, 40, 3, dtype=torch.float64, routing=0, device_index=1) == "vendor"
assert V.stride() == (90000, 1, 300) and L.shape == (3, 300) and info.dtype == torch.int32
assert solver.fake_cusolver_problem() == b""
assert solver.fake_cusolver_stream() == 0x1234
assert (solver.fake_cusolver_batched_calls(), solver.fake_cusolver_single_calls()) == (3, 1)
assert _cuda.route("eigh", 300, 300, 3, dtype=A.dtype, routing=0, device_index=1) == "vendor"
assert _cuda.route("eigh", 3, 3, 3, dtype=A.dtype, routing=0, device_index=1) == "eigh.small.thread"
for i in range(driver.fake_launch_count()):
    assert driver.fake_launch_stream(i) == 0x1234
print(*names, sep="\\n")
""")
    names = [line.removeprefix("lowered vendor::kernel_") for line in out.splitlines()]
    around = ["measure<float>", *(f"{n}<float, float>" for n in ("prepare", "report", "finish"))]
    assert names == [*around, "finish<float, float>", *around]


def test_torch_takes_what_a_missing_cusolver_would(run):
    out = run(
        """
A = torch.randn(3, 40, 40)
A = A + A.mT
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(2):
        L, V, info = call("eigh", A, "L")
assert torch.allclose(L, torch.linalg.eigvalsh(A), atol=1e-4) and not info.any()
assert len(caught) == 1, caught
print(caught[0].message)
""",
        LANEPACK_CUSOLVER_LIBRARY="/nowhere/libcusolver.so",
    )
    assert "no cuSOLVER of CUDA 12" in out
    assert "torch's own routines" in out


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({"LANEPACK_CUDA_LIBRARY": "/nowhere/libcuda.so"}, "the driver cannot be opened"),
        ({"LANEPACK_NVRTC_LIBRARY": "/nowhere/libnvrtc.so"}, "no NVRTC of CUDA 12"),
        ({"FAKE_CUDA_DEVICES": "0"}, "shows no device"),
        ({"FAKE_CUDA_INIT": "100"}, "CUDA_ERROR_NO_DEVICE"),
        ({"FAKE_CUDA_MAJOR": "5"}, "does not know compute capability 5.0"),
        ({"FAKE_NVRTC_COMPILE": "6"}, "NVRTC_ERROR_COMPILATION"),
    ],
)
def test_what_is_missing_is_said_once(run, variables, reason):
    out = run(
        """
A = torch.randn(4, 3, 3)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for _ in range(3):
        Q, R, info = call("qr", A, "reduced")
assert torch.allclose(Q @ R, A, atol=1e-5) and not info.any()
assert len(caught) == 1, caught
print(caught[0].message)
""",
        **variables,
    )
    assert reason in out
    assert "torch's own routines" in out


def test_rocm(run):
    out = run("""
torch.version.hip = "6.2"
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    call("svdvals", torch.randn(4, 3, 3), None)
print(caught[0].message)
""")
    assert "ROCm" in out


def test_force(run):
    out = run("""
A = torch.randn(4, 3, 3)
for name in ("vendor", "eigh.small.thread", "qr.householder.lanes", "eigh.nothing.warp"):
    os.environ["LANEPACK_FORCE"] = name
    before = driver.fake_launch_count()
    try:
        call("eigh", A, "L")
        print(name, "launches", driver.fake_launch_count() - before)
    except (NotImplementedError, ValueError) as error:
        assert "LANEPACK_FORCE" in str(error)
        print(name, "refused")
""")
    assert out.splitlines() == [
        "vendor launches 5",
        "eigh.small.thread launches 1",
        "qr.householder.lanes refused",
        "eigh.nothing.warp refused",
    ]


def test_info_and_cache(run):
    out = run("""
from lanepack import cli
call("eigh", torch.randn(4, 3, 3), "L")
cli.main(["info", "--json"])
print("----")
cli.main(["cache", "--json"])
print("----")
cli.main(["cache", "--clear", "--json"])
print("----")
cli.main(["cache", "--json"])
""")
    info, kept, cleared, empty = (json.loads(part) for part in out.split("----"))
    assert info["cuda"]["driver"] == "13.0"
    assert info["cuda"]["nvrtc"] == "13.2"
    assert info["cuda"]["problem"] is None
    assert info["cuda"]["policies"]["eigh"]["thread_max_n"] == 8
    assert kept["kernels"] == cleared["kernels"] == 1
    assert empty["kernels"] == 0
    assert kept["folder"] == info["cuda"]["cache"]


def test_policies_of_a_device_are_apart():
    before = lanepack.policy("eigh", "cpu")
    assert "thread_max_n" in lanepack.policy("eigh", "cuda")
    assert "thread_max_n" not in before
    try:
        lanepack.set_eigh_policy(device="cuda", thread_max_n=4, gpu_min_batch=2)
        assert lanepack.policy("eigh", "cuda")["thread_max_n"] == 4
        assert lanepack.policy_source("eigh", "cuda") == "user"
        assert lanepack.policy("eigh", "cpu") == before
        assert lanepack.policy_source("eigh", "cpu") == "default"
        with pytest.raises(TypeError, match="'lanes_max_n' is no threshold of eigh"):
            lanepack.set_eigh_policy(device="cuda", lanes_max_n=4)
    finally:
        lanepack.set_eigh_policy(device="cuda")
    assert lanepack.policy_source("eigh", "cuda") == "default"


VENDOR_CALLS = [
    ("eigh", ("L",)),
    ("eigh", ("U",)),
    ("eigvalsh", ("L",)),
    ("qr", ("reduced",)),
    ("qr", ("complete",)),
    ("qr", ("r",)),
    ("svd", (False, None)),
    ("svd", (True, "gesvd")),
    ("svd", (False, "jacobi")),
    ("svdvals", (None,)),
]


def _values(name, results):
    return results[{"eigh": 0, "eigvalsh": 0, "qr": 1, "svd": 1, "svdvals": 0}[name]]


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.complex64, torch.complex128], ids=str
)
@pytest.mark.parametrize(("name", "variant"), VENDOR_CALLS)
@pytest.mark.parametrize("shape", [(5, 40, 40), (2, 3, 7, 7), (9, 9), (0, 4, 4), (3, 0, 0)])
def test_the_vendors_results_are_as_ours(dtype, name, variant, shape):
    """On the CPU torch's routine is LAPACK's: shapes, strides, info and NaN must be ours."""
    from lanepack import _kernels

    torch.manual_seed(1)
    A = torch.randn(shape, dtype=dtype)
    if A.dim() == 3 and A.numel():
        A[1] *= 1e-30
        A[2, 0, -1] = float("nan")  # of the upper triangle
        A[3, -1, 0] = float("inf")
        A[4] *= 1e30 if dtype.to_real() is torch.float32 else 1e300
    mine = _vendor.run(name, A, variant, True)
    ours = getattr(_kernels, name)(A, _kernels.describe(A), *variant, True)
    assert len(mine) == len(ours)
    for a, b in zip(mine, ours, strict=True):
        assert (a.shape, a.stride(), a.dtype) == (b.shape, b.stride(), b.dtype)
        assert torch.equal(torch.isnan(a), torch.isnan(b))
    assert torch.equal(mine[-1], ours[-1])
    a, b = _values(name, mine).nan_to_num(), _values(name, ours).nan_to_num()
    largest = b.abs().flatten(len(shape) - 2).amax(-1) if b.numel() else torch.ones(())
    difference = (a - b).abs().flatten(len(shape) - 2).amax(-1) if b.numel() else torch.zeros(())
    assert (difference <= 1e-4 * largest).all()


def test_the_vendor_takes_a_large_batch_in_parts(monkeypatch):
    monkeypatch.setattr(_vendor, "_MAX_BATCH", 3)
    A = torch.randn(2, 5, 4, 4, dtype=torch.float64)
    Q, R, info = _vendor.run("qr", A, ("reduced",), True)
    assert torch.allclose(Q @ R, A)
    assert Q.stride() == (80, 16, 1, 4)
    assert info.shape == (2, 5)
    assert _vendor.run("qr", A, ("r",), False)[0].shape == (0,)


def test_the_vendor_under_invariant_takes_one_matrix_at_a_time():
    A = torch.randn(4, 33, 33)
    with lanepack.invariant():
        whole = _vendor.run("svd", A, (False, None), False)
        for i in range(4):
            for a, b in zip(whole, _vendor.run("svd", A[i], (False, None), False), strict=True):
                assert torch.equal(a[i], b)


def test_a_batch_that_the_vendor_gives_up_goes_to_the_host(monkeypatch):
    def give_up(*args, **keywords):
        raise torch.linalg.LinAlgError("linalg.eigh: (Batch element 0): failed to converge")

    A = torch.randn(3, 6, 6, dtype=torch.float64)
    expected = lanepack.eigvalsh(A)
    monkeypatch.setattr(torch.linalg, "eigh", give_up)
    assert torch.allclose(_vendor.run("eigh", A, ("L",), True)[0], expected)


def test_without_a_device_nothing_is_claimed():
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    with pytest.raises(lanepack.ArgumentError, match="torch has no CUDA device"):
        lanepack.backend("eigh", 3, device="cuda")
    assert _cuda.problem() is None or isinstance(_cuda.problem(), str)


def test_warmup_names_what_it_wants():
    lanepack.warmup(["eigh", lanepack.svd], [(10, 3, 3), (4, 4)], torch.float64, "cpu")
    lanepack.warmup("qr", (5, 3), (torch.float32, torch.complex64), "cpu", mode="complete")
    lanepack.warmup(["cholesky", "cholesky_inverse"], [(9, 3, 3), (4, 4)], device="cpu", upper=True)
    lanepack.warmup(["solve_triangular", "cholesky_solve"], (10, 3, 3), device="cpu", columns=4)
    with pytest.raises(lanepack.ArgumentError, match="'lu'"):
        lanepack.warmup("lu", (3, 3), device="cpu")
    with pytest.raises(lanepack.ArgumentError, match="a shape is"):
        lanepack.warmup("qr", [(3,)], device="cpu")
