// SPDX-License-Identifier: Apache-2.0
// svd on CPU lanes below the C interface: both algorithms on the inputs that break such iterations,
// measured in long double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "backends/backend.h"

namespace lanepack {
namespace {

using Wide = long double;
constexpr Wide kUnitRoundoff = std::numeric_limits<double>::epsilon() / 2.0L;

// Column-major matrices one after the other.
struct Batch {
  int64_t rows, cols, count;
  std::vector<double> data;

  Batch(int64_t m, int64_t n, int64_t batch) : rows(m), cols(n), count(batch) {
    data.assign(static_cast<size_t>(m * n * batch), 0.0);
  }
  double& at(int64_t b, int64_t i, int64_t j) {
    return data[static_cast<size_t>((b * cols + j) * rows + i)];
  }
  double at(int64_t b, int64_t i, int64_t j) const {
    return data[static_cast<size_t>((b * cols + j) * rows + i)];
  }
  MatrixBatch view() { return {data.data(), rows, cols, count, 1, rows, rows * cols}; }
  // The same memory with its elements in rows, each followed by `gap` elements that are not written.
  MatrixBatch row_view(int64_t gap) {
    const int64_t row = cols + gap;
    data.assign(static_cast<size_t>(rows * row * count), kUntouched);
    return {data.data(), rows, cols, count, row, 1, rows * row};
  }
  static constexpr double kUntouched = -77.0;
};

struct Svd {
  Batch u, s, vh;
  std::vector<int32_t> info;
};

// gap < 0: U and V^H column-major, otherwise in rows.
Svd decompose(const char* identifier, Batch a, bool full = false, int threads = 1, int gap = -1) {
  const int64_t m = a.rows, n = a.cols, k = std::min(m, n);
  Svd x{{m, full ? m : k, a.count}, {k, 1, a.count}, {full ? n : k, n, a.count}, {}};
  x.info.assign(static_cast<size_t>(a.count), -1);
  SvdProblem problem;
  problem.key.operation = Operation::kSvd;
  problem.key.dtype = Dtype::kF64;
  problem.key.threads = threads;
  problem.key.full = full;
  problem.key.m = m;
  problem.key.n = n;
  problem.key.batch = a.count;
  problem.a = a.view();
  problem.u = gap < 0 ? x.u.view() : x.u.row_view(gap);
  problem.s = x.s.view();
  problem.vh = gap < 0 ? x.vh.view() : x.vh.row_view(gap);
  problem.info = x.info.data();
  const Algorithm* algorithm = find_algorithm(identifier);
  EXPECT_NE(algorithm, nullptr) << identifier;
  if (algorithm != nullptr) {
    EXPECT_EQ(algorithm->run_svd(problem), Status::kOk);
  }
  return x;
}

Wide norm1(const Batch& a, int64_t b) {
  Wide largest = 0;
  for (int64_t j = 0; j < a.cols; ++j) {
    Wide sum = 0;
    for (int64_t i = 0; i < a.rows; ++i) sum += std::fabs(static_cast<Wide>(a.at(b, i, j)));
    largest = std::max(largest, sum);
  }
  return largest;
}

// norm(A - U S Vh) and norm(I - Q^T Q), over sqrt(max(m, n)) u; NaN counts as infinite.
Wide residual(const Batch& a, const Svd& x, int64_t b) {
  Wide largest = 0;
  for (int64_t j = 0; j < a.cols; ++j) {
    Wide sum = 0;
    for (int64_t i = 0; i < a.rows; ++i) {
      Wide error = a.at(b, i, j);
      for (int64_t k = 0; k < x.s.rows; ++k) {
        error -= static_cast<Wide>(x.u.at(b, i, k)) * x.s.at(b, k, 0) * x.vh.at(b, k, j);
      }
      sum += std::fabs(error);
    }
    if (!(sum <= largest)) largest = sum;
  }
  return largest / (std::sqrt(static_cast<Wide>(std::max(a.rows, a.cols))) * kUnitRoundoff);
}
Wide orthogonality(const Batch& q, int64_t b, bool of_rows, int64_t size) {
  const int64_t count = of_rows ? q.rows : q.cols, length = of_rows ? q.cols : q.rows;
  Wide largest = 0;
  for (int64_t j = 0; j < count; ++j) {
    Wide sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      Wide error = i == j ? -1 : 0;
      for (int64_t k = 0; k < length; ++k) {
        error += of_rows ? static_cast<Wide>(q.at(b, i, k)) * q.at(b, j, k)
                         : static_cast<Wide>(q.at(b, k, i)) * q.at(b, k, j);
      }
      sum += std::fabs(error);
    }
    if (!(sum <= largest)) largest = sum;
  }
  return largest / (std::sqrt(static_cast<Wide>(size)) * kUnitRoundoff);
}

void expect_within_bounds(const Batch& a, const Svd& x, const std::string& what) {
  const int64_t size = std::max(a.rows, a.cols);
  for (int64_t b = 0; b < a.count; ++b) {
    ASSERT_EQ(x.info[static_cast<size_t>(b)], 0) << what << ", matrix " << b;
    ASSERT_LE(residual(a, x, b), 20 * norm1(a, b)) << what << ", matrix " << b;
    ASSERT_LE(orthogonality(x.u, b, false, size), 30) << what << ", matrix " << b;
    ASSERT_LE(orthogonality(x.vh, b, true, size), 30) << what << ", matrix " << b;
    for (int64_t k = 0; k < x.s.rows; ++k) {
      ASSERT_GE(x.s.at(b, k, 0), 0) << what << ", matrix " << b;
      if (k > 0) {
        ASSERT_LE(x.s.at(b, k, 0), x.s.at(b, k - 1, 0)) << what << ", matrix " << b;
      }
    }
  }
}

// One batch with every kind of matrix: what the iterations must get through beside each other.
enum Kind {
  kZero,
  kIdentity,
  kNormal,
  kRankOne,
  kHalfRank,
  kZeroColumn,
  kEqualColumns,
  kOnes,
  kShift,
  kGraded,
  kNearIdentity,
  kLarge,
  kSubnormal,
  kKinds
};

Batch every_kind(int64_t m, int64_t n) {
  std::mt19937 engine(17);
  std::normal_distribution<double> normal;
  Batch a(m, n, kKinds);
  const int64_t half = std::max<int64_t>(1, std::min(m, n) / 2);
  std::vector<double> left(static_cast<size_t>(m * half)), right(static_cast<size_t>(n * half));
  for (double& x : left) x = normal(engine);
  for (double& x : right) x = normal(engine);
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < m; ++i) {
      const double x = normal(engine);
      for (const Kind kind : {kNormal, kZeroColumn, kEqualColumns}) a.at(kind, i, j) = x;
      for (int64_t k = 0; k < half; ++k) {
        const double product =
            left[static_cast<size_t>(k * m + i)] * right[static_cast<size_t>(k * n + j)];
        if (k == 0) a.at(kRankOne, i, j) = product;
        a.at(kHalfRank, i, j) += product;
      }
      a.at(kIdentity, i, j) = i == j;
      a.at(kOnes, i, j) = 1;
      a.at(kShift, i, j) = i + 1 == j;  // a bidiagonal matrix with a zero diagonal
      a.at(kGraded, i, j) =
          x * std::pow(10.0, -12.0 * static_cast<double>(j) / static_cast<double>(n));
      a.at(kNearIdentity, i, j) = (i == j) + 3e-16 * x;
      a.at(kLarge, i, j) = 1e306 * x;
      a.at(kSubnormal, i, j) = 1e-300 * x;
    }
  }
  for (int64_t i = 0; i < m; ++i) {
    a.at(kZeroColumn, i, n / 2) = 0;
    a.at(kEqualColumns, i, n - 1) = a.at(kEqualColumns, i, 0);
  }
  return a;
}

class LanesSvd : public testing::TestWithParam<const char*> {};

TEST_P(LanesSvd, EveryKindIsWithinTheBounds) {
  const std::vector<std::pair<int64_t, int64_t>> shapes = {{1, 1}, {2, 2}, {3, 3},   {4, 4},
                                                           {5, 5}, {9, 9}, {17, 17}, {33, 33},
                                                           {7, 4}, {4, 7}, {40, 9},  {1, 6}};
  for (const auto& [m, n] : shapes) {
    const Batch a = every_kind(m, n);
    for (const bool full : {false, true}) {
      expect_within_bounds(a, decompose(GetParam(), a, full),
                           std::to_string(m) + " x " + std::to_string(n) + (full ? " full" : ""));
    }
  }
}

TEST_P(LanesSvd, AMatrixKeepsItsBitsAmongOthersAndAlone) {
  const Batch a = every_kind(12, 7);
  const Svd together = decompose(GetParam(), a);
  for (int64_t b = 0; b < a.count; ++b) {
    Batch one(a.rows, a.cols, 1);
    std::copy_n(&a.data[static_cast<size_t>(b * a.rows * a.cols)], one.data.size(),
                one.data.begin());
    const Svd alone = decompose(GetParam(), one);
    for (int64_t k = 0; k < 7; ++k) {
      EXPECT_EQ(alone.s.at(0, k, 0), together.s.at(b, k, 0));
      for (int64_t i = 0; i < 12; ++i) EXPECT_EQ(alone.u.at(0, i, k), together.u.at(b, i, k));
      for (int64_t j = 0; j < 7; ++j) EXPECT_EQ(alone.vh.at(0, k, j), together.vh.at(b, k, j));
    }
  }
}

// What row_view() holds, in columns again; the gaps are as they were.
void expect_same(const Batch& in_columns, const Batch& in_rows, int64_t gap) {
  const int64_t row = in_columns.cols + gap;
  for (int64_t b = 0; b < in_columns.count; ++b) {
    for (int64_t i = 0; i < in_columns.rows; ++i) {
      for (int64_t j = 0; j < row; ++j) {
        const double found = in_rows.data[static_cast<size_t>((b * in_columns.rows + i) * row + j)];
        const double wanted = j < in_columns.cols ? in_columns.at(b, i, j) : Batch::kUntouched;
        EXPECT_EQ(found, wanted) << b << ' ' << i << ' ' << j;
      }
    }
  }
}

TEST_P(LanesSvd, VectorsGoToRowsAsToColumns) {
  const int64_t shapes[][2] = {{3, 3}, {12, 7}, {7, 12}, {40, 40}, {100, 40}, {40, 100}, {4, 5}};
  for (const auto& shape : shapes) {
    const Batch a = every_kind(shape[0], shape[1]);
    for (const bool full : {false, true}) {
      const Svd columns = decompose(GetParam(), a, full);
      for (const int gap : {0, 3}) {
        const Svd rows = decompose(GetParam(), a, full, 1, gap);
        expect_same(columns.u, rows.u, gap);
        expect_same(columns.vh, rows.vh, gap);
      }
    }
  }
}

TEST_P(LanesSvd, AMatrixWithNanOrInfinityIsNanAndReported) {
  Batch a = every_kind(6, 5);
  a.at(kOnes, 5, 4) = std::numeric_limits<double>::quiet_NaN();
  a.at(kNormal, 0, 3) = -std::numeric_limits<double>::infinity();
  const Svd x = decompose(GetParam(), a);
  for (int64_t b = 0; b < a.count; ++b) {
    const bool bad = b == kOnes || b == kNormal;
    EXPECT_EQ(x.info[static_cast<size_t>(b)], bad ? kInfoNotFinite : 0);
    for (int64_t k = 0; k < 5; ++k) {
      EXPECT_EQ(std::isnan(x.s.at(b, k, 0)), bad);
      EXPECT_EQ(std::isnan(x.u.at(b, 5, k)), bad);
      EXPECT_EQ(std::isnan(x.vh.at(b, k, 4)), bad);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, LanesSvd,
                         testing::Values("svd.bidiagonal_qr.lanes", "svd.jacobi.lanes"),
                         [](const auto& info) {
                           return std::string(info.param[4] == 'j' ? "Jacobi" : "BidiagonalQr");
                         });

// B D with B = H, a Hadamard matrix: its columns are orthogonal, so the singular values of B D are
// sqrt(8) |d_j| exactly, whatever the order of D.
TEST(LanesSvdJacobi, GradedColumnsKeepRelativeAccuracy) {
  constexpr int64_t n = 8;
  Batch a(n, n, 1);
  const int order[n] = {3, 0, 6, 1, 7, 4, 2, 5};
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i < n; ++i) {
      const double sign = __builtin_popcountll(static_cast<uint64_t>(i & j)) % 2 == 0 ? 1 : -1;
      a.at(0, i, j) = sign * std::pow(10.0, -1.7 * order[j]);
    }
  }
  // a rotation of the rows, so that the columns are orthogonal only up to rounding
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t i = 0; i + 1 < n; ++i) {
      const double x = a.at(0, i, j), y = a.at(0, i + 1, j);
      a.at(0, i, j) = 0.6 * x - 0.8 * y;
      a.at(0, i + 1, j) = 0.8 * x + 0.6 * y;
    }
  }
  const Svd x = decompose("svd.jacobi.lanes", a);
  for (int64_t k = 0; k < n; ++k) {
    const Wide exact = std::sqrt(8.0L) * std::pow(10.0L, -1.7L * static_cast<Wide>(k));
    EXPECT_LE(std::fabs(x.s.at(0, k, 0) - exact) / exact, 20 * n * kUnitRoundoff) << k;
  }
}

}  // namespace
}  // namespace lanepack
