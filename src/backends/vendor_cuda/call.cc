// SPDX-License-Identifier: Apache-2.0
// What every call of a routine shares: its host memory, and its status.
#include <cinttypes>
#include <memory>
#include <new>

#include "backends/vendor_cuda/session.h"

namespace lanepack::vendor_cuda {

Status host_workspace(const char* caller, size_t bytes, void** memory) {
  thread_local std::unique_ptr<unsigned char[]> kept;
  thread_local size_t size = 0;
  if (size < bytes || kept == nullptr) {
    kept.reset(new (std::nothrow) unsigned char[bytes + 1]);
    size = kept == nullptr ? 0 : bytes;
  }
  *memory = kept.get();
  if (kept != nullptr) return Status::kOk;
  return fail(Status::kOutOfMemory, "%s: no %zu bytes of host memory for cuSOLVER", caller, bytes);
}

Status check_workspace(const char* caller, const Launch& launch, int64_t bytes) {
  if (launch.workspace_bytes >= bytes) return Status::kOk;
  return fail(Status::kWorkspaceTooSmall,
              "%s: the workspace has %" PRId64 " bytes; it must have %" PRId64, caller,
              launch.workspace_bytes, bytes);
}

Status check_solver(const char* caller, const char* routine, SolverStatus status) {
  if (status == 0) return Status::kOk;
  return fail(status == kAllocationFailed ? Status::kOutOfMemory : Status::kUnavailable,
              "%s: %s gives status %d (%s)", caller, routine, status, describe_status(status));
}

Status check_blas(const char* caller, const char* routine, BlasStatus status) {
  if (status == 0) return Status::kOk;
  constexpr BlasStatus kBlasAllocationFailed = 3;
  return fail(status == kBlasAllocationFailed ? Status::kOutOfMemory : Status::kUnavailable,
              "%s: %s gives status %d", caller, routine, status);
}

}  // namespace lanepack::vendor_cuda
