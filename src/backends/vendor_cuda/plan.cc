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
  constexpr const char* kNames[] = {"measure", "prepare", "report", "finish", "roots", "turn"};
  return kNames[static_cast<int>(step)];
}

// The items of a launch that a block takes: parts of matrices; warps' matrices; threads' values.
int items_of_block(Step step) {
  return step == Step::kReport ? kThreads / 32 : step == Step::kRoots ? kThreads : 1;
}

}  // namespace

cuda::LaunchPlan plan_step(Step step, Dtype dtype, Dtype packed) {
  cuda::LaunchPlan plan = {};
  plan.count = 1;
  cuda::KernelPlan& kernel = plan.kernels[0];
  kernel = {"vendor_block", "", kThreads, items_of_block(step), 0};
  const bool converts = step != Step::kMeasure && step != Step::kRoots && step != Step::kTurn;
  std::snprintf(kernel.name, sizeof(kernel.name), "vendor::kernel_%s<%s%s%s>", kernel_name(step),
                scalar_name(dtype), converts ? ", " : "", converts ? scalar_name(packed) : "");
  return plan;
}

void share_out(int lines, int length, int* parts, int* lines_of_part) {
  const int fair = std::max(1, kEntriesOfPart / length);
  const int least = (lines + kMostParts - 1) / kMostParts;
  *lines_of_part = std::max(fair, least);
  *parts = (lines + *lines_of_part - 1) / *lines_of_part;
}

}  // namespace lanepack::vendor_cuda
