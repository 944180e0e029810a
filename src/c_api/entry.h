// SPDX-License-Identifier: Apache-2.0
// What the exported functions share: the frame around a call, and problems without elements.
#ifndef LANEPACK_C_API_ENTRY_H_
#define LANEPACK_C_API_ENTRY_H_

#include <new>

#include "backends/backend.h"
#include "routing/router.h"

namespace lanepack {

// Runs body() -> Status with this thread's error text cleared; no exception leaves.
template <class Body>
int guarded(const char* function, Body&& body) {
  clear_error();
  try {
    return static_cast<int>(body());
  } catch (const std::bad_alloc&) {
    return static_cast<int>(fail(Status::kOutOfMemory, "%s: out of host memory", function));
  } catch (...) {
    return static_cast<int>(fail(Status::kInternal, "%s: an exception was thrown", function));
  }
}

// One line on stderr per call if LANEPACK_LOG is "route". `identifier`: the algorithm's.
void log_route(const ProblemKey& key, const char* identifier);

// On the CPU: the identity into every matrix of an output without data of its own, such as the
// complete Q of an m x 0 matrix.
void fill_identity(Dtype dtype, const MatrixBatch& output);

// On the CPU: info = 0 for the whole batch; a null info is left alone.
void clear_info(int32_t* info, int64_t batch);

}  // namespace lanepack

#endif  // LANEPACK_C_API_ENTRY_H_
