// SPDX-License-Identifier: Apache-2.0
// QR on CPU lanes: residuals against the bounds of the project, LAPACK's signs, and bits that
// depend on the matrix alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "lapack_test_support.h"

namespace lanepack::test {
namespace {

constexpr const char* kHouseholder = "qr.householder.lanes";
constexpr const char* kTall = "qr.tall.lanes";

enum class Mode { kReduced, kComplete, kR };

template <class S>
struct Qr {
  Batch<S> q, r;
  std::vector<int32_t> info;
  Qr(const char* identifier, const Batch<S>& a, Mode mode, int threads = 1,
     Order order = Order::kColumn)
      : q(a.batch(), a.rows(), mode == Mode::kComplete ? a.rows() : std::min(a.rows(), a.cols()),
          order),
        r(a.batch(), q.cols(), a.cols(), order),
        info(static_cast<size_t>(a.batch()), -5) {
    QrProblem problem{};
    problem.key = make_key(Operation::kQr, a, threads);
    problem.key.full = mode == Mode::kComplete;
    problem.key.want_q = mode != Mode::kR;
    problem.a = a.view();
    problem.q = q.view();
    problem.r = r.view();
    if (mode == Mode::kR) problem.q.data = nullptr;
    problem.info = info.data();
    const Algorithm* algorithm = find_algorithm(identifier);
    if (algorithm == nullptr || !algorithm->supports(problem.key)) {
      ADD_FAILURE() << identifier << " does not serve " << a.rows() << " x " << a.cols();
      return;
    }
    EXPECT_EQ(algorithm->run_qr(problem), Status::kOk) << last_error();
  }
};

template <class S>
void check_qr(const Batch<S>& a, const Qr<S>& x, int64_t b) {
  using R = real_t<S>;
  const int64_t n = std::max(a.rows(), a.cols());
  const auto wide = widen(a, b), q = widen(x.q, b), r = widen(x.r, b);
  EXPECT_EQ(x.info[b], 0);
  EXPECT_LE(in_units<R>(norm1_difference(product(q, r), wide), norm1(wide), n), kResidualBound);
  EXPECT_LE(orthogonality<R>(q, n), kOrthogonalityBound);
  for (int64_t j = 0; j < r.cols; ++j) {
    for (int64_t i = j + 1; i < r.rows; ++i) {
      const S below = x.r(b, i, j);
      const S zero(0);
      ASSERT_EQ(std::memcmp(&below, &zero, sizeof(S)), 0) << i << " " << j;
    }
    if (j < r.rows) {
      EXPECT_EQ(std::imag(r(j, j)), 0) << j;
    }
  }
}

template <class S>
bool same_results(const Qr<S>& x, int64_t bx, const Qr<S>& y, int64_t by) {
  return same_bits(x.q, bx, y.q, by) && same_bits(x.r, bx, y.r, by);
}

// The diagonal of R by the definition: reflectors applied one by one in wide arithmetic.
template <class S>
std::vector<long double> diagonal_by_reflectors(const Batch<S>& a, int64_t b) {
  using W = wide_t<S>;
  WideMatrix<W> x = widen(a, b);
  std::vector<long double> diagonal;
  for (int64_t k = 0; k < std::min(x.rows, x.cols); ++k) {
    long double rest = std::imag(x(k, k)) * std::imag(x(k, k));
    for (int64_t i = k + 1; i < x.rows; ++i) rest += std::norm(x(i, k));
    const long double re = std::real(x(k, k));
    const long double beta = rest == 0 ? re : -std::copysign(std::sqrt(re * re + rest), re);
    diagonal.push_back(beta);
    if (rest == 0) continue;
    std::vector<W> v(static_cast<size_t>(x.rows));
    for (int64_t i = k; i < x.rows; ++i) v[i] = x(i, k);
    v[k] -= static_cast<real_t<W>>(beta);
    // H^H = I - conj(tau) v v^H with conj(tau) = -1 / (beta head)
    const W factor = W(-1) / (static_cast<real_t<W>>(beta) * v[k]);
    for (int64_t j = k; j < x.cols; ++j) {
      W dot(0);
      for (int64_t i = k; i < x.rows; ++i) dot += multiply(conj_of(v[i]), x(i, j));
      dot = multiply(factor, dot);
      for (int64_t i = k; i < x.rows; ++i) x(i, j) -= multiply(v[i], dot);
    }
  }
  return diagonal;
}

template <class S>
class LanesQr : public testing::Test {};
using Scalars = testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(LanesQr, Scalars);

TYPED_TEST(LanesQr, MeetsTheBoundsOnSmallShapes) {
  using S = TypeParam;
  for (int64_t m = 1; m <= 9; ++m) {
    for (int64_t n = 1; n <= 9; ++n) {
      for (const Family family : kFamilies) {
        SCOPED_TRACE(testing::Message() << m << " x " << n << ", family " << int(family));
        Batch<S> a(3, m, n, Order::kRow);
        fill(&a, family, static_cast<unsigned>(10 * m + n));
        const Qr<S> reduced(kHouseholder, a, Mode::kReduced);
        const Qr<S> complete(kHouseholder, a, Mode::kComplete);
        const Qr<S> r(kHouseholder, a, Mode::kR);
        for (int64_t b = 0; b < a.batch(); ++b) {
          check_qr(a, reduced, b);
          check_qr(a, complete, b);
          EXPECT_TRUE(same_bits(reduced.r, b, r.r, b));
        }
      }
    }
  }
}

TYPED_TEST(LanesQr, MeetsTheBoundsOnLargerShapes) {
  using S = TypeParam;
  constexpr std::pair<int64_t, int64_t> kShapes[] = {
      {16, 16}, {17, 31}, {33, 33}, {64, 32}, {40, 65}};
  for (const auto& [m, n] : kShapes) {
    for (const Family family : kFamilies) {
      SCOPED_TRACE(testing::Message() << m << " x " << n << ", family " << int(family));
      Batch<S> a(1, m, n);
      fill(&a, family, 7);
      check_qr(a, Qr<S>(kHouseholder, a, Mode::kReduced), 0);
      check_qr(a, Qr<S>(kHouseholder, a, Mode::kComplete), 0);
    }
  }
}

// One block; several; for complex128 a last block with fewer rows than columns.
constexpr std::pair<int64_t, int64_t> kTallShapes[] = {{64, 8}, {257, 31}, {14401, 33}};

TYPED_TEST(LanesQr, TallMeetsTheBounds) {
  using S = TypeParam;
  for (const auto& [m, n] : kTallShapes) {
    for (const Family family : kFamilies) {
      SCOPED_TRACE(testing::Message() << m << " x " << n << ", family " << int(family));
      Batch<S> a(1, m, n, Order::kRow);
      fill(&a, family, 5);
      const Qr<S> x(kTall, a, Mode::kReduced);
      check_qr(a, x, 0);
      EXPECT_TRUE(same_bits(x.r, 0, Qr<S>(kTall, a, Mode::kR).r, 0));
    }
  }
}

TYPED_TEST(LanesQr, HasLapacksSigns) {
  using S = TypeParam;
  const auto check = [](const char* identifier, int64_t m, int64_t n) {
    Batch<S> a(2, m, n);
    fill(&a, Family::kNormal, 11);
    const Qr<S> x(identifier, a, Mode::kReduced);
    for (int64_t b = 0; b < a.batch(); ++b) {
      const std::vector<long double> wanted = diagonal_by_reflectors(a, b);
      for (int64_t j = 0; j < x.r.rows(); ++j) {
        const long double got = std::real(x.r(b, j, j));
        EXPECT_NEAR(static_cast<double>(got / wanted[j]), 1, 1e-2) << m << " x " << n << ", " << j;
      }
    }
  };
  for (int64_t n = 1; n <= 9; ++n) check(kHouseholder, n, n);
  check(kHouseholder, 7, 12);
  check(kHouseholder, 33, 20);
  for (const auto& [m, n] : kTallShapes) check(kTall, m, n);
}

// Alone, in a batch of another width, with more threads, in any layout: the same bits.
template <class S>
void check_bits(const char* identifier, int64_t m, int64_t n, int64_t batch) {
  SCOPED_TRACE(testing::Message() << identifier << " " << m << " x " << n);
  Batch<S> a(batch, m, n, Order::kRow);
  fill(&a, Family::kNormal, 3);
  const Qr<S> x(identifier, a, Mode::kReduced);
  const Qr<S> threaded(identifier, a, Mode::kReduced, 3);
  for (const Order order : {Order::kColumn, Order::kPadded, Order::kReversed}) {
    Batch<S> copy(batch, m, n, order);
    copy_batch(a, &copy);
    const Qr<S> y(identifier, copy, Mode::kReduced, 2, order);
    for (int64_t b = 0; b < batch; ++b) EXPECT_TRUE(same_results(x, b, y, b)) << b;
  }
  for (int64_t b = 0; b < batch; ++b) EXPECT_TRUE(same_results(x, b, threaded, b)) << b;
  for (const int64_t size : {int64_t{1}, int64_t{3}}) {
    const int64_t first = batch - size;
    Batch<S> part(size, m, n);
    copy_batch(a, &part);
    const Qr<S> y(identifier, part, Mode::kReduced);
    for (int64_t b = 0; b < size; ++b) EXPECT_TRUE(same_results(x, first + b, y, b)) << size;
  }
}

TYPED_TEST(LanesQr, BitsDependOnTheMatrixAlone) {
  for (int64_t n = 1; n <= 9; ++n) check_bits<TypeParam>(kHouseholder, n, n, 37);
  check_bits<TypeParam>(kHouseholder, 12, 5, 21);
  check_bits<TypeParam>(kHouseholder, 5, 12, 21);
  check_bits<TypeParam>(kTall, 65, 8, 5);
  check_bits<TypeParam>(kTall, 9003, 33, 3);
}

template <class S>
void check_bad_neighbour(const char* identifier, int64_t m, int64_t n) {
  SCOPED_TRACE(testing::Message() << identifier << " " << m << " x " << n);
  using Limits = std::numeric_limits<real_t<S>>;
  for (const real_t<S> bad : {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity()}) {
    Batch<S> a(6, m, n, Order::kRow);
    fill(&a, Family::kNormal, 9);
    const Qr<S> good(identifier, a, Mode::kReduced);
    a(2, m - 1, n - 1) = scalar<S>(1, bad);
    if (!kIsComplex<S>) a(2, m - 1, n - 1) = S(bad);
    const Qr<S> x(identifier, a, Mode::kReduced);
    for (int64_t b = 0; b < a.batch(); ++b) {
      if (b == 2) {
        EXPECT_EQ(x.info[b], kInfoNotFinite);
        EXPECT_TRUE(all_nan(x.q, b) && all_nan(x.r, b));
      } else {
        EXPECT_EQ(x.info[b], 0);
        EXPECT_TRUE(same_results(x, b, good, b)) << b;
      }
    }
  }
}

TYPED_TEST(LanesQr, ABadMatrixLeavesItsNeighboursAlone) {
  for (int64_t n = 1; n <= 9; ++n) check_bad_neighbour<TypeParam>(kHouseholder, n, n);
  check_bad_neighbour<TypeParam>(kHouseholder, 9, 4);
  check_bad_neighbour<TypeParam>(kTall, 65, 8);
  check_bad_neighbour<TypeParam>(kTall, 9003, 33);
}

TEST(LanesQrSupports, TallServesReducedAndRAlone) {
  const Algorithm* tall = find_algorithm(kTall);
  ASSERT_NE(tall, nullptr);
  ProblemKey key{};
  key.operation = Operation::kQr;
  key.dtype = Dtype::kF32;
  key.m = 4096;
  key.n = 64;
  key.batch = 4;
  EXPECT_TRUE(tall->supports(key));
  key.full = true;
  EXPECT_FALSE(tall->supports(key));
  key.full = false;
  std::swap(key.m, key.n);
  EXPECT_FALSE(tall->supports(key));
}

}  // namespace
}  // namespace lanepack::test
