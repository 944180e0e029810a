// SPDX-License-Identifier: Apache-2.0
// The rules are a table, read from top to bottom: the first rule whose condition holds, and whose
// algorithm is in this build and supports the problem, decides. So an algorithm that is absent
// falls through to the next rule of its operation. The size against which lanes_max_n and its like
// are held is max(m, n): the longer side bounds the memory of a lane. Under `invariant` no
// condition looks at batch, threads or strides.
#include "routing/router.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "routing/policy.h"

namespace lanepack {
namespace {

enum class When {
  kJacobiDriver,  // svd with driver jacobi: no other rule may serve it
  kLone,          // LAPACK found, `fastest`, one matrix, max(m, n) > lone_lanes_max_n, not above
                  // lanes_max_n
  kLanesSize,     // max(m, n) <= lanes_max_n
  kTall,          // the longer side >= tall_min_ratio times the shorter, that <= tall_max_n
  kTallSvd,       // kTall; twice the ratio where LAPACK's svd of one R a thread is faster
  kOneLarge,      // LAPACK found, `fastest`, batch < threads, max(m, n) >= lapack_parallel_min_n
  kLapack,        // LAPACK found
  kThreadSize,    // batch >= gpu_min_batch, max(m, n) <= thread_max_n
  kWarpSize,      // batch >= gpu_min_batch, min(m, n) <= warp_max_n
  kBlockSize,     // batch >= gpu_min_batch, max(m, n) <= block_max_n
  kAlways,
};

struct Rule {
  int32_t device;
  Family family;
  When when;
  const char* identifier;
};

constexpr Rule kRules[] = {
    {kDeviceCpu, Family::kQr, When::kLone, "qr.lapack.serial"},
    {kDeviceCpu, Family::kQr, When::kLanesSize, "qr.householder.lanes"},
    {kDeviceCpu, Family::kQr, When::kTall, "qr.tall.lanes"},
    {kDeviceCpu, Family::kQr, When::kOneLarge, "qr.lapack.parallel"},
    {kDeviceCpu, Family::kQr, When::kLapack, "qr.lapack.serial"},
    {kDeviceCpu, Family::kQr, When::kAlways, "qr.householder.lanes"},

    {kDeviceCpu, Family::kEigh, When::kLone, "eigh.lapack.serial"},
    {kDeviceCpu, Family::kEigh, When::kLanesSize, "eigh.tridiagonal_ql.lanes"},
    {kDeviceCpu, Family::kEigh, When::kOneLarge, "eigh.lapack.parallel"},
    {kDeviceCpu, Family::kEigh, When::kLapack, "eigh.lapack.serial"},
    {kDeviceCpu, Family::kEigh, When::kAlways, "eigh.tridiagonal_ql.lanes"},

    {kDeviceCpu, Family::kSvd, When::kJacobiDriver, "svd.jacobi.lanes"},
    {kDeviceCpu, Family::kSvd, When::kLone, "svd.lapack.serial"},
    {kDeviceCpu, Family::kSvd, When::kLanesSize, "svd.bidiagonal_qr.lanes"},
    {kDeviceCpu, Family::kSvd, When::kTallSvd, "svd.tall.lanes"},
    {kDeviceCpu, Family::kSvd, When::kOneLarge, "svd.lapack.parallel"},
    {kDeviceCpu, Family::kSvd, When::kLapack, "svd.lapack.serial"},
    {kDeviceCpu, Family::kSvd, When::kAlways, "svd.bidiagonal_qr.lanes"},
    {kDeviceCpu, Family::kSvd, When::kAlways, "svd.jacobi.lanes"},

    {kDeviceCpu, Family::kCholesky, When::kLone, "cholesky.lapack.serial"},
    {kDeviceCpu, Family::kCholesky, When::kLanesSize, "cholesky.left_looking.lanes"},
    {kDeviceCpu, Family::kCholesky, When::kOneLarge, "cholesky.lapack.parallel"},
    {kDeviceCpu, Family::kCholesky, When::kLapack, "cholesky.lapack.serial"},
    {kDeviceCpu, Family::kCholesky, When::kAlways, "cholesky.left_looking.lanes"},

    {kDeviceCpu, Family::kSolve, When::kLone, "solve_triangular.lapack.serial"},
    {kDeviceCpu, Family::kSolve, When::kLanesSize, "solve_triangular.substitution.lanes"},
    {kDeviceCpu, Family::kSolve, When::kOneLarge, "solve_triangular.lapack.parallel"},
    {kDeviceCpu, Family::kSolve, When::kLapack, "solve_triangular.lapack.serial"},
    {kDeviceCpu, Family::kSolve, When::kAlways, "solve_triangular.substitution.lanes"},

    {kDeviceCuda, Family::kQr, When::kThreadSize, "qr.small.thread"},
    {kDeviceCuda, Family::kQr, When::kWarpSize, "qr.householder.warp"},
    {kDeviceCuda, Family::kEigh, When::kThreadSize, "eigh.small.thread"},
    {kDeviceCuda, Family::kEigh, When::kWarpSize, "eigh.implicit_ql.warp"},
    {kDeviceCuda, Family::kEigh, When::kAlways, "eigh.vendor"},
    {kDeviceCuda, Family::kSvd, When::kJacobiDriver, "svd.small.thread"},
    {kDeviceCuda, Family::kSvd, When::kThreadSize, "svd.small.thread"},
    {kDeviceCuda, Family::kSvd, When::kWarpSize, "svd.implicit_qr.warp"},
    {kDeviceCuda, Family::kSvd, When::kAlways, "svd.vendor"},
    {kDeviceCuda, Family::kCholesky, When::kThreadSize, "cholesky.small.thread"},
    {kDeviceCuda, Family::kCholesky, When::kWarpSize, "cholesky.right_looking.warp"},
    {kDeviceCuda, Family::kCholesky, When::kBlockSize, "cholesky.right_looking.block"},
    {kDeviceCuda, Family::kCholesky, When::kBlockSize, "cholesky.left_looking.block"},
    {kDeviceCuda, Family::kSolve, When::kThreadSize, "solve_triangular.small.thread"},
    {kDeviceCuda, Family::kSolve, When::kWarpSize, "solve_triangular.substitution.warp"},
};
constexpr size_t kRuleCount = sizeof(kRules) / sizeof(kRules[0]);

// The algorithms of the rules, looked up once.
struct RuleAlgorithms {
  const Algorithm* algorithms[kRuleCount];
  RuleAlgorithms() {
    for (size_t i = 0; i < kRuleCount; ++i) algorithms[i] = find_algorithm(kRules[i].identifier);
  }
};

const Algorithm* rule_algorithm(size_t index) {
  static const RuleAlgorithms table;
  return table.algorithms[index];
}

Family family_of(Operation operation) {
  switch (operation) {
    case Operation::kQr:
      return Family::kQr;
    case Operation::kEigh:
    case Operation::kEigvalsh:
      return Family::kEigh;
    case Operation::kCholesky:
      return Family::kCholesky;
    case Operation::kSolveTriangular:
    case Operation::kCholeskySolve:
    case Operation::kCholeskyInverse:
      return Family::kSolve;
    case Operation::kSvd:
    case Operation::kSvdvals:
      break;
  }
  return Family::kSvd;
}

// The operation under which a backend's table lists the algorithms of `operation`.
Operation table_operation(Operation operation) {
  if (operation == Operation::kEigvalsh) return Operation::kEigh;
  if (operation == Operation::kSvdvals) return Operation::kSvd;
  if (operation == Operation::kCholeskySolve || operation == Operation::kCholeskyInverse) {
    return Operation::kSolveTriangular;
  }
  return operation;
}

// The longer side is at least `times` tall_min_ratio times the shorter.
bool is_tall(Family family, const ProblemKey& key, int64_t times) {
  const int64_t longer = std::max(key.m, key.n);
  const int64_t shorter = std::min(key.m, key.n);
  // The rounded-down quotient reaches a whole number exactly when the true one does.
  return shorter > 0 &&
         longer / shorter >= times * threshold(family, Threshold::kTallMinRatio, key.dtype) &&
         shorter <= threshold(family, Threshold::kTallMaxN, key.dtype);
}

// The R of a matrix that a thread has to itself fills one lane: above lone_lanes_max_n its svd
// takes longer than LAPACK's, which QR makes up for from about twice the ratio on (measured, one
// thread, LAPACK / lanes: 0.74 to 0.94 at 2048 x 128, 0.97 to 1.15 at 4096 x 128, 1.16 to 1.48 at
// 8192 x 128). Its values alone do not: 1.2 to 1.5 at 2048 x 128.
bool is_tall_for_svd(const ProblemKey& key) {
  const bool alone =
      key.operation == Operation::kSvd && key.routing == Routing::kFastest &&
      key.batch <= key.threads && lapack_available(key.dtype) &&
      std::min(key.m, key.n) > threshold(Family::kSvd, Threshold::kLoneLanesMaxN, key.dtype);
  return is_tall(Family::kSvd, key, alone ? 2 : 1);
}

bool holds(When when, Family family, const ProblemKey& key) {
  if (key.jacobi && when != When::kJacobiDriver) return false;
  const int64_t longer = std::max(key.m, key.n);
  const auto value = [&](Threshold name) { return threshold(family, name, key.dtype); };
  const auto enough = [&] {
    return key.routing == Routing::kInvariant || key.batch >= value(Threshold::kGpuMinBatch);
  };
  switch (when) {
    case When::kJacobiDriver:
      return key.jacobi;
    case When::kLone:
      return key.routing == Routing::kFastest && key.batch == 1 &&
             longer > value(Threshold::kLoneLanesMaxN) && longer <= value(Threshold::kLanesMaxN) &&
             lapack_available(key.dtype);
    case When::kLanesSize:
      return longer <= value(Threshold::kLanesMaxN);
    case When::kTall:
      return is_tall(family, key, 1);
    case When::kTallSvd:
      return is_tall_for_svd(key);
    case When::kOneLarge:
      return key.routing == Routing::kFastest && key.batch < key.threads &&
             longer >= value(Threshold::kLapackParallelMinN) && lapack_available(key.dtype);
    case When::kLapack:
      return lapack_available(key.dtype);
    case When::kThreadSize:
      return longer <= value(Threshold::kThreadMaxN) && enough();
    case When::kWarpSize:
      return std::min(key.m, key.n) <= value(Threshold::kWarpMaxN) && enough();
    case When::kBlockSize:
      return longer <= value(Threshold::kBlockMaxN) && enough();
    case When::kAlways:
      break;
  }
  return true;
}

// 'vendor' stands for the vendor's routine of every operation: "eigh.vendor".
const Algorithm* find_forced(const char* identifier, Operation operation) {
  if (std::strcmp(identifier, "vendor") != 0) return find_algorithm(identifier);
  char of_operation[64];
  std::snprintf(of_operation, sizeof(of_operation), "%s.vendor", operation_name(operation));
  return find_algorithm(of_operation);
}

Status route_forced(const char* function, const char* identifier, const ProblemKey& key,
                    const Algorithm** algorithm) {
  const Operation operation = table_operation(key.operation);
  const Algorithm* const forced = find_forced(identifier, operation);
  if (forced == nullptr) {
    return fail(Status::kInvalidArgument,
                "%s: LANEPACK_FORCE is '%.64s'; this library has no such algorithm", function,
                identifier);
  }
  if (forced->operation != operation || !forced->supports(key)) {
    return fail(Status::kUnsupported,
                "%s: LANEPACK_FORCE is '%s', which does not serve %s %s of %" PRId64 " x %" PRId64,
                function, identifier, operation_name(key.operation), dtype_name(key.dtype), key.m,
                key.n);
  }
  *algorithm = forced;
  return Status::kOk;
}

}  // namespace

Status route(const char* function, const ProblemKey& key, const Algorithm** algorithm) {
  const char* const forced = std::getenv("LANEPACK_FORCE");
  if (forced != nullptr && forced[0] != '\0') {
    return route_forced(function, forced, key, algorithm);
  }
  const Family family = family_of(key.operation);
  for (size_t i = 0; i < kRuleCount; ++i) {
    if (kRules[i].device != key.device || kRules[i].family != family ||
        !holds(kRules[i].when, family, key)) {
      continue;
    }
    const Algorithm* const candidate = rule_algorithm(i);
    if (candidate != nullptr && candidate->supports(key)) {
      *algorithm = candidate;
      return Status::kOk;
    }
  }
  return fail(Status::kUnsupported,
              "%s: no algorithm of this library serves %s %s of %" PRId64 " x %" PRId64 "%s",
              function, operation_name(key.operation), dtype_name(key.dtype), key.m, key.n,
              key.device == kDeviceCuda ? " on CUDA" : "");
}

const char* operation_name(Operation operation) {
  constexpr const char* kNames[] = {"qr",
                                    "eigh",
                                    "eigvalsh",
                                    "svd",
                                    "svdvals",
                                    "cholesky",
                                    "solve_triangular",
                                    "cholesky_solve",
                                    "cholesky_inverse"};
  return kNames[static_cast<int>(operation)];
}

const char* dtype_name(Dtype dtype) {
  constexpr const char* kNames[] = {"f32", "f64", "c64", "c128"};
  return kNames[static_cast<int>(dtype)];
}

}  // namespace lanepack
