// SPDX-License-Identifier: Apache-2.0
// eigh and eigvalsh.
#include <algorithm>

#include "backends/vendor_cuda/eigen.h"
#include "backends/vendor_cuda/operations.h"
#include "backends/vendor_cuda/steps.h"

namespace lanepack::vendor_cuda {
namespace {

// How a call is cut, and where its arrays lie.
struct EighPlan {
  EigenCall eigen;
  int64_t matrices = 1;  // of a part
  Common common;
  int64_t values = 0, routine = 0;
  int64_t workspace_bytes = 0;
};

Status lay_out(const char* caller, const Session& session, const ProblemKey& key, EighPlan* plan) {
  const Status status = ask_eigen(caller, session, plan->matrices, &plan->eigen);
  if (status != Status::kOk) return status;
  Arena arena;
  plan->common = Common(&arena, key.dtype, key.dtype, plan->matrices, key.n, key.n);
  plan->values = arena.add(plan->matrices * key.n * size_bytes(real_dtype(key.dtype)));
  plan->routine = arena.add(static_cast<int64_t>(plan->eigen.device_bytes));
  plan->workspace_bytes = arena.total();
  return Status::kOk;
}

Status make_plan(const char* caller, const Session& session, const ProblemKey& key,
                 EighPlan* plan) {
  *plan = {};
  plan->eigen.batched = takes_batches(session, key);
  plan->eigen.vectors = key.operation == Operation::kEigh;
  plan->eigen.n = key.n;
  plan->eigen.dtype = key.dtype;
  return fit_parts(session.limits(), key.batch, plan,
                   [&] { return lay_out(caller, session, key, plan); });
}

Status run_part(const char* caller, Session* session, const EighProblem& problem,
                const EighPlan& plan, const Steps& steps, int64_t first, int64_t count) {
  const ProblemKey& key = problem.key;
  const Dtype real = real_dtype(key.dtype);
  Reading reading;
  reading.by_rows = lies_by_rows(problem.a);
  reading.hermitian = true;
  // Of a row of the lower triangle what counts comes first, of a column last.
  reading.entries = key.upper == reading.by_rows ? vendor::kTail : vendor::kHead;
  Status status = steps.prepare(part_of(problem.a, key.dtype, first, count), reading, key.dtype);
  if (status != Status::kOk) return status;
  const Fill triangle = reading.entries == vendor::kTail ? kLower : kUpper;
  void* const values = steps.at(plan.values);
  status = run_eigen(caller, session, plan.eigen, triangle, count, steps.packed(), values,
                     steps.at(plan.routine), steps.routine_info());
  if (status != Status::kOk) return status;
  int32_t* info = problem.info == nullptr ? nullptr : problem.info + first;
  status = steps.report(count, values, real, key.n, info);
  if (status != Status::kOk) return status;
  Result from = {values, real, key.n, 1, key.n};
  from.scaled = true;
  status = steps.finish(part_of(problem.w, real, first, count), real, from);
  if (status != Status::kOk || problem.v.data == nullptr) return status;
  from = {steps.packed(), key.dtype, key.n, 1, key.n * key.n};
  return steps.finish(part_of(problem.v, key.dtype, first, count), key.dtype, from);
}

}  // namespace

int64_t eigh_workspace(const ProblemKey& key) {
  constexpr const char* kCaller = "lanepack_eigh_workspace";
  Session session;
  EighPlan plan;
  if (session.open_for_questions(kCaller, key) != Status::kOk) return 0;
  return make_plan(kCaller, session, key, &plan) == Status::kOk ? plan.workspace_bytes : 0;
}

Status run_eigh(const EighProblem& problem) {
  constexpr const char* kCaller = "lanepack_eigh";
  const ProblemKey& key = problem.key;
  Session session;
  Status status = session.open(kCaller, key, problem.launch.stream);
  if (status != Status::kOk) return status;
  EighPlan plan;
  status = make_plan(kCaller, session, key, &plan);
  if (status == Status::kOk) {
    status = check_workspace(kCaller, problem.launch, plan.workspace_bytes);
  }
  if (status != Status::kOk) return status;
  const Steps steps(kCaller, key, problem.launch, plan.common);
  for (int64_t first = 0; first < key.batch && status == Status::kOk; first += plan.matrices) {
    const int64_t count = std::min(plan.matrices, key.batch - first);
    status = run_part(kCaller, &session, problem, plan, steps, first, count);
  }
  return status;
}

}  // namespace lanepack::vendor_cuda
