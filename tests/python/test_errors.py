# SPDX-License-Identifier: Apache-2.0
"""What is refused, with which exception and text; what a bad matrix gives."""

import lanepack
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


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("name", ALL)
def test_other_devices_are_named(name):
    with pytest.raises(NotImplementedError, match=rf"lanepack\.{name}: A is on cuda"):
        function(name)(torch.zeros(3, 3, device="cuda"))


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
