// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "backends/backend.h"
#include "backends/cuda/cache.h"
#include "backends/cuda/compiler.h"
#include "backends/cuda/driver.h"

namespace lanepack {

void cuda_describe(CudaState* state) {
  std::snprintf(state->cache, sizeof(state->cache), "%s", cuda::cache_folder().c_str());
  const char* problem = "";
  const cuda::Driver* driver = cuda::driver(&problem);
  if (driver == nullptr) {
    std::snprintf(state->problem, sizeof(state->problem), "%s", problem);
    return;
  }
  state->device_count = driver->device_count;
  state->driver_version = driver->version;
  const cuda::Compiler* compiler = cuda::compiler(driver->version, &problem);
  if (compiler == nullptr) {
    std::snprintf(state->problem, sizeof(state->problem), "%s", problem);
    return;
  }
  state->compiler_version = compiler->version;
  std::snprintf(state->compiler, sizeof(state->compiler), "%s", compiler->path.c_str());
}

}  // namespace lanepack
