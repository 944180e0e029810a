// SPDX-License-Identifier: Apache-2.0
// In place of the backend where there is no CUDA.
#include "backends/backend.h"

namespace lanepack {

AlgorithmList vendor_cuda_algorithms() { return {nullptr, 0}; }

}  // namespace lanepack
