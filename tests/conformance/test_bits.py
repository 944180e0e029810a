# SPDX-License-Identifier: Apache-2.0
"""What a matrix's bits may not depend on.

CPU lanes: nothing but the matrix (and the release), whatever the routing mode. LAPACK's routes:
the same under `invariant` routing; under `fastest` only that a call repeats.
"""

import hashlib
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import torch

from . import cases, families, implementations

# The algorithms by how their bits behave.
LANES = [name for names in cases.ALGORITHMS.values() for name in names if name.endswith(".lanes")]
LAPACK = [name for names in cases.ALGORITHMS.values() for name in names if ".lapack." in name]
VARIANTS = {"qr": ("reduced", "complete", "r"), "eigh": ("L", "U"), "eigvalsh": ("L",),
            "svd": ("thin", "full"), "svdvals": ("",)}  # fmt: skip
SHAPES = ((1, 1), (2, 2), (3, 3), (8, 8), (13, 13), (32, 32), (9, 5), (5, 9), (256, 4), (4, 256))
# Fills every lane of the widest target several times over, with a rest.
BATCH = 67


def _operations(algorithm):
    """The operations that an algorithm's family has."""
    family = algorithm.split(".")[0]
    return [name for name, own in cases.OPERATION_FAMILY.items() if own == family]


def _input(operation, m, n, dtype, batch=BATCH):
    """Matrices of several families, shuffled, so that lanes finish at different times."""
    rng = np.random.default_rng(20 * m + n)
    names = ("normal", "geometric_1/u", "rank_one", "zero", "repeated", "near_underflow")
    each = -(-batch // len(names))
    if operation in cases.SQUARE_ONLY:
        parts = [families.hermitian(name, rng, each, n, dtype) for name in names]
    else:
        parts = [families.general(name, rng, each, m, n, dtype) for name in names]
    return torch.cat(parts)[torch.from_numpy(rng.permutation(each * len(names))[:batch])]


def _run(operation, variant, a):
    factors, info = implementations.run_lanepack(operation, variant, a)
    return (*factors, info)


def _same(results, others):
    """Equal bit for bit; NaN equals NaN, +0 is not -0."""

    def bits(tensor):
        real = torch.view_as_real(tensor) if tensor.is_complex() else tensor
        return real.contiguous().reshape(-1).view(torch.uint8)

    return len(results) == len(others) and all(
        result.shape == other.shape and torch.equal(bits(result), bits(other))
        for result, other in zip(results, others, strict=True)
    )


@pytest.fixture(params=cases.DTYPES, ids=lambda dtype: str(dtype).removeprefix("torch."))
def dtype(request):
    return request.param


def _served(algorithm, dtype, shapes=SHAPES):
    """(operation, variant, a) of every problem that the algorithm takes; the caller forces it."""
    count = 0
    for operation in _operations(algorithm):
        for m, n in shapes:
            if operation in cases.SQUARE_ONLY and m != n:
                continue
            for variant in VARIANTS[operation]:
                a = _input(operation, m, n, dtype)
                try:
                    _run(operation, variant, a[:1])
                except RuntimeError as error:
                    if "LANEPACK_FORCE" not in str(error):
                        raise
                    continue
                count += 1
                yield operation, variant, a
    if not count:
        pytest.skip(f"{algorithm} takes none of the shapes")


def _for_each(algorithm, dtype, check, shapes=SHAPES):
    """Runs check(operation, variant, a, results) on every problem of a forced algorithm."""
    with implementations.environment(LANEPACK_FORCE=algorithm):
        for operation, variant, a in _served(algorithm, dtype, shapes):
            check(
                f"{algorithm} {operation} {variant} {tuple(a.shape)}",
                operation,
                variant,
                a,
                _run(operation, variant, a),
            )


def _check_repeats(where, operation, variant, a, results):
    for _ in range(2):
        assert _same(_run(operation, variant, a), results), where


def _check_alone(where, operation, variant, a, results):
    for position in (0, 1, 7, 31, len(a) - 1):
        alone = _run(operation, variant, a[position : position + 1])
        assert _same(alone, [result[position : position + 1] for result in results]), (
            f"{where}: matrix {position} alone"
        )


def _check_positions(where, operation, variant, a, results):
    """A shift by one and other batch sizes put every matrix into another lane and tile."""
    for first, last in ((1, len(a)), (3, 20), (5, 9), (2, 4)):
        part = _run(operation, variant, a[first:last])
        assert _same(part, [result[first:last] for result in results]), f"{where}: {first}:{last}"


def _check_threads(where, operation, variant, a, results):
    before = torch.get_num_threads()
    # Long enough that the pool takes part.
    many = a.repeat(30, 1, 1)
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            repeated = _run(operation, variant, many)
            for copy in (0, 11, 29):
                place = slice(copy * len(a), (copy + 1) * len(a))
                assert _same([result[place] for result in repeated], results), (
                    f"{where}: {threads} threads, copy {copy}"
                )
    finally:
        torch.set_num_threads(before)


def _check_layouts(where, operation, variant, a, results):
    for name, layout in cases.LAYOUTS.items():
        assert _same(_run(operation, variant, layout(a)), results), f"{where}: {name}"
    if a.shape[1] == a.shape[2]:
        mirrored = _run(operation, variant, a.mT.contiguous().mT)
        assert _same(mirrored, results), f"{where}: transposed view"
    expanded = _run(operation, variant, a[4:5].expand(len(a), -1, -1))
    for position in (0, 5, len(a) - 1):
        assert _same(
            [result[position] for result in expanded], [result[4] for result in results]
        ), f"{where}: expanded"
    twice = torch.stack([a, a.flip(0)], 1)
    split = _run(operation, variant, twice)
    assert _same([result[:, 0] for result in split], results), f"{where}: two batch dimensions"


def _check_neighbours(where, operation, variant, a, results):
    bad = torch.arange(len(a)) % 3 == 1
    for value in (float("nan"), float("inf"), -float("inf")):
        spoiled = a.clone()
        spoiled[bad, -1, 0] = value
        if operation in cases.SQUARE_ONLY:
            spoiled[bad, 0, -1] = value
        other = _run(operation, variant, spoiled)
        assert _same([result[~bad] for result in other], [result[~bad] for result in results]), (
            f"{where}: beside {value}"
        )
        assert torch.equal(other[-1][bad], torch.full_like(other[-1][bad], 2**31 - 1)), (
            f"{where}: info"
        )


CHECKS = {
    "repeats": _check_repeats,
    "alone": _check_alone,
    "positions": _check_positions,
    "threads": _check_threads,
    "layouts": _check_layouts,
    "neighbours": _check_neighbours,
}


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("algorithm", LANES)
def test_lanes(algorithm, check, dtype):
    _for_each(algorithm, dtype, CHECKS[check])


@pytest.mark.parametrize("algorithm", LANES)
def test_lanes_do_not_heed_the_routing_mode(algorithm, dtype):
    import lanepack

    def check(where, operation, variant, a, results):
        with lanepack.invariant():
            assert _same(_run(operation, variant, a), results), where
            _check_alone(where, operation, variant, a, results)

    _for_each(algorithm, dtype, check)


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("algorithm", [name for name in LAPACK if name.endswith("serial")])
def test_lapack_invariant(algorithm, check, dtype):
    import lanepack

    with lanepack.invariant():
        _for_each(algorithm, dtype, CHECKS[check], ((3, 3), (13, 13), (40, 40), (9, 5), (40, 60)))


@pytest.mark.parametrize("algorithm", LAPACK)
def test_lapack_repeats(algorithm, dtype):
    _for_each(algorithm, dtype, _check_repeats, ((3, 3), (40, 40), (40, 60)))


@pytest.mark.parametrize("operation", VARIANTS)
@pytest.mark.parametrize("n", [3, 33, 200, 300])
def test_routed_invariant(operation, n, dtype):
    """Without force: the router may not look at the batch or the threads under `invariant`."""
    import lanepack

    variant = VARIANTS[operation][0]
    a = _input(operation, n, n, dtype, 4 if n > 100 else BATCH)
    before = torch.get_num_threads()
    with lanepack.invariant():
        results = _run(operation, variant, a)
        try:
            for threads in (1, 2):
                torch.set_num_threads(threads)
                assert _same(_run(operation, variant, a), results)
                for position in (0, len(a) - 1):
                    alone = _run(operation, variant, a[position])
                    assert _same(alone, [result[position] for result in results])
                    strided = cases.LAYOUTS["padded"](a)[position]
                    assert _same(_run(operation, variant, strided), alone)
        finally:
            torch.set_num_threads(before)


def _reals(x):
    return torch.view_as_real(x) if x.is_complex() else x


def _scaled_inputs(operation, m, n, dtype):
    """Matrices without entries so small that scaling would round them."""
    rng = np.random.default_rng(m + n)

    def make(name):
        if operation in cases.SQUARE_ONLY:
            return families.hermitian(name, rng, 20, n, dtype)
        return families.general(name, rng, 20, m, n, dtype)

    return torch.cat([make(name) for name in ("normal", "even", "repeated", "rank_half", "zero")])


@pytest.mark.parametrize("algorithm", LANES)
def test_scaling_by_a_power_of_two(algorithm, dtype):
    """2^k A has the factors of A with 2^k in R, the eigenvalues or the singular values."""
    scaled_output = {"qr": -1, "eigh": 0, "eigvalsh": 0, "svd": 1, "svdvals": 0}
    limit = 1000 if dtype in (cases.F64, cases.C128) else 100

    def check(where, operation, variant, a, _):
        a = _scaled_inputs(operation, *a.shape[1:], dtype)
        factors, info = implementations.run_lanepack(operation, variant, a)
        for exponent in (1, -1, 13, -40, limit, -limit + 40):
            scale = 2.0**exponent
            others, other_info = implementations.run_lanepack(operation, variant, a * scale)
            others = list(others)
            index = scaled_output[operation]
            smallest = torch.finfo(dtype).tiny * max(1.0, 1 / scale)
            expected, unscaled = _reals(factors[index]), _reals(others[index] / scale)
            keep = expected.abs() >= smallest  # those that scaling does not round
            assert torch.equal(unscaled[keep], expected[keep]), f"{where}: 2^{exponent}"
            others[index] = factors[index]
            assert _same(others, factors), f"{where}: 2^{exponent}"
            assert torch.equal(info, other_info)

    _for_each(algorithm, dtype, check, ((1, 1), (3, 3), (8, 8), (13, 13), (9, 5), (5, 9)))


@pytest.mark.parametrize("algorithm", [name for name in LANES if name.startswith("qr.")])
def test_r_alone_is_the_r_of_reduced(algorithm, dtype):
    def check(where, operation, variant, a, results):
        if variant == "r":
            assert _same(results[:1], _run(operation, "reduced", a)[1:2]), where

    _for_each(algorithm, dtype, check)


# ---- instruction sets: one process each ----

_TARGET_PROGRAM = """
import json, sys
from conformance import test_bits
import torch
torch.set_num_threads(1)
print(json.dumps(test_bits.fingerprints()))
"""


def fingerprints():
    """Per problem of every lane algorithm a digest of its results' bits, and the target."""
    import lanepack
    from lanepack import _native

    found = {"target": _native.cpu_target(), "package": str(lanepack.__file__)}
    for algorithm in LANES:
        for dtype in cases.DTYPES:
            with implementations.environment(LANEPACK_FORCE=algorithm):
                try:
                    problems = list(_served(algorithm, dtype, (*SHAPES, (64, 64))))
                except pytest.skip.Exception:
                    continue
                for operation, variant, a in problems:
                    for batch in (1, 3, len(a)):  # every width
                        digest = hashlib.sha256()
                        for result in _run(operation, variant, a[:batch]):
                            real = torch.view_as_real(result) if result.is_complex() else result
                            digest.update(real.contiguous().numpy().tobytes())
                        shape = (batch, *a.shape[1:])
                        key = f"{algorithm} {operation} {variant} {shape} {dtype}"
                        found[key] = digest.hexdigest()
    return found


def _on_target(target):
    import lanepack

    tests = pathlib.Path(__file__).resolve().parents[1]
    package = pathlib.Path(lanepack.__file__).resolve().parents[1]
    paths = [str(tests), str(package), os.environ.get("PYTHONPATH", "")]
    environment = dict(os.environ, LANEPACK_CPU=target, PYTHONPATH=os.pathsep.join(paths))
    environment.pop("LANEPACK_FORCE", None)
    done = subprocess.run(
        [sys.executable, "-c", _TARGET_PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_same_bits_on_avx2_and_avx512():
    flags = pathlib.Path("/proc/cpuinfo")
    if not flags.exists() or "avx512dq" not in flags.read_text():
        pytest.skip("this CPU lacks AVX-512")
    narrow, wide = _on_target("avx2"), _on_target("avx512")
    assert (narrow.pop("target"), wide.pop("target")) == ("avx2", "avx512")
    assert narrow.keys() == wide.keys()
    assert len(wide) > 100
    differ = [key for key in wide if narrow[key] != wide[key]]
    assert not differ, f"{len(differ)} of {len(wide)} differ: {differ[:20]}"
