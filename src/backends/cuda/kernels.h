// SPDX-License-Identifier: Apache-2.0
// Kernels of this process: compiled or read from disk at first use, then found without a lock.
#ifndef LANEPACK_BACKENDS_CUDA_KERNELS_H_
#define LANEPACK_BACKENDS_CUDA_KERNELS_H_

#include "backends/cuda/driver.h"
#include "backends/cuda/plan.h"

namespace lanepack::cuda {

// The kernel of `plan` on `device`, whose context must be current, ready for plan.shared_bytes.
// An error, headed by `caller`, is kUnavailable: no NVRTC, an architecture that it does not know, a
// text that it does not compile, or a driver that does not load the code. A text that was not
// compiled is not tried again.
Status find_kernel(const char* caller, const Driver& driver, const Device& device,
                   const KernelPlan& plan, Function* function);

}  // namespace lanepack::cuda

#endif  // LANEPACK_BACKENDS_CUDA_KERNELS_H_
