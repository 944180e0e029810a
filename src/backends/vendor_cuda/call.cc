// SPDX-License-Identifier: Apache-2.0
// What every call of a routine shares: its host memory, and its status.
#include <memory>
#include <new>

#include "backends/vendor_cuda/session.h"

namespace lanepack::vendor_cuda {

void* host_workspace(size_t bytes) {
  thread_local std::unique_ptr<unsigned char[]> memory;
  thread_local size_t size = 0;
  if (size < bytes || memory == nullptr) {
    memory.reset(new (std::nothrow) unsigned char[bytes + 1]);
    size = memory == nullptr ? 0 : bytes;
  }
  return memory.get();
}

Status check_solver(const char* caller, const char* routine, SolverStatus status) {
  if (status == 0) return Status::kOk;
  return fail(status == kAllocationFailed ? Status::kOutOfMemory : Status::kUnavailable,
              "%s: %s gives status %d (%s)", caller, routine, status, describe_status(status));
}

}  // namespace lanepack::vendor_cuda
