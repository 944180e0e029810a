// SPDX-License-Identifier: Apache-2.0
#include "operations/qr.h"

#include <algorithm>
#include <cinttypes>

namespace lanepack {
namespace {

// The mode follows from the shapes of q and r; sets key->full and key->want_q.
Status check_qr_shapes(const char* function, const lanepack_qr_args& args, ProblemKey* key) {
  const int64_t m = key->m;
  const int64_t n = key->n;
  const int64_t k = std::min(m, n);
  const int64_t batch = key->batch;
  // torch hands out null for an array without elements: only a null q whose shape could hold some,
  // or that has no shape at all, asks for R alone.
  const bool q_is_absent =
      args.q.data == nullptr && !(is_empty(args.q) && args.q.rows == m && m > 0);
  if (q_is_absent) {
    key->want_q = false;
    key->full = false;
    return has_shape(args.r, batch, k, n) ? Status::kOk
                                          : fail_shape(function, "r", args.r, batch, k, n);
  }
  key->want_q = true;
  if (has_shape(args.q, batch, m, k)) {
    key->full = false;
  } else if (has_shape(args.q, batch, m, m)) {
    key->full = true;
  } else {
    return fail(Status::kInvalidArgument,
                "%s: q has shape (%" PRId64 ", %" PRId64 ", %" PRId64 "); it must be (%" PRId64
                ", %" PRId64 ", %" PRId64 ") reduced or (%" PRId64 ", %" PRId64 ", %" PRId64
                ") complete",
                function, args.q.batch, args.q.rows, args.q.cols, batch, m, k, batch, m, m);
  }
  const int64_t r_rows = key->full ? m : k;
  return has_shape(args.r, batch, r_rows, n) ? Status::kOk
                                             : fail_shape(function, "r", args.r, batch, r_rows, n);
}

}  // namespace

Status check_qr(const char* function, const lanepack_qr_args* args, Data data, QrProblem* problem) {
  Status status = check_struct_size(function, "lanepack_qr_args", args, sizeof(*args));
  if (status != Status::kOk) return status;
  ProblemKey& key = problem->key;
  key.operation = Operation::kQr;
  status = check_call(function, args->call, 0, &key, &problem->launch);
  if (status == Status::kOk) status = check_sizes(function, args->a, &key);
  if (status == Status::kOk) status = check_qr_shapes(function, *args, &key);
  if (status != Status::kOk) return status;

  const Argument arguments[] = {{"a", &args->a, key.dtype, false},
                                {"r", &args->r, key.dtype, true},
                                {"q", &args->q, key.dtype, true}};
  const int count = key.want_q ? 3 : 2;
  status = check_memory(function, arguments, count, data, args->call, key.batch);
  if (status != Status::kOk) return status;

  problem->a = matrix_batch(args->a);
  problem->q = key.want_q ? matrix_batch(args->q) : MatrixBatch{};
  problem->r = matrix_batch(args->r);
  problem->info = args->call.info;
  return Status::kOk;
}

double qr_flops(const ProblemKey& key) {
  const auto m = static_cast<double>(key.m);
  const auto n = static_cast<double>(key.n);
  const double k = std::min(m, n);
  const double columns = key.full ? m : k;  // of q
  const double factor = 2.0 * m * n * k - (m + n) * k * k + 2.0 / 3.0 * k * k * k;
  const double form = 4.0 * m * columns * k - 2.0 * (m + columns) * k * k + 4.0 / 3.0 * k * k * k;
  return (factor + (key.want_q ? form : 0.0)) * (is_complex(key.dtype) ? 4.0 : 1.0);
}

double qr_bytes(const ProblemKey& key) {
  const auto m = static_cast<double>(key.m);
  const auto n = static_cast<double>(key.n);
  const double k = std::min(m, n);
  const double inner = key.full ? m : k;
  const double elements = m * n + inner * n + (key.want_q ? m * inner : 0.0);
  return elements * static_cast<double>(size_bytes(key.dtype));
}

}  // namespace lanepack
