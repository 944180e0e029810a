// SPDX-License-Identifier: Apache-2.0
// cuSOLVER's rows in the table of algorithms.
#include <climits>

#include "backends/backend.h"
#include "backends/vendor_cuda/operations.h"

namespace lanepack {
namespace {

bool serves(const ProblemKey& key) {
  return key.device == kDeviceCuda && key.m <= INT_MAX && key.n <= INT_MAX && !key.jacobi;
}

constexpr Algorithm kAlgorithms[] = {
    {"eigh.vendor", Operation::kEigh, serves, nullptr, vendor_cuda::run_eigh, nullptr,
     vendor_cuda::eigh_workspace},
};

}  // namespace

AlgorithmList vendor_cuda_algorithms() {
  return {kAlgorithms, sizeof(kAlgorithms) / sizeof(kAlgorithms[0])};
}

}  // namespace lanepack
