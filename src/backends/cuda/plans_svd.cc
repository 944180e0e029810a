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

}  // namespace lanepack::cuda
