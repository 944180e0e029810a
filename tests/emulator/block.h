// SPDX-License-Identifier: Apache-2.0
// The lanes of the block that runs.
#ifndef LANEPACK_TESTS_EMULATOR_BLOCK_H_
#define LANEPACK_TESTS_EMULATOR_BLOCK_H_

#include <cstdint>
#include <string>
#include <vector>

#include "dialect/emulator.h"
#include "fibre.h"
#include "launch.h"
#include "shadow.h"

namespace lanepack::emulator {

enum class State : uint8_t { kReady, kAtBarrier, kAtWord, kDone };

struct Lane {
  Context context;
  unsigned char* stack = nullptr;  // its lowest byte
  State state = State::kReady;
  // The word it waits at.
  const char* word = "";
  int width = 1, argument = 0;
  void* value = nullptr;
  simt::emulator::finish_word finish = nullptr;
  simt::emulator::site site = {"", 0};
  int shared_arrays = 0;  // that it has declared
  int64_t steps = 0;
  Actor actor;
  uint32_t known[32] = {};
};

class Block {
 public:
  Block(const Launch& launch, Memory* memory, Reports* reports);
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  // False where the launch must end.
  bool run(int index);

  // What a lane calls while it runs.
  static Block* current() { return current_; }
  Lane* lane() { return running_; }
  int lane_index() const { return static_cast<int>(running_ - lanes_.data()); }
  int index() const { return index_; }
  const Launch& launch() const { return launch_; }
  // "sync_block", for all at one place, or "meet_block", for each warp at one.
  void wait_for_block(const char* word, simt::emulator::site where);
  void wait_for_group(const char* word, int width, int argument, void* value,
                      simt::emulator::finish_word finish, simt::emulator::site where);
  void* shared_array(const char* name, int element_bytes, int least_bytes, int count,
                     simt::emulator::site where);
  void access(uintptr_t address, int64_t bytes, bool write, uintptr_t place);
  void count_step(uintptr_t place);
  // Reports and, where the launch cannot go on, does not come back.
  void fail(Fault fault, const std::string& text, uintptr_t place);

  static constexpr int64_t kStackBytes = 256 * 1024;

 private:
  static void enter(void* lane);
  void begin(int index);
  void shuffle();
  void resume(Lane* lane);
  void suspend();
  [[noreturn]] void stop();
  void check_barrier();
  void release_block();
  void release_group(int first, int width);
  void diagnose();
  void diagnose_group(int first, int width);
  std::string name_of(const Lane& lane) const;

  struct SharedArray {
    std::string name;
    int bytes;
    unsigned char* base;
  };

  static constinit thread_local Block* current_;
  const Launch& launch_;
  Memory* memory_;
  Reports* reports_;
  int index_ = 0;
  std::vector<Lane> lanes_;
  std::vector<int> turns_;
  std::vector<uint32_t> at_barrier_;
  std::vector<SharedArray> shared_;
  int waiting_for_block_ = 0;
  // Lanes that stand at a word of a width of 2^i, per group.
  std::vector<int> waiting_[6];
  Lane* running_ = nullptr;
  Context scheduler_;
  unsigned char* stacks_ = nullptr;
  unsigned char* arena_ = nullptr;
  int64_t arena_used_ = 0;
  int64_t shared_bytes_ = 0;
  uint64_t random_;
  bool stopped_ = false;
};

}  // namespace lanepack::emulator

#endif  // LANEPACK_TESTS_EMULATOR_BLOCK_H_
