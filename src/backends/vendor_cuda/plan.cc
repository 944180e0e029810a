// SPDX-License-Identifier: Apache-2.0
#include "backends/vendor_cuda/plan.h"

#include <algorithm>
#include <cstdio>

namespace lanepack::vendor_cuda {
namespace {

constexpr int kThreads = 256;          // of prepare_block.simt.h
constexpr int kEntriesOfPart = 16384;  // 64 to a thread
constexpr int kMostParts = 256;        // every block of a matrix reads what all of them measured

const char* scalar_name(Dtype dtype) {
  constexpr const char* kNames[] = {"float", "double", "simt::complex<float>",
                                    "simt::complex<double>"};
  return kNames[static_cast<int>(dtype)];
}

const char* kernel_name(Step step) {
  constexpr const char* kNames[] = {"measure", "prepare", "report", "finish"};
  return kNames[static_cast<int>(step)];
}

}  // namespace

cuda::LaunchPlan plan_step(Step step, Dtype dtype) {
  cuda::LaunchPlan plan = {};
  plan.count = 1;
  plan.kernels[0] = {"vendor_block", "", kThreads, step == Step::kReport ? kThreads / 32 : 1, 0};
  std::snprintf(plan.kernels[0].name, sizeof(plan.kernels[0].name), "vendor::kernel_%s<%s>",
                kernel_name(step), scalar_name(dtype));
  return plan;
}

void share_out(int lines, int length, int* parts, int* lines_of_part) {
  const int fair = std::max(1, kEntriesOfPart / length);
  const int least = (lines + kMostParts - 1) / kMostParts;
  *lines_of_part = std::max(fair, least);
  *parts = (lines + *lines_of_part - 1) / *lines_of_part;
}

}  // namespace lanepack::vendor_cuda
