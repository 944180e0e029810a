// SPDX-License-Identifier: Apache-2.0
// Launch plans of svd and svdvals.
#include <algorithm>
#include <cstdio>
#include <utility>

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

namespace {

// To this order the lanes of a warp hold U and V in shared memory; above, threads of a block hold their
// rows in registers (16384 x 16 in float32 on an H200: 0.297 ms against 0.322; 4096 x 32: 0.547 against
// 0.434).
constexpr int kMostHeldOrder = 16;

// Lanes to a matrix where a warp iterates: each holds 4 real rows of U and V in float32 and 2 in float64.
int qr_lanes(Dtype dtype, int order) {
  return order * (is_complex(dtype) ? 2 : 1) / (real_dtype(dtype) == Dtype::kF64 ? 2 : 4);
}

// Matrices of a block in the iteration, 512 real rows of U and V in float32 in all: a lane makes the
// rotations of each, and what makes them waits for the longest.
int qr_matrices(Dtype dtype, int order) {
  const int rows = 2 * order * (is_complex(dtype) ? 2 : 1);
  const int most = real_dtype(dtype) == Dtype::kF64 ? 256 : 512;
  int matrices = 32;
  while (matrices * rows > most) matrices /= 2;
  return matrices;
}

// The two kernels for m and n to 32, appended to the plan; of R where `tall`.
void add_bidiagonal(const ProblemKey& key, int64_t longest, bool tall, LaunchPlan* plan) {
  const bool vectors = key.operation == Operation::kSvd;
  const int order = round_up(longest, 8), lanes = lanes_for(longest);
  const char* scalar = scalar_name(key.dtype);
  const char* of_r = tall ? "true" : "false";
  const char* with_vectors = vectors ? "true" : "false";
  KernelPlan& reduce = plan->kernels[plan->count++];
  // A row and a column that do not both fit in the registers of a lane.
  if (order * size_bytes(key.dtype) > 256) {
    reduce = {"svd_warp", "", 64, 1, 0};
    std::snprintf(reduce.name, sizeof(reduce.name),
                  "svd::kernel_bidiagonalise_apart<%s, %d, %s, %s>", scalar, order, with_vectors,
                  of_r);
  } else {
    const int threads = order * size_bytes(key.dtype) <= 128 ? 64 : 32;
    reduce = {"svd_warp", "", threads, threads / lanes, 0};
    std::snprintf(reduce.name, sizeof(reduce.name),
                  "svd::kernel_bidiagonalise<%s, %d, %d, %s, %s, %d>", scalar, order, lanes,
                  with_vectors, of_r, threads);
  }
  KernelPlan& iterate = plan->kernels[plan->count++];
  if (!vectors) {
    iterate = {"svd_warp", "", 32, 32, 0};
    std::snprintf(iterate.name, sizeof(iterate.name), "svd::kernel_values<%s, %d, %s>", scalar,
                  order, of_r);
    return;
  }
  if (order <= kMostHeldOrder) {
    const int iterating = qr_lanes(key.dtype, order);
    iterate = {"svd_warp", "", 32, 32 / iterating, 0};
    std::snprintf(iterate.name, sizeof(iterate.name),
                  "svd::kernel_implicit_qr_warp<%s, %d, %d, %s>", scalar, order, iterating, of_r);
    return;
  }
  const int matrices = qr_matrices(key.dtype, order);
  const int rows = 2 * order * (is_complex(key.dtype) ? 2 : 1);
  iterate = {"svd_warp", "", kMakers + matrices * rows, matrices, 0};
  std::snprintf(iterate.name, sizeof(iterate.name),
                "svd::kernel_implicit_qr<%s, %d, %d, %s, %d, %d>", scalar, order, matrices, of_r,
                iterate.threads, kTurningBlocks);
}

// One of the kernels around them.
void add_parts(const ProblemKey& key, const char* name, int height, LaunchPlan* plan) {
  const int parts = parts_for(height, size_bytes(key.dtype));
  KernelPlan& kernel = plan->kernels[plan->count++];
  kernel = {"svd_warp", "", 32 * parts, 1, 0};
  std::snprintf(kernel.name, sizeof(kernel.name), "svd::kernel_%s<%s, %d, %d, %d>", name,
                scalar_name(key.dtype), height, parts, kernel.threads);
}

// The parts of the workspace at `base`; gives their bytes.
int64_t place_tall_parts(const ProblemKey& key, void* base, svd::tall_parts* parts) {
  const int64_t longer = std::max(key.m, key.n), n = std::min(key.m, key.n), batch = key.batch;
  const int64_t entry = size_bytes(key.dtype), real = size_bytes(real_dtype(key.dtype));
  int64_t used = 0;
  const auto place = [&](int64_t bytes) -> void* {
    const auto at = reinterpret_cast<uintptr_t>(base) + static_cast<uintptr_t>(used);
    used += (bytes + 15) / 16 * 16;
    return reinterpret_cast<void*>(at);
  };
  parts->r = place(batch * n * n * entry);
  parts->u = place(batch * n * n * entry);
  parts->vectors = place(batch * n * round_up(longer, 32) * entry);
  parts->tau = place(batch * n * entry);
  parts->exponents = place(batch * real);
  parts->bidiagonals = place(batch * (2 * n + 1) * real);
  return used;
}

}  // namespace

void place_second_problem(const ProblemKey& key, svd::arguments* arguments) {
  if (std::max(key.m, key.n) <= kWarpMaxN || arguments->workspace == nullptr) return;
  place_tall_parts(key, arguments->workspace, &arguments->tall);
  steps::view& vh = arguments->tall.vh;
  vh = arguments->vh;
  if (key.m >= key.n) return;
  // of a wide matrix it is the transpose of U
  vh = arguments->u;
  std::swap(vh.row, vh.column);
  if (vh.layout != steps::kStrided) {
    vh.layout = vh.layout == steps::kPackedRows ? steps::kPackedColumns : steps::kPackedRows;
  }
}

bool plan_svd_warp(const ProblemKey& key, LaunchPlan* plan) {
  const int64_t longer = std::max(key.m, key.n), shorter = std::min(key.m, key.n);
  if (shorter < 1 || shorter > kWarpMaxN || longer > kBlockMaxM || key.jacobi) return false;
  *plan = {};
  const int64_t reals = size_bytes(real_dtype(key.dtype));
  if (longer <= kWarpMaxN) {
    add_bidiagonal(key, longer, false, plan);
    // struct bidiagonal of bidiagonalise_warp.simt.h
    plan->workspace_bytes = key.batch * (2 * shorter + 1) * reals;
    return true;
  }
  const int height = round_up(longer, 32);
  add_parts(key, "qr_first", height, plan);
  add_bidiagonal(key, shorter, true, plan);
  if (key.operation == Operation::kSvd) add_parts(key, "apply_q", height, plan);
  svd::tall_parts parts;
  plan->workspace_bytes = place_tall_parts(key, nullptr, &parts);
  return true;
}

}  // namespace lanepack::cuda
