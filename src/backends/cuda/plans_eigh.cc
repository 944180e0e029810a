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

namespace {

// To this order the lanes of a warp hold Q in shared memory; above, threads of a block hold its rows in
// registers (100,000 x 8 in complex128 on an H200: 0.566 ms against 0.736; 16384 x 16 about equal).
constexpr int kMostHeldOrder = 8;

// Lanes to a matrix where a warp iterates: each holds 4 real rows of Q in float32 and 2 in float64.
int ql_lanes(Dtype dtype, int order) {
  return order * (is_complex(dtype) ? 2 : 1) / (real_dtype(dtype) == Dtype::kF64 ? 2 : 4);
}

// Matrices of a block in the iteration, 512 real rows of float32 in all: a lane makes the rotations of
// each, and what makes them waits for the longest.
int ql_matrices(Dtype dtype, int order) {
  const int rows = order * (is_complex(dtype) ? 2 : 1);
  const int most = real_dtype(dtype) == Dtype::kF64 ? 256 : 512;
  int matrices = 32;
  while (matrices * rows > most) matrices /= 2;
  return matrices;
}

}  // namespace

bool plan_eigh_warp(const ProblemKey& key, LaunchPlan* plan) {
  if (key.n < 1 || key.n > kWarpMaxN) return false;
  *plan = {};
  const bool vectors = key.operation == Operation::kEigh;
  const int order = round_up(key.n, 8), lanes = lanes_for(key.n);
  const char* scalar = scalar_name(key.dtype);
  const int threads = key.dtype == Dtype::kC128 ? 32 : 64;
  plan->count = 2;
  KernelPlan& reduce = plan->kernels[0];
  reduce = {"eigh_warp", "", threads, threads / lanes, 0};
  std::snprintf(reduce.name, sizeof(reduce.name), "eigh::kernel_reduce<%s, %d, %d, %s, %d>", scalar,
                order, lanes, vectors ? "true" : "false", threads);
  KernelPlan& iterate = plan->kernels[1];
  if (vectors && order <= kMostHeldOrder) {
    const int iterating = ql_lanes(key.dtype, order);
    iterate = {"eigh_warp", "", 32, 32 / iterating, 0};
    std::snprintf(iterate.name, sizeof(iterate.name), "eigh::kernel_ql_warp<%s, %d, %d>", scalar,
                  order, iterating);
  } else if (vectors) {
    const int matrices = ql_matrices(key.dtype, order);
    const int rows = matrices * order * (is_complex(key.dtype) ? 2 : 1);
    iterate = {"eigh_warp", "", kMakers + rows, matrices, 0};
    std::snprintf(iterate.name, sizeof(iterate.name), "eigh::kernel_ql<%s, %d, %d, %d, %d>", scalar,
                  order, matrices, iterate.threads, kTurningBlocks);
  } else if (real_dtype(key.dtype) == Dtype::kF32) {
    const int bisecting = order == 24 ? 8 : order / 2;
    iterate = {"eigh_warp", "", 64, 64 / bisecting, 0};
    std::snprintf(iterate.name, sizeof(iterate.name), "eigh::kernel_bisection<%s, %d, %d>", scalar,
                  order, bisecting);
  } else {
    iterate = {"eigh_warp", "", 32, 32, 0};
    std::snprintf(iterate.name, sizeof(iterate.name), "eigh::kernel_values<%s, %d>", scalar, order);
  }
  // struct tridiagonal of tridiagonalise_warp.simt.h
  plan->workspace_bytes = key.batch * (2 * key.n + 2) * size_bytes(real_dtype(key.dtype));
  return true;
}

}  // namespace lanepack::cuda
