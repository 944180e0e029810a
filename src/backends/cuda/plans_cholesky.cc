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

// How a matrix, padded to the order n, is dealt to `lanes`: as many rows to a lane as its registers hold.
struct Deal {
  int n, lanes, threads;
};
constexpr Deal kDeals[] = {{8, 8, 64},   {16, 8, 64},  {24, 8, 64},  {32, 16, 64},
                           {64, 32, 32}, {96, 32, 32}, {128, 64, 64}};

}  // namespace

bool plan_cholesky_warp(const ProblemKey& key, LaunchPlan* plan) {
  const int64_t most = key.dtype == Dtype::kF32 ? 128 : key.dtype == Dtype::kC128 ? 32 : 64;
  if (key.n < 1 || key.n > most) return false;
  const Deal* deal = kDeals;
  while (deal->n < key.n) ++deal;
  // Of order 32 four rows where an entry has 8 bytes (4096 matrices: float64 27.8 us against 34.0 with
  // two and 32.0 with one, complex64 30.3, 37.2 and 36.7), else two (float32 20.0 against 20.4 with
  // four, complex128 55.8 against 71.8 with one).
  const bool four = deal->n == 32 && size_bytes(key.dtype) == 8;
  const int lanes = four ? 8 : deal->lanes;
  *plan = {};
  plan->count = 1;
  KernelPlan& kernel = plan->kernels[0];
  kernel = {"cholesky_warp", "", deal->threads, deal->threads / lanes, 0};
  std::snprintf(kernel.name, sizeof(kernel.name), "cholesky::kernel_rows<%s, %d, %d, %d>",
                scalar_name(key.dtype), deal->n, lanes, deal->threads);
  return true;
}

bool plan_cholesky_block(const ProblemKey& key, LaunchPlan* plan) {
  constexpr int kColumns = 16;
  constexpr int64_t kBlockMaxN = 128;
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
