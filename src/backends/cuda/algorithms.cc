// SPDX-License-Identifier: Apache-2.0
// The CUDA kernels' rows in the table of algorithms.
#include <utility>

#include "backends/backend.h"
#include "backends/cuda/launch.h"
#include "backends/cuda/plan.h"

namespace lanepack {
namespace {

using cuda::LaunchPlan;
using Plan = bool (*)(const ProblemKey& key, LaunchPlan* plan);

template <Plan kPlan>
bool supports(const ProblemKey& key) {
  LaunchPlan plan;
  return key.device == kDeviceCuda && kPlan(key, &plan);
}

template <Plan kPlan>
int64_t workspace(const ProblemKey& key) {
  LaunchPlan plan;
  return kPlan(key, &plan) ? plan.workspace_bytes : 0;
}

template <Plan kPlan>
Status run(const char* caller, const ProblemKey& key, const Launch& where, void* arguments) {
  LaunchPlan plan;
  if (!kPlan(key, &plan)) return fail(Status::kInternal, "%s: its kernel has no plan", caller);
  return cuda::launch(caller, key, where, plan, arguments);
}

// Rows and columns exchanged.
cuda::steps::view transposed(cuda::steps::view x) {
  std::swap(x.row, x.column);
  if (x.layout != cuda::steps::kStrided) {
    x.layout = x.layout == cuda::steps::kPackedRows ? cuda::steps::kPackedColumns
                                                    : cuda::steps::kPackedRows;
  }
  return x;
}

template <Plan kPlan>
Status run_cholesky(const CholeskyProblem& problem) {
  const ProblemKey& key = problem.key;
  cuda::cholesky::arguments arguments = {};
  arguments.a = cuda::device_view(problem.a);
  arguments.l = cuda::device_view(problem.l);
  if (key.upper) {
    arguments.a = transposed(arguments.a);
    arguments.l = transposed(arguments.l);
  }
  arguments.info = problem.info;
  arguments.batch = key.batch;
  arguments.n = static_cast<int>(key.n);
  return run<kPlan>("lanepack_cholesky", key, problem.launch, &arguments);
}

template <Plan kPlan>
Status run_solve(const SolveProblem& problem) {
  const ProblemKey& key = problem.key;
  cuda::solve::arguments arguments = {};
  arguments.a = cuda::device_view(problem.factor.a);
  arguments.b = cuda::device_view(problem.b);
  arguments.x = cuda::device_view(problem.x);
  arguments.batch = key.batch;
  arguments.columns = key.columns;
  arguments.n = static_cast<int>(key.n);
  arguments.lower = problem.factor.lower ? 1 : 0;
  arguments.conjugate = problem.factor.conjugate ? 1 : 0;
  arguments.unit = problem.factor.unit ? 1 : 0;
  const bool twice = key.operation == Operation::kCholeskySolve;
  arguments.passes = twice ? 2 : 1;
  return run<kPlan>(twice ? "lanepack_cholesky_solve" : "lanepack_solve_triangular", key,
                    problem.launch, &arguments);
}

template <Plan kPlan>
Status run_qr(const QrProblem& problem) {
  const ProblemKey& key = problem.key;
  cuda::qr::arguments arguments = {};
  arguments.a = cuda::device_view(problem.a);
  arguments.q = cuda::device_view(problem.q);
  arguments.r = cuda::device_view(problem.r);
  arguments.info = problem.info;
  arguments.workspace = problem.launch.workspace;
  arguments.batch = key.batch;
  arguments.m = static_cast<int>(key.m);
  arguments.n = static_cast<int>(key.n);
  arguments.q_columns = static_cast<int>(problem.q.cols);
  arguments.r_rows = static_cast<int>(problem.r.rows);
  return run<kPlan>("lanepack_qr", key, problem.launch, &arguments);
}

template <Plan kPlan>
Status run_eigh(const EighProblem& problem) {
  const ProblemKey& key = problem.key;
  cuda::eigh::arguments arguments = {};
  arguments.a = cuda::device_view(problem.a);
  arguments.w = cuda::device_view(problem.w);
  arguments.v = cuda::device_view(problem.v);
  arguments.info = problem.info;
  arguments.workspace = problem.launch.workspace;
  arguments.batch = key.batch;
  arguments.n = static_cast<int>(key.n);
  arguments.upper = key.upper ? 1 : 0;
  return run<kPlan>("lanepack_eigh", key, problem.launch, &arguments);
}

template <Plan kPlan>
Status run_svd(const SvdProblem& problem) {
  const ProblemKey& key = problem.key;
  cuda::svd::arguments arguments = {};
  arguments.a = cuda::device_view(problem.a);
  arguments.u = cuda::device_view(problem.u);
  arguments.s = cuda::device_view(problem.s);
  arguments.vh = cuda::device_view(problem.vh);
  arguments.info = problem.info;
  arguments.workspace = problem.launch.workspace;
  arguments.batch = key.batch;
  arguments.m = static_cast<int>(key.m);
  arguments.n = static_cast<int>(key.n);
  arguments.full = key.full ? 1 : 0;
  cuda::place_second_problem(key, &arguments);
  return run<kPlan>("lanepack_svd", key, problem.launch, &arguments);
}

template <Plan kPlan>
constexpr Algorithm qr_row(const char* identifier) {
  return {identifier, Operation::kQr, supports<kPlan>, run_qr<kPlan>,
          nullptr,    nullptr,        workspace<kPlan>};
}
template <Plan kPlan>
constexpr Algorithm eigh_row(const char* identifier) {
  return {identifier,      Operation::kEigh, supports<kPlan>, nullptr,
          run_eigh<kPlan>, nullptr,          workspace<kPlan>};
}
template <Plan kPlan>
constexpr Algorithm svd_row(const char* identifier) {
  return {identifier, Operation::kSvd, supports<kPlan>, nullptr,
          nullptr,    run_svd<kPlan>,  workspace<kPlan>};
}

template <Plan kPlan>
constexpr Algorithm cholesky_row(const char* identifier) {
  return {identifier, Operation::kCholesky, supports<kPlan>, nullptr, nullptr, nullptr,
          nullptr,    run_cholesky<kPlan>};
}
template <Plan kPlan>
constexpr Algorithm solve_row(const char* identifier) {
  return {identifier,      Operation::kSolveTriangular,
          supports<kPlan>, nullptr,
          nullptr,         nullptr,
          nullptr,         nullptr,
          run_solve<kPlan>};
}

constexpr Algorithm kAlgorithms[] = {
    qr_row<cuda::plan_qr_thread>("qr.small.thread"),
    qr_row<cuda::plan_qr_warp>("qr.householder.warp"),
    eigh_row<cuda::plan_eigh_thread>("eigh.small.thread"),
    eigh_row<cuda::plan_eigh_warp>("eigh.implicit_ql.warp"),
    svd_row<cuda::plan_svd_thread>("svd.small.thread"),
    svd_row<cuda::plan_svd_warp>("svd.implicit_qr.warp"),
    cholesky_row<cuda::plan_cholesky_thread>("cholesky.small.thread"),
    cholesky_row<cuda::plan_cholesky_warp>("cholesky.right_looking.warp"),
    cholesky_row<cuda::plan_cholesky_rows>("cholesky.right_looking.block"),
    cholesky_row<cuda::plan_cholesky_panels>("cholesky.left_looking.block"),
    solve_row<cuda::plan_solve_thread>("solve_triangular.small.thread"),
    solve_row<cuda::plan_solve_warp>("solve_triangular.substitution.warp"),
};

}  // namespace

AlgorithmList cuda_algorithms() {
  return {kAlgorithms, sizeof(kAlgorithms) / sizeof(kAlgorithms[0])};
}

}  // namespace lanepack
