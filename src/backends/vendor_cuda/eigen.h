// SPDX-License-Identifier: Apache-2.0
// cuSOLVER's eigenvalue routines, on packed matrices: cusolverDnXsyevBatched for a batch,
// cusolverDnXsyevd for one matrix after the other.
#ifndef LANEPACK_BACKENDS_VENDOR_CUDA_EIGEN_H_
#define LANEPACK_BACKENDS_VENDOR_CUDA_EIGEN_H_

#include "backends/vendor_cuda/session.h"

namespace lanepack::vendor_cuda {

// As cuSOLVER names it.
DataType data_type(Dtype dtype);

struct EigenCall {
  bool batched = false;  // one call for all matrices, or one for each
  bool vectors = false;
  int64_t n = 0;
  Dtype dtype = Dtype::kF32;
  size_t device_bytes = 0, host_bytes = 0;  // that the routine asks for
};

// Whether the matrices of a problem go to the batched routine.
bool takes_batches(const Session& session, const ProblemKey& key);

// Finds out the bytes for so many matrices.
Status ask_eigen(const char* caller, const Session& session, int64_t matrices, EigenCall* call);

// The matrices at `a`, of which `triangle` is read, become eigenvectors, where they are wanted; `w`
// gets the values in ascending order, `info` a number for each matrix. `device`: call.device_bytes.
Status run_eigen(const char* caller, Session* session, const EigenCall& call, Fill triangle,
                 int64_t matrices, void* a, void* w, void* device, int* info);

}  // namespace lanepack::vendor_cuda

#endif  // LANEPACK_BACKENDS_VENDOR_CUDA_EIGEN_H_
