// SPDX-License-Identifier: Apache-2.0
// The LAPACK backend on good matrices: residuals against the bounds of the project, and bits that
// depend on the matrix alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lapack_test_calls.h"
#include "lapack_test_support.h"

namespace lanepack::test {
namespace {

// In units of sqrt(n) u, 1-norm.
constexpr double kValueBound = 12;

template <class S>
void check_qr(const Batch<S>& a, const Qr<S>& x, int64_t b) {
  using R = real_t<S>;
  const int64_t n = std::max(a.rows(), a.cols());
  const auto wide = widen(a, b), q = widen(x.q, b), r = widen(x.r, b);
  EXPECT_EQ(x.info[b], 0);
  EXPECT_LE(in_units<R>(norm1_difference(product(q, r), wide), norm1(wide), n), kResidualBound);
  EXPECT_LE(orthogonality<R>(q, n), kOrthogonalityBound);
  for (int64_t j = 0; j < r.cols; ++j) {
    for (int64_t i = j + 1; i < r.rows; ++i) ASSERT_EQ(x.r(b, i, j), S(0));
    if (j < r.rows) {
      EXPECT_EQ(std::imag(r(j, j)), 0) << j;
    }
  }
}

template <class S>
void check_eigh(const Batch<S>& a, const Eigh<S>& x, int64_t b) {
  using R = real_t<S>;
  const int64_t n = a.rows();
  const auto wide = widen(a, b), v = widen(x.v, b);
  auto vw = v;
  scale_columns(&vw, x.w, b);
  EXPECT_EQ(x.info[b], 0);
  EXPECT_LE(in_units<R>(norm1_difference(product(wide, v), vw), norm1(wide), n), kResidualBound);
  EXPECT_LE(orthogonality<R>(v, n), kOrthogonalityBound);
  for (int64_t i = 1; i < n; ++i) EXPECT_LE(x.w(b, i - 1, 0), x.w(b, i, 0));
}

TYPED_TEST_SUITE(Lapack, Scalars);

constexpr int64_t kShapes[][2] = {{1, 1},   {2, 2},   {1, 6},   {6, 1},   {5, 3},  {3, 5},
                                  {17, 17}, {33, 32}, {20, 50}, {50, 20}, {40, 40}};

TYPED_TEST(Lapack, MeetsTheBounds) {
  for (const Library* library : libraries()) {
    for (const auto& [m, n] : kShapes) {
      for (Family family : kFamilies) {
        Batch<TypeParam> a(3, m, n);
        fill(&a, family, 1);
        SCOPED_TRACE(::testing::Message() << library->name << ' ' << m << 'x' << n << " family "
                                          << static_cast<int>(family));
        for (Spread spread : kSpreads) {
          for (bool full : {false, true}) {
            const Qr<TypeParam> qr(*library, spread, a, full);
            const Svd<TypeParam> svd(*library, spread, a, full);
            for (int64_t b = 0; b < a.batch(); ++b) check_qr(a, qr, b);
            for (int64_t b = 0; b < a.batch(); ++b) check_svd(a, svd, b);
          }
          if (m != n) continue;
          Batch<TypeParam> h(3, n, n);
          copy_batch(a, &h);
          make_hermitian(&h);
          const Eigh<TypeParam> eigh(*library, spread, h);
          for (int64_t b = 0; b < h.batch(); ++b) check_eigh(h, eigh, b);
        }
      }
    }
  }
}

// Also the leading dimensions that are padded, and columns that are copied by several threads.
TYPED_TEST(Lapack, MeetsTheBoundsAtLargerSizes) {
  const Library& library = *libraries()[0];
  for (const auto& [m, n] : {std::pair<int64_t, int64_t>{128, 128}, {384, 40}}) {
    Batch<TypeParam> a(1, m, n, Order::kRow);
    fill(&a, Family::kNormal, 2);
    for (Spread spread : kSpreads) {
      check_qr(a, Qr<TypeParam>(library, spread, a, false), 0);
      check_svd(a, Svd<TypeParam>(library, spread, a, false), 0);
      if (m != n) continue;
      make_hermitian(&a);
      check_eigh(a, Eigh<TypeParam>(library, spread, a), 0);
    }
  }
}

// Matrices of 2^17 elements are copied in pieces by several threads.
TYPED_TEST(Lapack, PiecesOfColumnsMakeOneMatrix) {
  const Library& library = *libraries()[0];
  Batch<TypeParam> a(1, 4000, 40, Order::kRow);
  fill(&a, Family::kNormal, 3);
  check_qr(a, Qr<TypeParam>(library, Spread::kParallel, a, false, 2, Order::kRow), 0);
  check_svd(a, Svd<TypeParam>(library, Spread::kParallel, a, false, 2, Order::kPadded), 0);
}

TYPED_TEST(Lapack, SerialBitsDependOnTheMatrixAlone) {
  using S = TypeParam;
  for (const Library* library : libraries()) {
    for (const auto& [m, n] : {std::pair<int64_t, int64_t>{33, 33}, {50, 20}, {20, 50}}) {
      Batch<S> a(7, m, n);
      fill(&a, Family::kNormal, 4);
      if (m == n) make_hermitian(&a);
      const Qr<S> qr(*library, Spread::kSerial, a, false);
      const Svd<S> svd(*library, Spread::kSerial, a, false);
      for (Order order : {Order::kRow, Order::kPadded, Order::kReversed}) {
        Batch<S> alone(1, m, n, order);
        for (int64_t b : {0, 3, 6}) {
          for (int64_t j = 0; j < n; ++j) {
            for (int64_t i = 0; i < m; ++i) alone(0, i, j) = a(b, i, j);
          }
          const Qr<S> qr1(*library, Spread::kSerial, alone, false, 1, order);
          EXPECT_TRUE(same_bits(qr.q, b, qr1.q, 0) && same_bits(qr.r, b, qr1.r, 0));
          const Svd<S> svd1(*library, Spread::kSerial, alone, false, 8, order);
          EXPECT_TRUE(same_bits(svd.u, b, svd1.u, 0) && same_bits(svd.s, b, svd1.s, 0) &&
                      same_bits(svd.vh, b, svd1.vh, 0));
          if (m != n) continue;
          const Eigh<S> eigh(*library, Spread::kSerial, a);
          for (bool upper : {false, true}) {
            const Eigh<S> eigh1(*library, Spread::kSerial, alone, upper, 3, order);
            EXPECT_TRUE(same_bits(eigh.w, b, eigh1.w, 0) && same_bits(eigh.v, b, eigh1.v, 0));
          }
        }
      }
    }
  }
}

template <class S>
void scale_by_power(const Batch<S>& from, int exponent, Batch<S>* to) {
  for (int64_t b = 0; b < from.batch(); ++b) {
    for (int64_t j = 0; j < from.cols(); ++j) {
      for (int64_t i = 0; i < from.rows(); ++i) {
        const S x = from(b, i, j);
        (*to)(b, i, j) =
            scalar<S>(std::ldexp(std::real(x), exponent), std::ldexp(std::imag(x), exponent));
      }
    }
  }
}

TYPED_TEST(Lapack, ScalingByAPowerOfTwoKeepsTheBits) {
  using S = TypeParam;
  using R = real_t<S>;
  constexpr int kRange = std::numeric_limits<R>::max_exponent;
  const Library& library = *libraries()[0];
  Batch<S> a(2, 24, 24), scaled(2, 24, 24);
  fill(&a, Family::kNormal, 5);
  make_hermitian(&a);
  const Qr<S> qr(library, Spread::kSerial, a, false);
  const Svd<S> svd(library, Spread::kSerial, a, false);
  const Eigh<S> eigh(library, Spread::kSerial, a);
  for (int exponent : {-kRange / 2, -7, 3, kRange / 2, kRange - 12}) {
    SCOPED_TRACE(exponent);
    scale_by_power(a, exponent, &scaled);
    const Qr<S> qr2(library, Spread::kSerial, scaled, false);
    const Svd<S> svd2(library, Spread::kSerial, scaled, false);
    const Eigh<S> eigh2(library, Spread::kSerial, scaled);
    Batch<S> r(2, 24, 24);
    Batch<R> s(2, 24, 1), w(2, 24, 1);
    scale_by_power(qr.r, exponent, &r);
    scale_by_power(svd.s, exponent, &s);
    scale_by_power(eigh.w, exponent, &w);
    for (int64_t b = 0; b < 2; ++b) {
      EXPECT_TRUE(same_bits(qr.q, b, qr2.q, b) && same_bits(r, b, qr2.r, b));
      EXPECT_TRUE(same_bits(svd.u, b, svd2.u, b) && same_bits(svd.vh, b, svd2.vh, b));
      EXPECT_TRUE(same_bits(s, b, svd2.s, b) && same_bits(w, b, eigh2.w, b));
      EXPECT_TRUE(same_bits(eigh.v, b, eigh2.v, b));
    }
  }
}

TYPED_TEST(Lapack, ValuesAloneAgreeWithThoseOfVectors) {
  using S = TypeParam;
  using R = real_t<S>;
  const Library& library = *libraries()[0];
  for (const auto& [m, n] : {std::pair<int64_t, int64_t>{33, 33}, {40, 25}, {25, 40}}) {
    Batch<S> a(4, m, n);
    fill(&a, Family::kNormal, 46);
    if (m == n) make_hermitian(&a);
    const Svd<S> with(library, Spread::kSerial, a, false);
    const Svd<S> alone(library, Spread::kSerial, a, false, 2, Order::kColumn, false);
    for (int64_t b = 0; b < 4; ++b) {
      const long double norm = norm1(widen(a, b));
      const auto s = widen(with.s, b), s_alone = widen(alone.s, b);
      EXPECT_LE(in_units<R>(norm1_difference(s, s_alone), norm, std::max(m, n)), kValueBound);
      if (m != n) continue;
      const Eigh<S> eigh(library, Spread::kSerial, a);
      const Eigh<S> values(library, Spread::kSerial, a, false, 2, Order::kColumn, false);
      const auto w = widen(eigh.w, b), w_alone = widen(values.w, b);
      EXPECT_LE(in_units<R>(norm1_difference(w, w_alone), norm, n), kValueBound);
    }
  }
}

// Clement's matrix: zero diagonal, sqrt(i (n - i)) beside it; eigenvalues -(n-1), -(n-3), ..., n-1.
TYPED_TEST(Lapack, FindsKnownEigenvalues) {
  using R = real_t<TypeParam>;
  constexpr int64_t n = 64;
  Batch<TypeParam> a(1, n, n);
  fill(&a, Family::kZero, 0);
  for (int64_t i = 1; i < n; ++i) {
    const R beside = std::sqrt(static_cast<R>(i * (n - i)));
    a(0, i, i - 1) = a(0, i - 1, i) = TypeParam(beside);
  }
  for (Spread spread : kSpreads) {
    const Eigh<TypeParam> x(*libraries()[0], spread, a);
    for (int64_t i = 0; i < n; ++i) {
      const long double exact = 2 * i - (n - 1);
      EXPECT_LE(in_units<R>(std::abs(x.w(0, i, 0) - exact), n, n), kValueBound);
    }
  }
}

}  // namespace
}  // namespace lanepack::test
