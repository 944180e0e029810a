// SPDX-License-Identifier: Apache-2.0
// swapcontext() asks the kernel for the signal mask at each switch; what a call must keep is enough here.
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
.type lanepack_fibre_switch, @function
lanepack_fibre_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size lanepack_fibre_switch, . - lanepack_fibre_switch

.p2align 4
.globl lanepack_fibre_entry
.hidden lanepack_fibre_entry
.type lanepack_fibre_entry, @function
lanepack_fibre_entry:
  movq %r12, %rdi
  callq *%rbx
  ud2
.size lanepack_fibre_entry, . - lanepack_fibre_entry
)");

namespace lanepack::emulator {

void prepare_context(Context* context, void* low, size_t bytes, void (*entry)(void*),
                     void* argument) {
  auto* top =
      reinterpret_cast<uint64_t*>((reinterpret_cast<uintptr_t>(low) + bytes) & ~uintptr_t{15});
  // As the pops of the switch find them; its ret leaves the stack as a call needs it.
  *--top = 0;
  *--top = 0;
  *--top = reinterpret_cast<uint64_t>(&lanepack_fibre_entry);
  *--top = 0;                                     // rbp
  *--top = reinterpret_cast<uint64_t>(entry);     // rbx
  *--top = reinterpret_cast<uint64_t>(argument);  // r12
  for (int i = 0; i < 3; ++i) *--top = 0;         // r13, r14, r15
  context->state = top;
}

void switch_context(Context* from, Context* to) { lanepack_fibre_switch(&from->state, to->state); }

}  // namespace lanepack::emulator
