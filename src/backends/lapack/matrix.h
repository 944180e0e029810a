// SPDX-License-Identifier: Apache-2.0
// Between batches of any strides and LAPACK's column-major arrays: load, scan, scale, store.
//
// LAPACK always gets an aligned copy with the same leading dimension, so that the bits of a result
// depend on neither the strides nor the position of the input. The copy is scaled by a power of
// two, which changes no bit of what follows and keeps squares inside the exponent range.
//
// What runs with subnormals flushed is given none: MKL compares them as zeros there, but takes
// their bits where it copies, scales by integer arithmetic or looks at exponents, and ends in NaN
// or in values out of order. Beside a largest part of at least one they are rounding.
#ifndef LANEPACK_BACKENDS_LAPACK_MATRIX_H_
#define LANEPACK_BACKENDS_LAPACK_MATRIX_H_

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/types.h"

namespace lanepack::lapack {

constexpr int64_t kAlignment = 64;
constexpr int64_t kTile = 32;  // a tile of either side stays in the first-level cache

inline int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

// Leading dimension for columns of `rows` elements: whole cache lines, and never a multiple of 512
// bytes, where the columns of a block fall on the same cache sets (MKL, n = 1024, float32, two
// threads: geqrf and orgqr 27 ms without, 21.7 with; ssyevd 50 and 46).
template <class S>
int64_t leading_dimension(int64_t rows) {
  constexpr int64_t kLine = kAlignment / static_cast<int64_t>(sizeof(S));
  const int64_t ld = round_up(std::max<int64_t>(rows, 1), kLine);
  return ld % (8 * kLine) == 0 ? ld + kLine : ld;
}

template <class R>
R conj_of(R x) {
  return x;
}
template <class R>
std::complex<R> conj_of(std::complex<R> x) {
  return std::complex<R>(x.real(), -x.imag());
}

// Pointer to matrix b of a batch.
template <class S>
S* matrix_at(const MatrixBatch& batch, int64_t b) {
  return static_cast<S*>(batch.data) + b * batch.batch_stride;
}

// Columns [first, last) of an array with m rows: out(i, j) = a(i, j).
template <class S>
void load_columns(const S* a, int64_t row_stride, int64_t col_stride, int64_t m, int64_t first,
                  int64_t last, S* out, int64_t ld) {
  if (row_stride == 1) {
    for (int64_t j = first; j < last; ++j) {
      std::copy_n(a + j * col_stride, m, out + j * ld);
    }
    return;
  }
  for (int64_t j0 = first; j0 < last; j0 += kTile) {
    for (int64_t i0 = 0; i0 < m; i0 += kTile) {
      const int64_t i1 = std::min(i0 + kTile, m);
      for (int64_t j = j0; j < std::min(j0 + kTile, last); ++j) {
        const S* source = a + j * col_stride;
        for (int64_t i = i0; i < i1; ++i) out[i + j * ld] = source[i * row_stride];
      }
    }
  }
}

// In place: x = conj(x), for an array that was loaded with its strides exchanged.
template <class S>
void conjugate_columns(S* x, int64_t m, int64_t first, int64_t last, int64_t ld) {
  if constexpr (!std::is_same_v<S, real_t<S>>) {
    for (int64_t j = first; j < last; ++j) {
      for (int64_t i = 0; i < m; ++i) x[i + j * ld] = conj_of(x[i + j * ld]);
    }
  }
}

// Columns [first, last) of the upper triangle of a Hermitian matrix of which one triangle is read;
// of its diagonal only the real part.
template <class S>
void load_upper(const S* a, int64_t row_stride, int64_t col_stride, bool upper, int64_t first,
                int64_t last, S* out, int64_t ld) {
  // A(i, j) for i <= j is conj(A(j, i)) where the lower triangle is given.
  const int64_t rs = upper ? row_stride : col_stride;
  const int64_t cs = upper ? col_stride : row_stride;
  for (int64_t j0 = first; j0 < last; j0 += kTile) {
    const int64_t j1 = std::min(j0 + kTile, last);
    for (int64_t i0 = 0; i0 < j1; i0 += kTile) {
      for (int64_t j = j0; j < j1; ++j) {
        const int64_t i1 = std::min(i0 + kTile, j);
        for (int64_t i = i0; i < i1; ++i) {
          const S x = a[i * rs + j * cs];
          out[i + j * ld] = upper ? x : conj_of(x);
        }
      }
    }
    for (int64_t j = j0; j < j1; ++j) out[j + j * ld] = std::real(a[j * (rs + cs)]);
  }
}

// The largest modulus of a real or imaginary part, and whether a part is not finite.
template <class R>
struct Extent {
  R largest = 0;
  bool finite = true;
};

template <class R>
void scan(const R* x, int64_t count, Extent<R>* extent) {
  constexpr int64_t kWide = kAlignment / static_cast<int64_t>(sizeof(R));
  R largest[kWide] = {};
  R poison[kWide] = {};  // becomes NaN with the first part that is not finite
  int64_t i = 0;
  for (; i + kWide <= count; i += kWide) {
    for (int64_t l = 0; l < kWide; ++l) {
      const R value = std::abs(x[i + l]);
      largest[l] = value > largest[l] ? value : largest[l];
      poison[l] += value * R(0);
    }
  }
  for (; i < count; ++i) {
    const R value = std::abs(x[i]);
    largest[0] = value > largest[0] ? value : largest[0];
    poison[0] += value * R(0);
  }
  for (int64_t l = 0; l < kWide; ++l) {
    extent->largest = std::max(extent->largest, largest[l]);
    if (!(poison[l] == R(0))) extent->finite = false;
  }
}

// Whether a value is NaN although LAPACK's info is 0, which no finite matrix should give. Vectors
// are not looked at: n^2 of them would cost.
template <class R>
bool has_nan(const R* x, int64_t count) {
  bool found = false;
  for (int64_t i = 0; i < count; ++i) found |= std::isnan(x[i]);
  return found;
}

// Column j has rows(j) entries that count.
template <class S, class Rows>
Extent<real_t<S>> scan_columns(const S* x, int64_t first, int64_t last, int64_t ld, Rows rows) {
  using R = real_t<S>;
  constexpr int64_t kParts = sizeof(S) / sizeof(R);
  Extent<R> extent;
  for (int64_t j = first; j < last; ++j) {
    scan(reinterpret_cast<const R*>(x + j * ld), rows(j) * kParts, &extent);
  }
  return extent;
}

// Multiplication by 2^exponent, rounded once: two factors, since 2^exponent itself may leave the
// range when subnormal numbers are scaled.
template <class R>
class PowerOfTwo {
 public:
  explicit PowerOfTwo(int exponent)
      : exponent_(exponent),
        first_(std::ldexp(R(1), exponent / 2)),
        second_(std::ldexp(R(1), exponent - exponent / 2)) {}

  bool is_one() const { return exponent_ == 0; }
  PowerOfTwo inverse() const { return PowerOfTwo(-exponent_); }

  R operator()(R x) const { return x * first_ * second_; }
  std::complex<R> operator()(std::complex<R> x) const {
    return std::complex<R>((*this)(x.real()), (*this)(x.imag()));
  }

  void apply(R* x, int64_t count) const {
    const R first = first_, second = second_;
    for (int64_t i = 0; i < count; ++i) x[i] = x[i] * first * second;
  }

 private:
  int exponent_;
  R first_, second_;
};

template <class S, class Rows>
void scale_columns(S* x, int64_t first, int64_t last, int64_t ld, Rows rows,
                   const PowerOfTwo<real_t<S>>& factor) {
  using R = real_t<S>;
  if (factor.is_one()) return;
  for (int64_t j = first; j < last; ++j) {
    factor.apply(reinterpret_cast<R*>(x + j * ld), rows(j) * (sizeof(S) / sizeof(R)));
  }
}

// The same for data that is worked on with subnormals flushed: results below the smallest normal
// number are zero, those of a factor of one too.
template <class S, class Rows>
void scale_columns_flushed(S* x, int64_t first, int64_t last, int64_t ld, Rows rows,
                           const PowerOfTwo<real_t<S>>& factor) {
  using R = real_t<S>;
  constexpr R kSmallest = std::numeric_limits<R>::min();
  for (int64_t j = first; j < last; ++j) {
    R* const parts = reinterpret_cast<R*>(x + j * ld);
    const int64_t count = rows(j) * static_cast<int64_t>(sizeof(S) / sizeof(R));
    if (!factor.is_one()) factor.apply(parts, count);
    for (int64_t i = 0; i < count; ++i) {
      parts[i] = std::abs(parts[i]) < kSmallest ? R(0) : parts[i];
    }
  }
}

// Brings the largest part into [1, 2).
template <class R>
PowerOfTwo<R> normalizing_factor(R largest) {
  return PowerOfTwo<R>(largest > 0 ? -std::ilogb(largest) : 0);
}

// For QR, whose reflectors are safe at every scale but the ends, and whose small columns would lose
// bits if a large one brought them down: numbers below one are raised, those near overflow lowered
// by just enough for sums of products.
template <class R>
PowerOfTwo<R> guarding_factor(R largest) {
  constexpr int kRoom = 16;
  if (!(largest > 0)) return PowerOfTwo<R>(0);
  const int exponent = std::ilogb(largest);
  if (exponent < 0) return PowerOfTwo<R>(-exponent);
  return PowerOfTwo<R>(exponent > std::numeric_limits<R>::max_exponent - kRoom ? -2 * kRoom : 0);
}

// Columns [first, last) of an output with m rows: out(i, j) = x(i, j).
template <class S>
void store_columns(const S* x, int64_t ld, int64_t m, int64_t first, int64_t last, S* out,
                   int64_t row_stride, int64_t col_stride) {
  if (row_stride == 1) {
    for (int64_t j = first; j < last; ++j) std::copy_n(x + j * ld, m, out + j * col_stride);
    return;
  }
  for (int64_t j0 = first; j0 < last; j0 += kTile) {
    for (int64_t i0 = 0; i0 < m; i0 += kTile) {
      const int64_t i1 = std::min(i0 + kTile, m);
      for (int64_t j = j0; j < std::min(j0 + kTile, last); ++j) {
        S* target = out + j * col_stride;
        for (int64_t i = i0; i < i1; ++i) target[i * row_stride] = x[i + j * ld];
      }
    }
  }
}

template <class S>
void fill_matrix(const MatrixBatch& batch, int64_t b, S off_diagonal, S diagonal) {
  if (batch.data == nullptr) return;
  S* out = matrix_at<S>(batch, b);
  for (int64_t j = 0; j < batch.cols; ++j) {
    for (int64_t i = 0; i < batch.rows; ++i) {
      out[i * batch.row_stride + j * batch.col_stride] = i == j ? diagonal : off_diagonal;
    }
  }
}

template <class S>
void fill_nan(const MatrixBatch& batch, int64_t b) {
  using R = real_t<S>;
  const R nan = std::numeric_limits<R>::quiet_NaN();
  S value;
  if constexpr (std::is_same_v<S, R>)
    value = nan;
  else
    value = S(nan, nan);
  fill_matrix<S>(batch, b, value, value);
}

}  // namespace lanepack::lapack

#endif  // LANEPACK_BACKENDS_LAPACK_MATRIX_H_
