// SPDX-License-Identifier: Apache-2.0
// svd of tall and wide matrices on CPU lanes by way of R: the bounds of the project, and bits that
// depend on the matrix alone. The shapes are beyond what the conformance table can measure: several
// blocks of rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "lapack_test_support.h"

namespace lanepack::test {
namespace {

// In units of sqrt(n) u, 1-norm.
constexpr double kDifferenceBound = 12;
constexpr const char* kTall = "svd.tall.lanes";

enum class Want { kVectors, kValues };

template <class S>
struct Svd {
  Batch<S> u, vh;
  Batch<real_t<S>> s;
  std::vector<int32_t> info;
  explicit Svd(const Batch<S>& a, Want want = Want::kVectors, int threads = 1,
               Order order = Order::kColumn)
      : u(a.batch(), a.rows(), std::min(a.rows(), a.cols()), order),
        vh(a.batch(), u.cols(), a.cols(), order),
        s(a.batch(), u.cols(), 1, order),
        info(static_cast<size_t>(a.batch()), -5) {
    SvdProblem problem{};
    problem.key =
        make_key(want == Want::kVectors ? Operation::kSvd : Operation::kSvdvals, a, threads);
    problem.a = a.view();
    problem.s = s.view();
    if (want == Want::kVectors) {
      problem.u = u.view();
      problem.vh = vh.view();
    }
    problem.info = info.data();
    const Algorithm* algorithm = find_algorithm(kTall);
    if (algorithm == nullptr || !algorithm->supports(problem.key)) {
      ADD_FAILURE() << kTall << " does not serve " << a.rows() << " x " << a.cols();
      return;
    }
    EXPECT_EQ(algorithm->run_svd(problem), Status::kOk) << last_error();
  }
};

template <class S>
void check_values(const Svd<S>& x, const Svd<S>& values, int64_t b, int64_t n) {
  using R = real_t<S>;
  EXPECT_EQ(values.info[b], 0);
  for (int64_t k = 0; k < x.s.rows(); ++k) {
    const long double difference =
        std::abs(static_cast<long double>(x.s(b, k, 0)) - values.s(b, k, 0));
    EXPECT_LE(in_units<R>(difference, x.s(b, 0, 0), n), kDifferenceBound) << k;
  }
}

template <class S>
bool same_results(const Svd<S>& x, int64_t bx, const Svd<S>& y, int64_t by) {
  return same_bits(x.u, bx, y.u, by) && same_bits(x.s, bx, y.s, by) &&
         same_bits(x.vh, bx, y.vh, by) && x.info[bx] == y.info[by];
}

template <class S>
class LanesSvdTall : public testing::Test {};
using Scalars = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(LanesSvdTall, Scalars);

// One block; several; for complex128 a last block with fewer rows than columns.
constexpr std::pair<int64_t, int64_t> kShapes[] = {{64, 8},   {8, 64},     {129, 1},   {1, 129},
                                                   {257, 31}, {14401, 33}, {33, 14401}};

TYPED_TEST(LanesSvdTall, MeetsTheBounds) {
  using S = TypeParam;
  for (const auto& [m, n] : kShapes) {
    for (const Family family : kFamilies) {
      SCOPED_TRACE(testing::Message() << m << " x " << n << ", family " << int(family));
      Batch<S> a(1, m, n, Order::kRow);
      fill(&a, family, 5);
      const Svd<S> x(a);
      check_svd(a, x, 0);
      check_values(x, Svd<S>(a, Want::kValues), 0, std::max(m, n));
    }
  }
}

// Alone, in a batch of another width, with more threads, in any layout: the same bits.
template <class S>
void check_bits(int64_t m, int64_t n, int64_t batch) {
  SCOPED_TRACE(testing::Message() << m << " x " << n);
  Batch<S> a(batch, m, n, Order::kRow);
  fill(&a, Family::kNormal, 3);
  const Svd<S> x(a);
  const Svd<S> threaded(a, Want::kVectors, 3);
  for (int64_t b = 0; b < batch; ++b) EXPECT_TRUE(same_results(x, b, threaded, b)) << b;
  for (const Order order : {Order::kColumn, Order::kPadded, Order::kReversed}) {
    Batch<S> copy(batch, m, n, order);
    copy_batch(a, &copy);
    const Svd<S> y(copy, Want::kVectors, 2, order);
    for (int64_t b = 0; b < batch; ++b) EXPECT_TRUE(same_results(x, b, y, b)) << b;
  }
  for (const int64_t size : {int64_t{1}, int64_t{3}}) {
    const int64_t first = batch - size;
    Batch<S> part(size, m, n);
    copy_batch(a, &part);
    const Svd<S> y(part);
    for (int64_t b = 0; b < size; ++b) EXPECT_TRUE(same_results(x, first + b, y, b)) << size;
  }
}

TYPED_TEST(LanesSvdTall, BitsDependOnTheMatrixAlone) {
  check_bits<TypeParam>(65, 8, 37);
  check_bits<TypeParam>(8, 65, 37);
  check_bits<TypeParam>(130, 2, 1100);  // several rounds
  check_bits<TypeParam>(9003, 33, 3);
  check_bits<TypeParam>(33, 9003, 3);
}

template <class S>
void check_bad_neighbour(int64_t m, int64_t n) {
  SCOPED_TRACE(testing::Message() << m << " x " << n);
  using Limits = std::numeric_limits<real_t<S>>;
  for (const real_t<S> bad : {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity()}) {
    Batch<S> a(6, m, n, Order::kRow);
    fill(&a, Family::kNormal, 9);
    const Svd<S> good(a);
    a(2, m - 1, n - 1) = kIsComplex<S> ? scalar<S>(1, bad) : S(bad);
    const Svd<S> x(a);
    for (int64_t b = 0; b < a.batch(); ++b) {
      if (b == 2) {
        EXPECT_EQ(x.info[b], kInfoNotFinite);
        EXPECT_TRUE(all_nan(x.u, b) && all_nan(x.s, b) && all_nan(x.vh, b));
      } else {
        EXPECT_TRUE(same_results(x, b, good, b)) << b;
      }
    }
    const Svd<S> values(a, Want::kValues);
    EXPECT_EQ(values.info[2], kInfoNotFinite);
    EXPECT_TRUE(all_nan(values.s, 2));
  }
}

TYPED_TEST(LanesSvdTall, ABadMatrixLeavesItsNeighboursAlone) {
  check_bad_neighbour<TypeParam>(65, 8);
  check_bad_neighbour<TypeParam>(8, 65);
  check_bad_neighbour<TypeParam>(9003, 33);
  check_bad_neighbour<TypeParam>(33, 9003);
}

// Blocks of very different size: each is scaled by itself, and the largest decides.
TYPED_TEST(LanesSvdTall, BlocksOfDifferentScaleMeetTheBounds) {
  using S = TypeParam;
  using R = real_t<S>;
  Batch<S> a(1, 14401, 33);
  fill(&a, Family::kNormal, 21);
  const R huge = std::ldexp(R(1), std::numeric_limits<R>::max_exponent - 8);
  for (int64_t j = 0; j < a.cols(); ++j) {
    for (int64_t i = 0; i < a.rows(); ++i) {
      a(0, i, j) *= i < 3000 ? std::numeric_limits<R>::min() : i < 9000 ? huge : R(1);
    }
  }
  check_svd(a, Svd<S>(a), 0);
}

TEST(LanesSvdTallSupports, ThinAndValuesOfTallAndWide) {
  const Algorithm* tall = find_algorithm(kTall);
  ASSERT_NE(tall, nullptr);
  ProblemKey key{};
  key.operation = Operation::kSvd;
  key.dtype = Dtype::kF32;
  key.m = 4096;
  key.n = 64;
  key.batch = 4;
  EXPECT_TRUE(tall->supports(key));
  std::swap(key.m, key.n);
  EXPECT_TRUE(tall->supports(key));
  key.operation = Operation::kSvdvals;
  EXPECT_TRUE(tall->supports(key));
  key.jacobi = true;
  EXPECT_FALSE(tall->supports(key));
  key.jacobi = false;
  key.full = true;
  EXPECT_FALSE(tall->supports(key));
}

}  // namespace
}  // namespace lanepack::test
