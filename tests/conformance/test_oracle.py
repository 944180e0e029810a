# SPDX-License-Identifier: Apache-2.0
"""The oracle itself: values known by hand, and wrong results that it must report."""

import math

import numpy as np
import pytest
import torch

from . import cases, families, oracle


def _one(rows, dtype):
    return torch.tensor([rows], dtype=dtype)


def _random(m, n, dtype, batch=3):
    return families.general("normal", np.random.default_rng(7), batch, m, n, dtype)


def _hermitian(n, dtype, batch=3):
    return families.hermitian("normal", np.random.default_rng(8), batch, n, dtype)


@pytest.fixture(params=cases.DTYPES, ids=lambda dtype: str(dtype).removeprefix("torch."))
def dtype(request):
    return request.param


def _unit(dtype):
    return oracle.UNIT_ROUNDOFF[oracle.REAL[dtype]]


def test_exact_qr_has_no_error(dtype):
    # A Householder step on (3, 4): R's diagonal is -5.
    a = _one([[3, 0], [4, 5]], dtype)
    q = _one([[-0.75, -0.5], [-0.5, 0.75]], dtype)
    measured = oracle.measure_qr(a, q, _one([[-4, 1], [0, 2]], dtype))
    # Q R = [[3, -1.75], [2, 1]] and norm(A) = 7: the columns of the difference sum to 2 and 5.75.
    assert measured["residual"][0] == pytest.approx(5.75 / 7 / math.sqrt(2) / _unit(dtype))
    # Q^H Q - I = [[-0.1875, 0], [0, -0.1875]].
    assert measured["orthogonality"][0] == pytest.approx(0.1875 / math.sqrt(2) / _unit(dtype))
    swap = oracle.measure_qr(
        _one([[0, 2], [1, 3]], dtype), _one([[0, 1], [1, 0]], dtype), _one([[1, 3], [0, 2]], dtype)
    )
    assert swap["residual"][0] == 0
    assert swap["orthogonality"][0] == 0


def test_qr_faults_are_counted(dtype):
    a = _random(5, 3, dtype)
    q, r = torch.linalg.qr(a)
    measured = oracle.measure_qr(a, q, r)
    for name in cases.EXACT[1:]:
        assert (measured[name] == 0).all(), name
    assert (measured["residual"] < 20).all()
    assert (measured["orthogonality"] < 30).all()
    below = r.clone()
    below[1, 2, 0] = torch.finfo(dtype).tiny
    assert oracle.measure_qr(a, q, below)["below_diagonal"].tolist() == [0, 1, 0]
    flipped_q, flipped_r = q.clone(), r.clone()
    flipped_q[2, :, 1] *= -1
    flipped_r[2, 1, :] *= -1
    flipped = oracle.measure_qr(a, flipped_q, flipped_r)
    assert flipped["residual"].tolist() == measured["residual"].tolist()
    assert flipped["signs"].tolist() == [0, 0, 1]
    if dtype.is_complex:
        turned_q, turned_r = q.clone(), r.clone()
        turned_q[0, :, 0] *= 1j
        turned_r[0, 0, :] *= -1j
        assert oracle.measure_qr(a, turned_q, turned_r)["complex_diagonal"].tolist() == [1, 0, 0]


def test_signs_of_steps_that_do_nothing(dtype):
    """LAPACK leaves a column alone whose rest is zero: an upper triangle gives Q = I."""
    a = _one([[2, 1], [0, -3]], dtype)
    eye = _one([[1, 0], [0, 1]], dtype)
    assert oracle.measure_qr(a, eye, a)["signs"][0] == 0
    # A real matrix's last row is left alone whatever stands in it; a column before it is not.
    a = _one([[0, 1], [1, 0]], dtype)
    assert (
        oracle.measure_qr(a, _one([[0, 1], [-1, 0]], dtype), _one([[-1, 0], [0, 1]], dtype))[
            "signs"
        ][0]
        == 0
    )
    if dtype.is_complex:
        a = _one([[2j]], dtype)
        assert oracle.measure_qr(a, _one([[1j]], dtype), _one([[2]], dtype))["signs"][0] == 0
        a = _one([[2 + 1j]], dtype)
        up = math.sqrt(5)
        measured = oracle.measure_qr(a, a / up, _one([[up]], dtype))
        assert measured["signs"][0] == 1
        assert oracle.measure_qr(a, -a / up, _one([[-up]], dtype))["signs"][0] == 0


@pytest.mark.parametrize(("m", "n"), [(6, 6), (9, 4), (4, 9), (40, 3), (1, 5), (5, 1)])
def test_signs_agree_with_lapack_and_with_no_other(m, n, dtype):
    a = _random(m, n, dtype, 50)
    q, r = torch.linalg.qr(a)
    assert (oracle.measure_qr(a, q, r)["signs"] == 0).all()
    steps = min(m, n) - (0 if dtype.is_complex or m > n else 1)
    for j in range(steps):
        flipped_q, flipped_r = q.clone(), r.clone()
        flipped_q[:, :, j] *= -1
        flipped_r[:, j, :] *= -1
        counted = oracle.measure_qr(a, flipped_q, flipped_r)["signs"]
        assert (counted >= 1).all(), f"column {j}: {counted}"


def test_gram_of_r_alone(dtype):
    a = _random(7, 4, dtype)
    r = torch.linalg.qr(a, mode="r").R
    measured = oracle.measure_r(a, r)
    assert (measured["gram"] < 70).all()
    off = r.clone()
    off[1, 0, 0] *= 1 + 1000 * _unit(dtype)
    assert oracle.measure_r(a, off)["gram"][1] > 70


@pytest.mark.parametrize("part", ["L", "U"])
def test_eigh(part, dtype):
    a = _hermitian(6, dtype)
    unread = torch.ones(6, 6, dtype=torch.bool)
    unread = unread.triu(1) if part == "L" else unread.tril(-1)
    which = oracle.LOWER if part == "L" else oracle.UPPER
    w, v = torch.linalg.eigh(a)
    poisoned = a.masked_fill(unread, math.nan)
    measured = oracle.measure_eigh(poisoned, w, v, which)
    assert (measured["residual"] < 20).all()
    assert (measured["orthogonality"] < 30).all()
    assert (measured["order"] == 0).all()
    off = v.clone()
    off[1, 2, 3] += 1000 * _unit(dtype)
    worse = oracle.measure_eigh(poisoned, w, off, which)
    assert worse["residual"][1] > 20
    assert worse["orthogonality"][1] > 30
    assert worse["residual"][0] == measured["residual"][0]
    order = [1, 0, 2, 3, 4, 5]
    swapped = oracle.measure_eigh(poisoned, w[:, order], v[:, :, order], which)
    assert (swapped["order"] == 1).all()
    assert swapped["residual"] == pytest.approx(measured["residual"], rel=1e-3)


def test_svd(dtype):
    a = _random(7, 4, dtype)
    u, s, vh = torch.linalg.svd(a, full_matrices=False)
    measured = oracle.measure_svd(a, u, s, vh)
    assert (measured["residual"] < 20).all()
    assert (measured["orthogonality_u"] < 30).all()
    assert (measured["orthogonality_v"] < 30).all()
    assert (measured["order"] == 0).all()
    full_u, _, full_vh = torch.linalg.svd(a)
    assert (oracle.measure_svd(a, full_u, s, full_vh)["orthogonality_u"] < 30).all()
    full_u[2, 3, 6] += 1000 * _unit(dtype)  # a column that the residual does not see
    worse = oracle.measure_svd(a, full_u, s, full_vh)
    assert worse["residual"][2] < 20
    assert worse["orthogonality_u"][2] > 30
    off = vh.clone()
    off[0, 1, 2] += 1000 * _unit(dtype)
    worse = oracle.measure_svd(a, u, s, off)
    assert worse["orthogonality_v"][0] > 30
    assert worse["orthogonality_u"][0] < 30
    negative_u, negative_s = u.clone(), s.clone()
    negative_u[1, :, 3] *= -1
    negative_s[1, 3] *= -1
    worse = oracle.measure_svd(a, negative_u, negative_s, vh)
    assert worse["order"].tolist() == [0, 1, 0]
    assert worse["residual"].tolist() == measured["residual"].tolist()


def test_results_that_are_not_finite_are_infinitely_wrong(dtype):
    a = _random(4, 4, dtype)
    q, r = torch.linalg.qr(a)
    q[1, 0, 0] = math.nan
    measured = oracle.measure_qr(a, q, r)
    assert measured["residual"][1] == math.inf
    assert measured["orthogonality"][1] == math.inf
    assert measured["residual"][0] < 20
    s = torch.full((3, 4), math.nan, dtype=oracle.REAL[dtype])
    values = oracle.measure_values(a, s, oracle.singular_values(a))
    assert (values["error"] == math.inf).all()
    assert (values["relative"] == math.inf).all()
    assert (values["order"] == 4).all()


def test_zero_and_subnormal_matrices(dtype):
    zero = torch.zeros(1, 3, 3, dtype=dtype)
    eye = torch.eye(3, dtype=dtype)[None]
    assert oracle.measure_qr(zero, eye, zero)["residual"][0] == 0
    smallest = oracle.SUBNORMAL[oracle.REAL[dtype]]
    off = zero.clone()
    off[0, 0, 0] = smallest
    assert oracle.measure_qr(zero, eye, off)["residual"][0] == math.inf
    # Of a matrix that is not zero, n subnormals are always allowed, one more is not.
    a, r = zero.clone(), zero.clone()
    a[0, 0, 0], r[0, 0, 0] = 10 * smallest, 13 * smallest
    assert oracle.measure_qr(a, eye, r)["residual"][0] == 0
    r[0, 0, 0] = 14 * smallest
    assert oracle.measure_qr(a, eye, r)["residual"][0] > 1e3


@pytest.mark.parametrize("n", [1, 2, 5, 17])
def test_reference_spectra_known_in_closed_form(n, dtype):
    k = torch.arange(1, n + 1, dtype=torch.float64)
    a = torch.from_numpy(families._one_two_one(n)).to(dtype)[None]
    expected = (2 - 2 * torch.cos(k * math.pi / (n + 1))).numpy()
    assert oracle.eigenvalues(a)[0].astype(float) == pytest.approx(expected, rel=1e-13)
    assert oracle.singular_values(a)[0].astype(float) == pytest.approx(expected[::-1], rel=1e-13)


def test_reference_spectra_of_complex_matrices():
    # 1 on the diagonal, +-i beside it: 1 + 2 cos(k pi / 7).
    beside = torch.diag(torch.full((5,), 1j, dtype=torch.complex128), 1)
    a = (torch.eye(6, dtype=torch.complex128) + beside + beside.mH)[None]
    k = np.arange(6, 0, -1)
    expected = 1 + 2 * np.cos(k * math.pi / 7)
    for part in (oracle.LOWER, oracle.UPPER):
        assert oracle.eigenvalues(a, part)[0].astype(float) == pytest.approx(expected, abs=1e-14)
    expected = np.sort(np.abs(expected))[::-1]
    assert oracle.singular_values(a)[0].astype(float) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize(("m", "n"), [(9, 9), (20, 6), (6, 20)])
def test_reference_spectra_against_lapack(m, n, dtype):
    """The wider arithmetic is seen: float32's references agree with LAPACK's of float64."""
    wide = torch.complex128 if dtype.is_complex else torch.float64
    a = _random(m, n, dtype)
    reference = oracle.singular_values(a).astype(float)
    assert reference == pytest.approx(torch.linalg.svdvals(a.to(wide)).numpy(), rel=1e-12)
    h = _hermitian(n, dtype)
    reference = oracle.eigenvalues(h).astype(float)
    assert reference == pytest.approx(torch.linalg.eigvalsh(h.to(wide)).numpy(), abs=1e-13)


def test_values_are_judged_against_their_reference(dtype):
    a = _random(5, 5, dtype)
    reference = oracle.singular_values(a)
    s = torch.from_numpy(reference.astype(float)).to(oracle.REAL[dtype])
    assert (oracle.measure_values(a, s, reference)["relative"] <= 1).all()
    off = s.clone()
    off[1, 4] *= 1 + 64 * _unit(dtype)
    measured = oracle.measure_values(a, off, reference)
    assert 60 < measured["relative"][1] < 68
    assert measured["error"][1] < 12
    off[2, 0] *= 1 + 1000 * _unit(dtype)
    assert oracle.measure_values(a, off, reference)["error"][2] > 12


def test_small_singular_values_of_graded_columns(dtype):
    """The reference keeps them to the last digits, where norm-wise methods lose them all."""
    rng = np.random.default_rng(9)
    a = families.graded_product(rng, 1, 6, 4, dtype)
    exact = oracle.singular_values(a)
    scale = 2.0**-20
    again = oracle.singular_values(a * scale) / scale
    assert again.astype(float) == pytest.approx(exact.astype(float), rel=1e-15)
    # The product of all is sqrt(det(A^H A)), in rational arithmetic through B and D alone.
    d = a.abs().amax(1)
    shape = torch.exp2(torch.floor(torch.log2(d)))
    b = a / shape[:, None, :]
    wide = torch.complex128 if dtype.is_complex else torch.float64
    determinant = torch.linalg.det(b.mH.to(wide) @ b.to(wide)).real.sqrt() * shape.double().prod(-1)
    assert float(np.prod(exact[0])) == pytest.approx(float(determinant[0]), rel=1e-12)


def test_strides_and_bad_arguments(dtype):
    a = _random(6, 4, dtype)
    q, r = torch.linalg.qr(a)
    plain = oracle.measure_qr(a, q, r)
    for layout in cases.LAYOUTS.values():
        other = oracle.measure_qr(layout(a), layout(q), layout(r))
        for name, values in plain.items():
            assert values.tolist() == other[name].tolist()
    with pytest.raises(RuntimeError, match="do not fit"):
        oracle.measure_qr(a, q, r[:, :3])
    with pytest.raises(RuntimeError, match="do not fit"):
        oracle.measure_eigh(a, q[:, 0], q)
    with pytest.raises(ValueError, match="conjugate"):
        oracle.measure_qr(a.conj() if dtype.is_complex else torch._neg_view(a), q, r)
