// SPDX-License-Identifier: Apache-2.0
// Which kernels serve a problem, and how they are launched. Nothing here needs a GPU.
#ifndef LANEPACK_BACKENDS_CUDA_PLAN_H_
#define LANEPACK_BACKENDS_CUDA_PLAN_H_

#include <cstdint>

#include "dialect/arguments.h"
#include "operations/problem.h"

namespace lanepack::cuda {

// after dialect/arguments.h
#include "kernels/steps/view.simt.h"
// after view
#include "kernels/cholesky/arguments.simt.h"
#include "kernels/eigh/arguments.simt.h"
#include "kernels/qr/arguments.simt.h"
#include "kernels/solve_triangular/arguments.simt.h"
#include "kernels/svd/arguments.simt.h"

// One launch: ceil(batch * parts / matrices_per_block) blocks, or fewer: a kernel walks the batch in
// steps of the blocks that there are. Its one parameter is the operation's `arguments`, by value.
struct KernelPlan {
  const char* text;        // key of the flattened text (texts/<key>.h), such as "eigh_thread"
  char name[160];          // name expression, such as "eigh::kernel_thread<float, 3, true>"
  int threads;             // of a block
  int matrices_per_block;  // or parts of them
  int shared_bytes;        // dynamic; 0: none
};

// The launches of one call, in their order on the stream; all get the same arguments.
struct LaunchPlan {
  static constexpr int kMost = 4;
  KernelPlan kernels[kMost];
  int count;
  int64_t parts = 1;  // of each matrix: its right-hand sides, or blocks of them
  int64_t
      workspace_bytes;  // for the whole batch; arguments.workspace points to as much, or is null
};

// What every text must be compiled with: multiply-adds only where a text says so, and division and
// square root correctly rounded (the compiler's default).
inline constexpr const char* kCompileOptions[] = {"--std=c++17", "--fmad=false"};

// False where the algorithm does not serve the problem. The plan depends on the key alone, and but
// for workspace_bytes not on its batch, device and routing.
bool plan_cholesky_thread(const ProblemKey& key, LaunchPlan* plan);
bool plan_cholesky_warp(const ProblemKey& key, LaunchPlan* plan);
bool plan_cholesky_rows(const ProblemKey& key, LaunchPlan* plan);
bool plan_cholesky_panels(const ProblemKey& key, LaunchPlan* plan);
bool plan_eigh_thread(const ProblemKey& key, LaunchPlan* plan);
bool plan_eigh_warp(const ProblemKey& key, LaunchPlan* plan);
bool plan_qr_thread(const ProblemKey& key, LaunchPlan* plan);
bool plan_qr_warp(const ProblemKey& key, LaunchPlan* plan);
bool plan_solve_thread(const ProblemKey& key, LaunchPlan* plan);
bool plan_solve_warp(const ProblemKey& key, LaunchPlan* plan);
bool plan_svd_thread(const ProblemKey& key, LaunchPlan* plan);
bool plan_svd_warp(const ProblemKey& key, LaunchPlan* plan);

// The parts of the workspace that the kernels of a tall or wide svd hand on.
void place_second_problem(const ProblemKey& key, svd::arguments* arguments);

// `x` as the kernels see it.
steps::view device_view(const MatrixBatch& x);

}  // namespace lanepack::cuda

#endif  // LANEPACK_BACKENDS_CUDA_PLAN_H_
