// SPDX-License-Identifier: Apache-2.0
// Launch plans of eigh and eigvalsh.
#include <cstdio>

#include "backends/cuda/plan_parts.h"

namespace lanepack::cuda {

bool plan_eigh_thread(const ProblemKey& key, LaunchPlan* plan) {
  // 8 x 8 of complex128 would not fit in the registers of a thread, 7 x 7 not without spills.
  const int64_t most = key.dtype == Dtype::kC128 ? 6 : kThreadMaxN;
  if (key.n < 1 || key.n > most) return false;
  *plan = {};
  plan->count = 1;
  KernelPlan& kernel = plan->kernels[0];
  kernel = {"eigh_thread", "", kThreadBlock, kThreadBlock, 0};
  std::snprintf(kernel.name, sizeof(kernel.name), "eigh::kernel_thread<%s, %d, %s>",
                scalar_name(key.dtype), static_cast<int>(key.n),
                key.operation == Operation::kEigh ? "true" : "false");
  return true;
}

}  // namespace lanepack::cuda
