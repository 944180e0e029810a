// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/launch.h"

#include <algorithm>
#include <cinttypes>

#include "backends/cuda/kernels.h"

namespace lanepack::cuda {

Status find_target(const char* caller, const ProblemKey& key, const Driver** driver,
                   const Device** device) {
  const char* problem = "";
  *driver = cuda::driver(&problem);
  if (*driver == nullptr) return fail(Status::kUnavailable, "%s: %s", caller, problem);
  return find_device(caller, **driver, key.device_index, device);
}

Status fail_device(const char* caller, const Driver& driver, const char* what, Result result) {
  char text[160];
  describe_error(driver, result, text, sizeof(text));
  return fail(Status::kUnavailable, "%s: %s: %s", caller, what, text);
}

unsigned block_count(int64_t batch, int matrices_per_block) {
  constexpr int64_t kMaxMatrices = int64_t{1} << 30;
  const int64_t most = std::max<int64_t>(1, kMaxMatrices / matrices_per_block);
  const int64_t blocks = batch / matrices_per_block + (batch % matrices_per_block != 0 ? 1 : 0);
  return static_cast<unsigned>(std::min(blocks, most));
}

Status launch(const char* caller, const ProblemKey& key, const Launch& where,
              const LaunchPlan& plan, void* arguments) {
  if (where.workspace_bytes < plan.workspace_bytes) {
    return fail(Status::kWorkspaceTooSmall,
                "%s: the workspace has %" PRId64 " bytes; it must have %" PRId64, caller,
                where.workspace_bytes, plan.workspace_bytes);
  }
  const Driver* driver = nullptr;
  const Device* device = nullptr;
  Status status = find_target(caller, key, &driver, &device);
  if (status != Status::kOk) return status;
  const ContextGuard guard(*driver, *device);
  Result result = guard.result();
  if (result != 0) return fail_device(caller, *driver, "the device's context", result);
  Function functions[LaunchPlan::kMost] = {};
  // All are there before the first is put on the stream.
  for (int i = 0; i < plan.count; ++i) {
    status = find_kernel(caller, *driver, *device, plan.kernels[i], &functions[i]);
    if (status != Status::kOk) return status;
  }
  for (int i = 0; i < plan.count && result == 0; ++i) {
    const KernelPlan& kernel = plan.kernels[i];
    void* parameters[] = {arguments};
    // Parts are entries of an output, or blocks of them: their number fits.
    const unsigned blocks = block_count(key.batch * plan.parts, kernel.matrices_per_block);
    result = driver->launch_kernel(
        functions[i], blocks, 1, 1, static_cast<unsigned>(kernel.threads), 1, 1,
        static_cast<unsigned>(kernel.shared_bytes), where.stream, parameters, nullptr);
  }
  return result == 0 ? Status::kOk : fail_device(caller, *driver, "a launch", result);
}

}  // namespace lanepack::cuda
