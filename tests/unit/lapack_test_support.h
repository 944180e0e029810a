// SPDX-License-Identifier: Apache-2.0
// Matrices, strided batches, measures in long double and checks for the tests of LAPACK and lanes.
#ifndef LANEPACK_TESTS_UNIT_LAPACK_TEST_SUPPORT_H_
#define LANEPACK_TESTS_UNIT_LAPACK_TEST_SUPPORT_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "core/types.h"
#include "operations/problem.h"

namespace lanepack::test {

// In units of sqrt(n) u, 1-norm.
constexpr double kResidualBound = 20;
constexpr double kOrthogonalityBound = 30;

template <class S>
constexpr Dtype dtype_of() {
  if constexpr (std::is_same_v<S, float>) return Dtype::kF32;
  if constexpr (std::is_same_v<S, double>) return Dtype::kF64;
  if constexpr (std::is_same_v<S, std::complex<float>>) return Dtype::kC64;
  return Dtype::kC128;
}

template <class S>
constexpr bool kIsComplex = !std::is_same_v<S, real_t<S>>;

template <class S>
S scalar(real_t<S> re, real_t<S> im) {
  if constexpr (kIsComplex<S>) return S(re, im);
  return re;
}

template <class S>
S conj_of(S x) {
  if constexpr (kIsComplex<S>) return std::conj(x);
  return x;
}

// How the elements of a batch lie in memory.
enum class Order { kColumn, kRow, kPadded, kReversed };

// Memory of a batch and its view. Elements that the view does not reach hold a value of their own.
template <class S>
class Batch {
 public:
  Batch(int64_t batch, int64_t rows, int64_t cols, Order order = Order::kColumn) {
    view_.rows = rows;
    view_.cols = cols;
    view_.batch = batch;
    int64_t offset = 0;
    switch (order) {
      case Order::kColumn:
        set_strides(1, rows, rows * cols);
        break;
      case Order::kRow:
        set_strides(cols, 1, rows * cols);
        break;
      case Order::kPadded:
        set_strides(2 * cols + 3, 2, rows * (2 * cols + 3) + 5);
        break;
      case Order::kReversed:
        set_strides(-1, -rows, -rows * cols);
        offset = std::max<int64_t>(0, batch * rows * cols - 1);
        break;
    }
    const int64_t count = batch * std::abs(view_.batch_stride) + 64;
    memory_.assign(static_cast<size_t>(count), scalar<S>(real_t<S>(-77), real_t<S>(77)));
    view_.data = memory_.data() + offset;
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  const MatrixBatch& view() const { return view_; }
  S& operator()(int64_t b, int64_t i, int64_t j) {
    return static_cast<S*>(
        view_.data)[b * view_.batch_stride + i * view_.row_stride + j * view_.col_stride];
  }
  const S& operator()(int64_t b, int64_t i, int64_t j) const {
    return const_cast<Batch&>(*this)(b, i, j);
  }
  int64_t batch() const { return view_.batch; }
  int64_t rows() const { return view_.rows; }
  int64_t cols() const { return view_.cols; }

 private:
  void set_strides(int64_t row, int64_t col, int64_t batch) {
    view_.row_stride = row;
    view_.col_stride = col;
    view_.batch_stride = batch;
  }
  MatrixBatch view_;
  std::vector<S> memory_;
};

// The last matrices of `from`, as many as `to` holds.
template <class S>
void copy_batch(const Batch<S>& from, Batch<S>* to) {
  const int64_t first = from.batch() - to->batch();
  for (int64_t b = 0; b < to->batch(); ++b) {
    for (int64_t j = 0; j < from.cols(); ++j) {
      for (int64_t i = 0; i < from.rows(); ++i) (*to)(b, i, j) = from(first + b, i, j);
    }
  }
}

template <class S>
ProblemKey make_key(Operation operation, const Batch<S>& a, int threads) {
  ProblemKey key{};
  key.operation = operation;
  key.dtype = dtype_of<S>();
  key.threads = threads;
  key.m = a.rows();
  key.n = a.cols();
  key.batch = a.batch();
  return key;
}

template <class S>
bool same_bits(const Batch<S>& x, int64_t bx, const Batch<S>& y, int64_t by) {
  for (int64_t j = 0; j < x.cols(); ++j) {
    for (int64_t i = 0; i < x.rows(); ++i) {
      if (std::memcmp(&x(bx, i, j), &y(by, i, j), sizeof(S)) != 0) return false;
    }
  }
  return true;
}

template <class S>
bool all_nan(const Batch<S>& x, int64_t b) {
  for (int64_t j = 0; j < x.cols(); ++j) {
    for (int64_t i = 0; i < x.rows(); ++i) {
      const S value = x(b, i, j);
      if (!std::isnan(std::real(value))) return false;
      if (kIsComplex<S> && !std::isnan(std::imag(value))) return false;
    }
  }
  return true;
}

// The kinds of matrices that the residuals are measured on.
enum class Family { kNormal, kZero, kIdentity, kRankOne, kGraded, kHuge, kSubnormal };
constexpr Family kFamilies[] = {Family::kNormal, Family::kZero, Family::kIdentity, Family::kRankOne,
                                Family::kGraded, Family::kHuge, Family::kSubnormal};

template <class S>
void fill(Batch<S>* a, Family family, unsigned seed) {
  using R = real_t<S>;
  using Limits = std::numeric_limits<R>;
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  const auto draw = [&](double scale) {
    const double re = normal(generator), im = normal(generator);
    return scalar<S>(static_cast<R>(re * scale), static_cast<R>(im * scale));
  };
  const double huge = static_cast<double>(Limits::max()) * 1e-3;
  const double subnormal = static_cast<double>(Limits::denorm_min()) * 5000;
  const double decades = std::is_same_v<R, float> ? 6 : 12;
  for (int64_t b = 0; b < a->batch(); ++b) {
    std::vector<S> left, right;
    for (int64_t i = 0; i < a->rows(); ++i) left.push_back(draw(1));
    for (int64_t j = 0; j < a->cols(); ++j) right.push_back(draw(1));
    for (int64_t j = 0; j < a->cols(); ++j) {
      const double grade = std::pow(10.0, -decades * static_cast<double>(j) / a->cols());
      for (int64_t i = 0; i < a->rows(); ++i) {
        S& x = (*a)(b, i, j);
        if (family == Family::kNormal) x = draw(1);
        if (family == Family::kZero) x = S(0);
        if (family == Family::kIdentity) x = i == j ? S(1) : S(0);
        if (family == Family::kRankOne) x = left[i] * conj_of(right[j]);
        if (family == Family::kGraded) x = draw(grade);
        if (family == Family::kHuge) x = draw(huge);
        if (family == Family::kSubnormal) x = draw(subnormal);
      }
    }
  }
}

template <class S>
void make_hermitian(Batch<S>* a) {
  for (int64_t b = 0; b < a->batch(); ++b) {
    for (int64_t j = 0; j < a->cols(); ++j) {
      (*a)(b, j, j) = S(std::real((*a)(b, j, j)));
      for (int64_t i = j + 1; i < a->rows(); ++i) (*a)(b, j, i) = conj_of((*a)(b, i, j));
    }
  }
}

// What is measured in: float64 for float32, long double for float64.
template <class S>
struct wide_of {
  using Real = std::conditional_t<std::is_same_v<real_t<S>, float>, double, long double>;
  using type = std::conditional_t<kIsComplex<S>, std::complex<Real>, Real>;
};
template <class S>
using wide_t = typename wide_of<S>::type;

// Without the repair of NaN in std::complex's product, which is slow.
template <class W>
W multiply(W a, W b) {
  if constexpr (kIsComplex<W>) {
    return W(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
  } else {
    return a * b;
  }
}

// A dense matrix of wide scalars.
template <class W>
struct WideMatrix {
  int64_t rows, cols;
  std::vector<W> x;
  WideMatrix(int64_t m, int64_t n) : rows(m), cols(n), x(static_cast<size_t>(m * n)) {}
  W& operator()(int64_t i, int64_t j) { return x[static_cast<size_t>(i + j * rows)]; }
  W operator()(int64_t i, int64_t j) const { return x[static_cast<size_t>(i + j * rows)]; }
};

template <class S>
WideMatrix<wide_t<S>> widen(const Batch<S>& batch, int64_t b) {
  WideMatrix<wide_t<S>> wide(batch.rows(), batch.cols());
  for (int64_t j = 0; j < wide.cols; ++j) {
    for (int64_t i = 0; i < wide.rows; ++i) wide(i, j) = wide_t<S>(batch(b, i, j));
  }
  return wide;
}

// Of full factors the first columns: the rest meets zeros.
template <class W>
WideMatrix<W> product(const WideMatrix<W>& a, const WideMatrix<W>& b) {
  WideMatrix<W> c(a.rows, b.cols);
  for (int64_t j = 0; j < b.cols; ++j) {
    for (int64_t l = 0; l < std::min(a.cols, b.rows); ++l) {
      const W factor = b(l, j);
      for (int64_t i = 0; i < a.rows; ++i) c(i, j) += multiply(a(i, l), factor);
    }
  }
  return c;
}

template <class W>
WideMatrix<W> adjoint(const WideMatrix<W>& a) {
  WideMatrix<W> c(a.cols, a.rows);
  for (int64_t j = 0; j < a.cols; ++j) {
    for (int64_t i = 0; i < a.rows; ++i) c(j, i) = conj_of(a(i, j));
  }
  return c;
}

// x(:, j) *= values(j)
template <class W, class R>
void scale_columns(WideMatrix<W>* x, const Batch<R>& values, int64_t b) {
  for (int64_t j = 0; j < std::min(x->cols, values.rows()); ++j) {
    for (int64_t i = 0; i < x->rows; ++i) (*x)(i, j) *= static_cast<real_t<W>>(values(b, j, 0));
  }
}

template <class W>
long double norm1_difference(const WideMatrix<W>& a, const WideMatrix<W>& b) {
  long double norm = 0;
  for (int64_t j = 0; j < a.cols; ++j) {
    long double sum = 0;
    for (int64_t i = 0; i < a.rows; ++i) sum += std::abs(a(i, j) - b(i, j));
    if (!(sum <= norm)) norm = sum;  // a NaN stays
  }
  return norm;
}

template <class W>
long double norm1(const WideMatrix<W>& a) {
  return norm1_difference(a, WideMatrix<W>(a.rows, a.cols));
}

// An error in units of sqrt(n) u norm, after the allowance of n subnormals; NaN stays NaN.
template <class R>
double in_units(long double error, long double norm, int64_t n) {
  if (error == 0) return 0;
  const long double subnormals = static_cast<long double>(n) * std::numeric_limits<R>::denorm_min();
  const long double excess = error - subnormals;
  if (excess <= 0 && norm > 0) return 0;
  const long double unit = std::numeric_limits<R>::epsilon() / 2;
  return static_cast<double>(excess / (norm * std::sqrt(static_cast<long double>(n)) * unit));
}

// norm(I - Q^H Q) for the columns of q.
template <class R, class W>
double orthogonality(const WideMatrix<W>& q, int64_t n) {
  WideMatrix<W> gram = product(adjoint(q), q);
  for (int64_t j = 0; j < gram.cols; ++j) gram(j, j) -= W(1);
  return in_units<R>(norm1(gram), 1, n);
}

// x: U, S, V^H and info, thin or full.
template <class S, class Svd>
void check_svd(const Batch<S>& a, const Svd& x, int64_t b) {
  using R = real_t<S>;
  const int64_t n = std::max(a.rows(), a.cols());
  const auto wide = widen(a, b), u = widen(x.u, b), vh = widen(x.vh, b);
  WideMatrix<wide_t<S>> us(a.rows(), x.s.rows());
  std::copy_n(u.x.begin(), us.x.size(), us.x.begin());
  scale_columns(&us, x.s, b);
  EXPECT_EQ(x.info[b], 0);
  EXPECT_LE(in_units<R>(norm1_difference(product(us, vh), wide), norm1(wide), n), kResidualBound);
  EXPECT_LE(orthogonality<R>(u, n), kOrthogonalityBound);
  EXPECT_LE(orthogonality<R>(adjoint(vh), n), kOrthogonalityBound);
  for (int64_t i = 0; i < x.s.rows(); ++i) {
    EXPECT_GE(x.s(b, i, 0), 0);
    if (i > 0) {
      EXPECT_GE(x.s(b, i - 1, 0), x.s(b, i, 0));
    }
  }
}

}  // namespace lanepack::test

#endif  // LANEPACK_TESTS_UNIT_LAPACK_TEST_SUPPORT_H_
