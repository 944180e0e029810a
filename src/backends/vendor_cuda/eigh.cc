// SPDX-License-Identifier: Apache-2.0
// eigh and eigvalsh: cusolverDnXsyevBatched for a batch, cusolverDnXsyevd for one matrix, and under
// `invariant` for one after the other.
#include <algorithm>
#include <cinttypes>

#include "backends/vendor_cuda/operations.h"
#include "backends/vendor_cuda/steps.h"

namespace lanepack::vendor_cuda {
namespace {

// cuSOLVER 11.7.1 (CUDA 12.6) reads of its workspace what it has not written: eigenvectors that are
// not orthonormal, by what lay there before.
constexpr int kReadsItsWorkspace = 11701;

// How a call is cut, and where its arrays lie.
struct EighPlan {
  bool batched = false;  // one call for the matrices of a part, or one for each
  int64_t matrices = 1;  // of a part
  size_t routine_bytes = 0, host_bytes = 0;
  Common common;
  int64_t values = 0, routine = 0;  // arrays: the routine's values and its own workspace
  int64_t workspace_bytes = 0;
};

int jobz(const ProblemKey& key) { return key.operation == Operation::kEigh ? kVectors : kValues; }

// What the routine asks for; it looks at sizes alone, whatever the triangle.
Status ask_size(const char* caller, const Session& session, const ProblemKey& key, EighPlan* plan) {
  const Solver& s = session.solver();
  const DataType a = data_type(key.dtype), w = data_type(real_dtype(key.dtype));
  if (!plan->batched) {
    return check_solver(
        caller, "cusolverDnXsyevd_bufferSize",
        s.syevd_size(session.handle(), session.params(), jobz(key), kLower, key.n, a, nullptr,
                     key.n, w, nullptr, a, &plan->routine_bytes, &plan->host_bytes));
  }
  return check_solver(caller, "cusolverDnXsyevBatched_bufferSize",
                      s.syev_batched_size(session.handle(), session.params(), jobz(key), kLower,
                                          key.n, a, nullptr, key.n, w, nullptr, a,
                                          &plan->routine_bytes, &plan->host_bytes, plan->matrices));
}

Status lay_out(const char* caller, const Session& session, const ProblemKey& key, EighPlan* plan) {
  const Status status = ask_size(caller, session, key, plan);
  if (status != Status::kOk) return status;
  Arena arena;
  plan->common = Common(&arena, key.dtype, plan->matrices, key.n, key.n);
  plan->values = arena.add(plan->matrices * key.n * size_bytes(real_dtype(key.dtype)));
  plan->routine = arena.add(static_cast<int64_t>(plan->routine_bytes));
  plan->workspace_bytes = arena.total();
  return Status::kOk;
}

// Parts as large as the limits allow.
Status make_plan(const char* caller, const Session& session, const ProblemKey& key,
                 EighPlan* plan) {
  const Limits& limits = session.limits();
  *plan = {};
  plan->batched =
      key.batch > 1 && key.routing == Routing::kFastest && session.solver().syev_batched != nullptr;
  plan->matrices = std::min(key.batch, limits.matrices);
  while (true) {
    const Status status = lay_out(caller, session, key, plan);
    if (status != Status::kOk) return status;
    if (plan->workspace_bytes <= limits.workspace_bytes || plan->matrices == 1) return status;
    // The bytes grow with the matrices, but not in proportion.
    const double share =
        static_cast<double>(limits.workspace_bytes) / static_cast<double>(plan->workspace_bytes);
    const auto fewer = static_cast<int64_t>(static_cast<double>(plan->matrices) * share);
    plan->matrices = std::max<int64_t>(1, std::min(plan->matrices - 1, fewer));
  }
}

// The packed matrices become eigenvectors, the values stand at plan.values.
Status decompose(const char* caller, Session* session, const ProblemKey& key, const EighPlan& plan,
                 const Steps& steps, int64_t matrices, Fill triangle) {
  const Solver& s = session->solver();
  const DataType a = data_type(key.dtype), w = data_type(real_dtype(key.dtype));
  void* host = host_workspace(plan.host_bytes);
  if (host == nullptr) {
    return fail(Status::kOutOfMemory, "%s: no %zu bytes of host memory for cuSOLVER", caller,
                plan.host_bytes);
  }
  void* const device = steps.at(plan.routine);
  if (plan.batched) {
    if (s.version <= kReadsItsWorkspace) {
      const auto bytes = static_cast<int64_t>(plan.routine_bytes);
      const Status status = session->clear(caller, device, bytes);
      if (status != Status::kOk) return status;
    }
    return check_solver(
        caller, "cusolverDnXsyevBatched",
        s.syev_batched(session->handle(), session->params(), jobz(key), triangle, key.n, a,
                       steps.packed(), key.n, w, steps.at(plan.values), a, device,
                       plan.routine_bytes, host, plan.host_bytes, steps.routine_info(), matrices));
  }
  auto* matrix = static_cast<unsigned char*>(steps.packed());
  unsigned char* values = steps.at(plan.values);
  for (int64_t i = 0; i < matrices; ++i) {
    const Status status =
        check_solver(caller, "cusolverDnXsyevd",
                     s.syevd(session->handle(), session->params(), jobz(key), triangle, key.n, a,
                             matrix, key.n, w, values, a, device, plan.routine_bytes, host,
                             plan.host_bytes, steps.routine_info() + i));
    if (status != Status::kOk) return status;
    matrix += key.n * key.n * size_bytes(key.dtype);
    values += key.n * size_bytes(real_dtype(key.dtype));
  }
  return Status::kOk;
}

Status run_part(const char* caller, Session* session, const EighProblem& problem,
                const EighPlan& plan, const Steps& steps, int64_t first, int64_t count) {
  const ProblemKey& key = problem.key;
  const Dtype real = real_dtype(key.dtype);
  const bool by_rows = lies_by_rows(problem.a);
  // Of a row of the lower triangle what counts comes first, of a column last.
  const kept entries = key.upper == by_rows ? vendor::kTail : vendor::kHead;
  Status status =
      steps.prepare(part_of(problem.a, key.dtype, first, count), by_rows, entries, true);
  if (status != Status::kOk) return status;
  const Fill triangle = entries == vendor::kTail ? kLower : kUpper;
  status = decompose(caller, session, key, plan, steps, count, triangle);
  if (status != Status::kOk) return status;
  int32_t* info = problem.info == nullptr ? nullptr : problem.info + first;
  status = steps.report(count, steps.at(plan.values), key.n, info);
  if (status != Status::kOk) return status;
  status = steps.finish(part_of(problem.w, real, first, count), real, steps.at(plan.values), key.n,
                        key.n, vendor::kAll, true);
  if (status != Status::kOk || problem.v.data == nullptr) return status;
  return steps.finish(part_of(problem.v, key.dtype, first, count), key.dtype, steps.packed(), key.n,
                      key.n * key.n, vendor::kAll, false);
}

}  // namespace

DataType data_type(Dtype dtype) {
  constexpr DataType kTypes[] = {0, 1, 4, 5};  // CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F
  return kTypes[static_cast<int>(dtype)];
}

int64_t eigh_workspace(const ProblemKey& key) {
  Session session;
  EighPlan plan;
  if (session.open_for_questions("lanepack_eigh_workspace", key) != Status::kOk) return 0;
  return make_plan("lanepack_eigh_workspace", session, key, &plan) == Status::kOk
             ? plan.workspace_bytes
             : 0;
}

Status run_eigh(const EighProblem& problem) {
  constexpr const char* kCaller = "lanepack_eigh";
  const ProblemKey& key = problem.key;
  Session session;
  Status status = session.open(kCaller, key, problem.launch.stream);
  if (status != Status::kOk) return status;
  EighPlan plan;
  status = make_plan(kCaller, session, key, &plan);
  if (status != Status::kOk) return status;
  if (problem.launch.workspace_bytes < plan.workspace_bytes) {
    return fail(Status::kWorkspaceTooSmall,
                "%s: the workspace has %" PRId64 " bytes; it must have %" PRId64, kCaller,
                problem.launch.workspace_bytes, plan.workspace_bytes);
  }
  const Steps steps(kCaller, key, problem.launch, plan.common);
  for (int64_t first = 0; first < key.batch && status == Status::kOk; first += plan.matrices) {
    const int64_t count = std::min(plan.matrices, key.batch - first);
    status = run_part(kCaller, &session, problem, plan, steps, first, count);
  }
  return status;
}

}  // namespace lanepack::vendor_cuda
