// SPDX-License-Identifier: Apache-2.0
// The three operations end to end through the C interface: what defines each result holds, measured
// in double. Accuracy in depth is tests/conformance.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "calls.h"

namespace lanepack_test {
namespace {

// Backward-stable methods stay well within 10 n eps on random matrices.
template <class R>
double bound(int64_t n) {
  return 10.0 * static_cast<double>(n) * static_cast<double>(std::numeric_limits<R>::epsilon());
}

// Largest |sum_k x(i,k) d(k) y(k,j) - a(i,j)|, relative to the Frobenius norm of a; d null: ones.
template <class R>
double product_error(Matrices<R>* x, Matrices<R>* d, Matrices<R>* y, bool y_transposed,
                     Matrices<R>* a, int64_t b) {
  double largest = 0.0;
  double norm = 0.0;
  for (int64_t i = 0; i < a->batch.rows; ++i) {
    for (int64_t j = 0; j < a->batch.cols; ++j) {
      double sum = 0.0;
      const int64_t inner = std::min(x->batch.cols, d ? d->batch.rows : x->batch.cols);
      for (int64_t k = 0; k < inner; ++k) {
        const double scale = d ? static_cast<double>(d->at(b, k, 0)) : 1.0;
        sum += static_cast<double>(x->at(b, i, k)) * scale *
               static_cast<double>(y_transposed ? y->at(b, j, k) : y->at(b, k, j));
      }
      const auto entry = static_cast<double>(a->at(b, i, j));
      norm += entry * entry;
      largest = std::fmax(largest, std::fabs(sum - entry));
      if (std::isnan(sum)) return sum;
    }
  }
  return largest / std::sqrt(norm);
}

// Largest |x^T x - I|.
template <class R>
double orthogonality_error(Matrices<R>* x, int64_t b) {
  double largest = 0.0;
  for (int64_t i = 0; i < x->batch.cols; ++i) {
    for (int64_t j = 0; j < x->batch.cols; ++j) {
      double sum = i == j ? -1.0 : 0.0;
      for (int64_t k = 0; k < x->batch.rows; ++k) {
        sum += static_cast<double>(x->at(b, k, i)) * static_cast<double>(x->at(b, k, j));
      }
      if (std::isnan(sum)) return sum;
      largest = std::fmax(largest, std::fabs(sum));
    }
  }
  return largest;
}

template <class R>
class Results : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(Results, Reals);

TYPED_TEST(Results, Qr) {
  using R = TypeParam;
  for (const auto& [m, n] : {std::pair<int64_t, int64_t>{5, 3}, {3, 5}, {1, 1}, {33, 17}}) {
    for (bool complete : {false, true}) {
      Qr<R> call(19, m, n, complete);
      ASSERT_EQ(lanepack_qr(&call.args), LANEPACK_STATUS_OK) << lanepack_last_error();
      for (int64_t b = 0; b < 19; ++b) {
        EXPECT_EQ(call.info[static_cast<size_t>(b)], 0);
        EXPECT_LE(product_error<R>(&call.q, nullptr, &call.r, false, &call.a, b), bound<R>(m));
        EXPECT_LE(orthogonality_error(&call.q, b), bound<R>(m));
        for (int64_t j = 0; j < n; ++j) {
          for (int64_t i = j + 1; i < call.r.batch.rows; ++i) EXPECT_EQ(call.r.at(b, i, j), 0);
        }
      }
    }
  }
}

TYPED_TEST(Results, Eigh) {
  using R = TypeParam;
  for (int64_t n : {1, 2, 3, 4, 7, 33}) {
    Eigh<R> call(19, n);
    Eigh<R> values(19, n);
    values.args.v = {};
    ASSERT_EQ(lanepack_eigh(&call.args), LANEPACK_STATUS_OK) << lanepack_last_error();
    ASSERT_EQ(lanepack_eigh(&values.args), LANEPACK_STATUS_OK) << lanepack_last_error();
    for (int64_t b = 0; b < 19; ++b) {
      EXPECT_EQ(call.info[static_cast<size_t>(b)], 0);
      EXPECT_LE(product_error<R>(&call.v, &call.w, &call.v, true, &call.a, b), bound<R>(n));
      EXPECT_LE(orthogonality_error(&call.v, b), bound<R>(n));
      for (int64_t k = 0; k < n; ++k) {
        // |lambda| <= n here, the entries being within [-1, 1].
        EXPECT_NEAR(values.w.at(b, k, 0), call.w.at(b, k, 0), static_cast<double>(n) * bound<R>(n));
        EXPECT_LE(call.w.at(b, std::max<int64_t>(k - 1, 0), 0), call.w.at(b, k, 0));
      }
    }
  }
}

TYPED_TEST(Results, Svd) {
  using R = TypeParam;
  for (const auto& [m, n] : {std::pair<int64_t, int64_t>{5, 3}, {3, 5}, {4, 4}, {33, 17}}) {
    for (bool full : {false, true}) {
      for (uint32_t flags : {0u, LANEPACK_FLAG_JACOBI}) {
        Svd<R> call(19, m, n, full);
        call.args.call.flags = flags;
        ASSERT_EQ(lanepack_svd(&call.args), LANEPACK_STATUS_OK) << lanepack_last_error();
        for (int64_t b = 0; b < 19; ++b) {
          EXPECT_EQ(call.info[static_cast<size_t>(b)], 0);
          EXPECT_LE(product_error<R>(&call.u, &call.s, &call.vh, false, &call.a, b),
                    bound<R>(std::max(m, n)));
          EXPECT_LE(orthogonality_error(&call.u, b), bound<R>(std::max(m, n)));
          for (int64_t k = 1; k < std::min(m, n); ++k) {
            EXPECT_GE(call.s.at(b, k - 1, 0), call.s.at(b, k, 0));
          }
        }
      }
    }
  }
}

TYPED_TEST(Results, OneBadMatrixSpoilsItselfAlone) {
  using R = TypeParam;
  Eigh<R> clean(40, 5);
  Eigh<R> spoiled(40, 5);
  spoiled.a.at(21, 3, 1) = std::numeric_limits<R>::infinity();  // the lower triangle is read
  ASSERT_EQ(lanepack_eigh(&clean.args), LANEPACK_STATUS_OK) << lanepack_last_error();
  ASSERT_EQ(lanepack_eigh(&spoiled.args), LANEPACK_STATUS_OK) << lanepack_last_error();
  for (int64_t b = 0; b < 40; ++b) {
    const bool bad = b == 21;
    EXPECT_EQ(spoiled.info[static_cast<size_t>(b)], bad ? LANEPACK_INFO_NOT_FINITE : 0);
    for (int64_t i = 0; i < 5; ++i) {
      EXPECT_TRUE(bad ? std::isnan(spoiled.w.at(b, i, 0))
                      : spoiled.w.at(b, i, 0) == clean.w.at(b, i, 0));
      for (int64_t j = 0; j < 5; ++j) {
        EXPECT_TRUE(bad ? std::isnan(spoiled.v.at(b, i, j))
                        : spoiled.v.at(b, i, j) == clean.v.at(b, i, j));
      }
    }
  }
}

}  // namespace
}  // namespace lanepack_test
