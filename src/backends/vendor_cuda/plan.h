// SPDX-License-Identifier: Apache-2.0
// The kernels around cuSOLVER's routines: src/kernels/vendor.
#ifndef LANEPACK_BACKENDS_VENDOR_CUDA_PLAN_H_
#define LANEPACK_BACKENDS_VENDOR_CUDA_PLAN_H_

#include "backends/cuda/plan.h"

namespace lanepack::vendor_cuda {

// Their arguments struct, as backends/cuda/plan.h takes those of the other texts.
namespace steps = cuda::steps;
// after the line above
#include "kernels/vendor/arguments.simt.h"

using vendor::arguments;
using vendor::kept;

enum class Step { kMeasure, kPrepare, kReport, kFinish, kRoots, kTurn };

// One kernel; `dtype` is that of the caller's matrices (kRoots: of the values, kTurn: of the packed
// ones), `packed` that of the routine's matrices, or values, where the kernel sees both.
cuda::LaunchPlan plan_step(Step step, Dtype dtype, Dtype packed);

// act(step, dtype, packed) for every kernel that problems of a dtype launch.
template <class Act>
void each_kernel(Dtype dtype, Act act) {
  const Dtype real = real_dtype(dtype);
  act(Step::kMeasure, dtype, dtype);
  act(Step::kPrepare, dtype, dtype);
  act(Step::kReport, real, real);
  act(Step::kFinish, dtype, dtype);
  act(Step::kFinish, real, real);
  if (real != Dtype::kF32) return;
  // svd, in float64
  const Dtype wide = is_complex(dtype) ? Dtype::kC128 : Dtype::kF64;
  act(Step::kPrepare, dtype, wide);
  act(Step::kReport, real, Dtype::kF64);
  act(Step::kRoots, real, real);
  act(Step::kTurn, wide, wide);
  act(Step::kFinish, wide, wide);
  act(Step::kFinish, dtype, wide);
}

// Blocks to a matrix of `lines` lines of `length` entries, and the lines of each.
void share_out(int lines, int length, int* parts, int* lines_of_part);

}  // namespace lanepack::vendor_cuda

#endif  // LANEPACK_BACKENDS_VENDOR_CUDA_PLAN_H_
