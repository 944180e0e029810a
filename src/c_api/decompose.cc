// SPDX-License-Identifier: Apache-2.0
// The operations: check, route, run, record the error.
#include "c_api/entry.h"
#include "operations/eigh.h"
#include "operations/qr.h"
#include "operations/svd.h"

namespace lanepack {
namespace {

// True if A has no elements: the results are then known, and no algorithm runs.
bool has_no_elements(const ProblemKey& key) { return key.m == 0 || key.n == 0 || key.batch == 0; }

void finish_empty(const QrProblem& problem) {
  if (problem.q.data != nullptr) fill_identity(problem.key.dtype, problem.q);
}

void finish_empty(const EighProblem&) {}

void finish_empty(const SvdProblem& problem) {
  if (problem.u.data != nullptr) fill_identity(problem.key.dtype, problem.u);
  if (problem.vh.data != nullptr) fill_identity(problem.key.dtype, problem.vh);
}

Status run_algorithm(const Algorithm& algorithm, const QrProblem& problem) {
  return algorithm.run_qr(problem);
}

Status run_algorithm(const Algorithm& algorithm, const EighProblem& problem) {
  return algorithm.run_eigh(problem);
}

Status run_algorithm(const Algorithm& algorithm, const SvdProblem& problem) {
  return algorithm.run_svd(problem);
}

// Routes a checked problem and runs it.
template <class Problem>
Status run(const char* function, const Problem& problem) {
  if (has_no_elements(problem.key)) {
    log_route(problem.key, "none (no elements)");
    finish_empty(problem);
    clear_info(problem.info, problem.key.batch);
    return Status::kOk;
  }
  const Algorithm* algorithm = nullptr;
  const Status status = route(function, problem.key, &algorithm);
  if (status != Status::kOk) return status;
  log_route(problem.key, algorithm->identifier);
  return run_algorithm(*algorithm, problem);
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
    return status == Status::kOk ? lanepack::report_workspace(kFunction, bytes) : status;
  });
}

int lanepack_eigh_workspace(const lanepack_eigh_args* args, int64_t* bytes) {
  constexpr const char* kFunction = "lanepack_eigh_workspace";
  return lanepack::guarded(kFunction, [&] {
    lanepack::EighProblem problem;
    const Status status = lanepack::check_eigh(kFunction, args, Data::kOptional, &problem);
    return status == Status::kOk ? lanepack::report_workspace(kFunction, bytes) : status;
  });
}

int lanepack_svd_workspace(const lanepack_svd_args* args, int64_t* bytes) {
  constexpr const char* kFunction = "lanepack_svd_workspace";
  return lanepack::guarded(kFunction, [&] {
    lanepack::SvdProblem problem;
    const Status status = lanepack::check_svd(kFunction, args, Data::kOptional, &problem);
    return status == Status::kOk ? lanepack::report_workspace(kFunction, bytes) : status;
  });
}

}  // extern "C"
