// SPDX-License-Identifier: Apache-2.0
// A handle of cuSOLVER on the device and stream of a problem, for one call.
#ifndef LANEPACK_BACKENDS_VENDOR_CUDA_SESSION_H_
#define LANEPACK_BACKENDS_VENDOR_CUDA_SESSION_H_

#include <algorithm>
#include <memory>

#include "backends/vendor_cuda/library.h"
#include "operations/problem.h"

namespace lanepack::vendor_cuda {

// What one call of a batched routine may take. Measured: XsyevBatched fails above about 32,000
// matrices, and asks for up to 0.5 MiB for a matrix of 64 x 64.
struct Limits {
  int64_t matrices = 16384;
  int64_t workspace_bytes = int64_t{1} << 30;  // but where one matrix needs more
  int64_t blas_bytes = int64_t{32} << 20;      // what cuBLAS wants on compute capability 9.0
};

class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // Makes the device's context current and takes a handle for the stream, until this object goes. A
  // handle's own buffers are of one stream, so that calls on several streams do not share them; it is
  // made where none is free, also while a graph is captured. An error, headed by `caller`, is
  // kUnavailable.
  Status open(const char* caller, const ProblemKey& key, void* stream);
  // The same for questions that put nothing on a stream: any handle serves.
  Status open_for_questions(const char* caller, const ProblemKey& key);

  // cuBLAS for this stream as well, with 'bytes' of device memory for its own use.
  Status use_blas(const char* caller, void* workspace, int64_t bytes);

  const Solver& solver() const { return *solver_; }
  const Blas& blas() const { return *blas_; }
  BlasHandle blas_handle() const { return blas_handle_; }
  SolverHandle handle() const { return handle_; }
  Params params() const { return params_; }
  const Limits& limits() const { return limits_; }
  // Puts zeros there, on the stream.
  Status clear(const char* caller, void* data, int64_t bytes);

 private:
  struct Place;  // where the handle was taken from, and the context
  Status enter(const char* caller, const ProblemKey& key);
  std::unique_ptr<Place> place_;
  const Solver* solver_ = nullptr;
  const Blas* blas_ = nullptr;
  BlasHandle blas_handle_ = nullptr;
  SolverHandle handle_ = nullptr;
  Params params_ = nullptr;
  Limits limits_;
};

// Host memory that some routines want beside the device's: this thread's, grown once.
Status host_workspace(const char* caller, size_t bytes, void** memory);

// kWorkspaceTooSmall where the caller brings less.
Status check_workspace(const char* caller, const Launch& launch, int64_t bytes);

// Makes the parts of a batch as large as the limits allow. `plan` has `matrices`, of a part, and
// `workspace_bytes`, which lay_out() sets for them.
template <class Plan, class LayOut>
Status fit_parts(const Limits& limits, int64_t batch, Plan* plan, LayOut lay_out) {
  plan->matrices = std::min(batch, limits.matrices);
  while (true) {
    const Status status = lay_out();
    if (status != Status::kOk) return status;
    if (plan->workspace_bytes <= limits.workspace_bytes || plan->matrices == 1) return status;
    // The bytes grow with the matrices, but not in proportion.
    const double share =
        static_cast<double>(limits.workspace_bytes) / static_cast<double>(plan->workspace_bytes);
    const auto fewer = static_cast<int64_t>(static_cast<double>(plan->matrices) * share);
    plan->matrices = std::max<int64_t>(1, std::min(plan->matrices - 1, fewer));
  }
}

// kOk for success; otherwise an error that names the routine.
Status check_solver(const char* caller, const char* routine, SolverStatus status);
Status check_blas(const char* caller, const char* routine, BlasStatus status);

}  // namespace lanepack::vendor_cuda

#endif  // LANEPACK_BACKENDS_VENDOR_CUDA_SESSION_H_
