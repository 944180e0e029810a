// SPDX-License-Identifier: Apache-2.0
// Device memory for a kernel: copies with guards around them.
#ifndef LANEPACK_TESTS_EMULATOR_BUFFERS_H_
#define LANEPACK_TESTS_EMULATOR_BUFFERS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "shadow.h"

namespace lanepack::emulator {

enum class Use { kInput, kOutput, kInPlace, kScratch };

class Buffers {
 public:
  explicit Buffers(Memory* memory) : memory_(memory) {}

  // `bytes` of memory whose address is `misalignment` past a multiple of 256. An input, and what is
  // an output as well, is what stands at `from`; the others are NaN, and not initialised.
  // Elements are accessed by `least_bytes` (4 or 8) at least.
  Array* add(const std::string& name, Use use, const void* from, int64_t bytes, int element_bytes,
             int misalignment = 0, int least_bytes = 4);

 private:
  Memory* memory_;
  std::vector<std::unique_ptr<unsigned char[]>> storage_;
};

}  // namespace lanepack::emulator

#endif  // LANEPACK_TESTS_EMULATOR_BUFFERS_H_
