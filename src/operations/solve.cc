// SPDX-License-Identifier: Apache-2.0
#include "operations/solve.h"

#include <cinttypes>
#include <utility>

namespace lanepack {
namespace {

void transpose(MatrixBatch* x) {
  std::swap(x->rows, x->cols);
  std::swap(x->row_stride, x->col_stride);
}

// Exchanging rows and columns makes a lower triangle an upper one.
void transpose(Factor* factor) {
  transpose(&factor->a);
  factor->lower = !factor->lower;
}

Status check_no_info(const char* function, const lanepack_call& call) {
  if (call.info == nullptr) return Status::kOk;
  return fail(Status::kInvalidArgument, "%s: info is not null; a solve gives none", function);
}

// The common part of the two that take right-hand sides: dtype, shapes, memory. `right`: B has the
// order as its columns.
Status check_sides(const char* function, const lanepack_solve_args& args, uint32_t flags, Data data,
                   SolveProblem* problem) {
  ProblemKey& key = problem->key;
  Status status = check_call(function, args.call, flags, &key, &problem->launch);
  if (status == Status::kOk) status = check_no_info(function, args.call);
  if (status == Status::kOk) status = check_sizes(function, args.b, &key);
  if (status != Status::kOk) return status;
  const bool right = (args.call.flags & LANEPACK_FLAG_RIGHT) != 0;
  const int64_t rows = key.m;
  const int64_t cols = key.n;
  const int64_t order = right ? cols : rows;
  if (!has_shape(args.a, key.batch, order, order)) {
    return fail_shape(function, "a", args.a, key.batch, order, order);
  }
  if (!has_shape(args.x, key.batch, rows, cols)) {
    return fail_shape(function, "x", args.x, key.batch, rows, cols);
  }
  key.columns = right ? rows : cols;
  key.m = key.n = order;
  const Argument arguments[] = {{"a", &args.a, key.dtype, false},
                                {"b", &args.b, key.dtype, false},
                                {"x", &args.x, key.dtype, true, &args.b}};
  status = check_memory(function, arguments, 3, data, args.call, key.batch);
  if (status != Status::kOk) return status;
  problem->factor.a = matrix_batch(args.a);
  problem->b = matrix_batch(args.b);
  problem->x = matrix_batch(args.x);
  return Status::kOk;
}

// A Cholesky factor as F with F F^H = A: U is L^H.
void set_cholesky_factor(SolveProblem* problem) {
  problem->factor.lower = true;
  if (!problem->key.upper) return;
  problem->factor.lower = false;
  transpose(&problem->factor);
  problem->factor.conjugate = true;
}

}  // namespace

Status check_solve_triangular(const char* function, const lanepack_solve_args* args, Data data,
                              SolveProblem* problem) {
  Status status = check_struct_size(function, "lanepack_solve_args", args, sizeof(*args));
  if (status != Status::kOk) return status;
  problem->key.operation = Operation::kSolveTriangular;
  constexpr uint32_t kFlags = LANEPACK_FLAG_UPPER | LANEPACK_FLAG_RIGHT | LANEPACK_FLAG_TRANSPOSE |
                              LANEPACK_FLAG_CONJUGATE | LANEPACK_FLAG_UNIT_DIAGONAL;
  status = check_sides(function, *args, kFlags, data, problem);
  if (status != Status::kOk) return status;
  const uint32_t flags = args->call.flags;
  Factor& factor = problem->factor;
  factor.lower = (flags & LANEPACK_FLAG_UPPER) == 0;
  factor.conjugate = (flags & LANEPACK_FLAG_CONJUGATE) != 0 && is_complex(problem->key.dtype);
  factor.unit = (flags & LANEPACK_FLAG_UNIT_DIAGONAL) != 0;
  if ((flags & LANEPACK_FLAG_TRANSPOSE) != 0) transpose(&factor);
  if ((flags & LANEPACK_FLAG_RIGHT) != 0) {  // X M = B is M^T X^T = B^T
    transpose(&factor);
    transpose(&problem->b);
    transpose(&problem->x);
  }
  return Status::kOk;
}

Status check_cholesky_solve(const char* function, const lanepack_solve_args* args, Data data,
                            SolveProblem* problem) {
  Status status = check_struct_size(function, "lanepack_solve_args", args, sizeof(*args));
  if (status != Status::kOk) return status;
  problem->key.operation = Operation::kCholeskySolve;
  status = check_sides(function, *args, LANEPACK_FLAG_UPPER, data, problem);
  if (status == Status::kOk) set_cholesky_factor(problem);
  return status;
}

Status check_cholesky_inverse(const char* function, const lanepack_cholesky_inverse_args* args,
                              Data data, SolveProblem* problem) {
  Status status =
      check_struct_size(function, "lanepack_cholesky_inverse_args", args, sizeof(*args));
  if (status != Status::kOk) return status;
  ProblemKey& key = problem->key;
  key.operation = Operation::kCholeskyInverse;
  status = check_call(function, args->call, LANEPACK_FLAG_UPPER, &key, &problem->launch);
  if (status == Status::kOk) status = check_no_info(function, args->call);
  if (status == Status::kOk) status = check_sizes(function, args->l, &key, "l");
  if (status == Status::kOk) status = check_square(function, key, "l");
  if (status == Status::kOk && !has_shape(args->x, key.batch, key.n, key.n)) {
    status = fail_shape(function, "x", args->x, key.batch, key.n, key.n);
  }
  if (status != Status::kOk) return status;
  key.columns = key.n;
  const Argument arguments[] = {{"l", &args->l, key.dtype, false},
                                {"x", &args->x, key.dtype, true, &args->l}};
  status = check_memory(function, arguments, 2, data, args->call, key.batch);
  if (status != Status::kOk) return status;
  problem->factor.a = matrix_batch(args->l);
  problem->x = matrix_batch(args->x);
  set_cholesky_factor(problem);
  return Status::kOk;
}

double solve_flops(const ProblemKey& key) {
  const auto n = static_cast<double>(key.n);
  const auto k = static_cast<double>(key.columns);
  const double passes = key.operation == Operation::kSolveTriangular ? 1.0 : 2.0;
  return passes * n * n * k * (is_complex(key.dtype) ? 4.0 : 1.0);
}

double solve_bytes(const ProblemKey& key) {
  const auto n = static_cast<double>(key.n);
  const auto k = static_cast<double>(key.columns);
  const double sides = key.operation == Operation::kCholeskyInverse ? 1.0 : 2.0;
  return (n * (n + 1.0) / 2.0 + sides * n * k) * static_cast<double>(size_bytes(key.dtype));
}

}  // namespace lanepack
