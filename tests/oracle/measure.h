// SPDX-License-Identifier: Apache-2.0
// What is measured of one matrix and its factors. D is the dtype's traits.
#ifndef LANEPACK_TESTS_ORACLE_MEASURE_H_
#define LANEPACK_TESTS_ORACLE_MEASURE_H_

#include <algorithm>

#include "jacobi.h"
#include "matrix.h"

namespace oracle {

// Matrices that one thread uses again and again.
template <class D>
struct Scratch {
  Matrix<typename D::Scalar> a, left, right, product, gram, turned;
  Matrix<typename D::Wide> values;
};

// `error` in units of sqrt(n) u norm_a, after the allowance of n subnormals.
template <class D>
double scaled_error(typename D::Wide error, typename D::Wide norm_a, int64_t n) {
  using W = typename D::Wide;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (!std::isfinite(error)) return kInfinity;
  if (norm_a == 0) return error == 0 ? 0.0 : kInfinity;
  const W excess = std::max(W{0}, error - static_cast<W>(n) * D::kSubnormal);
  return static_cast<double>(excess / norm_a / (std::sqrt(static_cast<W>(n)) * D::kUnitRoundoff));
}

// norm(I - Q^H Q) in units of sqrt(n) u; `turned` is Q^H.
template <class D>
double orthogonality(const Matrix<typename D::Scalar>& turned, const Matrix<typename D::Scalar>& q,
                     int64_t n, Matrix<typename D::Scalar>& gram) {
  using S = typename D::Scalar;
  multiply(turned, q, q.rows, gram);
  for (int64_t j = 0; j < gram.cols; ++j) gram(j, j) = gram(j, j) - S{1};
  return scaled_error<D>(norm1(gram), 1, n);
}

template <class S>
double count_below_diagonal(const Matrix<S>& r) {
  double count = 0;
  for (int64_t j = 0; j < r.cols; ++j) {
    for (int64_t i = j + 1; i < r.rows; ++i) count += !(magnitude(r(i, j)) == 0);
  }
  return count;
}

template <class S>
double count_complex_diagonal(const Matrix<S>& r) {
  double count = 0;
  for (int64_t j = 0; j < std::min(r.rows, r.cols); ++j) {
    count += !(imaginary_part(r(j, j)) == 0);
  }
  return count;
}

// y := (I - tau v v^H)^H y for rows `first` and below.
template <class S>
void reflect(const S* v, S tau, int64_t first, int64_t rows, S* y) {
  S dot{};
  for (int64_t i = first; i < rows; ++i) dot = dot + conjugate(v[i]) * y[i];
  const S factor = conjugate(tau) * dot;
  for (int64_t i = first; i < rows; ++i) y[i] = y[i] - factor * v[i];
}

// How many of R's diagonal elements break LAPACK's rule: step j of geqrf maps the pivot column x =
// (alpha, rest) to beta e_1 with a real beta whose sign is opposite to that of Re(alpha), except
// that it does nothing (beta = alpha) where rest is zero and alpha real, and, for real dtypes, at
// the last row. The reflectors follow from Q alone: step j has H e_1 = x / beta = column j of Q
// under the earlier ones, so that its head is alpha / beta, whatever rounding made of alpha, and
// the rule is Re(head) <= 0. A is followed along to know where rest is zero up to rounding; there
// both signs pass. Overwrites q and a.
template <class D>
double sign_violations(Matrix<typename D::Scalar>& q, Matrix<typename D::Scalar>& a,
                       typename D::Wide norm_a) {
  using S = typename D::Scalar;
  using W = typename D::Wide;
  const int64_t m = a.rows, steps = std::min(a.rows, a.cols);
  const W n = static_cast<W>(std::max(a.rows, a.cols));
  const W tolerance = 30 * n * D::kUnitRoundoff;
  const W negligible = tolerance * norm_a + n * D::kSubnormal;
  double violations = 0;
  for (int64_t j = 0; j < steps; ++j) {
    S* v = q.column(j);
    const S head = v[j];
    W rest = squared(imaginary_part(a(j, j)));
    for (int64_t i = j + 1; i < m; ++i) rest += squared(a(i, j));
    const bool may_be_identity = std::sqrt(rest) <= negligible || (!D::kComplex && j == m - 1);
    if (!(real_part(head) <= tolerance) && !may_be_identity) ++violations;
    const S shifted = head - S{1};
    if (!(magnitude(shifted) > 10 * tolerance)) continue;  // the identity
    v[j] = S{1};
    const S scale = inverse(shifted);
    for (int64_t i = j + 1; i < m; ++i) v[i] = scale * v[i];
    const S tau = S{} - shifted;
    for (int64_t l = j + 1; l < steps; ++l) reflect(v, tau, j, m, q.column(l));
    for (int64_t l = j + 1; l < a.cols; ++l) reflect(v, tau, j, m, a.column(l));
  }
  return violations;
}

template <class D>
void measure_qr(const oracle_batch& a, const oracle_batch& q, const oracle_batch& r, int64_t index,
                Scratch<D>& t, double* measures) {
  using Stored = typename D::Storage;
  const int64_t n = std::max(a.rows, a.cols);
  load<Stored>(a, index, t.a);
  load<Stored>(q, index, t.left);
  load<Stored>(r, index, t.right);
  const auto norm_a = norm1(t.a);
  multiply(t.left, t.right, t.left.cols, t.product);
  measures[0] = scaled_error<D>(norm1_difference(t.product, t.a), norm_a, n);
  adjoint(t.left, t.turned);
  measures[1] = orthogonality<D>(t.turned, t.left, n, t.gram);
  measures[2] = count_below_diagonal(t.right);
  measures[3] = count_complex_diagonal(t.right);
  measures[4] = sign_violations<D>(t.left, t.a, norm_a);
}

template <class D>
void measure_r(const oracle_batch& a, const oracle_batch& r, int64_t index, Scratch<D>& t,
               double* measures) {
  using Stored = typename D::Storage;
  load<Stored>(a, index, t.a);
  load<Stored>(r, index, t.right);
  adjoint(t.a, t.turned);
  const auto norm_product = norm1(t.a) * norm1(t.turned);
  multiply(t.turned, t.a, t.a.rows, t.gram);
  adjoint(t.right, t.turned);
  multiply(t.turned, t.right, t.right.rows, t.product);
  // An error of n subnormals in R is one of that times norm(A) here.
  using W = typename D::Wide;
  const int64_t n = std::max(a.rows, a.cols);
  const W allowance = 2 * static_cast<W>(n) * D::kSubnormal * (norm1(t.a) + norm1(t.right));
  W error = norm1_difference(t.product, t.gram);
  if (norm_product > 0) error = error - allowance < 0 ? W{0} : error - allowance;
  measures[0] = scaled_error<D>(error, norm_product, n);
  measures[1] = count_below_diagonal(t.right);
  measures[2] = count_complex_diagonal(t.right);
}

template <class W>
double count_not_ascending(const Matrix<W>& values) {
  double count = 0;
  for (int64_t i = 1; i < values.rows; ++i) count += !(values(i - 1, 0) <= values(i, 0));
  return count;
}

template <class W>
double count_not_descending(const Matrix<W>& values) {
  double count = 0;
  for (int64_t i = 0; i < values.rows; ++i) {
    count += !(values(i, 0) >= 0) || (i > 0 && !(values(i - 1, 0) >= values(i, 0)));
  }
  return count;
}

template <class D>
void measure_eigh(int part, const oracle_batch& a, const oracle_batch& w, const oracle_batch& v,
                  int64_t index, Scratch<D>& t, double* measures) {
  using Stored = typename D::Storage;
  load_part<Stored>(a, index, part, t.a);
  load<typename D::Real>(w, index, t.values);
  load<Stored>(v, index, t.left);
  multiply(t.a, t.left, t.a.cols, t.product);
  t.right = t.left;
  for (int64_t j = 0; j < t.right.cols; ++j) {
    for (int64_t i = 0; i < t.right.rows; ++i) t.right(i, j) = t.values(j, 0) * t.right(i, j);
  }
  measures[0] = scaled_error<D>(norm1_difference(t.product, t.right), norm1(t.a), a.rows);
  adjoint(t.left, t.turned);
  measures[1] = orthogonality<D>(t.turned, t.left, a.rows, t.gram);
  measures[2] = count_not_ascending(t.values);
}

template <class D>
void measure_svd(const oracle_batch& a, const oracle_batch& u, const oracle_batch& s,
                 const oracle_batch& vh, int64_t index, Scratch<D>& t, double* measures) {
  using Stored = typename D::Storage;
  const int64_t n = std::max(a.rows, a.cols), k = std::min(a.rows, a.cols);
  load<Stored>(a, index, t.a);
  load<Stored>(u, index, t.left);
  load<typename D::Real>(s, index, t.values);
  load<Stored>(vh, index, t.right);
  adjoint(t.left, t.turned);
  measures[1] = orthogonality<D>(t.turned, t.left, n, t.gram);
  adjoint(t.right, t.turned);
  measures[2] = orthogonality<D>(t.right, t.turned, n, t.gram);
  for (int64_t j = 0; j < k; ++j) {
    for (int64_t i = 0; i < t.left.rows; ++i) t.left(i, j) = t.values(j, 0) * t.left(i, j);
  }
  multiply(t.left, t.right, k, t.product);
  measures[0] = scaled_error<D>(norm1_difference(t.product, t.a), norm1(t.a), n);
  measures[3] = count_not_descending(t.values);
}

template <class D>
void measure_values(int part, const oracle_batch& a, const oracle_batch& values,
                    const typename D::Wide* reference, int64_t index, Scratch<D>& t,
                    double* measures) {
  using W = typename D::Wide;
  const int64_t n = std::max(a.rows, a.cols);
  load_part<typename D::Storage>(a, index, part, t.a);
  load<typename D::Real>(values, index, t.values);
  const W* expected = reference + index * values.rows;
  W largest = 0;
  double relative = 0;
  for (int64_t i = 0; i < values.rows; ++i) {
    const W error = std::fabs(t.values(i, 0) - expected[i]);
    if (!(error <= largest)) largest = error;
    if (std::isnan(error)) break;
    const double own = scaled_error<D>(error, std::fabs(expected[i]), n);
    relative = std::max(relative, own * std::sqrt(static_cast<double>(n)));
  }
  measures[0] = scaled_error<D>(largest, norm1(t.a), n);
  measures[1] = std::isnan(largest) ? std::numeric_limits<double>::infinity() : relative;
  measures[2] =
      part == ORACLE_GENERAL ? count_not_descending(t.values) : count_not_ascending(t.values);
}

}  // namespace oracle

#endif  // LANEPACK_TESTS_ORACLE_MEASURE_H_
