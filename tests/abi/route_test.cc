// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "calls.h"

namespace lanepack_test {
namespace {

constexpr int32_t kCpu = LANEPACK_DEVICE_CPU;

lanepack_problem make_problem(int32_t operation, int64_t m, int64_t n, int64_t batch) {
  lanepack_problem problem = {};
  problem.struct_size = sizeof(problem);
  problem.operation = operation;
  problem.threads = 2;
  problem.m = m;
  problem.n = n;
  problem.batch = batch;
  return problem;
}

std::string route(const lanepack_problem& problem) {
  char identifier[64];
  if (lanepack_route(&problem, identifier, sizeof(identifier)) != LANEPACK_STATUS_OK) {
    return "error: " + last_error();
  }
  return identifier;
}

class Route : public testing::Test {
 protected:
  void SetUp() override { ::unsetenv("LANEPACK_FORCE"); }
  void TearDown() override {
    ::unsetenv("LANEPACK_FORCE");
    for (const char* family : {"qr", "eigh", "svd"}) lanepack_policy_reset(family, kCpu);
  }
};

TEST_F(Route, ThresholdDecidesAtTheNextCall) {
  const lanepack_problem problem = make_problem(LANEPACK_OPERATION_EIGH, 200, 200, 64);
  lanepack_policy_set("eigh", kCpu, "lanes_max_n", 200);
  EXPECT_EQ(route(problem), "eigh.tridiagonal_ql.lanes");
  lanepack_policy_set("eigh", kCpu, "lanes_max_n", 199);
  const bool has_lapack = lanepack_lapack_name()[0] != '\0';
  EXPECT_EQ(route(problem), has_lapack ? "eigh.lapack.serial" : "eigh.tridiagonal_ql.lanes");
}

TEST_F(Route, ThresholdsAreByDtype) {
  lanepack_problem problem = make_problem(LANEPACK_OPERATION_EIGVALSH, 90, 90, 64);
  lanepack_policy_set("eigh", kCpu, "lanes_max_n", 0);
  lanepack_policy_set("eigh", kCpu, "lanes_max_n_c128", 90);
  problem.dtype = LANEPACK_DTYPE_C128;
  EXPECT_EQ(route(problem), "eigh.tridiagonal_ql.lanes");
}

// The router's promise of `invariant`: no route depends on batch or threads.
TEST_F(Route, InvariantLooksAtNeitherBatchNorThreads) {
  for (int32_t operation = LANEPACK_OPERATION_QR; operation <= LANEPACK_OPERATION_SVDVALS;
       ++operation) {
    for (int32_t dtype = LANEPACK_DTYPE_F32; dtype <= LANEPACK_DTYPE_C128; ++dtype) {
      for (int64_t n : {1, 3, 17, 64, 100, 300, 2000}) {
        lanepack_problem problem = make_problem(operation, n, n, 1);
        problem.dtype = dtype;
        problem.routing = LANEPACK_ROUTING_INVARIANT;
        const std::string alone = route(problem);
        EXPECT_EQ(alone.find("error"), std::string::npos) << alone;
        EXPECT_EQ(alone.find("parallel"), std::string::npos) << alone;
        for (int64_t batch : {2, 7, 100000}) {
          for (int32_t threads : {0, 1, 64}) {
            problem.batch = batch;
            problem.threads = threads;
            EXPECT_EQ(route(problem), alone);
          }
        }
      }
    }
  }
}

TEST_F(Route, ServesEveryProblem) {
  for (int32_t operation = LANEPACK_OPERATION_QR; operation <= LANEPACK_OPERATION_SVDVALS;
       ++operation) {
    const bool square =
        operation == LANEPACK_OPERATION_EIGH || operation == LANEPACK_OPERATION_EIGVALSH;
    for (int32_t dtype = LANEPACK_DTYPE_F32; dtype <= LANEPACK_DTYPE_C128; ++dtype) {
      for (int64_t m : {1, 2, 9, 65, 1000, 100000}) {
        for (int64_t n : {1, 4, 33, 500}) {
          lanepack_problem problem = make_problem(operation, square ? n : m, n, 5);
          problem.dtype = dtype;
          EXPECT_EQ(route(problem).find("error"), std::string::npos) << route(problem);
        }
      }
    }
  }
}

// By the ratio and the shorter side, either way round; full matrices are not served.
TEST_F(Route, TallAndWideSvdGoesThroughR) {
  const bool has_lapack = lanepack_lapack_name()[0] != '\0';
  const std::string otherwise = has_lapack ? "svd.lapack.serial" : "svd.bidiagonal_qr.lanes";
  for (const int32_t operation : {LANEPACK_OPERATION_SVD, LANEPACK_OPERATION_SVDVALS}) {
    EXPECT_EQ(route(make_problem(operation, 4096, 64, 4)), "svd.tall.lanes");
    EXPECT_EQ(route(make_problem(operation, 64, 4096, 4)), "svd.tall.lanes");
    EXPECT_EQ(route(make_problem(operation, 65536, 32, 1)), "svd.tall.lanes");
    EXPECT_EQ(route(make_problem(operation, 1023, 64, 4)), otherwise);
    EXPECT_EQ(route(make_problem(operation, 96, 4, 4)), "svd.bidiagonal_qr.lanes");
  }
  lanepack_problem problem = make_problem(LANEPACK_OPERATION_SVD, 4096, 64, 4);
  problem.full = 1;
  EXPECT_EQ(route(problem), otherwise);
  problem.full = 0;
  problem.flags = LANEPACK_FLAG_JACOBI;
  EXPECT_EQ(route(problem), "svd.jacobi.lanes");
  problem.flags = 0;
  lanepack_policy_set("svd", kCpu, "tall_max_n", 63);
  EXPECT_EQ(route(problem), otherwise);
}

// One R a thread is LAPACK's below twice the ratio, under `fastest`.
TEST_F(Route, ATallSvdThatComesAloneWantsTwiceTheRatio) {
  if (lanepack_lapack_name()[0] == '\0') GTEST_SKIP() << "no LAPACK";
  lanepack_problem problem = make_problem(LANEPACK_OPERATION_SVD, 2048, 128, 2);
  EXPECT_EQ(route(problem), "svd.lapack.serial");
  problem.batch = 3;
  EXPECT_EQ(route(problem), "svd.tall.lanes");
  problem.batch = 2;
  problem.m = 4096;
  EXPECT_EQ(route(problem), "svd.tall.lanes");
  problem.m = 2048;
  problem.n = 32;
  EXPECT_EQ(route(problem), "svd.tall.lanes");
  problem.n = 128;
  problem.operation = LANEPACK_OPERATION_SVDVALS;
  EXPECT_EQ(route(problem), "svd.tall.lanes");
  problem.operation = LANEPACK_OPERATION_SVD;
  problem.routing = LANEPACK_ROUTING_INVARIANT;
  EXPECT_EQ(route(problem), "svd.tall.lanes");
}

TEST_F(Route, JacobiDriverIsServedByJacobiAlone) {
  for (int64_t n : {2, 30, 700}) {
    lanepack_problem problem = make_problem(LANEPACK_OPERATION_SVD, n + 3, n, 5);
    problem.flags = LANEPACK_FLAG_JACOBI;
    EXPECT_EQ(route(problem), "svd.jacobi.lanes");
  }
}

TEST_F(Route, ForceOverridesOrSaysWhyNot) {
  const lanepack_problem problem = make_problem(LANEPACK_OPERATION_EIGH, 2000, 2000, 1);
  ::setenv("LANEPACK_FORCE", "eigh.tridiagonal_ql.lanes", 1);
  EXPECT_EQ(route(problem), "eigh.tridiagonal_ql.lanes");
  ::setenv("LANEPACK_FORCE", "eigh.magic.lanes", 1);
  EXPECT_EQ(route(problem),
            "error: lanepack_route: LANEPACK_FORCE is 'eigh.magic.lanes'; this library has no such "
            "algorithm");
  Eigh<float> call(2, 3);
  EXPECT_EQ(lanepack_eigh(&call.args), LANEPACK_STATUS_INVALID_ARGUMENT);
  ::setenv("LANEPACK_FORCE", "qr.householder.lanes", 1);
  EXPECT_EQ(route(problem),
            "error: lanepack_route: LANEPACK_FORCE is 'qr.householder.lanes', which does not serve "
            "eigh f32 of 2000 x 2000");
  EXPECT_EQ(lanepack_eigh(&call.args), LANEPACK_STATUS_UNSUPPORTED);
}

TEST_F(Route, CutsTheIdentifier) {
  const lanepack_problem problem = make_problem(LANEPACK_OPERATION_EIGH, 2, 2, 1);
  char identifier[6] = "#####";
  ASSERT_EQ(lanepack_route(&problem, identifier, 5), LANEPACK_STATUS_OK);
  EXPECT_STREQ(identifier, "eigh");
  EXPECT_EQ(lanepack_route(&problem, identifier, 0), LANEPACK_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(lanepack_route(&problem, nullptr, 5), LANEPACK_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(lanepack_route(nullptr, identifier, 5), LANEPACK_STATUS_INVALID_ARGUMENT);
}

TEST_F(Route, ChecksTheProblem) {
  struct Case {
    void (*spoil)(lanepack_problem*);
    const char* text;
  };
  const std::vector<Case> cases = {
      {[](lanepack_problem* p) { p->struct_size = 4; }, "struct_size is 4"},
      {[](lanepack_problem* p) { p->operation = 9; }, "operation is 9"},
      {[](lanepack_problem* p) { p->operation = -1; }, "operation is -1"},
      {[](lanepack_problem* p) { p->dtype = 9; }, "dtype is 9"},
      {[](lanepack_problem* p) { p->device = -1; }, "device is -1"},
      {[](lanepack_problem* p) { p->device_index = 2; }, "device_index is 2"},
      {[](lanepack_problem* p) { p->threads = -1; }, "threads is -1"},
      {[](lanepack_problem* p) { p->routing = 3; }, "routing is 3"},
      {[](lanepack_problem* p) { p->flags = LANEPACK_FLAG_JACOBI; }, "flags is 0x2"},
      {[](lanepack_problem* p) { p->full = 1; }, "full is 1"},
      {[](lanepack_problem* p) { p->m = 3; }, "a has 3 rows and 4 columns; it must be square"},
      {[](lanepack_problem* p) { p->batch = -1; }, "batch of -1"},
  };
  for (const Case& c : cases) {
    lanepack_problem problem = make_problem(LANEPACK_OPERATION_EIGH, 4, 4, 1);
    c.spoil(&problem);
    EXPECT_EQ(route(problem).rfind("error: lanepack_route: ", 0), 0u) << route(problem);
    EXPECT_NE(route(problem).find(c.text), std::string::npos) << route(problem);
  }
}

}  // namespace
}  // namespace lanepack_test
