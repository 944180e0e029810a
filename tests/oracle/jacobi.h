// SPDX-License-Identifier: Apache-2.0
// Reference spectra by Jacobi's method (Golub and Van Loan, Matrix Computations, 8.5 and 8.6), in
// the oracle's wider arithmetic: slow, short, and with an error far below what is to be judged.
#ifndef LANEPACK_TESTS_ORACLE_JACOBI_H_
#define LANEPACK_TESTS_ORACLE_JACOBI_H_

#include <algorithm>
#include <functional>

#include "matrix.h"

namespace oracle {

constexpr int kMaxSweeps = 60;

// The rotation that makes [[p, g], [conj(g), q]] diagonal, g = size * exp(i phi): new columns are
// c x - s d y and s x + c d y, d = exp(-i phi).
template <class S, class W>
struct Rotation {
  W c, s, tangent;
  S d;

  Rotation(W p, W q, S g, W size) {
    const W tau = (q - p) / (2 * size);
    tangent = (tau >= 0 ? W{1} : W{-1}) / (std::fabs(tau) + std::sqrt(1 + tau * tau));
    c = 1 / std::sqrt(1 + tangent * tangent);
    s = tangent * c;
    d = (1 / size) * conjugate(g);
  }
  void apply(S& x, S& y) const {
    const S turned = d * y;
    const S first = c * x - s * turned;
    y = s * x + c * turned;
    x = first;
  }
};

// Two-sided, cyclic. Overwrites `a`, all of it Hermitian. False: no convergence.
template <class S, class W>
bool jacobi_eigenvalues(Matrix<S>& a, W* values) {
  const int64_t n = a.rows;
  W sum = 0;
  for (const S& x : a.elements) sum += squared(x);
  const W small = std::numeric_limits<W>::epsilon() * std::sqrt(sum);
  bool rotated = std::isfinite(sum);
  const bool finite = rotated;
  for (int sweep = 0; rotated && sweep < kMaxSweeps; ++sweep) {
    rotated = false;
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        const W size = magnitude(a(p, q));
        if (!(size > small)) continue;
        rotated = true;
        const W ap = real_part(a(p, p)), aq = real_part(a(q, q));
        const Rotation<S, W> rotation(ap, aq, a(p, q), size);
        for (int64_t i = 0; i < n; ++i) {
          if (i == p || i == q) continue;
          rotation.apply(a(i, p), a(i, q));
          a(p, i) = conjugate(a(i, p));
          a(q, i) = conjugate(a(i, q));
        }
        a(p, p) = S{ap - rotation.tangent * size};
        a(q, q) = S{aq + rotation.tangent * size};
        a(p, q) = a(q, p) = S{};
      }
    }
  }
  for (int64_t i = 0; i < n; ++i) values[i] = real_part(a(i, i));
  std::sort(values, values + n);
  return finite && !rotated;
}

// One-sided (Hestenes), cyclic, on the columns of `a` with rows >= columns; `a` is overwritten. The
// test is relative to the two columns, so that graded columns keep their small values; it stays
// above the rounding of a product of two columns, or columns that are nothing but rounding would be
// rotated for ever. For the same reason columns below eps^2 of the largest are left as they are.
template <class S, class W>
bool jacobi_singular_values(Matrix<S>& a, W* values) {
  const int64_t m = a.rows, n = a.cols;
  const W small = 4 * std::sqrt(static_cast<W>(m)) * std::numeric_limits<W>::epsilon();
  W largest = 0;
  for (int64_t j = 0; j < n; ++j) {
    W sum = 0;
    for (int64_t i = 0; i < m; ++i) sum += squared(a(i, j));
    largest = std::max(largest, std::sqrt(sum));
  }
  const W floor = std::numeric_limits<W>::epsilon() * std::numeric_limits<W>::epsilon() * largest;
  bool rotated = true;
  for (int sweep = 0; rotated && sweep < kMaxSweeps; ++sweep) {
    rotated = false;
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        S* x = a.column(p);
        S* y = a.column(q);
        W xx = 0, yy = 0;
        S xy{};
        for (int64_t i = 0; i < m; ++i) {
          xx += squared(x[i]);
          yy += squared(y[i]);
          xy = xy + conjugate(x[i]) * y[i];
        }
        const W size = magnitude(xy), length_x = std::sqrt(xx), length_y = std::sqrt(yy);
        if (!(size > small * length_x * length_y)) continue;
        if (std::min(length_x, length_y) <= floor) continue;
        rotated = true;
        const Rotation<S, W> rotation(xx, yy, xy, size);
        for (int64_t i = 0; i < m; ++i) rotation.apply(x[i], y[i]);
      }
    }
  }
  bool finite = true;
  for (int64_t j = 0; j < n; ++j) {
    W sum = 0;
    for (int64_t i = 0; i < m; ++i) sum += squared(a(i, j));
    values[j] = std::sqrt(sum);
    finite = finite && std::isfinite(sum);
  }
  std::sort(values, values + n, std::greater<W>());
  return finite && !rotated;
}

}  // namespace oracle

#endif  // LANEPACK_TESTS_ORACLE_JACOBI_H_
