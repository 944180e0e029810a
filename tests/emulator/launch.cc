// SPDX-License-Identifier: Apache-2.0
#include "launch.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "block.h"
#include "dialect/subnormals.h"

namespace lanepack::emulator {

void run_launch(const Launch& launch, Memory* memory, Reports* reports) {
  memory->begin_launch(launch.kernel, launch.threads);
  std::vector<int> blocks(static_cast<size_t>(launch.blocks));
  for (int i = 0; i < launch.blocks; ++i) blocks[static_cast<size_t>(i)] = i;
  if (launch.order == Order::kDescending) std::reverse(blocks.begin(), blocks.end());
  if (launch.order == Order::kShuffled) {
    uint64_t random = launch.seed + 1;
    for (size_t i = blocks.size(); i > 1; --i) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      std::swap(blocks[i - 1], blocks[static_cast<size_t>((random >> 33) % i)]);
    }
  }
  std::optional<FlushSubnormals> flush;
  std::optional<KeepSubnormals> keep;
  if (launch.flush_subnormals) {
    flush.emplace();
  } else {
    keep.emplace();
  }
  Block block(launch, memory, reports);
  for (const int index : blocks) {
    if (!block.run(index)) break;
  }
  memory->remove_shared();
}

}  // namespace lanepack::emulator

// ---- the words of src/dialect/emulator.h ----

namespace simt::emulator {

using lanepack::emulator::Block;

int thread_index() { return Block::current()->lane_index(); }
int block_index() { return Block::current()->index(); }
int block_count() { return Block::current()->launch().blocks; }
void sync_block(site where) { Block::current()->wait_for_block("sync_block", where); }
void meet_block(site where) { Block::current()->wait_for_block("meet_block", where); }
void meet_group(const char* word, int width, int argument, void* value, finish_word finish,
                site where) {
  Block::current()->wait_for_group(word, width, argument, value, finish, where);
}
void* shared_array(const char* name, int element_bytes, int least_bytes, int count,
                   const char* file, int line) {
  return Block::current()->shared_array(name, element_bytes, least_bytes, count, {file, line});
}

}  // namespace simt::emulator
