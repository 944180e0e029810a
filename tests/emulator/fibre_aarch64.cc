// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "fibre.h"

extern "C" {
void lanepack_fibre_switch(void** from, void* to);
void lanepack_fibre_entry();
}

asm(R"(
.text
.p2align 4
.globl lanepack_fibre_switch
.hidden lanepack_fibre_switch
lanepack_fibre_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret

.p2align 4
.globl lanepack_fibre_entry
.hidden lanepack_fibre_entry
lanepack_fibre_entry:
  mov x0, x20
  blr x19
  brk #0
)");

namespace lanepack::emulator {

void prepare_context(Context* context, void* low, size_t bytes, void (*entry)(void*),
                     void* argument) {
  auto* frame =
      reinterpret_cast<uint64_t*>((reinterpret_cast<uintptr_t>(low) + bytes) & ~uintptr_t{15}) - 20;
  for (int i = 0; i < 20; ++i) frame[i] = 0;
  frame[0] = reinterpret_cast<uint64_t>(entry);                   // x19
  frame[1] = reinterpret_cast<uint64_t>(argument);                // x20
  frame[11] = reinterpret_cast<uint64_t>(&lanepack_fibre_entry);  // x30
  context->state = frame;
}

void switch_context(Context* from, Context* to) { lanepack_fibre_switch(&from->state, to->state); }

}  // namespace lanepack::emulator
