// SPDX-License-Identifier: Apache-2.0
#include <link.h>

#include <cstdio>
#include <cstring>

#include "core/platform/loaded_images.h"

namespace lanepack {
namespace {

struct Search {
  const char* stem;
  char* path;
  size_t capacity;
};

int visit(dl_phdr_info* info, size_t, void* data) {
  const Search* search = static_cast<const Search*>(data);
  const char* slash = std::strrchr(info->dlpi_name, '/');
  const char* file = slash != nullptr ? slash + 1 : info->dlpi_name;
  if (std::strncmp(file, search->stem, std::strlen(search->stem)) != 0) return 0;
  const int length = std::snprintf(search->path, search->capacity, "%s", info->dlpi_name);
  return length > 0 && static_cast<size_t>(length) < search->capacity ? 1 : 0;
}

}  // namespace

bool loaded_library_path(const char* stem, char* path, size_t capacity) {
  Search search{stem, path, capacity};
  return dl_iterate_phdr(&visit, &search) == 1;
}

}  // namespace lanepack
