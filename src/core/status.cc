// SPDX-License-Identifier: Apache-2.0
#include <cstdarg>
#include <cstdio>

#include "core/types.h"

namespace lanepack {
namespace {

// A fixed array: recording an error must work when memory has run out.
constexpr int kTextBytes = 1024;
thread_local char g_text[kTextBytes];

}  // namespace

Status fail(Status status, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(g_text, sizeof(g_text), format, arguments);
  va_end(arguments);
  return status;
}

void clear_error() { g_text[0] = '\0'; }

const char* last_error() { return g_text; }

}  // namespace lanepack
