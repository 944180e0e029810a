// SPDX-License-Identifier: Apache-2.0
// Cholesky and the solves through the C interface: results, in place, what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "calls.h"

namespace lanepack_test {
namespace {

constexpr int64_t kBatch = 21, kOrder = 7, kSides = 5;

template <class R>
lanepack_call solve_call(int64_t struct_size, uint32_t flags) {
  lanepack_call call = {};
  call.struct_size = struct_size;
  call.dtype = dtype_of<R>();
  call.threads = 1;
  call.flags = flags;
  return call;
}

// Lower triangles far from singular, NaN above: it must not be read.
template <class R>
Matrices<R> lower_triangles() {
  Matrices<R> a(kBatch, kOrder, kOrder);
  Random random(5);
  for (int64_t b = 0; b < kBatch; ++b) {
    for (int64_t j = 0; j < kOrder; ++j) {
      for (int64_t i = j; i < kOrder; ++i) {
        a.at(b, i, j) = static_cast<R>(random.uniform() + (i == j ? 3.0 : 0.0));
      }
    }
  }
  return a;
}

// L L^T, its lower triangle alone.
template <class R>
Matrices<R> product_of(Matrices<R>& l) {
  Matrices<R> a(kBatch, kOrder, kOrder);
  for (int64_t b = 0; b < kBatch; ++b) {
    for (int64_t j = 0; j < kOrder; ++j) {
      for (int64_t i = j; i < kOrder; ++i) {
        double sum = 0;
        for (int64_t k = 0; k <= j; ++k) sum += double{l.at(b, i, k)} * double{l.at(b, j, k)};
        a.at(b, i, j) = static_cast<R>(sum);
      }
    }
  }
  return a;
}

template <class R>
class Solves : public testing::Test {
 protected:
  static constexpr double kClose = sizeof(R) == 4 ? 1e-4 : 1e-12;
};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(Solves, Reals);

TYPED_TEST(Solves, CholeskyFindsTheFactorAndTheMinorThatFails) {
  using R = TypeParam;
  Matrices<R> l = lower_triangles<R>();
  Matrices<R> a = product_of(l), found(kBatch, kOrder, kOrder);
  a.at(4, 2, 2) = R(-1);
  a.at(9, 6, 0) = static_cast<R>(__builtin_nan(""));
  std::vector<int32_t> info(kBatch, -5);
  lanepack_cholesky_args args = {};
  args.call = make_call<R>(sizeof(args), &info);
  args.a = a.batch;
  args.l = found.batch;
  ASSERT_EQ(lanepack_cholesky(&args), LANEPACK_STATUS_OK) << lanepack_last_error();
  for (int64_t b = 0; b < kBatch; ++b) {
    const int32_t wanted = b == 4 ? 3 : b == 9 ? LANEPACK_INFO_NOT_FINITE : 0;
    EXPECT_EQ(info[static_cast<size_t>(b)], wanted);
    for (int64_t j = 0; j < kOrder; ++j) {
      for (int64_t i = 0; i < kOrder; ++i) {
        if (i < j) {
          EXPECT_EQ(found.at(b, i, j), R(0));
        } else if (wanted != 0) {
          EXPECT_TRUE(std::isnan(found.at(b, i, j)));
        } else {
          EXPECT_NEAR(found.at(b, i, j), l.at(b, i, j), this->kClose);
        }
      }
    }
  }
  args.l = a.batch;  // in place
  ASSERT_EQ(lanepack_cholesky(&args), LANEPACK_STATUS_OK) << lanepack_last_error();
  EXPECT_EQ(a.at(7, 6, 3), found.at(7, 6, 3));
}

TYPED_TEST(Solves, TriangularSystemsOfEveryKind) {
  using R = TypeParam;
  Matrices<R> a = lower_triangles<R>();
  for (const bool right : {false, true}) {
    for (const bool transpose : {false, true}) {
      Matrices<R> b(kBatch, right ? kSides : kOrder, right ? kOrder : kSides);
      Matrices<R> x(kBatch, b.batch.rows, b.batch.cols);
      Random random(6);
      for (R& value : b.values) value = static_cast<R>(random.uniform());
      lanepack_solve_args args = {};
      args.call = solve_call<R>(sizeof(args), (right ? LANEPACK_FLAG_RIGHT : 0u) |
                                                  (transpose ? LANEPACK_FLAG_TRANSPOSE : 0u));
      args.a = a.batch;
      args.b = b.batch;
      args.x = x.batch;
      ASSERT_EQ(lanepack_solve_triangular(&args), LANEPACK_STATUS_OK) << lanepack_last_error();
      const auto entry = [&](int64_t m, int64_t i, int64_t k) {  // of op(A)
        if (transpose) std::swap(i, k);
        return i >= k ? double{a.at(m, i, k)} : 0.0;
      };
      for (int64_t m = 0; m < kBatch; ++m) {
        for (int64_t i = 0; i < kOrder; ++i) {
          for (int64_t c = 0; c < kSides; ++c) {
            double sum = 0;
            for (int64_t k = 0; k < kOrder; ++k) {
              sum += right ? double{x.at(m, c, k)} * entry(m, k, i)
                           : entry(m, i, k) * double{x.at(m, k, c)};
            }
            EXPECT_NEAR(sum, right ? b.at(m, c, i) : b.at(m, i, c), this->kClose);
          }
        }
      }
      args.x = b.batch;  // in place
      ASSERT_EQ(lanepack_solve_triangular(&args), LANEPACK_STATUS_OK) << lanepack_last_error();
      EXPECT_EQ(b.values, x.values);
    }
  }
}

TYPED_TEST(Solves, AnInverseTimesItsMatrixIsTheIdentity) {
  using R = TypeParam;
  Matrices<R> l = lower_triangles<R>();
  Matrices<R> a = product_of(l), x(kBatch, kOrder, kOrder);
  lanepack_cholesky_inverse_args args = {};
  args.call = solve_call<R>(sizeof(args), 0);
  args.l = l.batch;
  args.x = x.batch;
  ASSERT_EQ(lanepack_cholesky_inverse(&args), LANEPACK_STATUS_OK) << lanepack_last_error();
  for (int64_t b = 0; b < kBatch; ++b) {
    for (int64_t i = 0; i < kOrder; ++i) {
      for (int64_t j = 0; j < kOrder; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < kOrder; ++k) {
          sum += double{a.at(b, std::max(i, k), std::min(i, k))} * double{x.at(b, k, j)};
        }
        EXPECT_NEAR(sum, i == j ? 1.0 : 0.0, 10 * this->kClose);
      }
    }
  }
}

TYPED_TEST(Solves, RefuseWhatIsWrong) {
  using R = TypeParam;
  Matrices<R> a = lower_triangles<R>(), b(kBatch, kOrder, kSides), x(kBatch, kOrder, kSides);
  lanepack_solve_args args = {};
  args.call = solve_call<R>(sizeof(args), 0);
  args.a = a.batch;
  args.b = b.batch;
  args.x = x.batch;
  const auto refused = [&](const char* text) {
    return lanepack_solve_triangular(&args) == LANEPACK_STATUS_INVALID_ARGUMENT &&
           std::string(lanepack_last_error()).find(text) != std::string::npos;
  };
  std::vector<int32_t> info(kBatch);
  args.call.info = info.data();
  EXPECT_TRUE(refused("a solve gives none")) << lanepack_last_error();
  args.call.info = nullptr;
  args.a.rows = 3;
  EXPECT_TRUE(refused("a has shape")) << lanepack_last_error();
  args.a = a.batch;
  args.x.data = static_cast<R*>(b.batch.data) + 1;  // over B, but not B
  EXPECT_TRUE(refused("share memory")) << lanepack_last_error();
  args.x = x.batch;
  args.call.flags = LANEPACK_FLAG_JACOBI;
  EXPECT_TRUE(refused("flags is")) << lanepack_last_error();
}

}  // namespace
}  // namespace lanepack_test
