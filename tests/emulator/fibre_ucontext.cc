// SPDX-License-Identifier: Apache-2.0
// For processors that have no switch of their own here.
#include <ucontext.h>

#include <cstdint>

#include "fibre.h"

namespace lanepack::emulator {
namespace {

struct State {
  ucontext_t place;
  void (*entry)(void*);
  void* argument;
};

// makecontext() passes ints alone: a pointer goes in two of them.
void enter(unsigned high, unsigned low) {
  auto* state = reinterpret_cast<State*>((uintptr_t{high} << 32) | low);
  state->entry(state->argument);
}

State* state_of(Context* context) {
  if (context->state == nullptr) context->state = new State();
  return static_cast<State*>(context->state);
}

}  // namespace

void prepare_context(Context* context, void* low, size_t bytes, void (*entry)(void*),
                     void* argument) {
  State* state = state_of(context);
  state->entry = entry;
  state->argument = argument;
  getcontext(&state->place);
  state->place.uc_stack.ss_sp = low;
  state->place.uc_stack.ss_size = bytes;
  state->place.uc_link = nullptr;
  const auto address = static_cast<uint64_t>(reinterpret_cast<uintptr_t>(state));
  makecontext(&state->place, reinterpret_cast<void (*)()>(enter), 2,
              static_cast<unsigned>(address >> 32), static_cast<unsigned>(address));
}

void switch_context(Context* from, Context* to) {
  swapcontext(&state_of(from)->place, &state_of(to)->place);
}

}  // namespace lanepack::emulator
