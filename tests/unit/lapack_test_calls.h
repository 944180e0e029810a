// SPDX-License-Identifier: Apache-2.0
// The LAPACKs that are tested, and one struct per operation that calls it and keeps its results.
#ifndef LANEPACK_TESTS_UNIT_LAPACK_TEST_CALLS_H_
#define LANEPACK_TESTS_UNIT_LAPACK_TEST_CALLS_H_

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <complex>
#include <cstdlib>
#include <memory>
#include <vector>

#include "backends/lapack/operations.h"
#include "lapack_test_support.h"

namespace lanepack::test {

using lapack::Library;
using lapack::Spread;

constexpr Spread kSpreads[] = {Spread::kSerial, Spread::kParallel};

// The LAPACKs to test: the one that the backend finds, after loading what the environment names as
// a Python process would have it loaded; and a second one whose threads have one setting for the
// process.
inline const std::vector<const Library*>& libraries() {
  static const std::vector<const Library*> all = [] {
    std::vector<const Library*> found;
    if (const char* path = std::getenv("LANEPACK_TEST_LAPACK")) {
      if (dlopen(path, RTLD_LAZY) == nullptr) ADD_FAILURE() << dlerror();
    }
    if (const Library* library = lapack::library()) found.push_back(library);
    if (const char* path = std::getenv("LANEPACK_TEST_OPENBLAS")) {
      auto library = std::make_unique<Library>();
      void* handle = dlopen(path, RTLD_LAZY);
      if (handle != nullptr && lapack::fill_library(handle, "scipy_", path, library.get())) {
        found.push_back(library.release());
      } else {
        ADD_FAILURE() << path << " has no LAPACK with the prefix scipy_";
      }
    }
    return found;
  }();
  return all;
}

template <class S>
struct Qr {
  Batch<S> q, r;
  std::vector<int32_t> info;
  Qr(const Library& library, Spread spread, const Batch<S>& a, bool full, int threads = 2,
     Order order = Order::kColumn)
      : q(a.batch(), a.rows(), full ? a.rows() : std::min(a.rows(), a.cols()), order),
        r(a.batch(), q.cols(), a.cols(), order),
        info(static_cast<size_t>(a.batch()), -5) {
    QrProblem problem{
        make_key(Operation::kQr, a, threads), a.view(), q.view(), r.view(), info.data(), {}};
    problem.key.full = full;
    EXPECT_EQ(lapack::qr(library, spread, problem), Status::kOk) << last_error();
  }
};

template <class S>
struct Eigh {
  Batch<real_t<S>> w;
  Batch<S> v;
  std::vector<int32_t> info;
  Eigh(const Library& library, Spread spread, const Batch<S>& a, bool upper = false,
       int threads = 2, Order order = Order::kColumn, bool vectors = true)
      : w(a.batch(), a.rows(), 1, order),
        v(a.batch(), a.rows(), a.cols(), order),
        info(static_cast<size_t>(a.batch()), -5) {
    EighProblem problem{make_key(Operation::kEigh, a, threads), a.view(),    w.view(),
                        vectors ? v.view() : MatrixBatch{},     info.data(), {}};
    problem.key.upper = upper;
    EXPECT_EQ(lapack::eigh(library, spread, problem), Status::kOk) << last_error();
  }
};

template <class S>
struct Svd {
  Batch<S> u;
  Batch<real_t<S>> s;
  Batch<S> vh;
  std::vector<int32_t> info;
  Svd(const Library& library, Spread spread, const Batch<S>& a, bool full, int threads = 2,
      Order order = Order::kColumn, bool vectors = true)
      : u(a.batch(), a.rows(), full ? a.rows() : std::min(a.rows(), a.cols()), order),
        s(a.batch(), std::min(a.rows(), a.cols()), 1, order),
        vh(a.batch(), full ? a.cols() : std::min(a.rows(), a.cols()), a.cols(), order),
        info(static_cast<size_t>(a.batch()), -5) {
    SvdProblem problem{make_key(Operation::kSvd, a, threads),
                       a.view(),
                       vectors ? u.view() : MatrixBatch{},
                       s.view(),
                       vectors ? vh.view() : MatrixBatch{},
                       info.data(),
                       {}};
    problem.key.full = full;
    EXPECT_EQ(lapack::svd(library, spread, problem), Status::kOk) << last_error();
  }
};

template <class S>
class Lapack : public ::testing::Test {
 protected:
  void SetUp() override {
    if (libraries().empty()) GTEST_SKIP() << "no LAPACK on this system; set LANEPACK_TEST_LAPACK";
  }
};
using Scalars = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;

}  // namespace lanepack::test

#endif  // LANEPACK_TESTS_UNIT_LAPACK_TEST_CALLS_H_
