# SPDX-License-Identifier: Apache-2.0
"""PyTorch's OpInfo samples: our functions in place of torch's, and torch's under install()."""

import lanepack
import pytest
import torch
from opinfo import OLDER, OPS, OURS, samples
from properties import DTYPES, eps, from_half, wide

SLOW = pytest.mark.slow
# "reference" has the same inputs as "sample" where an OpInfo names no others of its own.
KINDS = [
    pytest.param(kind, dtype, id=f"{kind}-{dtype}", marks=[SLOW] if kind == "reference" else [])
    for kind in ("sample", "reference", "conjugate")
    for dtype in DTYPES
    if kind != "conjugate" or dtype.is_complex
]


def tensors(results):
    return (results,) if isinstance(results, torch.Tensor) else tuple(results)


def close(x, y, scale):
    x, y = wide(x.detach()), wide(y.detach())
    limit = 500 * scale * max(1.0, float(y.abs().max()) if y.numel() else 0.0)
    return x.shape == y.shape and bool(((x - y).abs() <= limit).all())


def product(name, sample, results):
    """What the factors give back; None where results are compared as they are."""
    A, kwargs = wide(sample.input), sample.kwargs
    parts = [wide(x) if x.is_floating_point() or x.is_complex() else x for x in results]
    k = min(A.shape[-2:])
    if name in ("linalg.qr", "qr"):
        Q, R = parts
        if Q.dim() == 1:  # mode "r"
            return R.mH @ R, A.mH @ A
        return Q @ R, A
    if name == "linalg.eigh":
        L, V = parts
        half = from_half(A, kwargs.get("UPLO", "L").upper())
        return V * L.unsqueeze(-2) @ V.mH, half
    if name in ("linalg.svd", "svd"):
        U, S, V = parts
        if V.numel() == 0 and A.numel() != 0:  # compute_uv=False
            return None
        Vh = V.mH if name == "svd" else V
        return U[..., :k] * S.unsqueeze(-2) @ Vh[..., :k, :], A
    return None


def compare(name, sample, ours, theirs, dtype):
    ours, theirs = tensors(ours), tensors(theirs)
    assert len(ours) == len(theirs)
    for x, y in zip(ours, theirs, strict=True):
        assert x.dtype == y.dtype
        assert x.shape == y.shape
        assert x.stride() == y.stride()
    unit = eps(dtype)
    pair = product(name, sample, ours)
    if pair is None:
        for x, y in zip(ours, theirs, strict=True):
            assert torch.equal(x, y) if x.dtype is torch.int32 else close(x, y, unit)
        return
    assert close(*pair, unit)
    values = {"linalg.eigh": 0, "linalg.svd": 1, "svd": 1}.get(name)
    if values is not None:
        assert close(ours[values], theirs[values], unit)


def arguments(sample):
    return (sample.input, *sample.args), sample.kwargs


@pytest.mark.filterwarnings("ignore:torch\\..* is deprecated")
@pytest.mark.parametrize(("kind", "dtype"), KINDS)
@pytest.mark.parametrize("name", OURS)
def test_our_functions(name, kind, dtype):
    count = 0
    for sample in samples(name, dtype, kind):
        args, kwargs = arguments(sample)
        compare(name, sample, OURS[name](*args, **kwargs), OPS[name](*args, **kwargs), dtype)
        count += 1
    assert count >= 8


@pytest.mark.filterwarnings("ignore:torch\\..* is deprecated")
@pytest.mark.parametrize(("kind", "dtype"), KINDS)
@pytest.mark.parametrize("name", [*OURS, *OLDER])
def test_installed(name, kind, dtype):
    for sample in samples(name, dtype, kind):
        args, kwargs = arguments(sample)
        theirs = OPS[name](*args, **kwargs)
        lanepack.install()
        try:
            ours = OPS[name](*args, **kwargs)
        finally:
            lanepack.uninstall()
        compare(name, sample, ours, theirs, dtype)
