// SPDX-License-Identifier: Apache-2.0
// What the thread pool asks of the operating system; one source file per system, chosen by CMake.
#ifndef LANEPACK_CORE_PLATFORM_MACHINE_H_
#define LANEPACK_CORE_PLATFORM_MACHINE_H_

#include <cstddef>

namespace lanepack {

// Cores the scheduler may give to this process; at least 1. Asks the system at every call.
int allowed_cores();

// Asks for huge pages behind [data, data + bytes); a hint, without effect where it is not known.
void advise_huge_pages(void* data, size_t bytes);

}  // namespace lanepack

#endif  // LANEPACK_CORE_PLATFORM_MACHINE_H_
