# SPDX-License-Identifier: Apache-2.0
"""out=: torch's rules."""

import warnings

import lanepack
import pytest
import torch
from properties import column_major, hermitian, randn

CASES = {
    "qr": (("Q", "R"), ((5, 3), (3, 3)), ()),
    "eigh": (("eigenvalues", "eigenvectors"), ((4,), (4, 4)), (0,)),
    "eigvalsh": (("eigenvalues",), ((4,),), (0,)),
    "svd": (("U", "S", "Vh"), ((5, 3), (3,), (3, 3)), (1,)),
    "svdvals": (("S",), ((3,),), (0,)),
}


def matrix(name, dtype):
    if name.startswith("eig"):
        return hermitian(2, 4, 4, seed=30, dtype=dtype)
    return randn(2, 5, 3, seed=30, dtype=dtype)


def packed(outs):
    return outs[0] if len(outs) == 1 else tuple(outs)


def outputs(name, dtype, make):
    _, shapes, real = CASES[name]
    result = []
    for i, shape in enumerate(shapes):
        own = torch.empty(0, dtype=dtype).real.dtype if i in real else dtype
        result.append(make((2, *shape), own))
    return result


def as_tuple(result):
    return (result,) if isinstance(result, torch.Tensor) else tuple(result)


LAYOUTS = {
    "contiguous": lambda shape, dtype: torch.zeros(shape, dtype=dtype),
    "transposed": lambda shape, dtype: torch.zeros(shape[::-1], dtype=dtype).permute(
        *range(len(shape))[::-1]
    ),
    "every other": lambda shape, dtype: torch.zeros(*shape[:-1], 2 * shape[-1], dtype=dtype)[
        ..., ::2
    ],
    "negative": lambda shape, dtype: torch.zeros(shape, dtype=dtype)._neg_view(),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.complex128])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_right_shapes_are_written_in_place(name, dtype, layout):
    function = getattr(lanepack, name)
    A = matrix(name, dtype)
    outs = outputs(name, dtype, LAYOUTS[layout])
    strides = [out.stride() for out in outs]
    addresses = [out.data_ptr() for out in outs]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = function(A, out=packed(outs))
    for got, out, expected in zip(as_tuple(result), outs, as_tuple(function(A)), strict=True):
        assert got is out
        assert torch.equal(out, expected)
    assert [out.stride() for out in outs] == strides
    assert [out.data_ptr() for out in outs] == addresses


@pytest.mark.parametrize("name", CASES)
def test_empty_outs_are_resized_silently(name):
    function = getattr(lanepack, name)
    A = matrix(name, torch.float64)
    outs = outputs(name, torch.float64, lambda shape, dtype: torch.empty(0, dtype=dtype))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function(A, out=packed(outs))
    for out, expected in zip(outs, as_tuple(function(A)), strict=True):
        assert torch.equal(out, expected)
        assert out.stride() == expected.stride()


@pytest.mark.parametrize("name", CASES)
def test_other_shapes_are_resized_with_a_warning(name):
    function = getattr(lanepack, name)
    A = matrix(name, torch.float64)
    outs = outputs(name, torch.float64, lambda shape, dtype: torch.zeros(7, dtype=dtype))
    with pytest.warns(UserWarning, match=r"resized since it had shape \[7\]"):
        function(A, out=packed(outs))
    for out, expected in zip(outs, as_tuple(function(A)), strict=True):
        assert torch.equal(out, expected)
        if out.dim() > 2:
            assert out.stride() == column_major(out.shape)


@pytest.mark.parametrize("name", CASES)
def test_wrong_dtype(name):
    A = matrix(name, torch.float64)
    outs = outputs(name, torch.float64, lambda shape, dtype: torch.zeros(shape))
    before = [out.clone() for out in outs]
    with pytest.raises(RuntimeError, match=rf"lanepack\.{name}: Expected out tensor to have dtype"):
        getattr(lanepack, name)(A, out=packed(outs))
    assert all(torch.equal(out, old) for out, old in zip(outs, before, strict=True))


@pytest.mark.parametrize("name", CASES)
def test_a_wanted_gradient_is_refused(name):
    A = matrix(name, torch.float64).requires_grad_()
    outs = outputs(name, torch.float64, lambda shape, dtype: torch.zeros(shape, dtype=dtype))
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        getattr(lanepack, name)(A, out=packed(outs))
    with torch.no_grad():
        getattr(lanepack, name)(A, out=packed(outs))


def test_what_is_no_tensor():
    with pytest.raises(TypeError, match=r"lanepack\.qr: out .* tuple of 2 tensors \(Q, R\)"):
        lanepack.qr(torch.eye(2), out=(torch.empty(0),))
    with pytest.raises(TypeError, match=r"lanepack\.svdvals: out .* a tensor \(S\)"):
        lanepack.svdvals(torch.eye(2), out=[1])
    with pytest.raises(TypeError, match=r"lanepack\.svdvals: out .* a tensor \(S\)"):
        lanepack.svdvals(torch.eye(2), out=1)


def test_out_may_be_the_input():
    A = hermitian(3, 5, 5, seed=31)
    L, V = lanepack.eigh(A)
    values = torch.empty(0, dtype=A.dtype)
    lanepack.eigh(A, out=(values, A))
    assert torch.equal(values, L)
    assert torch.equal(A, V)


def test_mode_r_empties_q():
    A = randn(4, 3, seed=32)
    Q, R = torch.empty(0, dtype=A.dtype), torch.empty(0, dtype=A.dtype)
    lanepack.qr(A, "r", out=(Q, R))
    assert Q.shape == (0,)
    assert torch.equal(R, lanepack.qr(A).R)
