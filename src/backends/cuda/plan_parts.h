// SPDX-License-Identifier: Apache-2.0
// What the plans of all operations share.
#ifndef LANEPACK_BACKENDS_CUDA_PLAN_PARTS_H_
#define LANEPACK_BACKENDS_CUDA_PLAN_PARTS_H_

#include "backends/cuda/plan.h"

namespace lanepack::cuda {

// Of a text: "simt::complex<float>".
const char* scalar_name(Dtype dtype);

// Sizes known at compile time, one matrix per thread: rows and columns to this.
inline constexpr int64_t kThreadMaxN = 8;
// Threads of a block where each holds a matrix: steps::kThreads of staging_thread.simt.h.
inline constexpr int kThreadBlock = 64;

}  // namespace lanepack::cuda

#endif  // LANEPACK_BACKENDS_CUDA_PLAN_PARTS_H_
