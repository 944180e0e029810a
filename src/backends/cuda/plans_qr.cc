// SPDX-License-Identifier: Apache-2.0
// Launch plans of qr.
#include <algorithm>
#include <cstdio>

#include "backends/cuda/plan_parts.h"

namespace lanepack::cuda {

bool plan_qr_thread(const ProblemKey& key, LaunchPlan* plan) {
  if (key.m < 1 || key.n < 1 || key.m > kThreadMaxN || key.n > kThreadMaxN) return false;
  const int m = static_cast<int>(key.m), n = static_cast<int>(key.n);
  const int rows = key.full ? m : std::min(m, n);
  const int columns = key.want_q ? rows : 0;
  // What a thread holds in registers: more spills.
  constexpr int64_t kMostBytes = 576;
  if (size_bytes(key.dtype) * m * std::max(n, columns) > kMostBytes) return false;
  *plan = {};
  plan->count = 1;
  KernelPlan& kernel = plan->kernels[0];
  kernel = {"qr_thread", "", kThreadBlock, kThreadBlock, 0};
  std::snprintf(kernel.name, sizeof(kernel.name), "qr::kernel_thread<%s, %d, %d, %d, %d>",
                scalar_name(key.dtype), m, n, columns, rows);
  return true;
}

}  // namespace lanepack::cuda
