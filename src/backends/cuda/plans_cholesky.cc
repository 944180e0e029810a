// SPDX-License-Identifier: Apache-2.0
// Launch plans of cholesky.
#include <cstdio>

#include "backends/cuda/plan_parts.h"

namespace lanepack::cuda {

bool plan_cholesky_thread(const ProblemKey& key, LaunchPlan* plan) {
  if (key.n < 1 || key.n > kThreadMaxN) return false;
  // steps::slots of staging_thread.simt.h
  const int64_t matrix = key.n * key.n * size_bytes(key.dtype);
  const int64_t slot = matrix % 16 == 0 ? (matrix / 16 | 1) * 16 : matrix;
  if (kThreadBlock * slot > kMostSharedBytes) return false;
  *plan = {};
  plan->count = 1;
  KernelPlan& kernel = plan->kernels[0];
  kernel = {"cholesky_thread", "", kThreadBlock, kThreadBlock, 0};
  std::snprintf(kernel.name, sizeof(kernel.name), "cholesky::kernel_thread<%s, %d>",
                scalar_name(key.dtype), static_cast<int>(key.n));
  return true;
}

namespace {

// A lane to each row of a matrix, padded to the order n, in groups of `lanes`.
bool plan_rows(const ProblemKey& key, const char* text, int n, int lanes, int threads,
               LaunchPlan* plan) {
  *plan = {};
  plan->count = 1;
  KernelPlan& kernel = plan->kernels[0];
  kernel = {text, "", threads, threads / lanes, 0};
  std::snprintf(kernel.name, sizeof(kernel.name), "cholesky::kernel_rows<%s, %d, %d, %d>",
                scalar_name(key.dtype), n, lanes, threads);
  return true;
}

// One matrix to a block: orders to this.
constexpr int64_t kBlockMaxN = 128;

}  // namespace

bool plan_cholesky_warp(const ProblemKey& key, LaunchPlan* plan) {
  if (key.n < 1 || key.n > kWarpMaxN) return false;
  const int n = round_up(key.n, 8);
  // Two rows to a lane, or three of 24. Of order 32 four where an entry has 8 bytes (4096 matrices:
  // float64 27.8 us against 34.0 with two and 32.0 with one, complex64 30.3, 37.2 and 36.7), else two
  // (float32 20.0 against 20.4 with four, complex128 55.8 against 71.8 with one).
  const int lanes = n == 32 && (key.dtype == Dtype::kF32 || key.dtype == Dtype::kC128) ? 16 : 8;
  return plan_rows(key, "cholesky_warp", n, lanes, 64, plan);
}

// As far as the registers of a lane hold its rows: of float32 two of order 128 or three of 96, of
// complex128 none.
bool plan_cholesky_rows(const ProblemKey& key, LaunchPlan* plan) {
  if (key.n <= kWarpMaxN || key.n > kBlockMaxN || key.dtype == Dtype::kC128) return false;
  const int n = round_up(key.n, 32);
  if (key.dtype != Dtype::kF32 && n > 64) return false;
  const int lanes = n == 128 ? 64 : 32;
  return plan_rows(key, "cholesky_block", n, lanes, lanes, plan);
}

bool plan_cholesky_panels(const ProblemKey& key, LaunchPlan* plan) {
  constexpr int kColumns = 16;
  if (key.n <= kWarpMaxN || key.n > kBlockMaxN) return false;
  const int threads = key.n <= 64 ? 64 : 128;  // a row to each
  *plan = {};
  plan->count = 1;
  KernelPlan& kernel = plan->kernels[0];
  kernel = {"cholesky_block", "", threads, 1, 0};
  std::snprintf(kernel.name, sizeof(kernel.name), "cholesky::kernel_panels<%s, %d, %d, %d>",
                scalar_name(key.dtype), threads, threads, kColumns);
  return true;
}

}  // namespace lanepack::cuda
