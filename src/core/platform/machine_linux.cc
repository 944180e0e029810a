// SPDX-License-Identifier: Apache-2.0
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "core/platform/machine.h"

namespace lanepack {

int allowed_cores() {
  // The kernel refuses a mask shorter than its own, so the mask grows until it fits.
  for (int cores = 1024; cores <= 1 << 20; cores *= 4) {
    cpu_set_t* set = CPU_ALLOC(cores);
    if (set == nullptr) break;
    const size_t bytes = CPU_ALLOC_SIZE(cores);
    const int count = sched_getaffinity(getpid(), bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0) return count;
  }
  return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

void advise_huge_pages(void* data, size_t bytes) { madvise(data, bytes, MADV_HUGEPAGE); }

}  // namespace lanepack
