// SPDX-License-Identifier: Apache-2.0
// Runs the fuzz target a given number of times on random bytes, for compilers without libFuzzer.
// Usage: fuzz_arguments [runs [first seed]]; a seed gives the same bytes everywhere.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "calls.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int argc, char** argv) {
  const long runs = argc > 1 ? std::atol(argv[1]) : 100000;
  const long first = argc > 2 ? std::atol(argv[2]) : 1;
  for (long seed = first; seed < first + runs; ++seed) {
    lanepack_test::Random random(static_cast<uint64_t>(seed));
    uint8_t data[160];
    for (uint8_t& byte : data) byte = static_cast<uint8_t>(random.bits() >> 32);
    LLVMFuzzerTestOneInput(data, sizeof(data));
  }
  std::printf("%ld runs from seed %ld\n", runs, first);
  return 0;
}
