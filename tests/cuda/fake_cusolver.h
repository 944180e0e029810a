// SPDX-License-Identifier: Apache-2.0
// A cuSOLVER, and a cuBLAS, whose device memory is the host's (fake_cusolver.cc): what it is asked is computed by the
// LAPACK of torch, so that what is put around it can be tested without a GPU.
#ifndef LANEPACK_TESTS_CUDA_FAKE_CUSOLVER_H_
#define LANEPACK_TESTS_CUDA_FAKE_CUSOLVER_H_

#include <cstddef>
#include <cstdint>

struct FakeSolver {
  // What it is to be: set before the first call, or between calls.
  int version;
  int status;               // of every routine that computes
  int64_t fails_at;         // the matrix of a batch that does not converge; -1: none
  int64_t bytes_of_matrix;  // of device workspace that a batched routine asks for
  int64_t host_bytes;       // of host workspace that every routine asks for
  void (*reads)(const void* data, size_t bytes);   // tells of accesses; may be null
  void (*writes)(const void* data, size_t bytes);  // the same
  // What happened.
  int created;
  int batched_calls, single_calls;  // of the eigenvalue routines
  int gemm_calls, geqrf_calls, orgqr_calls;
  int64_t largest_batch;
  void* stream;       // of the last routine's handle
  char problem[256];  // "": no argument was wrong, and a LAPACK was found
};

extern "C" FakeSolver* fake_cusolver();

#endif  // LANEPACK_TESTS_CUDA_FAKE_CUSOLVER_H_
