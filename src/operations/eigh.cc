// SPDX-License-Identifier: Apache-2.0
#include "operations/eigh.h"

namespace lanepack {
namespace {

Status check_eigh_shapes(const char* function, const lanepack_eigh_args& args, bool want_v,
                         const ProblemKey& key) {
  if (const Status status = check_square(function, key); status != Status::kOk) return status;
  if (!has_shape(args.w, key.batch, key.n, 1)) {
    return fail_shape(function, "w", args.w, key.batch, key.n, 1);
  }
  if (want_v && !has_shape(args.v, key.batch, key.n, key.n)) {
    return fail_shape(function, "v", args.v, key.batch, key.n, key.n);
  }
  return Status::kOk;
}

}  // namespace

Status check_eigh(const char* function, const lanepack_eigh_args* args, Data data,
                  EighProblem* problem) {
  Status status = check_struct_size(function, "lanepack_eigh_args", args, sizeof(*args));
  if (status != Status::kOk) return status;
  ProblemKey& key = problem->key;
  const bool want_v = args->v.data != nullptr;
  key.operation = want_v ? Operation::kEigh : Operation::kEigvalsh;
  status = check_call(function, args->call, LANEPACK_FLAG_UPPER, &key, &problem->launch);
  if (status == Status::kOk) status = check_sizes(function, args->a, &key);
  if (status == Status::kOk) status = check_eigh_shapes(function, *args, want_v, key);
  if (status != Status::kOk) return status;

  const Argument arguments[] = {{"a", &args->a, key.dtype, false},
                                {"w", &args->w, real_dtype(key.dtype), true},
                                {"v", &args->v, key.dtype, true}};
  const int count = want_v ? 3 : 2;
  status = check_memory(function, arguments, count, data, args->call, key.batch);
  if (status != Status::kOk) return status;

  problem->a = matrix_batch(args->a);
  problem->w = matrix_batch(args->w);
  problem->v = want_v ? matrix_batch(args->v) : MatrixBatch{};
  problem->info = args->call.info;
  return Status::kOk;
}

double eigh_flops(const ProblemKey& key) {
  const auto n = static_cast<double>(key.n);
  const double per_cube = key.operation == Operation::kEigvalsh ? 4.0 / 3.0 : 9.0;
  return per_cube * n * n * n * (is_complex(key.dtype) ? 4.0 : 1.0);
}

double eigh_bytes(const ProblemKey& key) {
  const auto n = static_cast<double>(key.n);
  const double vectors = key.operation == Operation::kEigvalsh ? 0.0 : n * n;
  return (n * (n + 1.0) / 2.0 + vectors) * static_cast<double>(size_bytes(key.dtype)) +
         n * static_cast<double>(size_bytes(real_dtype(key.dtype)));
}

}  // namespace lanepack
