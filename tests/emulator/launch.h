// SPDX-License-Identifier: Apache-2.0
// Runs a kernel: its blocks one after the other, the lanes of a block as fibres in a chosen order.
#ifndef LANEPACK_TESTS_EMULATOR_LAUNCH_H_
#define LANEPACK_TESTS_EMULATOR_LAUNCH_H_

#include <cstdint>
#include <string>

#include "report.h"
#include "shadow.h"

namespace lanepack::emulator {

// In which order the lanes of a block, and the blocks, take their turns.
enum class Order : int { kAscending = 0, kDescending = 1, kShuffled = 2 };

struct Launch {
  std::string kernel;  // its name, for reports
  int blocks = 1;
  int threads = 32;  // of a block
  int shared_limit = 48 * 1024;
  Order order = Order::kAscending;
  uint64_t seed = 0;  // of kShuffled
  bool flush_subnormals = false;
  int64_t step_limit = 50'000'000;  // basic blocks that one lane may enter
  void (*kernel_entry)(const void* arguments) = nullptr;
  const void* arguments = nullptr;
};

// True where the file was compiled with the checks of memory.
extern const bool kChecked;

// Adds what is wrong to `reports`; stops at what cannot be gone on from. The arrays of `memory` are
// what the kernel may access.
void run_launch(const Launch& launch, Memory* memory, Reports* reports);

}  // namespace lanepack::emulator

#endif  // LANEPACK_TESTS_EMULATOR_LAUNCH_H_
