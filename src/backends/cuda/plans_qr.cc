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

namespace {

// A column in the registers of each lane. False where it does not fit.
bool plan_one_warp(const ProblemKey& key, LaunchPlan* plan) {
  const int64_t m = key.m, n = key.n, rows = key.full ? m : std::min(m, n);
  const int64_t columns = key.want_q ? std::max(n, rows) : n;
  if (columns > kWarpMaxN || rows > kWarpMaxN) return false;
  const int64_t bytes = size_bytes(key.dtype);
  const int height = m <= 64 ? round_up(m, 8) : round_up(m, 32), lanes = lanes_for(columns);
  // What a lane holds in registers: more spills.
  constexpr int64_t kMostBytes = 512;
  if (height * bytes > kMostBytes) return false;
  // warp_layout of householder_warp.simt.h
  const int64_t stride = (height * bytes / 16 | 1) * 16 / bytes;
  const int64_t shared = lanes * (stride + lanes + 3) * bytes + 16;
  const int threads = 64 / lanes * shared <= kMostSharedBytes ? 64 : 32;
  if (threads / lanes * shared > kMostSharedBytes) return false;
  *plan = {};
  plan->count = 1;
  KernelPlan& kernel = plan->kernels[0];
  kernel = {"qr_warp", "", threads, threads / lanes, 0};
  std::snprintf(kernel.name, sizeof(kernel.name), "qr::kernel_warp<%s, %d, %d, %s, %d>",
                scalar_name(key.dtype), height, lanes, key.want_q ? "true" : "false", threads);
  return true;
}

// Columns spread over the warps of a block; R first, then Q.
bool plan_parts(const ProblemKey& key, LaunchPlan* plan) {
  if (key.n > kWarpMaxN || key.n >= key.m || key.m > kBlockMaxM) return false;
  const int64_t bytes = size_bytes(key.dtype);
  const int height = round_up(key.m, 32), parts = parts_for(height, bytes);
  *plan = {};
  const char* const names[] = {"factor", "form"};
  const int count = key.want_q ? 2 : 1;
  plan->count = count;
  for (int i = 0; i < count; ++i) {
    KernelPlan& kernel = plan->kernels[i];
    kernel = {"qr_warp", "", 32 * parts, 1, 0};
    std::snprintf(kernel.name, sizeof(kernel.name), "qr::kernel_%s<%s, %d, %d, %d>", names[i],
                  scalar_name(key.dtype), height, parts, kernel.threads);
  }
  // reflectors_of() and finite_of() of householder_block.simt.h
  plan->workspace_bytes =
      key.batch * (key.n * (height + 1) * bytes + size_bytes(real_dtype(key.dtype)));
  return true;
}

}  // namespace

bool plan_qr_warp(const ProblemKey& key, LaunchPlan* plan) {
  if (key.m < 1 || key.n < 1) return false;
  return plan_one_warp(key, plan) || plan_parts(key, plan);
}

}  // namespace lanepack::cuda
