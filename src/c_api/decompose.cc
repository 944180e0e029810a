// SPDX-License-Identifier: Apache-2.0
// The operations: check, route, run, record the error.
#include "c_api/entry.h"
#include "operations/cholesky.h"
#include "operations/eigh.h"
#include "operations/qr.h"
#include "operations/solve.h"
#include "operations/svd.h"

namespace lanepack {
namespace {

// True if A has no elements: the results are then known, and no algorithm runs.
bool has_no_elements(const ProblemKey& key) { return key.m == 0 || key.n == 0 || key.batch == 0; }

template <class Problem>
bool has_no_results(const Problem& problem) {
  return has_no_elements(problem.key);
}
bool has_no_results(const SolveProblem& problem) {
  return has_no_elements(problem.key) || problem.key.columns == 0;
}

Status fill_identity(const char* function, const ProblemKey& key, const Launch& launch,
                     const MatrixBatch& output) {
  if (output.data == nullptr) return Status::kOk;
  if (key.device == kDeviceCuda) return cuda_fill_identity(function, key, launch, output);
  fill_identity(key.dtype, output);
  return Status::kOk;
}

Status finish_outputs(const char* function, const QrProblem& problem) {
  return fill_identity(function, problem.key, problem.launch, problem.q);
}

Status finish_outputs(const char*, const EighProblem&) { return Status::kOk; }

Status finish_outputs(const char*, const CholeskyProblem&) { return Status::kOk; }

Status finish_outputs(const char* function, const SvdProblem& problem) {
  const Status status = fill_identity(function, problem.key, problem.launch, problem.u);
  if (status != Status::kOk) return status;
  return fill_identity(function, problem.key, problem.launch, problem.vh);
}

template <class Problem>
Status finish_empty(const char* function, const Problem& problem) {
  const Status status = finish_outputs(function, problem);
  if (status != Status::kOk) return status;
  if (problem.key.device == kDeviceCuda) {
    return cuda_clear_info(function, problem.key, problem.launch, problem.info);
  }
  clear_info(problem.info, problem.key.batch);
  return Status::kOk;
}

// A solve without elements leaves nothing.
Status finish_empty(const char*, const SolveProblem&) { return Status::kOk; }

Status run_algorithm(const Algorithm& algorithm, const QrProblem& problem) {
  return algorithm.run_qr(problem);
}

Status run_algorithm(const Algorithm& algorithm, const EighProblem& problem) {
  return algorithm.run_eigh(problem);
}

Status run_algorithm(const Algorithm& algorithm, const SvdProblem& problem) {
  return algorithm.run_svd(problem);
}

Status run_algorithm(const Algorithm& algorithm, const CholeskyProblem& problem) {
  return algorithm.run_cholesky(problem);
}

Status run_algorithm(const Algorithm& algorithm, const SolveProblem& problem) {
  return algorithm.run_solve(problem);
}

// Routes a checked problem and runs it.
template <class Problem>
Status run(const char* function, const Problem& problem) {
  if (has_no_results(problem)) {
    log_route(problem.key, "none (no elements)");
    return finish_empty(function, problem);
  }
  const Algorithm* algorithm = nullptr;
  const Status status = route(function, problem.key, &algorithm);
  if (status != Status::kOk) return status;
  log_route(problem.key, algorithm->identifier);
  return run_algorithm(*algorithm, problem);
}

// Device memory that a checked problem needs.
Status report_workspace(const char* function, const ProblemKey& key, int64_t* bytes) {
  if (bytes == nullptr) {
    return fail(Status::kInvalidArgument, "%s: bytes is null; it must point to an int64_t",
                function);
  }
  const Algorithm* algorithm = nullptr;
  if (key.device != kDeviceCpu && !has_no_elements(key)) {
    const Status status = route(function, key, &algorithm);
    if (status != Status::kOk) return status;
  }
  const bool needs = algorithm != nullptr && algorithm->workspace != nullptr;
  *bytes = needs ? algorithm->workspace(key) : 0;
  return Status::kOk;
}

}  // namespace
}  // namespace lanepack

using lanepack::Data;
using lanepack::Status;

extern "C" {

int lanepack_qr(const lanepack_qr_args* args) {
  return lanepack::guarded("lanepack_qr", [&] {
    lanepack::QrProblem problem;
    const Status status = lanepack::check_qr("lanepack_qr", args, Data::kRequired, &problem);
    return status == Status::kOk ? lanepack::run("lanepack_qr", problem) : status;
  });
}

int lanepack_eigh(const lanepack_eigh_args* args) {
  return lanepack::guarded("lanepack_eigh", [&] {
    lanepack::EighProblem problem;
    const Status status = lanepack::check_eigh("lanepack_eigh", args, Data::kRequired, &problem);
    return status == Status::kOk ? lanepack::run("lanepack_eigh", problem) : status;
  });
}

int lanepack_svd(const lanepack_svd_args* args) {
  return lanepack::guarded("lanepack_svd", [&] {
    lanepack::SvdProblem problem;
    const Status status = lanepack::check_svd("lanepack_svd", args, Data::kRequired, &problem);
    return status == Status::kOk ? lanepack::run("lanepack_svd", problem) : status;
  });
}

int lanepack_qr_workspace(const lanepack_qr_args* args, int64_t* bytes) {
  constexpr const char* kFunction = "lanepack_qr_workspace";
  return lanepack::guarded(kFunction, [&] {
    lanepack::QrProblem problem;
    const Status status = lanepack::check_qr(kFunction, args, Data::kOptional, &problem);
    return status == Status::kOk ? lanepack::report_workspace(kFunction, problem.key, bytes)
                                 : status;
  });
}

int lanepack_eigh_workspace(const lanepack_eigh_args* args, int64_t* bytes) {
  constexpr const char* kFunction = "lanepack_eigh_workspace";
  return lanepack::guarded(kFunction, [&] {
    lanepack::EighProblem problem;
    const Status status = lanepack::check_eigh(kFunction, args, Data::kOptional, &problem);
    return status == Status::kOk ? lanepack::report_workspace(kFunction, problem.key, bytes)
                                 : status;
  });
}

int lanepack_svd_workspace(const lanepack_svd_args* args, int64_t* bytes) {
  constexpr const char* kFunction = "lanepack_svd_workspace";
  return lanepack::guarded(kFunction, [&] {
    lanepack::SvdProblem problem;
    const Status status = lanepack::check_svd(kFunction, args, Data::kOptional, &problem);
    return status == Status::kOk ? lanepack::report_workspace(kFunction, problem.key, bytes)
                                 : status;
  });
}

int lanepack_cholesky(const lanepack_cholesky_args* args) {
  constexpr const char* kFunction = "lanepack_cholesky";
  return lanepack::guarded(kFunction, [&] {
    lanepack::CholeskyProblem problem;
    const Status status = lanepack::check_cholesky(kFunction, args, Data::kRequired, &problem);
    return status == Status::kOk ? lanepack::run(kFunction, problem) : status;
  });
}

int lanepack_cholesky_workspace(const lanepack_cholesky_args* args, int64_t* bytes) {
  constexpr const char* kFunction = "lanepack_cholesky_workspace";
  return lanepack::guarded(kFunction, [&] {
    lanepack::CholeskyProblem problem;
    const Status status = lanepack::check_cholesky(kFunction, args, Data::kOptional, &problem);
    return status == Status::kOk ? lanepack::report_workspace(kFunction, problem.key, bytes)
                                 : status;
  });
}

int lanepack_solve_triangular(const lanepack_solve_args* args) {
  constexpr const char* kFunction = "lanepack_solve_triangular";
  return lanepack::guarded(kFunction, [&] {
    lanepack::SolveProblem problem;
    const Status status =
        lanepack::check_solve_triangular(kFunction, args, Data::kRequired, &problem);
    return status == Status::kOk ? lanepack::run(kFunction, problem) : status;
  });
}

int lanepack_solve_triangular_workspace(const lanepack_solve_args* args, int64_t* bytes) {
  constexpr const char* kFunction = "lanepack_solve_triangular_workspace";
  return lanepack::guarded(kFunction, [&] {
    lanepack::SolveProblem problem;
    const Status status =
        lanepack::check_solve_triangular(kFunction, args, Data::kOptional, &problem);
    return status == Status::kOk ? lanepack::report_workspace(kFunction, problem.key, bytes)
                                 : status;
  });
}

int lanepack_cholesky_solve(const lanepack_solve_args* args) {
  constexpr const char* kFunction = "lanepack_cholesky_solve";
  return lanepack::guarded(kFunction, [&] {
    lanepack::SolveProblem problem;
    const Status status =
        lanepack::check_cholesky_solve(kFunction, args, Data::kRequired, &problem);
    return status == Status::kOk ? lanepack::run(kFunction, problem) : status;
  });
}

int lanepack_cholesky_solve_workspace(const lanepack_solve_args* args, int64_t* bytes) {
  constexpr const char* kFunction = "lanepack_cholesky_solve_workspace";
  return lanepack::guarded(kFunction, [&] {
    lanepack::SolveProblem problem;
    const Status status =
        lanepack::check_cholesky_solve(kFunction, args, Data::kOptional, &problem);
    return status == Status::kOk ? lanepack::report_workspace(kFunction, problem.key, bytes)
                                 : status;
  });
}

int lanepack_cholesky_inverse(const lanepack_cholesky_inverse_args* args) {
  constexpr const char* kFunction = "lanepack_cholesky_inverse";
  return lanepack::guarded(kFunction, [&] {
    lanepack::SolveProblem problem;
    const Status status =
        lanepack::check_cholesky_inverse(kFunction, args, Data::kRequired, &problem);
    return status == Status::kOk ? lanepack::run(kFunction, problem) : status;
  });
}

int lanepack_cholesky_inverse_workspace(const lanepack_cholesky_inverse_args* args,
                                        int64_t* bytes) {
  constexpr const char* kFunction = "lanepack_cholesky_inverse_workspace";
  return lanepack::guarded(kFunction, [&] {
    lanepack::SolveProblem problem;
    const Status status =
        lanepack::check_cholesky_inverse(kFunction, args, Data::kOptional, &problem);
    return status == Status::kOk ? lanepack::report_workspace(kFunction, problem.key, bytes)
                                 : status;
  });
}

}  // extern "C"
