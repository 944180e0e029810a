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

// How a matrix, padded to the order n, is dealt: to `down` threads along the rows and `across` along
// the columns (right_looking_warp.simt.h). What a thread holds stays below 128 registers, and below
// that few threads with many entries win.
struct Deal {
  int n;
  int down[3], across[3];  // float32; float64 and complex64; complex128. 0: not served
};
constexpr Deal kDeals[] = {
    {8, {2, 2, 2}, {4, 4, 4}},      {16, {2, 4, 4}, {4, 4, 4}},    {24, {2, 4, 4}, {8, 8, 8}},
    {32, {4, 4, 4}, {8, 8, 8}},     {64, {8, 8, 16}, {8, 16, 16}}, {96, {8, 16, 16}, {16, 16, 32}},
    {128, {8, 16, 0}, {16, 16, 0}},
};

int deal_column(Dtype dtype) { return dtype == Dtype::kF32 ? 0 : dtype == Dtype::kC128 ? 2 : 1; }

const Deal* find_deal(int64_t n) {
  if (n < 1) return nullptr;
  for (const Deal& deal : kDeals) {
    if (n <= deal.n) return &deal;
  }
  return nullptr;
}

}  // namespace

bool plan_cholesky_warp(const ProblemKey& key, LaunchPlan* plan) {
  const Deal* deal = find_deal(key.n);
  if (deal == nullptr || deal->n > kWarpMaxN) return false;
  const int column = deal_column(key.dtype);
  const int down = deal->down[column], across = deal->across[column];
  constexpr int kThreads = 64;
  *plan = {};
  plan->count = 1;
  KernelPlan& kernel = plan->kernels[0];
  kernel = {"cholesky_warp", "", kThreads, kThreads / (down * across), 0};
  std::snprintf(kernel.name, sizeof(kernel.name), "cholesky::kernel_warp<%s, %d, %d, %d, %d>",
                scalar_name(key.dtype), deal->n, down, across, kThreads);
  return true;
}

bool plan_cholesky_block(const ProblemKey& key, LaunchPlan* plan) {
  const Deal* deal = find_deal(key.n);
  if (deal == nullptr || deal->n <= kWarpMaxN) return false;
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
