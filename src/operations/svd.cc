// SPDX-License-Identifier: Apache-2.0
#include "operations/svd.h"

#include <algorithm>
#include <cinttypes>

namespace lanepack {
namespace {

// u and vh are thin or full together; sets key->full.
Status check_vector_shapes(const char* function, const lanepack_svd_args& args, ProblemKey* key) {
  const int64_t m = key->m;
  const int64_t n = key->n;
  const int64_t k = std::min(m, n);
  const int64_t batch = key->batch;
  if (has_shape(args.u, batch, m, k) && has_shape(args.vh, batch, k, n)) {
    key->full = false;
  } else if (has_shape(args.u, batch, m, m) && has_shape(args.vh, batch, n, n)) {
    key->full = true;
  } else {
    return fail(Status::kInvalidArgument,
                "%s: u has shape (%" PRId64 ", %" PRId64 ", %" PRId64 ") and vh (%" PRId64
                ", %" PRId64 ", %" PRId64 "); they must be (%" PRId64 ", %" PRId64 ", %" PRId64
                ") and (%" PRId64 ", %" PRId64 ", %" PRId64 ") thin, or (%" PRId64 ", %" PRId64
                ", %" PRId64 ") and (%" PRId64 ", %" PRId64 ", %" PRId64 ") full",
                function, args.u.batch, args.u.rows, args.u.cols, args.vh.batch, args.vh.rows,
                args.vh.cols, batch, m, k, batch, k, n, batch, m, m, batch, n, n);
  }
  for (const auto* vectors : {&args.u, &args.vh}) {
    if (vectors->data == nullptr && !is_empty(*vectors)) {
      return fail(Status::kInvalidArgument,
                  "%s: %s.data is null and the other is not; both or neither must be wanted",
                  function, vectors == &args.u ? "u" : "vh");
    }
  }
  return Status::kOk;
}

}  // namespace

Status check_svd(const char* function, const lanepack_svd_args* args, Data data,
                 SvdProblem* problem) {
  Status status = check_struct_size(function, "lanepack_svd_args", args, sizeof(*args));
  if (status != Status::kOk) return status;
  ProblemKey& key = problem->key;
  const bool want_vectors = args->u.data != nullptr || args->vh.data != nullptr;
  key.operation = want_vectors ? Operation::kSvd : Operation::kSvdvals;
  status = check_call(function, args->call, LANEPACK_FLAG_JACOBI, &key, &problem->launch);
  if (status == Status::kOk) status = check_sizes(function, args->a, &key);
  if (status != Status::kOk) return status;
  const int64_t k = std::min(key.m, key.n);
  if (!has_shape(args->s, key.batch, k, 1)) {
    return fail_shape(function, "s", args->s, key.batch, k, 1);
  }
  if (want_vectors) status = check_vector_shapes(function, *args, &key);
  if (status != Status::kOk) return status;

  const Argument arguments[] = {{"a", &args->a, key.dtype, false},
                                {"s", &args->s, real_dtype(key.dtype), true},
                                {"u", &args->u, key.dtype, true},
                                {"vh", &args->vh, key.dtype, true}};
  const int count = want_vectors ? 4 : 2;
  status = check_memory(function, arguments, count, data, args->call, key.batch);
  if (status != Status::kOk) return status;

  problem->a = matrix_batch(args->a);
  problem->s = matrix_batch(args->s);
  problem->u = want_vectors ? matrix_batch(args->u) : MatrixBatch{};
  problem->vh = want_vectors ? matrix_batch(args->vh) : MatrixBatch{};
  problem->info = args->call.info;
  return Status::kOk;
}

double svd_flops(const ProblemKey& key) {
  // The figure is for m >= n; a wide matrix is the transpose of a tall one.
  const auto m = static_cast<double>(std::max(key.m, key.n));
  const auto n = static_cast<double>(std::min(key.m, key.n));
  double flops = 4.0 * m * n * n - 4.0 / 3.0 * n * n * n;
  if (key.operation == Operation::kSvd) {
    flops = key.full ? 4.0 * m * m * n + 8.0 * m * n * n + 9.0 * n * n * n
                     : 14.0 * m * n * n + 8.0 * n * n * n;
  }
  return flops * (is_complex(key.dtype) ? 4.0 : 1.0);
}

double svd_bytes(const ProblemKey& key) {
  const auto m = static_cast<double>(key.m);
  const auto n = static_cast<double>(key.n);
  const double k = std::min(m, n);
  double vectors = 0.0;
  if (key.operation == Operation::kSvd) vectors = key.full ? m * m + n * n : m * k + k * n;
  return (m * n + vectors) * static_cast<double>(size_bytes(key.dtype)) +
         k * static_cast<double>(size_bytes(real_dtype(key.dtype)));
}

}  // namespace lanepack
