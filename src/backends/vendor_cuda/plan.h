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

enum class Step { kMeasure, kPrepare, kReport, kFinish };

// One kernel; `dtype` is that of the matrices it walks, of kReport that of the values.
cuda::LaunchPlan plan_step(Step step, Dtype dtype);

// Blocks to a matrix of `lines` lines of `length` entries, and the lines of each.
void share_out(int lines, int length, int* parts, int* lines_of_part);

}  // namespace lanepack::vendor_cuda

#endif  // LANEPACK_BACKENDS_VENDOR_CUDA_PLAN_H_
