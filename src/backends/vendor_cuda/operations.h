// SPDX-License-Identifier: Apache-2.0
// The operations that cuSOLVER serves; algorithms.cc has their rows.
#ifndef LANEPACK_BACKENDS_VENDOR_CUDA_OPERATIONS_H_
#define LANEPACK_BACKENDS_VENDOR_CUDA_OPERATIONS_H_

#include "operations/problem.h"

namespace lanepack::vendor_cuda {

// Device memory that a call needs; 0 where that cannot be told: the run then says why.
int64_t eigh_workspace(const ProblemKey& key);
Status run_eigh(const EighProblem& problem);

// Of float32 and complex64.
int64_t svd_workspace(const ProblemKey& key);
Status run_svd(const SvdProblem& problem);

}  // namespace lanepack::vendor_cuda

#endif  // LANEPACK_BACKENDS_VENDOR_CUDA_OPERATIONS_H_
