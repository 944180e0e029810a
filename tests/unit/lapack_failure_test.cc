// SPDX-License-Identifier: Apache-2.0
// The LAPACK backend where something is wrong or unusual: bad matrices, drivers that fail, sizes
// that LAPACK cannot count, forks, many callers.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "backends/backend.h"
#include "lapack_test_calls.h"
#include "lapack_test_support.h"

namespace lanepack::test {
namespace {

TYPED_TEST_SUITE(Lapack, Scalars);

TYPED_TEST(Lapack, BadMatrixIsAlone) {
  using S = TypeParam;
  using R = real_t<S>;
  const R nan = std::numeric_limits<R>::quiet_NaN();
  const R infinity = std::numeric_limits<R>::infinity();
  const Library& library = *libraries()[0];
  constexpr int64_t n = 19, bad = 2;
  Batch<S> good(5, n, n), a(5, n, n);
  fill(&good, Family::kNormal, 6);
  make_hermitian(&good);
  for (Spread spread : kSpreads) {
    const Qr<S> qr(library, spread, good, true);
    const Svd<S> svd(library, spread, good, false);
    const Eigh<S> eigh(library, spread, good);
    for (S poison : {scalar<S>(nan, 0), scalar<S>(-infinity, 1), scalar<S>(infinity, nan)}) {
      for (const auto& [i, j] : {std::pair<int64_t, int64_t>{0, 0}, {n - 1, 0}, {n - 1, n - 1}}) {
        copy_batch(good, &a);
        a(bad, i, j) = poison;
        const Qr<S> qr2(library, spread, a, true);
        const Svd<S> svd2(library, spread, a, false);
        const Svd<S> svdvals2(library, spread, a, false, 2, Order::kColumn, false);
        const Eigh<S> eigh2(library, spread, a);
        EXPECT_TRUE(all_nan(qr2.q, bad) && all_nan(qr2.r, bad));
        EXPECT_TRUE(all_nan(svd2.u, bad) && all_nan(svd2.s, bad) && all_nan(svd2.vh, bad));
        EXPECT_TRUE(all_nan(eigh2.w, bad) && all_nan(eigh2.v, bad) && all_nan(svdvals2.s, bad));
        for (int64_t b = 0; b < 5; ++b) {
          const int32_t info = b == bad ? kInfoNotFinite : 0;
          EXPECT_EQ(qr2.info[b], info);
          EXPECT_EQ(svd2.info[b], info);
          EXPECT_EQ(eigh2.info[b], info);
          if (b == bad) continue;
          EXPECT_TRUE(same_bits(qr.q, b, qr2.q, b) && same_bits(qr.r, b, qr2.r, b));
          EXPECT_TRUE(same_bits(svd.u, b, svd2.u, b) && same_bits(svd.vh, b, svd2.vh, b));
          EXPECT_TRUE(same_bits(eigh.v, b, eigh2.v, b) && same_bits(eigh.w, b, eigh2.w, b));
        }
      }
    }
  }
}

TYPED_TEST(Lapack, OneTriangleIsReadAndTheRealDiagonal) {
  using S = TypeParam;
  using R = real_t<S>;
  const R nan = std::numeric_limits<R>::quiet_NaN();
  const Library& library = *libraries()[0];
  constexpr int64_t n = 37;
  Batch<S> a(1, n, n);
  fill(&a, Family::kNormal, 7);
  make_hermitian(&a);
  const Eigh<S> clean(library, Spread::kSerial, a);
  for (bool upper : {false, true}) {
    Batch<S> dirty(1, n, n);
    copy_batch(a, &dirty);
    for (int64_t j = 0; j < n; ++j) {
      dirty(0, j, j) = scalar<S>(std::real(dirty(0, j, j)), nan);
      for (int64_t i = 0; i < j; ++i) {
        (upper ? dirty(0, j, i) : dirty(0, i, j)) = scalar<S>(nan, nan);
      }
    }
    const Eigh<S> x(library, Spread::kSerial, dirty, upper);
    EXPECT_EQ(x.info[0], 0);
    EXPECT_TRUE(same_bits(clean.w, 0, x.w, 0) && same_bits(clean.v, 0, x.v, 0));
  }
}

TYPED_TEST(Lapack, EmptyMatricesHaveIdentityFactors) {
  using S = TypeParam;
  const Library& library = *libraries()[0];
  for (const auto& [m, n] : {std::pair<int64_t, int64_t>{0, 3}, {3, 0}, {0, 0}}) {
    Batch<S> a(2, m, n);
    const Qr<S> qr(library, Spread::kSerial, a, true);
    const Svd<S> svd(library, Spread::kParallel, a, true);
    for (int64_t b = 0; b < 2; ++b) {
      EXPECT_EQ(qr.info[b], 0);
      EXPECT_EQ(svd.info[b], 0);
      for (int64_t j = 0; j < m; ++j) {
        for (int64_t i = 0; i < m; ++i) EXPECT_EQ(qr.q(b, i, j), S(i == j ? 1 : 0));
        for (int64_t i = 0; i < m; ++i) EXPECT_EQ(svd.u(b, i, j), S(i == j ? 1 : 0));
      }
      for (int64_t j = 0; j < n; ++j) {
        for (int64_t i = 0; i < n; ++i) EXPECT_EQ(svd.vh(b, i, j), S(i == j ? 1 : 0));
      }
    }
  }
}

// Refused before anything is allocated or read: the pointers lead nowhere.
TYPED_TEST(Lapack, SizesThatLapackCannotCountAreRefused) {
  using S = TypeParam;
  const Library& library = *libraries()[0];
  S element(7);
  const auto square = [&](int64_t n) { return MatrixBatch{&element, n, n, 1, 0, 0, 0}; };
  constexpr int64_t n = 53000;
  EighProblem eigh{};
  eigh.key.dtype = dtype_of<S>();
  eigh.key.m = eigh.key.n = n;
  eigh.key.batch = 1;
  eigh.a = eigh.w = eigh.v = square(n);
  EXPECT_EQ(lapack::eigh(library, Spread::kParallel, eigh), Status::kUnsupported);
  EXPECT_NE(std::string(last_error()).find("lanepack_eigh"), std::string::npos);
  EXPECT_NE(std::string(last_error()).find("53000"), std::string::npos);
  SvdProblem svd{};
  svd.key = eigh.key;
  svd.a = svd.u = svd.s = svd.vh = square(n);
  EXPECT_EQ(lapack::svd(library, Spread::kSerial, svd), Status::kUnsupported);
  EXPECT_NE(std::string(last_error()).find("53000"), std::string::npos);
  QrProblem qr{};
  qr.key = eigh.key;
  qr.key.m = int64_t{1} << 32;
  qr.a = qr.q = qr.r = MatrixBatch{&element, qr.key.m, n, 1, 0, 0, 0};
  EXPECT_EQ(lapack::qr(library, Spread::kSerial, qr), Status::kUnsupported);
  qr.key.m = 2000000000;
  qr.key.n = 1000000;  // more than an address space holds
  EXPECT_EQ(lapack::qr(library, Spread::kSerial, qr), Status::kOutOfMemory);
  EXPECT_EQ(element, S(7));
}

TYPED_TEST(Lapack, ManyCallersAtOnce) {
  using S = TypeParam;
  for (const Library* library : libraries()) {
    Batch<S> a(6, 40, 40);
    fill(&a, Family::kNormal, 8);
    make_hermitian(&a);
    const Eigh<S> alone(*library, Spread::kSerial, a);
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 8; ++caller) {
      callers.emplace_back([&, caller] {
        const Svd<S> svd(*library, kSpreads[caller % 2], a, false);
        const Eigh<S> x(*library, Spread::kSerial, a);
        for (int64_t b = 0; b < 6; ++b) {
          EXPECT_EQ(svd.info[b], 0);
          EXPECT_TRUE(same_bits(alone.w, b, x.w, b) && same_bits(alone.v, b, x.v, b));
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
  }
}

TYPED_TEST(Lapack, WorksInAForkedChild) {
  using S = TypeParam;
  Batch<S> a(1, 96, 96);
  fill(&a, Family::kNormal, 9);
  for (const Library* library : libraries()) {
    // Threads of the vendor's library and of the pool exist now, and not in the child.
    const Svd<S> parent(*library, Spread::kParallel, a, false);
    const Svd<S> serial(*library, Spread::kSerial, a, false);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(60);
      const Svd<S> x(*library, Spread::kParallel, a, false);
      const Svd<S> y(*library, Spread::kSerial, a, false);
      _exit(x.info[0] == 0 && same_bits(serial.s, 0, y.s, 0) ? 7 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << library->name;
  }
}

class LapackLibrary : public Lapack<double> {};

TEST_F(LapackLibrary, IsNamed) {
  if (lapack::library() == nullptr) GTEST_SKIP() << "the backend found none";
  EXPECT_NE(std::string(lapack_library_name()).find('('), std::string::npos);
  EXPECT_TRUE(lapack_available(Dtype::kC64));
  EXPECT_EQ(lapack_algorithms().count, 10u);
  ProblemKey key{};
  key.device = 1;
  for (size_t i = 0; i < 10; ++i) EXPECT_FALSE(lapack_algorithms().algorithms[i].supports(key));
}

TEST_F(LapackLibrary, ThreadLimitEndsWithItsScope) {
  for (const Library* library : libraries()) {
    SCOPED_TRACE(library->name);
    if (library->control == lapack::ThreadControl::kLocal) {
      const int before = library->set_threads_local(3);
      {
        lapack::ThreadLimit limit(*library, 1);
        EXPECT_EQ(library->set_threads_local(1), 1);
      }
      EXPECT_EQ(library->set_threads_local(before), 3);
    } else if (library->control == lapack::ThreadControl::kProcess) {
      const int before = library->get_threads();
      library->set_threads(2);
      {
        lapack::ThreadLimit two(*library, 2);
        {
          lapack::ThreadLimit one(*library, 1);
          EXPECT_EQ(library->get_threads(), 1);
        }
        EXPECT_EQ(library->get_threads(), 1);  // a call that asked for one may still be inside
      }
      EXPECT_EQ(library->get_threads(), 2);
      library->set_threads(before);
    }
  }
}

// Drivers that fail as LAPACK's can: they answer the workspace query, destroy the input and give an
// info, or NaN with an info of zero, for matrices whose first element is negative.
using Double = lapack::Routines<double>;
Double::RealSvd* real_gesdd;
Double::RealEigh* real_syevd;
lapack::Int failure;

void report_failure(lapack::Int n, double* values, lapack::Int* info) {
  *info = failure;
  if (failure == 0) values[n / 2] = std::numeric_limits<double>::quiet_NaN();
}

void failing_gesdd(const char* jobz, const lapack::Int* m, const lapack::Int* n, double* a,
                   const lapack::Int* lda, double* s, double* u, const lapack::Int* ldu, double* vt,
                   const lapack::Int* ldvt, double* work, const lapack::Int* lwork,
                   lapack::Int* iwork, lapack::Int* info, size_t length) {
  const bool fails = *lwork != -1 && a[0] < 0;
  real_gesdd(jobz, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork, iwork, info, length);
  if (fails) report_failure(*n, s, info);
}

void gesvd_by_gesdd(const char* jobu, const char*, const lapack::Int* m, const lapack::Int* n,
                    double* a, const lapack::Int* lda, double* s, double* u, const lapack::Int* ldu,
                    double* vt, const lapack::Int* ldvt, double* work, const lapack::Int* lwork,
                    lapack::Int* info, size_t length, size_t) {
  std::vector<lapack::Int> iwork(static_cast<size_t>(8 * *n));
  real_gesdd(jobu, m, n, a, lda, s, u, ldu, vt, ldvt, work, lwork, iwork.data(), info, length);
}

void failing_syevd(const char* jobz, const char* uplo, const lapack::Int* n, double* a,
                   const lapack::Int* lda, double* w, double* work, const lapack::Int* lwork,
                   lapack::Int* iwork, const lapack::Int* liwork, lapack::Int* info, size_t l1,
                   size_t l2) {
  const bool fails = *lwork != -1 && a[0] < 0;
  real_syevd(jobz, uplo, n, a, lda, w, work, lwork, iwork, liwork, info, l1, l2);
  if (fails) report_failure(*n, w, info);
}

class LapackDriver : public Lapack<double> {
 protected:
  void SetUp() override {
    Lapack<double>::SetUp();
    if (IsSkipped()) return;
    library = *libraries()[0];
    real_gesdd = library.f64.gesdd;
    real_syevd = library.f64.heevd;
    library.f64.gesdd = failing_gesdd;
    library.f64.heevd = failing_syevd;
    library.f64.gesvd = nullptr;
    failure = 5;
    fill(&a, Family::kNormal, 10);
    for (int64_t b = 0; b < 3; ++b) a(b, 0, 0) = b == 1 ? -1 : 1;
    make_hermitian(&a);
  }
  Library library;
  Batch<double> a{3, 12, 12};
};

TEST_F(LapackDriver, NoConvergenceGivesNanAndItsInfo) {
  const Svd<double> svd(library, Spread::kSerial, a, false);
  const Eigh<double> eigh(library, Spread::kSerial, a);
  const Svd<double> svd_right(*libraries()[0], Spread::kSerial, a, false);
  for (int64_t b = 0; b < 3; ++b) {
    EXPECT_EQ(svd.info[b], b == 1 ? 5 : 0);
    EXPECT_EQ(eigh.info[b], b == 1 ? 5 : 0);
  }
  EXPECT_TRUE(all_nan(svd.u, 1) && all_nan(svd.s, 1) && all_nan(svd.vh, 1));
  EXPECT_TRUE(all_nan(eigh.w, 1) && all_nan(eigh.v, 1));
  EXPECT_TRUE(same_bits(svd.u, 2, svd_right.u, 2));
}

TEST_F(LapackDriver, NanWithAnInfoOfZeroIsNoConvergence) {
  failure = 0;
  for (const bool vectors : {true, false}) {
    const Svd<double> svd(library, Spread::kSerial, a, false, 2, Order::kColumn, vectors);
    for (int64_t b = 0; b < 3; ++b) EXPECT_EQ(svd.info[b], b == 1 ? kInfoNoConvergence : 0);
    EXPECT_TRUE(all_nan(svd.s, 1));
    if (!vectors) continue;
    EXPECT_TRUE(all_nan(svd.u, 1) && all_nan(svd.vh, 1));
  }
  const Eigh<double> eigh(library, Spread::kSerial, a);
  for (int64_t b = 0; b < 3; ++b) EXPECT_EQ(eigh.info[b], b == 1 ? kInfoNoConvergence : 0);
  EXPECT_TRUE(all_nan(eigh.w, 1) && all_nan(eigh.v, 1));
}

TEST_F(LapackDriver, SvdIsTriedAgainWithGesvd) {
  for (const lapack::Int told : {5, 0}) {
    failure = told;
    library.f64.gesvd = gesvd_by_gesdd;
    const Svd<double> right(*libraries()[0], Spread::kSerial, a, false);
    const Svd<double> again(library, Spread::kSerial, a, false);
    EXPECT_EQ(again.info[1], 0);
    EXPECT_TRUE(same_bits(right.u, 1, again.u, 1) && same_bits(right.s, 1, again.s, 1) &&
                same_bits(right.vh, 1, again.vh, 1));
  }
}

TEST_F(LapackDriver, RefusedArgumentIsAnError) {
  failure = -4;
  Batch<double> w(3, 12, 1), v(3, 12, 12);
  const EighProblem problem{
      make_key(Operation::kEigh, a, 2), a.view(), w.view(), v.view(), nullptr, {}};
  EXPECT_EQ(lapack::eigh(library, Spread::kSerial, problem), Status::kInternal);
  EXPECT_NE(std::string(last_error()).find("argument 4"), std::string::npos) << last_error();
}

}  // namespace
}  // namespace lanepack::test
