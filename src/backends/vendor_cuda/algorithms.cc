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

bool serves_svd(const ProblemKey& key) {
  return serves(key) && real_dtype(key.dtype) == Dtype::kF32;
}

constexpr Algorithm kAlgorithms[] = {
    {"eigh.vendor", Operation::kEigh, serves, nullptr, vendor_cuda::run_eigh, nullptr,
     vendor_cuda::eigh_workspace},
    {"svd.vendor", Operation::kSvd, serves_svd, nullptr, nullptr, vendor_cuda::run_svd,
     vendor_cuda::svd_workspace},
};

}  // namespace

AlgorithmList vendor_cuda_algorithms() {
  return {kAlgorithms, sizeof(kAlgorithms) / sizeof(kAlgorithms[0])};
}

}  // namespace lanepack
