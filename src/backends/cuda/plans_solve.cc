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

namespace {

// What a thread holds in registers: more spills.
constexpr int64_t kMostThreadBytes = 640;
// Right-hand sides that a thread has beside its matrix of an order to kMatrixMaxN; more, or of a larger
// one, and the loads of a thread are too few for what it holds. One goes with any order.
constexpr int64_t kMatrixMaxN = 4, kMatrixMaxColumns = 4;

bool plan_matrix(const ProblemKey& key, LaunchPlan* plan) {
  const int64_t bytes = size_bytes(key.dtype), n = key.n, columns = key.columns;
  if (columns > 1 && (n > kMatrixMaxN || columns > kMatrixMaxColumns)) return false;
  const int64_t shared =
      kThreadBlock * (slot_bytes(n * n * bytes) + slot_bytes(n * columns * bytes));
  const int64_t held = (n * (n + 1) / 2 + (columns + 1) * n) * bytes;
  if (shared > kMostSharedBytes || held > kMostThreadBytes) return false;
  KernelPlan& kernel = plan->kernels[0];
  kernel = {"solve_triangular_thread", "", kThreadBlock, kThreadBlock, 0};
  std::snprintf(kernel.name, sizeof(kernel.name), "solve::kernel_matrix<%s, %d, %d, %s>",
                scalar_name(key.dtype), static_cast<int>(n), static_cast<int>(columns), twice(key));
  return true;
}

// As many matrices as 32 right-hand sides one behind the other may belong to, rounded up to one of
// few numbers: each is a kernel of its own.
int matrices_of_warp(int64_t columns) {
  const int64_t exact = 32 % columns == 0 ? 32 / columns : (columns + 30) / columns + 1;
  for (const int each : {4, 8, 16}) {
    if (exact <= each) return each;
  }
  return 32;
}

}  // namespace

bool plan_solve_thread(const ProblemKey& key, LaunchPlan* plan) {
  if (!served(key) || key.n > kThreadMaxN) return false;
  *plan = {};
  plan->count = 1;
  if (plan_matrix(key, plan)) return true;
  const int64_t bytes = size_bytes(key.dtype), n = key.n;
  const bool shared = (n * (n + 1) / 2 + 2 * n) * bytes > kMostThreadBytes;
  const int matrices = matrices_of_warp(key.columns);
  // factors_layout of small_thread.simt.h
  const int64_t factor = shared ? ((n * (n + 2)) | 1) * bytes : slot_bytes(n * n * bytes);
  const int64_t of_warp = (matrices * factor + 15) / 16 * 16 + 32 * slot_bytes(n * bytes);
  if (kThreadBlock / 32 * of_warp > kMostSharedBytes) return false;
  plan->parts = key.columns;
  KernelPlan& kernel = plan->kernels[0];
  kernel = {"solve_triangular_thread", "", kThreadBlock, kThreadBlock, 0};
  std::snprintf(kernel.name, sizeof(kernel.name), "solve::kernel_thread<%s, %d, %d, %s, %s>",
                scalar_name(key.dtype), static_cast<int>(n), matrices, twice(key),
                shared ? "true" : "false");
  return true;
}

namespace {

// Few right-hand sides: a lane to a row.
void plan_rows(const ProblemKey& key, LaunchPlan* plan) {
  // a triangle to a group lies in shared memory
  const int threads = key.columns == 1 && key.dtype == Dtype::kF32 ? 128 : 64;
  const int lanes = key.n <= 16 ? 16 : 32;
  const int columns = key.columns <= 2 ? static_cast<int>(key.columns) : key.columns <= 4 ? 4 : 8;
  const bool folded = size_bytes(key.dtype) > 4;
  KernelPlan& kernel = plan->kernels[0];
  kernel = {"solve_triangular_warp", "", threads, threads / lanes, 0};
  std::snprintf(kernel.name, sizeof(kernel.name), "solve::kernel_rows<%s, %d, %d, %s, %s, %d>",
                scalar_name(key.dtype), lanes, columns, twice(key), folded ? "true" : "false",
                threads);
}

// A lane to a right-hand side, in its registers: an order to kWarpMaxN.
bool plan_panel(const ProblemKey& key, LaunchPlan* plan) {
  const int64_t bytes = size_bytes(key.dtype);
  const int lanes = key.columns <= 16 ? 16 : 32, threads = bytes == 16 ? 32 : 64;
  // Without a bound the compiler keeps offsets for later rounds in registers, and with a tighter one
  // it spills.
  constexpr int kBlocks = 8;
  plan->parts = (key.columns - 1) / lanes + 1;
  KernelPlan& kernel = plan->kernels[0];
  kernel = {"solve_triangular_panel", "", threads, threads / lanes, 0};
  std::snprintf(kernel.name, sizeof(kernel.name), "solve::kernel_panel<%s, %d, %d, %s, %d, %d>",
                scalar_name(key.dtype), static_cast<int>(key.n), lanes, twice(key), threads,
                kBlocks);
  return true;
}

// A lane to a right-hand side in shared memory: the other orders.
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
  if (key.n <= kWarpMaxN && key.columns <= kFewColumns) {
    plan_rows(key, plan);
    return true;
  }
  return key.n > kThreadMaxN && key.n <= kWarpMaxN ? plan_panel(key, plan)
                                                   : plan_columns(key, plan);
}

}  // namespace lanepack::cuda
