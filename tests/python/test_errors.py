# SPDX-License-Identifier: Apache-2.0
"""What is refused, with which exception and text; what a bad matrix gives."""

import lanepack
import numpy as np
import pytest
import torch
from properties import DTYPES, hermitian, randn

FUNCTIONS = ["qr", "eigh", "eigvalsh", "svd", "svdvals"]
ALL = FUNCTIONS + [f"{name}_ex" for name in FUNCTIONS]
NOT_FINITE = 2**31 - 1


def function(name):
    return getattr(lanepack, name)


def test_argument_error_is_both():
    assert issubclass(lanepack.ArgumentError, ValueError)
    assert issubclass(lanepack.ArgumentError, RuntimeError)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("shape", [(), (3,)])
def test_too_few_dimensions(name, shape):
    with pytest.raises(lanepack.ArgumentError, match=rf"lanepack\.{name}: .*at least 2") as raised:
        function(name)(torch.zeros(shape))
    assert str(tuple(shape)) in str(raised.value)


@pytest.mark.parametrize("name", [name for name in ALL if name.startswith("eig")])
def test_not_square(name):
    with pytest.raises(lanepack.ArgumentError, match=rf"lanepack\.{name}: .*\(2, 3, 4\).*square"):
        function(name)(torch.zeros(2, 3, 4))


@pytest.mark.parametrize("mode", ["full", "", "R", None, 3, ["r"]])
@pytest.mark.parametrize("name", ["qr", "qr_ex"])
def test_unknown_mode(name, mode):
    with pytest.raises(lanepack.ArgumentError, match=rf"lanepack\.{name}: mode is .*'complete'"):
        function(name)(torch.zeros(3, 3), mode)


@pytest.mark.parametrize("driver", ["gesdd", "", 1, ["jacobi"]])
@pytest.mark.parametrize("name", ["svd", "svdvals", "svd_ex", "svdvals_ex"])
def test_unknown_driver(name, driver):
    with pytest.raises(lanepack.ArgumentError, match=rf"lanepack\.{name}: driver is .*'jacobi'"):
        function(name)(torch.zeros(3, 3), driver=driver)


@pytest.mark.parametrize("name", ALL)
def test_unsupported_dtype(name):
    with pytest.raises(TypeError, match=rf"lanepack\.{name}: A has dtype .*float32"):
        function(name)(torch.zeros(3, 3, dtype=torch.complex32))


@pytest.mark.parametrize("name", ALL)
def test_layouts(name):
    for A in (torch.eye(3).to_sparse(), torch.eye(3).to_sparse_csr()):
        with pytest.raises(lanepack.ArgumentError, match=rf"lanepack\.{name}: A has layout"):
            function(name)(A)


@pytest.mark.parametrize("name", ALL)
def test_text_is_no_matrix(name):
    with pytest.raises((TypeError, ValueError)):
        function(name)("matrix")


@pytest.mark.skipif(not torch.backends.mps.is_available(), reason="no Apple GPU")
@pytest.mark.parametrize("name", ALL)
def test_other_devices_are_named(name):
    with pytest.raises(NotImplementedError, match=rf"lanepack\.{name}: A is on mps"):
        function(name)(torch.zeros(3, 3, device="mps"))


def test_ops_check_their_arguments():
    ops = torch.ops.lanepack
    for A in (torch.zeros(3, 3), torch.zeros(3, 3, device="meta")):
        with pytest.raises(lanepack.ArgumentError, match="mode is 'full'"):
            ops.qr(A, "full")
        with pytest.raises(lanepack.ArgumentError, match="UPLO is 'X'"):
            ops.eigh(A, "X")
        with pytest.raises(lanepack.ArgumentError, match="driver is 'gesdd'"):
            ops.svd(A, False, "gesdd")
        with pytest.raises(lanepack.ArgumentError, match="at least 2 dimensions"):
            ops.svdvals(A[0])
        with pytest.raises(lanepack.ArgumentError, match="square"):
            ops.eigvalsh(A[:2])
        with pytest.raises(TypeError, match="float16"):
            ops.qr(A.half())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("n", [2, 5, 40, 130])
def test_a_bad_matrix_is_alone(dtype, bad, n):
    A = hermitian(19, n, n, seed=20, dtype=dtype)
    spoiled = A.clone()
    spoiled[7, n - 1, 0] = bad
    others = [i for i in range(19) if i != 7]
    for name in FUNCTIONS:
        good = function(f"{name}_ex")(A)
        result = function(f"{name}_ex")(spoiled)
        assert result.info[7] == NOT_FINITE
        assert (result.info[others] == 0).all()
        for whole, part in zip(good[:-1], result[:-1], strict=True):
            assert torch.equal(whole[others], part[others]), name
            assert not torch.isfinite(part[7].abs()).all(), name
        values = result.R if name == "qr" else getattr(result, "S", result[0])
        assert torch.isnan(values[7].abs()).any()
        if name != "qr":
            assert torch.isnan(values[7]).all()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_check_errors(name):
    A = hermitian(2, 3, 4, 4, seed=21)
    call = function(name)
    # torch names eigh in eigvalsh's errors too, svd in svdvals'.
    start = "linalg." + {"eigvalsh": "eigh", "svdvals": "svd"}.get(name, name)
    for mine, other in zip(call(A, check_errors=True), call(A), strict=True):
        assert torch.equal(mine, other)
    A[1, 1, 2, 0] = float("nan")
    with pytest.raises(torch.linalg.LinAlgError, match=rf"^{start}: \(Batch element 4\): "):
        call(A, check_errors=True)
    with pytest.raises(torch.linalg.LinAlgError, match=rf"^{start}: The input matrix"):
        function(f"{name}_ex")(A[1, 1], check_errors=True)
    A.requires_grad_()
    with pytest.raises(torch.linalg.LinAlgError, match=rf"^{start}: \(Batch element 4\)"):
        call(A, check_errors=True)


def test_input_is_only_read():
    A = randn(3, 6, 6, seed=22)
    before = A.clone()
    for name in ALL:
        function(name)(A)
        function(name)(A.mT)
    assert torch.equal(A, before)


def test_tensor_of_zeros_without_memory_is_served():
    zeros = torch._efficientzerotensor((3, 3))
    Q, R = lanepack.qr(zeros)
    assert torch.equal(Q @ R, torch.zeros(3, 3))
    assert torch.equal(lanepack.svdvals(zeros), torch.zeros(3))


def test_freed_memory_is_an_error():
    A = torch.randn(3, 3)
    A.untyped_storage().resize_(0)
    with pytest.raises(lanepack.ArgumentError, match="no memory"):
        lanepack.eigh(A)


@pytest.mark.parametrize("value", [2**64 + 5, 2**80, -(2**70)])
def test_threshold_beyond_64_bits_is_an_error(value):
    before = lanepack.svd_policy()
    with pytest.raises(lanepack.ArgumentError, match="tall_max_n"):
        lanepack.set_svd_policy(tall_max_n=value)
    assert lanepack.svd_policy() == before


@pytest.mark.parametrize("size", [10**30, "5", 6.5])
def test_size_that_is_no_whole_number_is_an_error(size):
    with pytest.raises(lanepack.ArgumentError, match="whole number"):
        lanepack.svd_backend(5, size, 1, device="cpu")


def test_unknown_device_is_an_error():
    with pytest.raises(lanepack.ArgumentError, match="nonsense"):
        lanepack.backend("svd", 5, device="nonsense")


def test_options_are_taken_by_their_truth_everywhere():
    # half goes by way of the op, float32 does not
    for A in (torch.randn(4, 3), torch.randn(4, 3).half()):
        assert lanepack.svd(A, full_matrices="yes").U.shape == (4, 4)
        assert lanepack.svd(A, full_matrices=0).U.shape == (4, 3)
        lanepack.qr(A, check_errors="yes")


@pytest.mark.parametrize("mode", [["r"], None, 3])
def test_mode_of_another_type_is_an_error(mode):
    with pytest.raises(lanepack.ArgumentError, match="mode is"):
        lanepack.qr(torch.randn(3, 3), mode=mode)


class _NotHashable(list):
    """What no table of names can be asked for."""


_BAD_NAMES = (None, 3, "lu", _NotHashable(["eigh"]), b"eigh")
_BAD_SIZES = (-1, True, 2.0, "3", None, 2**63, _NotHashable([3]))
_BACKENDS = {
    "qr_backend": (6, 4),
    "eigh_backend": (4,),
    "eigvalsh_backend": (4,),
    "svd_backend": (6, 4),
    "svdvals_backend": (6, 4),
    "cholesky_backend": (4,),
    "solve_triangular_backend": (4,),
}


@pytest.mark.parametrize("name", _BAD_NAMES, ids=repr)
def test_a_bad_operation_is_named(name):
    calls = {
        "backend": lambda: lanepack.backend(name, 3, device="cpu"),
        "policy": lambda: lanepack.policy(name, "cpu"),
        "set_policy": lambda: lanepack.set_policy(name, device="cpu"),
        "policy_source": lambda: lanepack.policy_source(name, "cpu"),
        "explain": lambda: lanepack.explain(name, 3, 3, device="cpu"),
        "warmup": lambda: lanepack.warmup([name], (3, 3), device="cpu"),
        "install": lambda: lanepack.install([name]),
    }
    for function, call in calls.items():
        with pytest.raises(lanepack.ArgumentError, match=rf"^lanepack\.{function}: "):
            call()
    assert lanepack.installed() == ()


@pytest.mark.parametrize("function", ["warmup", "install"])
def test_a_bad_list_of_functions_is_named(function):
    call = getattr(lanepack, function)
    arguments = [(3, 3)] if function == "warmup" else []
    for functions in (3, [None]):
        with pytest.raises(lanepack.ArgumentError, match=rf"^lanepack\.{function}: functions"):
            call(functions, *arguments)


@pytest.mark.parametrize("size", _BAD_SIZES, ids=repr)
@pytest.mark.parametrize("function", _BACKENDS)
def test_a_bad_size_is_named(function, size):
    call, good = getattr(lanepack, function), _BACKENDS[function]
    names = ("m", "n", "batch") if len(good) == 2 else ("n", "batch")
    for place, name in enumerate(names):
        sizes = [*good, 10]
        sizes[place] = size
        with pytest.raises(lanepack.ArgumentError, match=rf"^lanepack\.{function}: {name} is "):
            call(*sizes, device="cpu")
    with pytest.raises(lanepack.ArgumentError, match=r"^lanepack\.explain: the shape is "):
        lanepack.explain("qr", size, 4, device="cpu")
    with pytest.raises(lanepack.ArgumentError, match=r"^lanepack\.warmup: a shape is "):
        lanepack.warmup("qr", [(4, size)], device="cpu")
    if size is not True:  # columns=True would be refused as well
        with pytest.raises(lanepack.ArgumentError, match="columns is "):
            lanepack.solve_triangular_backend(4, columns=size, device="cpu")


@pytest.mark.parametrize("function", _BACKENDS)
def test_a_bad_dtype_is_named(function):
    for dtype in (torch.float16, "float32", None, _NotHashable()):
        with pytest.raises(TypeError, match=rf"^lanepack\.{function}: dtype is "):
            getattr(lanepack, function)(*_BACKENDS[function], dtype=dtype, device="cpu")
    with pytest.raises(TypeError, match=r"^lanepack\.warmup: a dtype is 'float32'"):
        lanepack.warmup("qr", (3, 3), "float32", device="cpu")


def test_bad_options_of_backends_are_named():
    for mode in ("foo", None, _NotHashable()):
        with pytest.raises(lanepack.ArgumentError, match=r"^lanepack\.qr_backend: mode is "):
            lanepack.qr_backend(5, 5, mode=mode, device="cpu")
    for function in ("svd_backend", "svdvals_backend"):
        for driver in ("foo", 3, _NotHashable()):
            with pytest.raises(lanepack.ArgumentError, match=rf"{function}: driver is "):
                getattr(lanepack, function)(5, 5, driver=driver, device="cpu")


def test_options_of_backends_are_those_of_the_functions():
    """full_matrices as in svd: whatever counts as true; torch's hints among the drivers."""
    full = lanepack.svd_backend(4096, 64, 1000, full_matrices=True, device="cpu")
    assert lanepack.svd_backend(4096, 64, 1000, full_matrices="yes", device="cpu") == full
    assert full != lanepack.svd_backend(4096, 64, 1000, full_matrices=0, device="cpu")
    assert lanepack.svd_backend(5, 5, driver="gesvd", device="cpu").startswith("svd.")


@pytest.mark.parametrize("integer", [np.int64, np.uint8, torch.tensor], ids=lambda f: f.__name__)
def test_sizes_may_be_any_integers(integer):
    four = integer(4)
    assert lanepack.backend("eigh", four, four, device="cpu") == lanepack.backend(
        "eigh", 4, 4, device="cpu"
    )
    assert lanepack.qr_backend(four, four, four, device="cpu").startswith("qr.")
    explained = lanepack.explain("eigh", four, four, four, device="cpu")
    assert explained == lanepack.explain("eigh", 4, 4, 4, device="cpu")
    lanepack.warmup("eigh", (four, four, four), device="cpu")
    lanepack.warmup("eigh", [(four, four)], device="cpu")
    try:
        lanepack.set_policy("eigh", device="cpu", lanes_max_n=four)
        assert lanepack.policy("eigh", "cpu")["lanes_max_n"] == 4
        with pytest.raises(TypeError, match="lanes_max_n is True; it must be an integer"):
            lanepack.set_policy("eigh", device="cpu", lanes_max_n=True)
    finally:
        lanepack.set_policy("eigh", device="cpu")


def test_warmup_refuses_a_shape_that_no_function_takes():
    with pytest.raises(lanepack.ArgumentError, match=r"no function of eigh takes .*\(3, 4\)"):
        lanepack.warmup("eigh", [(3, 3), (3, 4)], device="cpu")
    lanepack.warmup(["eigh", "svd"], [(3, 3), (3, 4)], device="cpu")
    with pytest.raises(lanepack.ArgumentError, match="shapes is 3"):
        lanepack.warmup("eigh", 3, device="cpu")
