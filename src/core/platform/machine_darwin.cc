// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>

#include "core/platform/machine.h"

namespace lanepack {

// macOS has no affinity masks.
int allowed_cores() { return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN))); }

void advise_huge_pages(void*, size_t) {}

}  // namespace lanepack
