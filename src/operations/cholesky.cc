// SPDX-License-Identifier: Apache-2.0
#include "operations/cholesky.h"

#include <cinttypes>

namespace lanepack {

Status check_cholesky(const char* function, const lanepack_cholesky_args* args, Data data,
                      CholeskyProblem* problem) {
  Status status = check_struct_size(function, "lanepack_cholesky_args", args, sizeof(*args));
  if (status != Status::kOk) return status;
  ProblemKey& key = problem->key;
  key.operation = Operation::kCholesky;
  status = check_call(function, args->call, LANEPACK_FLAG_UPPER, &key, &problem->launch);
  if (status == Status::kOk) status = check_sizes(function, args->a, &key);
  if (status == Status::kOk) status = check_square(function, key);
  if (status == Status::kOk && !has_shape(args->l, key.batch, key.n, key.n)) {
    status = fail_shape(function, "l", args->l, key.batch, key.n, key.n);
  }
  if (status != Status::kOk) return status;

  const Argument arguments[] = {{"a", &args->a, key.dtype, false},
                                {"l", &args->l, key.dtype, true, &args->a}};
  status = check_memory(function, arguments, 2, data, args->call, key.batch);
  if (status != Status::kOk) return status;

  problem->a = matrix_batch(args->a);
  problem->l = matrix_batch(args->l);
  problem->info = args->call.info;
  return Status::kOk;
}

double cholesky_flops(const ProblemKey& key) {
  const auto n = static_cast<double>(key.n);
  return n * n * n / 3.0 * (is_complex(key.dtype) ? 4.0 : 1.0);
}

double cholesky_bytes(const ProblemKey& key) {
  const auto n = static_cast<double>(key.n);
  return (n * (n + 1.0) / 2.0 + n * n) * static_cast<double>(size_bytes(key.dtype));
}

}  // namespace lanepack
