// SPDX-License-Identifier: Apache-2.0
// A plan's kernels on a stream.
#ifndef LANEPACK_BACKENDS_CUDA_LAUNCH_H_
#define LANEPACK_BACKENDS_CUDA_LAUNCH_H_

#include "backends/cuda/driver.h"
#include "backends/cuda/plan.h"

namespace lanepack::cuda {

// The driver, and the device of a problem; an error is headed by `caller`.
Status find_target(const char* caller, const ProblemKey& key, const Driver** driver,
                   const Device** device);

// Records that the driver refused `what`; gives kUnavailable.
Status fail_device(const char* caller, const Driver& driver, const char* what, Result result);

// Puts the plan's kernels on the stream, each with the struct at `arguments`, which is copied.
// Nothing waits. On an error nothing of this call has been put there, but where a later kernel of
// the plan is refused.
Status launch(const char* caller, const ProblemKey& key, const Launch& where,
              const LaunchPlan& plan, void* arguments);

// Blocks for a batch, of matrices or of their parts: all that it fills, within what an `int` counts.
unsigned block_count(int64_t batch, int matrices_per_block);

}  // namespace lanepack::cuda

#endif  // LANEPACK_BACKENDS_CUDA_LAUNCH_H_
