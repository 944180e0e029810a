// SPDX-License-Identifier: Apache-2.0
// Dense column-major matrices of wide scalars, and the few plain loops on them that the oracle
// needs.
#ifndef LANEPACK_TESTS_ORACLE_MATRIX_H_
#define LANEPACK_TESTS_ORACLE_MATRIX_H_

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <vector>

#include "oracle.h"

namespace oracle {

// A plain pair: std::complex's product looks for NaN to repair, which would hide what is measured.
template <class W>
struct Complex {
  W re{}, im{};
};

template <class W>
Complex<W> operator+(Complex<W> a, Complex<W> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class W>
Complex<W> operator-(Complex<W> a, Complex<W> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class W>
Complex<W> operator*(Complex<W> a, Complex<W> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class W>
Complex<W> operator*(W a, Complex<W> b) {
  return {a * b.re, a * b.im};
}

template <class W>
Complex<W> conjugate(Complex<W> a) {
  return {a.re, -a.im};
}
template <class W>
W real_part(Complex<W> a) {
  return a.re;
}
template <class W>
W imaginary_part(Complex<W> a) {
  return a.im;
}
template <class W>
W squared(Complex<W> a) {
  return a.re * a.re + a.im * a.im;
}
// The squares neither overflow nor underflow: W has at least twice the exponent range of the data.
template <class W>
W magnitude(Complex<W> a) {
  return std::sqrt(squared(a));
}
template <class W>
Complex<W> inverse(Complex<W> a) {
  return (1 / squared(a)) * conjugate(a);
}

#define ORACLE_REAL_SCALAR(W)                      \
  inline W conjugate(W a) { return a; }            \
  inline W real_part(W a) { return a; }            \
  inline W imaginary_part(W) { return 0; }         \
  inline W squared(W a) { return a * a; }          \
  inline W magnitude(W a) { return std::fabs(a); } \
  inline W inverse(W a) { return 1 / a; }
ORACLE_REAL_SCALAR(double)
ORACLE_REAL_SCALAR(long double)
#undef ORACLE_REAL_SCALAR

// What a dtype is made of: the stored scalar, its real type, the wide real and the wide scalar.
template <class Stored, class RealType, class WideReal, class WideScalar, bool complex>
struct DtypeTraits {
  using Storage = Stored;
  using Real = RealType;
  using Wide = WideReal;
  using Scalar = WideScalar;
  static constexpr bool kComplex = complex;
  static constexpr Wide kUnitRoundoff = std::numeric_limits<Real>::epsilon() / Wide{2};
  static constexpr Wide kSubnormal = std::numeric_limits<Real>::denorm_min();
};
using F32 = DtypeTraits<float, float, double, double, false>;
using F64 = DtypeTraits<double, double, long double, long double, false>;
using C64 = DtypeTraits<std::complex<float>, float, double, Complex<double>, true>;
using C128 = DtypeTraits<std::complex<double>, double, long double, Complex<long double>, true>;

static_assert(std::numeric_limits<long double>::digits >= 64,
              "the oracle needs a long double with more bits than double");

inline double widen(float x) { return x; }
inline long double widen(double x) { return x; }
inline Complex<double> widen(std::complex<float> x) { return {x.real(), x.imag()}; }
inline Complex<long double> widen(std::complex<double> x) { return {x.real(), x.imag()}; }

template <class S>
struct Matrix {
  int64_t rows = 0, cols = 0;
  std::vector<S> elements;

  void resize(int64_t new_rows, int64_t new_cols) {
    rows = new_rows;
    cols = new_cols;
    elements.resize(static_cast<size_t>(rows * cols));
  }
  S* column(int64_t j) { return elements.data() + j * rows; }
  const S* column(int64_t j) const { return elements.data() + j * rows; }
  S& operator()(int64_t i, int64_t j) { return column(j)[i]; }
  const S& operator()(int64_t i, int64_t j) const { return column(j)[i]; }
};

// Matrix `index` of the batch, `Stored` being what the batch holds.
template <class Stored, class S>
void load(const oracle_batch& batch, int64_t index, Matrix<S>& matrix) {
  matrix.resize(batch.rows, batch.cols);
  const Stored* first = static_cast<const Stored*>(batch.data) + index * batch.batch_stride;
  for (int64_t j = 0; j < batch.cols; ++j) {
    S* column = matrix.column(j);
    for (int64_t i = 0; i < batch.rows; ++i) {
      column[i] = widen(first[i * batch.row_stride + j * batch.col_stride]);
    }
  }
}

// The same, for an A of which only a triangle counts.
template <class Stored, class S>
void load_part(const oracle_batch& batch, int64_t index, int part, Matrix<S>& matrix) {
  load<Stored>(batch, index, matrix);
  if (part == ORACLE_GENERAL) return;
  for (int64_t j = 0; j < matrix.cols; ++j) {
    matrix(j, j) = S{real_part(matrix(j, j))};
    for (int64_t i = j + 1; i < matrix.rows; ++i) {
      if (part == ORACLE_LOWER) {
        matrix(j, i) = conjugate(matrix(i, j));
      } else {
        matrix(i, j) = conjugate(matrix(j, i));
      }
    }
  }
}

template <class S>
void adjoint(const Matrix<S>& a, Matrix<S>& result) {
  result.resize(a.cols, a.rows);
  for (int64_t j = 0; j < a.cols; ++j) {
    for (int64_t i = 0; i < a.rows; ++i) result(j, i) = conjugate(a(i, j));
  }
}

// result = a b, of a only the first `inner` columns and of b the first `inner` rows.
template <class S>
void multiply(const Matrix<S>& a, const Matrix<S>& b, int64_t inner, Matrix<S>& result) {
  result.resize(a.rows, b.cols);
  for (int64_t j = 0; j < b.cols; ++j) {
    S* target = result.column(j);
    for (int64_t i = 0; i < a.rows; ++i) target[i] = S{};
    for (int64_t l = 0; l < inner; ++l) {
      const S* source = a.column(l);
      const S factor = b(l, j);
      for (int64_t i = 0; i < a.rows; ++i) target[i] = target[i] + source[i] * factor;
    }
  }
}

// The largest sum of absolute values of a column; NaN where an element is NaN.
template <class S>
auto norm1(const Matrix<S>& a) {
  decltype(magnitude(S{})) largest = 0;
  for (int64_t j = 0; j < a.cols; ++j) {
    decltype(largest) sum = 0;
    for (int64_t i = 0; i < a.rows; ++i) sum += magnitude(a(i, j));
    if (!(sum <= largest)) largest = sum;
    if (std::isnan(largest)) break;
  }
  return largest;
}

// norm1(a - b); a is overwritten.
template <class S>
auto norm1_difference(Matrix<S>& a, const Matrix<S>& b) {
  for (size_t i = 0; i < a.elements.size(); ++i) a.elements[i] = a.elements[i] - b.elements[i];
  return norm1(a);
}

}  // namespace oracle

#endif  // LANEPACK_TESTS_ORACLE_MATRIX_H_
