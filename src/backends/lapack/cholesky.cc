// SPDX-License-Identifier: Apache-2.0
// Cholesky by LAPACK's potrf, on the triangle that is read.
#include <algorithm>

#include "backends/lapack/operations.h"

namespace lanepack::lapack {
namespace {

// The rows of column j that belong to the triangle.
struct Triangle {
  bool upper;
  int64_t n;
  int64_t first(int64_t j) const { return upper ? 0 : j; }
  int64_t count(int64_t j) const { return upper ? j + 1 : n - j; }
};

// What is right is kept, the other triangle becomes zero.
template <class S>
void clear_other_triangle(const Triangle& triangle, S* a, int64_t ld) {
  for (int64_t j = 0; j < triangle.n; ++j) {
    S* const column = a + j * ld;
    if (triangle.upper) {
      std::fill(column + j + 1, column + triangle.n, S(0));
    } else {
      std::fill(column, column + j, S(0));
    }
  }
}

template <class S>
void fill_triangle_nan(const Triangle& triangle, S* a, int64_t ld) {
  using R = real_t<S>;
  const R nan = std::numeric_limits<R>::quiet_NaN();
  R* const parts = reinterpret_cast<R*>(a);
  constexpr int64_t kParts = sizeof(S) / sizeof(R);
  for (int64_t j = 0; j < triangle.n; ++j) {
    std::fill_n(parts + (j * ld + triangle.first(j)) * kParts, triangle.count(j) * kParts, nan);
  }
}

template <class S>
Extent<real_t<S>> scan_triangle(const Triangle& triangle, S* a, int64_t ld) {
  using R = real_t<S>;
  constexpr int64_t kParts = sizeof(S) / sizeof(R);
  Extent<R> extent;
  for (int64_t j = 0; j < triangle.n; ++j) {
    a[j * ld + j] = std::real(a[j * ld + j]);  // the imaginary part is not read
    const S* const first = a + j * ld + triangle.first(j);
    scan(reinterpret_cast<const R*>(first), triangle.count(j) * kParts, &extent);
  }
  return extent;
}

template <class S>
Int cholesky_matrix(const Library& library, const CholeskyProblem& problem, S* a, int64_t ld,
                    int64_t b, int threads) {
  using R = real_t<S>;
  const int64_t n = problem.key.n;
  const Triangle triangle{problem.key.upper, n};
  const S* const source = matrix_at<const S>(problem.a, b);
  over_columns(threads, n, n, [&](int64_t first, int64_t last) {
    load_columns(source, problem.a.row_stride, problem.a.col_stride, n, first, last, a, ld);
  });
  const auto rows = [&](int64_t j) { return triangle.count(j); };
  Int info = kInfoNotFinite;
  const Extent<R> extent = scan_triangle(triangle, a, ld);
  if (extent.finite) {
    // Products of entries this small would be rounded to multiples of the smallest subnormal number.
    const bool small = extent.largest < std::numeric_limits<R>::min() * R(1 << 30);
    const PowerOfTwo<R> raise(small ? 120 : 0), back(small ? -60 : 0);
    // an upper triangle starts at the top of its columns, a lower one at the diagonal
    const int64_t step = triangle.upper ? ld : ld + 1;
    scale_columns(a, 0, n, step, rows, raise);
    const char uplo = triangle.upper ? 'U' : 'L';
    const Int order = static_cast<Int>(n), lda = static_cast<Int>(ld);
    library.routines<S>().potrf(&uplo, &order, a, &lda, &info, 1);
    scale_columns(a, 0, n, step, rows, back);
  }
  if (problem.info != nullptr) problem.info[b] = info;
  if (info != 0) fill_triangle_nan(triangle, a, ld);
  clear_other_triangle(triangle, a, ld);
  S* const factor = matrix_at<S>(problem.l, b);
  over_columns(threads, n, n, [&](int64_t first, int64_t last) {
    store_columns(a, ld, n, first, last, factor, problem.l.row_stride, problem.l.col_stride);
  });
  return info;
}

template <class S>
Status cholesky_of(const Library& library, Spread spread, const CholeskyProblem& problem) {
  const int64_t n = problem.key.n;
  if (Status status = check_size("lanepack_cholesky", "potrf", problem.key, n);
      status != Status::kOk) {
    return status;
  }
  const int64_t ld = leading_dimension<S>(n);
  const double size = static_cast<double>(n);
  const BatchPlan batch{"lanepack_cholesky", "potrf", problem.key.batch,
                        ld * n * static_cast<int64_t>(sizeof(S)), 1 + size * size * size / 1e5};
  return run_batch(
      batch, library, spread, problem.key.threads, [&](char* block, int64_t b, int inner) {
        return cholesky_matrix(library, problem, reinterpret_cast<S*>(block), ld, b, inner);
      });
}

}  // namespace

Status cholesky(const Library& library, Spread spread, const CholeskyProblem& problem) {
  return with_scalar(problem.key.dtype,
                     [&]<class S>() { return cholesky_of<S>(library, spread, problem); });
}

}  // namespace lanepack::lapack
