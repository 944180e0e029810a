# SPDX-License-Identifier: Apache-2.0
"""Routing modes, policies, backend names, explain; bits under `invariant`."""

import threading

import lanepack
import pytest
import torch
from properties import DTYPES, hermitian, randn

FAMILIES = ["qr", "eigh", "svd"]


@pytest.fixture(autouse=True)
def restore():
    yield
    lanepack.set_routing("fastest")
    for family in FAMILIES:
        lanepack.set_policy(family)


def test_set_routing():
    assert lanepack.routing() == "fastest"
    lanepack.set_routing("invariant")
    assert lanepack.routing() == "invariant"
    with pytest.raises(lanepack.ArgumentError, match=r"mode is 'quick'.*'fastest' or 'invariant'"):
        lanepack.set_routing("quick")
    assert lanepack.routing() == "invariant"


def test_invariant_holds_for_its_thread():
    seen = []
    with lanepack.invariant():
        assert lanepack.routing() == "invariant"
        thread = threading.Thread(target=lambda: seen.append(lanepack.routing()))
        thread.start()
        thread.join()
        with lanepack.invariant():
            pass
        assert lanepack.routing() == "invariant"
    assert lanepack.routing() == "fastest"
    assert seen == ["fastest"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [2, 7, 33, 100, 200])
def test_bits_under_invariant(n, dtype):
    A = hermitian(5, n, n, seed=70, dtype=dtype)
    spread = torch.zeros(5, 2 * n, n, dtype=dtype)[:, ::2]
    spread.copy_(A)
    before = torch.get_num_threads()
    with lanepack.invariant():
        for function in (lanepack.qr, lanepack.eigh, lanepack.svd):
            whole = function(A)
            try:
                torch.set_num_threads(1)
                others = [function(A), function(spread), function(A.mT.contiguous().mT)]
                others.append([torch.stack(each) for each in zip(*map(function, A), strict=True)])
                others.append([each.flip(0) for each in function(A.flip(0))])
            finally:
                torch.set_num_threads(before)
            for other in others:
                for mine, theirs in zip(whole, other, strict=True):
                    assert torch.equal(mine, theirs)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("m", "n"), [(600, 9), (9, 600), (2100, 130), (2048, 128)])
def test_bits_of_tall_matrices_under_invariant(m, n, dtype):
    A = randn(3, m, n, seed=72, dtype=dtype)
    before = torch.get_num_threads()
    with lanepack.invariant():
        for function in (lanepack.qr, lanepack.svd):
            whole = function(A)
            try:
                torch.set_num_threads(1)
                others = [function(A), function(A.mT.contiguous().mT)]
                others.append([torch.stack(each) for each in zip(*map(function, A), strict=True)])
            finally:
                torch.set_num_threads(before)
            for other in others:
                for mine, theirs in zip(whole, other, strict=True):
                    assert torch.equal(mine, theirs)


def test_tall_and_wide_svd_goes_through_r():
    for m, n in ((4096, 64), (64, 4096), (2048, 128)):
        for backend in (lanepack.svd_backend, lanepack.svdvals_backend):
            assert backend(m, n, 1000, device="cpu") == "svd.tall.lanes"
    full = lanepack.svd_backend(4096, 64, 1000, full_matrices=True, device="cpu")
    assert full != "svd.tall.lanes"
    # one matrix, whose R fills one lane
    assert lanepack.svd_backend(1024, 32, 1, device="cpu") == "svd.tall.lanes"
    assert lanepack.svd_backend(4096, 128, 1, device="cpu") == "svd.tall.lanes"
    assert lanepack.svd_backend(2048, 128, 1, device="cpu").startswith("svd.lapack")
    assert lanepack.svdvals_backend(2048, 128, 1, device="cpu") == "svd.tall.lanes"
    lanepack.set_svd_policy(tall_max_n=63, device="cpu")
    assert lanepack.svd_backend(4096, 64, 1000, device="cpu").startswith("svd.lapack")


@pytest.mark.parametrize("family", FAMILIES)
def test_policy(family):
    policy = lanepack.policy(family, device="cpu")
    assert policy["lanes_max_n"] > 0
    assert all(isinstance(value, int) for value in policy.values())
    assert policy == getattr(lanepack, f"{family}_policy")(device="cpu")
    source = getattr(lanepack, f"{family}_policy_source")
    setter = getattr(lanepack, f"set_{family}_policy")
    assert source(device="cpu") == lanepack.policy_source(family, "cpu") == "default"
    setter(lanes_max_n=5, device="cpu")
    assert lanepack.policy(family, "cpu") == {**policy, "lanes_max_n": 5}
    assert source(device="cpu") == "user"
    setter({"lanes_max_n_f64": 7}, device="cpu")
    assert lanepack.policy(family, "cpu") == {**policy, "lanes_max_n_f64": 7}
    lanepack.set_policy(family, device="cpu")
    assert lanepack.policy(family, "cpu") == policy
    assert source(device="cpu") == "default"


def test_policy_errors_change_nothing():
    before = lanepack.policy("eigh", "cpu")
    with pytest.raises(TypeError, match=r"'warp_size' is no threshold of eigh.*lanes_max_n"):
        lanepack.set_policy("eigh", device="cpu", lanes_max_n=3, warp_size=4)
    with pytest.raises(TypeError, match="lanes_max_n is 'many'; it must be an integer"):
        lanepack.set_policy("eigh", {"lanes_max_n": "many"}, device="cpu")
    with pytest.raises(TypeError, match="policy is a int"):
        lanepack.set_policy("eigh", 3, device="cpu")
    with pytest.raises(lanepack.ArgumentError, match="'lu'; it must be one of qr, eigh"):
        lanepack.policy("lu", "cpu")
    assert lanepack.policy("eigh", "cpu") == before
    assert lanepack.policy_source("eigh", "cpu") == "default"


def test_backend_names_what_a_call_takes():
    assert lanepack.backend("eigh", 4, 1000, device="cpu").startswith("eigh.")
    assert lanepack.eigh_backend(4, 1000, device="cpu") == lanepack.backend(
        "eigh", 4, 1000, device="cpu"
    )
    assert lanepack.eigvalsh_backend(4, device="cpu").startswith("eig")
    assert lanepack.qr_backend(6, 4, 10, mode="complete", device="cpu").startswith("qr.")
    assert lanepack.svd_backend(6, 4, device="cpu").startswith("svd.")
    assert lanepack.svdvals_backend(6, 4, device="cpu").startswith("svd")
    assert "jacobi" in lanepack.svd_backend(6, 4, driver="jacobi", device="cpu")
    lanes = lanepack.eigh_backend(16, 1000, device="cpu")
    assert lanes.endswith(".lanes")
    lanepack.set_eigh_policy(lanes_max_n=8, device="cpu")
    assert lanepack.eigh_backend(16, 1000, device="cpu") != lanes
    with pytest.raises(TypeError, match=r"dtype is torch\.float16"):
        lanepack.backend("qr", 4, dtype=torch.float16, device="cpu")
    with pytest.raises(lanepack.ArgumentError, match="'det'"):
        lanepack.backend("det", 4, device="cpu")


def test_policies_serve_the_next_call():
    A = hermitian(20, 16, 16, seed=71)
    before = lanepack.eigvalsh(A)
    lanepack.set_eigh_policy(lanes_max_n_f64=4, device="cpu")
    after = lanepack.eigvalsh(A)
    assert torch.allclose(before, after)


def test_explain():
    text = lanepack.explain("eigh", 4096, 32, 32, device="cpu")
    assert lanepack.eigh_backend(32, 4096, device="cpu") in text
    assert "4096 x (32, 32), float32" in text
    assert "lanes_max_n=" in text
    with pytest.raises(lanepack.ArgumentError, match="square"):
        lanepack.explain("eigh", 3, 4, device="cpu")
    with pytest.raises(lanepack.ArgumentError, match="at least two sizes"):
        lanepack.explain("svd", 3, device="cpu")


def test_device_name():
    name = lanepack.device_name("cpu")
    assert "thread" in name
    assert name == lanepack.device_name(torch.zeros(1))
    assert lanepack.gpu_core_count("cpu") == 0
