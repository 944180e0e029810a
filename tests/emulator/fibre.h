// SPDX-License-Identifier: Apache-2.0
// Stacks that take turns on one thread: what a lane of the emulator runs on.
#ifndef LANEPACK_TESTS_EMULATOR_FIBRE_H_
#define LANEPACK_TESTS_EMULATOR_FIBRE_H_

#include <cstddef>

namespace lanepack::emulator {

// A place to go on from. Floating-point modes stay those of the thread.
struct Context {
  void* state = nullptr;
};

// Makes `context` call entry(argument) on the stack [low, low + bytes) when it is first switched to.
// entry must not return. What was in `context` before is dropped.
void prepare_context(Context* context, void* low, size_t bytes, void (*entry)(void*),
                     void* argument);
// Leaves off here, to be gone on with by a switch to `from`.
void switch_context(Context* from, Context* to);

}  // namespace lanepack::emulator

#endif  // LANEPACK_TESTS_EMULATOR_FIBRE_H_
