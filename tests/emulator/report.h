// SPDX-License-Identifier: Apache-2.0
// What the emulator found wrong in a launch.
#ifndef LANEPACK_TESTS_EMULATOR_REPORT_H_
#define LANEPACK_TESTS_EMULATOR_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

namespace lanepack::emulator {

enum class Fault {
  kSharedRace,         // two lanes meet in shared memory, one writes, nothing orders them
  kDeviceRace,         // the same in device memory, within a block
  kBlockRace,          // in device memory, between blocks of a launch
  kDivergentBarrier,   // lanes of a block wait at different barriers, or elsewhere
  kExitBeforeBarrier,  // some lanes of a block are done while others wait at a barrier or word
  kDivergentWord,      // lanes of a group stand at different words, places or arguments
  kOutOfBounds,        // no element of an array
  kReadOnlyWrite,      // an input is written to
  kUninitialised,      // a read of what nobody wrote
  kNotWritten,         // an element of an output that the kernel left as it was
  kMisaligned,         // a wide access at an address that is not a multiple of its alignment
  kPrivateLeak,        // an access to the private memory of another lane
  kEndlessLoop,        // more steps than a kernel can need
  kUndefined,          // an index outside a private array, a shift too far, an overflow
  kLimits,             // more shared memory than a block may have, a shared array not met by all
};

const char* fault_name(Fault fault);

struct Report {
  Fault fault;
  std::string text;
  // The accesses that met, 0: none; found in the debugging information when the text is made.
  uintptr_t here = 0, before = 0;
  int64_t count = 1;  // of faults of this kind at these places
};

// The reports of a launch, one per fault and pair of places, bounded.
class Reports {
 public:
  void add(Report report);
  // So many that the launch may stop.
  bool full() const { return reports_.size() >= kMost; }
  const std::vector<Report>& all() const { return reports_; }
  bool has(Fault fault) const;
  // One paragraph per report with the lines of the text, "" for none.
  std::string describe() const;
  void clear() { reports_.clear(); }

 private:
  static constexpr size_t kMost = 12;
  std::vector<Report> reports_;
};

}  // namespace lanepack::emulator

#endif  // LANEPACK_TESTS_EMULATOR_REPORT_H_
