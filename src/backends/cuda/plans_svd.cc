// SPDX-License-Identifier: Apache-2.0
// Launch plans of svd and svdvals.
#include <algorithm>
#include <cstdio>

#include "backends/cuda/plan_parts.h"

namespace lanepack::cuda {

bool plan_svd_thread(const ProblemKey& key, LaunchPlan* plan) {
  if (key.m < 1 || key.n < 1 || key.m > kThreadMaxN || key.n > kThreadMaxN) return false;
  const int64_t bytes = size_bytes(key.dtype);
  const int64_t m = std::max(key.m, key.n), n = std::min(key.m, key.n);
  const bool vectors = key.operation == Operation::kSvd;
  const bool full = vectors && key.full && m != n;
  // What a thread holds in registers, and what of U it holds in shared memory: more spills, or
  // does not fit.
  const int64_t most = key.dtype == Dtype::kC128 ? 400 : 576;
  constexpr int64_t kMostOfU = 576;
  if (bytes * (m * n + (vectors ? n * n : 0)) > most) return false;
  if (full && bytes * m * m > kMostOfU) return false;
  *plan = {};
  plan->count = 1;
  KernelPlan& kernel = plan->kernels[0];
  kernel = {"svd_thread", "", kThreadBlock, kThreadBlock, 0};
  std::snprintf(kernel.name, sizeof(kernel.name), "svd::kernel_thread<%s, %d, %d, %s, %s>",
                scalar_name(key.dtype), static_cast<int>(key.m), static_cast<int>(key.n),
                vectors ? "true" : "false", full ? "true" : "false");
  return true;
}

namespace {

// Lanes to a matrix in the iteration: each holds 4 real rows of U and V in float32 and 2 in float64,
// 3 of 24.
int qr_lanes(Dtype dtype, int order) {
  const int parts = is_complex(dtype) ? 2 : 1;
  if (order == 24) return 8 * parts;
  return order * parts / (real_dtype(dtype) == Dtype::kF64 ? 2 : 4);
}

}  // namespace

bool plan_svd_warp(const ProblemKey& key, LaunchPlan* plan) {
  const int64_t longer = std::max(key.m, key.n), shorter = std::min(key.m, key.n);
  // A row and a column of complex128 to 32 do not fit in the registers of a lane.
  const int64_t most = key.dtype == Dtype::kC128 ? 16 : kWarpMaxN;
  if (shorter < 1 || longer > most || key.jacobi) return false;
  *plan = {};
  const bool vectors = key.operation == Operation::kSvd;
  const int order = round_up(longer, 8), lanes = lanes_for(longer);
  const char* scalar = scalar_name(key.dtype);
  const char* with_vectors = vectors ? "true" : "false";
  const int threads = order * size_bytes(key.dtype) <= 128 ? 64 : 32;
  plan->count = 2;
  KernelPlan& reduce = plan->kernels[0];
  reduce = {"svd_warp", "", threads, threads / lanes, 0};
  std::snprintf(reduce.name, sizeof(reduce.name), "svd::kernel_bidiagonalise<%s, %d, %d, %s, %d>",
                scalar, order, lanes, with_vectors, threads);
  const int iterating = vectors ? qr_lanes(key.dtype, order) : 1;
  KernelPlan& iterate = plan->kernels[1];
  iterate = {"svd_warp", "", 32, 32 / iterating, 0};
  std::snprintf(iterate.name, sizeof(iterate.name), "svd::kernel_implicit_qr<%s, %d, %d, %s>",
                scalar, order, iterating, with_vectors);
  // struct bidiagonal of bidiagonalise_warp.simt.h
  plan->workspace_bytes = key.batch * (2 * shorter + 1) * size_bytes(real_dtype(key.dtype));
  return true;
}

}  // namespace lanepack::cuda
