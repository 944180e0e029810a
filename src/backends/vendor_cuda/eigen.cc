// SPDX-License-Identifier: Apache-2.0
#include "backends/vendor_cuda/eigen.h"

#include <algorithm>

namespace lanepack::vendor_cuda {
namespace {

// cuSOLVER 11.7.1 (CUDA 12.6) reads of its workspace what it has not written: eigenvectors that are
// not orthonormal, by what lay there before.
constexpr int kReadsItsWorkspace = 11701;

// Above this order the batched routine loses to one matrix after the other (on an H200, float32: 16 of
// order 512 25 ms against 76, but 4 of 1024 68 against 43, 2 of 2048 256 against 49).
constexpr int64_t kBatchedMaxN = 512;

int jobz(const EigenCall& call) { return call.vectors ? kVectors : kValues; }

}  // namespace

DataType data_type(Dtype dtype) {
  constexpr DataType kTypes[] = {0, 1, 4, 5};  // CUDA_R_32F, CUDA_R_64F, CUDA_C_32F, CUDA_C_64F
  return kTypes[static_cast<int>(dtype)];
}

bool takes_batches(const Session& session, const ProblemKey& key) {
  return key.batch > 1 && std::min(key.m, key.n) <= kBatchedMaxN &&
         key.routing == Routing::kFastest && session.solver().syev_batched != nullptr;
}

// It looks at sizes alone, whatever the triangle.
Status ask_eigen(const char* caller, const Session& session, int64_t matrices, EigenCall* call) {
  const Solver& s = session.solver();
  const DataType a = data_type(call->dtype), w = data_type(real_dtype(call->dtype));
  const int64_t n = call->n;
  if (!call->batched) {
    return check_solver(
        caller, "cusolverDnXsyevd_bufferSize",
        s.syevd_size(session.handle(), session.params(), jobz(*call), kLower, n, a, nullptr, n, w,
                     nullptr, a, &call->device_bytes, &call->host_bytes));
  }
  return check_solver(
      caller, "cusolverDnXsyevBatched_bufferSize",
      s.syev_batched_size(session.handle(), session.params(), jobz(*call), kLower, n, a, nullptr, n,
                          w, nullptr, a, &call->device_bytes, &call->host_bytes, matrices));
}

Status run_eigen(const char* caller, Session* session, const EigenCall& call, Fill triangle,
                 int64_t matrices, void* a, void* w, void* device, int* info) {
  const Solver& s = session->solver();
  const Dtype real = real_dtype(call.dtype);
  const DataType a_type = data_type(call.dtype), w_type = data_type(real);
  const int64_t n = call.n;
  void* host = nullptr;
  Status status = host_workspace(caller, call.host_bytes, &host);
  if (status != Status::kOk) return status;
  if (call.batched) {
    if (s.version <= kReadsItsWorkspace) {
      status = session->clear(caller, device, static_cast<int64_t>(call.device_bytes));
      if (status != Status::kOk) return status;
    }
    return check_solver(caller, "cusolverDnXsyevBatched",
                        s.syev_batched(session->handle(), session->params(), jobz(call), triangle,
                                       n, a_type, a, n, w_type, w, a_type, device,
                                       call.device_bytes, host, call.host_bytes, info, matrices));
  }
  auto* matrix = static_cast<unsigned char*>(a);
  auto* values = static_cast<unsigned char*>(w);
  for (int64_t i = 0; i < matrices && status == Status::kOk; ++i) {
    status = check_solver(caller, "cusolverDnXsyevd",
                          s.syevd(session->handle(), session->params(), jobz(call), triangle, n,
                                  a_type, matrix + i * n * n * size_bytes(call.dtype), n, w_type,
                                  values + i * n * size_bytes(real), a_type, device,
                                  call.device_bytes, host, call.host_bytes, info + i));
  }
  return status;
}

}  // namespace lanepack::vendor_cuda
