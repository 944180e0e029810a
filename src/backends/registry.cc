// SPDX-License-Identifier: Apache-2.0
// The backends of this build, one line each.
#include <cstring>

#include "backends/backend.h"

namespace lanepack {
namespace {

constexpr AlgorithmList (*kBackends[])() = {
    cpu_algorithms,
    lapack_algorithms,
    cuda_algorithms,
    vendor_cuda_algorithms,
};

}  // namespace

size_t algorithm_count() {
  size_t count = 0;
  for (const auto& backend : kBackends) count += backend().count;
  return count;
}

const Algorithm& algorithm_at(size_t index) {
  for (const auto& backend : kBackends) {
    const AlgorithmList list = backend();
    if (index < list.count) return list.algorithms[index];
    index -= list.count;
  }
  __builtin_trap();  // the index is the library's own
}

const Algorithm* find_algorithm(const char* identifier) {
  for (const auto& backend : kBackends) {
    const AlgorithmList list = backend();
    for (size_t i = 0; i < list.count; ++i) {
      if (std::strcmp(list.algorithms[i].identifier, identifier) == 0) return &list.algorithms[i];
    }
  }
  return nullptr;
}

}  // namespace lanepack
