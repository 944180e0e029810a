// SPDX-License-Identifier: Apache-2.0
// The shared objects of this process; one source file per system, chosen by CMake.
#ifndef LANEPACK_CORE_PLATFORM_LOADED_IMAGES_H_
#define LANEPACK_CORE_PLATFORM_LOADED_IMAGES_H_

#include <cstddef>

namespace lanepack {

// Path of the first loaded shared object whose file name starts with `stem`; false if there is
// none.
bool loaded_library_path(const char* stem, char* path, size_t capacity);

}  // namespace lanepack

#endif  // LANEPACK_CORE_PLATFORM_LOADED_IMAGES_H_
