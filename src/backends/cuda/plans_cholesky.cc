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

// How a matrix, padded to the order n, is dealt to a block: to `down` threads along the rows and
// `across` along the columns (right_looking_block.simt.h). What a thread holds stays in its registers,
// and within that few threads with many entries win.
struct Deal {
  int n;
  int down[3], across[3];  // float32; float64 and complex64; complex128. 0: not dealt so
};
constexpr Deal kDeals[] = {
    {64, {0, 8, 16}, {0, 8, 16}},
    {96, {8, 16, 16}, {16, 16, 32}},
    {128, {8, 16, 0}, {16, 16, 0}},
};

int deal_column(Dtype dtype) { return dtype == Dtype::kF32 ? 0 : dtype == Dtype::kC128 ? 2 : 1; }

}  // namespace

bool plan_cholesky_warp(const ProblemKey& key, LaunchPlan* plan) {
  if (key.n < 1 || key.n > kWarpMaxN) return false;
  const int n = round_up(key.n, 8);
  const int lanes = n == 24 ? 32 : n;
  return plan_rows(key, "cholesky_warp", n, lanes, 64, plan);
}

bool plan_cholesky_block(const ProblemKey& key, LaunchPlan* plan) {
  constexpr int kRowsMaxN = 64;  // a row of so many float32 in the registers of a lane
  if (key.n <= kWarpMaxN) return false;
  if (key.dtype == Dtype::kF32 && key.n <= kRowsMaxN) {
    return plan_rows(key, "cholesky_block", kRowsMaxN, kRowsMaxN, kRowsMaxN, plan);
  }
  const Deal* deal = nullptr;
  for (const Deal& each : kDeals) {
    if (deal == nullptr && key.n <= each.n) deal = &each;
  }
  if (deal == nullptr) return false;
  const int column = deal_column(key.dtype);
  const int down = deal->down[column], across = deal->across[column];
  if (down == 0) return false;
  *plan = {};
  plan->count = 1;
  KernelPlan& kernel = plan->kernels[0];
  kernel = {"cholesky_block", "", down * across, 1, 0};
  std::snprintf(kernel.name, sizeof(kernel.name), "cholesky::kernel_block<%s, %d, %d, %d>",
                scalar_name(key.dtype), deal->n, down, across);
  return true;
}

}  // namespace lanepack::cuda
