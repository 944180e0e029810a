// SPDX-License-Identifier: Apache-2.0
#include <mach-o/dyld.h>

#include <cstdio>
#include <cstring>

#include "core/platform/loaded_images.h"

namespace lanepack {

bool loaded_library_path(const char* stem, char* path, size_t capacity) {
  for (uint32_t i = 0; i < _dyld_image_count(); ++i) {
    const char* name = _dyld_get_image_name(i);
    if (name == nullptr) continue;  // unloaded meanwhile
    const char* slash = std::strrchr(name, '/');
    const char* file = slash != nullptr ? slash + 1 : name;
    if (std::strncmp(file, stem, std::strlen(stem)) != 0) continue;
    const int length = std::snprintf(path, capacity, "%s", name);
    if (length > 0 && static_cast<size_t>(length) < capacity) return true;
  }
  return false;
}

}  // namespace lanepack
