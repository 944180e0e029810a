// SPDX-License-Identifier: Apache-2.0
#include "buffers.h"

#include <cstring>

namespace lanepack::emulator {

Array* Buffers::add(const std::string& name, Use use, const void* from, int64_t bytes,
                    int element_bytes, int misalignment, int least_bytes) {
  // not initialised by the allocation: most of the guards is never touched
  storage_.emplace_back(new unsigned char[static_cast<size_t>(bytes + 2 * Memory::kGuard + 512)]);
  const auto start = reinterpret_cast<uintptr_t>(storage_.back().get()) + Memory::kGuard;
  Array array;
  array.name = name;
  array.writable = use != Use::kInput;
  array.must_be_written = use == Use::kOutput;
  array.element_bytes = element_bytes;
  array.cell_shift = least_bytes == 8 ? 3 : 2;
  array.base = storage_.back().get() + Memory::kGuard + ((256 - start % 256) % 256) + misalignment;
  array.bytes = bytes;
  const bool given = use == Use::kInput || use == Use::kInPlace;
  if (given) {
    std::memcpy(array.base, from, static_cast<size_t>(bytes));
  } else {
    std::memset(array.base, 0xff, static_cast<size_t>(bytes));
  }
  Array* added = memory_->add(std::move(array));
  if (given) {
    for (Cell& cell : added->cells) cell.initialised = true;
  }
  return added;
}

}  // namespace lanepack::emulator
