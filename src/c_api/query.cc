// SPDX-License-Identifier: Apache-2.0
// Route, policy, and what the library tells about itself.
#include <cstdio>
#include <cstring>

#include "c_api/entry.h"
#include "operations/check.h"
#include "routing/policy.h"

using lanepack::fail;
using lanepack::Status;

extern "C" {

int lanepack_route(const lanepack_problem* problem, char* identifier, int64_t capacity) {
  constexpr const char* kFunction = "lanepack_route";
  return lanepack::guarded(kFunction, [&] {
    Status status = lanepack::check_struct_size(kFunction, "lanepack_problem", problem,
                                                sizeof(lanepack_problem));
    if (status != Status::kOk) return status;
    if (identifier == nullptr || capacity < 1) {
      return fail(Status::kInvalidArgument,
                  "%s: identifier is %s and capacity %lld; there must be room for at least 1 byte",
                  kFunction, identifier == nullptr ? "null" : "not null",
                  static_cast<long long>(capacity));
    }
    lanepack::ProblemKey key;
    status = lanepack::check_problem(kFunction, *problem, &key);
    if (status != Status::kOk) return status;
    const lanepack::Algorithm* algorithm = nullptr;
    status = lanepack::route(kFunction, key, &algorithm);
    if (status != Status::kOk) return status;
    std::snprintf(identifier, static_cast<size_t>(capacity), "%s", algorithm->identifier);
    return Status::kOk;
  });
}

int lanepack_policy_set(const char* family, int32_t device, const char* name, int64_t value) {
  constexpr const char* kFunction = "lanepack_policy_set";
  return lanepack::guarded(
      kFunction, [&] { return lanepack::set_policy(kFunction, family, device, name, value); });
}

int lanepack_policy_get(const char* family, int32_t device, const char* name, int64_t* value) {
  constexpr const char* kFunction = "lanepack_policy_get";
  return lanepack::guarded(
      kFunction, [&] { return lanepack::get_policy(kFunction, family, device, name, value); });
}

int lanepack_policy_reset(const char* family, int32_t device) {
  constexpr const char* kFunction = "lanepack_policy_reset";
  return lanepack::guarded(kFunction,
                           [&] { return lanepack::reset_policy(kFunction, family, device); });
}

const char* lanepack_policy_names(const char* family, int32_t device) {
  constexpr const char* kFunction = "lanepack_policy_names";
  const char* names = nullptr;
  lanepack::guarded(kFunction, [&] {
    names = lanepack::policy_names(kFunction, family, device);
    return Status::kOk;
  });
  return names;
}

int lanepack_cuda_describe(lanepack_cuda_state* state) {
  constexpr const char* kFunction = "lanepack_cuda_describe";
  return lanepack::guarded(kFunction, [&] {
    const Status status =
        lanepack::check_struct_size(kFunction, "lanepack_cuda_state", state, sizeof(*state));
    if (status != Status::kOk) return status;
    lanepack::CudaState found;
    lanepack::cuda_describe(&found);
    state->device_count = found.device_count;
    state->driver_version = found.driver_version;
    state->compiler_version = found.compiler_version;
    state->reserved = 0;
    static_assert(sizeof(state->compiler) == sizeof(found.compiler) &&
                  sizeof(state->cache) == sizeof(found.cache) &&
                  sizeof(state->problem) == sizeof(found.problem));
    std::memcpy(state->compiler, found.compiler, sizeof(found.compiler));
    std::memcpy(state->cache, found.cache, sizeof(found.cache));
    std::memcpy(state->problem, found.problem, sizeof(found.problem));
    return Status::kOk;
  });
}

const char* lanepack_version(void) { return LANEPACK_VERSION; }

int32_t lanepack_abi_version(void) { return LANEPACK_ABI_VERSION; }

const char* lanepack_last_error(void) { return lanepack::last_error(); }

const char* lanepack_cpu_target(void) { return lanepack::cpu_target_name(); }

const char* lanepack_lapack_name(void) { return lanepack::lapack_library_name(); }

}  // extern "C"
