// SPDX-License-Identifier: Apache-2.0
// cuSOLVER and cuBLAS, opened at run time. What is used of their interfaces is declared here, as the documentation
// of CUDA 12 and 13 gives it.
#ifndef LANEPACK_BACKENDS_VENDOR_CUDA_LIBRARY_H_
#define LANEPACK_BACKENDS_VENDOR_CUDA_LIBRARY_H_

#include <cstddef>
#include <cstdint>

namespace lanepack::vendor_cuda {

struct SolverObject;
struct ParamsObject;
using SolverHandle = SolverObject*;  // cusolverDnHandle_t
using Params = ParamsObject*;        // cusolverDnParams_t
using DataType = int;                // cudaDataType
using SolverStatus = int;            // cusolverStatus_t; 0: success

constexpr SolverStatus kAllocationFailed = 2;

enum EigMode : int { kValues = 0, kVectors = 1 };  // cusolverEigMode_t
enum Fill : int { kLower = 0, kUpper = 1 };        // cublasFillMode_t

// Of the 64-bit interface: (jobz, uplo, n, A, lda, W), the workspaces, info.
using SyevdSize = SolverStatus(SolverHandle, Params, int jobz, int uplo, int64_t n, DataType a_type,
                               const void* a, int64_t lda, DataType w_type, const void* w,
                               DataType compute, size_t* device_bytes, size_t* host_bytes);
using Syevd = SolverStatus(SolverHandle, Params, int jobz, int uplo, int64_t n, DataType a_type,
                           void* a, int64_t lda, DataType w_type, void* w, DataType compute,
                           void* device, size_t device_bytes, void* host, size_t host_bytes,
                           int* info);
using SyevBatchedSize = SolverStatus(SolverHandle, Params, int jobz, int uplo, int64_t n,
                                     DataType a_type, const void* a, int64_t lda, DataType w_type,
                                     const void* w, DataType compute, size_t* device_bytes,
                                     size_t* host_bytes, int64_t batch);
using SyevBatched = SolverStatus(SolverHandle, Params, int jobz, int uplo, int64_t n,
                                 DataType a_type, void* a, int64_t lda, DataType w_type, void* w,
                                 DataType compute, void* device, size_t device_bytes, void* host,
                                 size_t host_bytes, int* info, int64_t batch);

using GeqrfSize = SolverStatus(SolverHandle, Params, int64_t m, int64_t n, DataType a_type,
                               const void* a, int64_t lda, DataType tau_type, const void* tau,
                               DataType compute, size_t* device_bytes, size_t* host_bytes);
using Geqrf = SolverStatus(SolverHandle, Params, int64_t m, int64_t n, DataType a_type, void* a,
                           int64_t lda, DataType tau_type, void* tau, DataType compute,
                           void* device, size_t device_bytes, void* host, size_t host_bytes,
                           int* info);
// Of the 32-bit interface, which counts its workspace in elements.
using OrgqrSize = SolverStatus(SolverHandle, int m, int n, int k, const void* a, int lda,
                               const void* tau, int* elements);
using Orgqr = SolverStatus(SolverHandle, int m, int n, int k, void* a, int lda, const void* tau,
                           void* work, int elements, int* info);

// The functions under their names without "cusolverDn".
struct Solver {
  SolverStatus (*get_version)(int* version);
  SolverStatus (*create)(SolverHandle* handle);
  SolverStatus (*destroy)(SolverHandle handle);
  SolverStatus (*set_stream)(SolverHandle handle, void* stream);
  SolverStatus (*create_params)(Params* params);
  SyevdSize* syevd_size;
  Syevd* syevd;
  GeqrfSize* geqrf_size;
  Geqrf* geqrf;
  OrgqrSize *dorgqr_size, *zungqr_size;
  Orgqr *dorgqr, *zungqr;
  // Null before CUDA 12.6.
  SyevBatchedSize* syev_batched_size;
  SyevBatched* syev_batched;
  int version;  // 12004 is 12.0.4
};

// A cuSOLVER of CUDA 12 or later that the driver (13000 is 13.0) supports: the file that
// LANEPACK_CUSOLVER_LIBRARY names; one that is loaded already; the one that lies beside the cuBLAS
// that is loaded, as in torch's packages; the system's. Null if there is none, with `*problem` saying
// so, and looked for again at the next call. Safe from several threads.
const Solver* solver(int driver_version, const char** problem);

struct BlasObject;
using BlasHandle = BlasObject*;  // cublasHandle_t
using BlasStatus = int;          // cublasStatus_t; 0: success

enum Transposed : int { kAsIs = 0, kTransposed = 1, kAdjoint = 2 };  // cublasOperation_t

// alpha and beta are on the host.
using GemmStridedBatched = BlasStatus(BlasHandle, int a_op, int b_op, int m, int n, int k,
                                      const void* alpha, const void* a, int lda, long long a_stride,
                                      const void* b, int ldb, long long b_stride, const void* beta,
                                      void* c, int ldc, long long c_stride, int batch);

// The functions under their names without "cublas" and version suffix.
struct Blas {
  BlasStatus (*create)(BlasHandle* handle);
  BlasStatus (*set_stream)(BlasHandle handle, void* stream);
  BlasStatus (*set_workspace)(BlasHandle handle, void* workspace, size_t bytes);
  GemmStridedBatched *dgemm_strided_batched, *zgemm_strided_batched;
};

// The cuBLAS that is loaded, as it is wherever a cuSOLVER is; LANEPACK_CUBLAS_LIBRARY names another.
// Null, with `*problem`, as solver().
const Blas* blas(const char** problem);

// The cuBLAS of one file, for the life of the process; null if it is not there.
const Blas* open_blas(const char* file);

// The cuSOLVER of one file, for the life of the process; null if it is not there or does not fit.
const Solver* open_solver(const char* file, int driver_version);

// "internal error"; "" for a status without a name.
const char* describe_status(SolverStatus status);

}  // namespace lanepack::vendor_cuda

#endif  // LANEPACK_BACKENDS_VENDOR_CUDA_LIBRARY_H_
