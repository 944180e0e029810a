// SPDX-License-Identifier: Apache-2.0
// What g++ calls for every access, basic block and suspicious operation of a file compiled with
// -fsanitize=thread -fsanitize-coverage=trace-pc -fsanitize=alignment,bounds,... None of the compiler's
// own runtimes is linked: these are their functions.
#include <cstdint>

#include "block.h"

namespace {

using lanepack::emulator::Block;
using lanepack::emulator::Fault;

// Null outside a kernel: while the program starts, and while a word of a group acts.
inline Block* block() {
  Block* current = Block::current();
  return current != nullptr && current->lane() != nullptr ? current : nullptr;
}

inline void access(const void* address, int64_t bytes, bool write, const void* place) {
  if (Block* current = block()) {
    current->access(reinterpret_cast<uintptr_t>(address), bytes, write,
                    reinterpret_cast<uintptr_t>(place));
  }
}

// The head of what the compiler says of an undefined operation.
struct UndefinedSite {
  const char* file;
  uint32_t line, column;
};

void undefined(const UndefinedSite* where, Fault fault, const char* what) {
  Block* current = block();
  if (current == nullptr) return;
  const std::string file = where->file == nullptr ? "?" : where->file;
  current->fail(fault,
                current->launch().kernel + ": lane " + std::to_string(current->lane_index()) +
                    " of block " + std::to_string(current->index()) + ": " + what + " (" +
                    file.substr(file.rfind('/') + 1) + ":" + std::to_string(where->line) + ")",
                0);
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the compiler's names
extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}

#define LANEPACK_HOOK(name, bytes, write) \
  void name(void* address) { access(address, bytes, write, __builtin_return_address(0)); }
LANEPACK_HOOK(__tsan_read1, 1, false)
LANEPACK_HOOK(__tsan_read2, 2, false)
LANEPACK_HOOK(__tsan_read4, 4, false)
LANEPACK_HOOK(__tsan_read8, 8, false)
LANEPACK_HOOK(__tsan_read16, 16, false)
LANEPACK_HOOK(__tsan_write1, 1, true)
LANEPACK_HOOK(__tsan_write2, 2, true)
LANEPACK_HOOK(__tsan_write4, 4, true)
LANEPACK_HOOK(__tsan_write8, 8, true)
LANEPACK_HOOK(__tsan_write16, 16, true)
LANEPACK_HOOK(__tsan_unaligned_read2, 2, false)
LANEPACK_HOOK(__tsan_unaligned_read4, 4, false)
LANEPACK_HOOK(__tsan_unaligned_read8, 8, false)
LANEPACK_HOOK(__tsan_unaligned_read16, 16, false)
LANEPACK_HOOK(__tsan_unaligned_write2, 2, true)
LANEPACK_HOOK(__tsan_unaligned_write4, 4, true)
LANEPACK_HOOK(__tsan_unaligned_write8, 8, true)
LANEPACK_HOOK(__tsan_unaligned_write16, 16, true)
LANEPACK_HOOK(__tsan_volatile_read4, 4, false)
LANEPACK_HOOK(__tsan_volatile_read8, 8, false)
LANEPACK_HOOK(__tsan_volatile_write4, 4, true)
LANEPACK_HOOK(__tsan_volatile_write8, 8, true)
#undef LANEPACK_HOOK

void __tsan_read_range(void* address, unsigned long bytes) {
  access(address, static_cast<int64_t>(bytes), false, __builtin_return_address(0));
}
void __tsan_write_range(void* address, unsigned long bytes) {
  access(address, static_cast<int64_t>(bytes), true, __builtin_return_address(0));
}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

void __sanitizer_cov_trace_pc() {
  if (Block* current = block()) {
    current->count_step(reinterpret_cast<uintptr_t>(__builtin_return_address(0)));
  }
}

void __ubsan_handle_type_mismatch_v1(void* site, void* address) {
  if (address == nullptr) {
    undefined(static_cast<UndefinedSite*>(site), Fault::kOutOfBounds,
              "an access through a null pointer");
  } else {
    undefined(static_cast<UndefinedSite*>(site), Fault::kMisaligned,
              "an access at an address that is not a multiple of its type's alignment");
  }
}
#define LANEPACK_UNDEFINED(name, what, ...)                                \
  void name(void* site __VA_OPT__(, ) __VA_ARGS__) {                       \
    undefined(static_cast<UndefinedSite*>(site), Fault::kUndefined, what); \
  }
LANEPACK_UNDEFINED(__ubsan_handle_out_of_bounds, "an index outside an array", void*)
LANEPACK_UNDEFINED(__ubsan_handle_shift_out_of_bounds, "a shift too far", void*, void*)
LANEPACK_UNDEFINED(__ubsan_handle_add_overflow, "an overflow in a sum", void*, void*)
LANEPACK_UNDEFINED(__ubsan_handle_sub_overflow, "an overflow in a difference", void*, void*)
LANEPACK_UNDEFINED(__ubsan_handle_mul_overflow, "an overflow in a product", void*, void*)
LANEPACK_UNDEFINED(__ubsan_handle_negate_overflow, "an overflow in a negation", void*)
LANEPACK_UNDEFINED(__ubsan_handle_divrem_overflow, "a division by zero, or too large", void*, void*)
#undef LANEPACK_UNDEFINED
void __ubsan_handle_float_cast_overflow(void* site, void*) {
  undefined(static_cast<UndefinedSite*>(site), Fault::kUndefined,
            "a number that its integer type does not hold");
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
