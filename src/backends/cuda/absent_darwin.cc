// SPDX-License-Identifier: Apache-2.0
// In place of the backend where there is no driver of NVIDIA's.
#include <cstdio>

#include "backends/backend.h"

namespace lanepack {
namespace {

Status no_cuda(const char* function) {
  return fail(Status::kUnavailable, "%s: there is no CUDA on this system", function);
}

}  // namespace

AlgorithmList cuda_algorithms() { return {nullptr, 0}; }

Status cuda_clear_info(const char* function, const ProblemKey&, const Launch&, int32_t*) {
  return no_cuda(function);
}

Status cuda_fill_identity(const char* function, const ProblemKey&, const Launch&,
                          const MatrixBatch&) {
  return no_cuda(function);
}

void cuda_describe(CudaState* state) {
  std::snprintf(state->problem, sizeof(state->problem), "there is no CUDA on this system");
}

}  // namespace lanepack
