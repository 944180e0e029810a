// SPDX-License-Identifier: Apache-2.0
// Shadow memory: for every few bytes of device and shared memory, who wrote and read them last.
#ifndef LANEPACK_TESTS_EMULATOR_SHADOW_H_
#define LANEPACK_TESTS_EMULATOR_SHADOW_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "report.h"

namespace lanepack::emulator {

enum class Kind { kShared, kDevice };

// Who accesses memory, and what is ordered ahead of it: an access of lane a at its time t comes before
// lane b's present one where b knows t. Times count a lane's synchronisations.
struct Actor {
  int lane = 0;
  int block = 0;
  uint32_t time = 1;
  const uint32_t* at_barrier = nullptr;  // per lane of the block: its time at the last barrier
  const uint32_t* known = nullptr;       // per lane of its warp: the last time known to this one
};

struct Cell {
  uint32_t write_time = 0, read_time = 0;
  int32_t write_block = -1, read_block = -1;  // of this launch; -1: none
  uint16_t write_lane = 0, read_lane = 0;
  int32_t readers = -1;  // index of a set of readers, or -1: read_lane alone
  uintptr_t write_place = 0, read_place = 0;
  bool usable = true, initialised = false;
  bool read_by_blocks = false;  // by several
};

// What an array is, for reports and for what may be done with it.
struct Array {
  std::string name;
  Kind kind = Kind::kDevice;
  bool writable = true;
  bool must_be_written = false;  // all of it
  int element_bytes = 4;
  int cell_shift = 2;  // log2 of the bytes of a cell
  unsigned char* base = nullptr;
  int64_t bytes = 0;
  std::vector<Cell> cells;

  Cell* cell_at(int64_t offset) { return &cells[static_cast<size_t>(offset >> cell_shift)]; }
};

class Memory {
 public:
  explicit Memory(Reports* reports) : reports_(reports) {}

  // Bytes around every array that no array may take.
  static constexpr int64_t kGuard = 65536;

  // The array has kGuard bytes of its own on both sides.
  Array* add(Array array);
  void remove_shared();
  // Drops who wrote and read, keeps what is initialised: a later launch on the same stream.
  void begin_launch(const std::string& kernel, int threads);
  // False where the access must not happen.
  bool access(const Actor& actor, uintptr_t address, int64_t bytes, bool write, uintptr_t place);
  // Reports elements of writable arrays that nobody wrote.
  void report_unwritten();
  Array* find(uintptr_t address);
  const std::vector<std::unique_ptr<Array>>& arrays() const { return arrays_; }

 private:
  // The readers of a cell: their times by lane, 0: has not read.
  using Readers = std::vector<uint32_t>;

  static bool ordered(const Actor& actor, int lane, uint32_t time);
  void read_cell(const Actor& actor, Array* array, Cell* cell, int64_t offset, uintptr_t place);
  void write_cell(const Actor& actor, Array* array, Cell* cell, int64_t offset, uintptr_t place);
  void remember_reader(const Actor& actor, Cell* cell, uintptr_t place);
  void forget_readers(Cell* cell);
  void race(const Actor& actor, const Array& array, int64_t offset, bool write, bool before_write,
            int other_lane, int other_block, uintptr_t place, uintptr_t before);
  void report(Fault fault, const Actor& actor, const Array& array, int64_t offset, const char* verb,
              const std::string& rest, uintptr_t place);

  Reports* reports_;
  std::string kernel_;
  int threads_ = 1;
  std::vector<std::unique_ptr<Array>> arrays_;
  Array* last_found_ = nullptr;
  std::vector<Readers> readers_;
  std::vector<int32_t> free_readers_;
};

}  // namespace lanepack::emulator

#endif  // LANEPACK_TESTS_EMULATOR_SHADOW_H_
