// SPDX-License-Identifier: Apache-2.0
// Launch plans of solve_triangular and cholesky_solve.
#include <algorithm>
#include <cstdio>

#include "backends/cuda/plan_parts.h"

namespace lanepack::cuda {
namespace {

// An inverse needs its triangles to agree to the last bit, which no kernel here sees to. Kernels count
// the right-hand sides of a matrix in an int.
bool served(const ProblemKey& key) {
  constexpr int64_t kMostColumns = int64_t{1} << 30;
  return key.operation != Operation::kCholeskyInverse && key.n >= 1 && key.columns >= 1 &&
         key.columns <= kMostColumns;
}
const char* twice(const ProblemKey& key) {
  return key.operation == Operation::kCholeskySolve ? "true" : "false";
}

// steps::slots of staging_thread.simt.h
int64_t slot_bytes(int64_t bytes) { return bytes % 16 == 0 ? (bytes / 16 | 1) * 16 : bytes; }

}  // namespace

bool plan_solve_thread(const ProblemKey& key, LaunchPlan* plan) {
  if (!served(key) || key.n > kThreadMaxN) return false;
  const int64_t bytes = size_bytes(key.dtype), n = key.n;
  // of 32 right-hand sides one behind the other
  const int matrices = key.columns == 1 ? 32 : key.columns <= 3 ? 16 : 8;
  const int64_t factors = (matrices * slot_bytes(n * n * bytes) + 15) / 16 * 16;
  const int64_t shared = kThreadBlock / 32 * (factors + 32 * slot_bytes(n * bytes));
  // What a thread holds in registers: more spills.
  constexpr int64_t kMostBytes = 640;
  if (shared > kMostSharedBytes || (n * (n + 1) / 2 + 2 * n) * bytes > kMostBytes) return false;
  *plan = {};
  plan->count = 1;
  plan->parts = key.columns;
  KernelPlan& kernel = plan->kernels[0];
  kernel = {"solve_triangular_thread", "", kThreadBlock, kThreadBlock, 0};
  std::snprintf(kernel.name, sizeof(kernel.name), "solve::kernel_thread<%s, %d, %d, %s>",
                scalar_name(key.dtype), static_cast<int>(n), matrices, twice(key));
  return true;
}

namespace {

// Few right-hand sides: a lane to a row.
void plan_rows(const ProblemKey& key, LaunchPlan* plan) {
  // a triangle to a group lies in shared memory
  const int threads = key.columns == 1 && key.dtype == Dtype::kF32 ? 128 : 64;
  const int lanes = key.n <= 16 ? 16 : 32;
  const int columns = key.columns <= 2 ? static_cast<int>(key.columns) : key.columns <= 4 ? 4 : 8;
  KernelPlan& kernel = plan->kernels[0];
  kernel = {"solve_triangular_warp", "", threads, threads / lanes, 0};
  std::snprintf(kernel.name, sizeof(kernel.name), "solve::kernel_rows<%s, %d, %d, %s, %d>",
                scalar_name(key.dtype), lanes, columns, twice(key), threads);
}

// A lane to a right-hand side.
bool plan_columns(const ProblemKey& key, LaunchPlan* plan) {
  const int64_t bytes = size_bytes(key.dtype);
  // Rows in the registers of a lane, and of a right-hand side in shared memory.
  const int panel = key.n <= 16 || bytes == 16 ? 16 : key.n <= 24 ? 24 : 32;
  const int rows = key.n <= panel ? panel : key.n <= 32 ? 32 : round_up(key.n, 32);
  // columns_layout of substitution_warp.simt.h
  const int64_t stride = ((panel * bytes + 15) / 16 | 1) * 16 / bytes;
  const auto shared_of_warp = [&](int64_t lanes) {
    const int64_t used = (panel * stride + lanes * (rows | 1) + panel) * bytes;
    return 32 / lanes * ((used + 15) / 16 * 16);
  };
  int lanes = key.columns <= 16 ? 16 : 32;
  if (shared_of_warp(lanes) > kMostSharedBytes) lanes = 32;
  const int64_t shared = shared_of_warp(lanes);
  if (shared > kMostSharedBytes) return false;
  // A multiprocessor takes 32 blocks: two warps to each where that many would fit.
  constexpr int64_t kSmall = 10240;
  const int threads = shared <= kSmall ? 64 : 32;
  plan->parts = (key.columns - 1) / lanes + 1;
  KernelPlan& kernel = plan->kernels[0];
  kernel = {"solve_triangular_warp", "", threads, threads / lanes, 0};
  std::snprintf(kernel.name, sizeof(kernel.name), "solve::kernel_columns<%s, %d, %d, %d, %d>",
                scalar_name(key.dtype), panel, lanes, rows, threads);
  return true;
}

}  // namespace

bool plan_solve_warp(const ProblemKey& key, LaunchPlan* plan) {
  constexpr int64_t kMaxN = 128, kFewColumns = 8;
  if (!served(key) || key.n > kMaxN) return false;
  *plan = {};
  plan->count = 1;
  if (key.n > kWarpMaxN || key.columns > kFewColumns) return plan_columns(key, plan);
  plan_rows(key, plan);
  return true;
}

}  // namespace lanepack::cuda
