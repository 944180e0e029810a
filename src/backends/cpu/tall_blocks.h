// SPDX-License-Identifier: Apache-2.0
// How the tall routes cut a matrix into blocks of rows: by its size and dtype alone.
#ifndef LANEPACK_BACKENDS_CPU_TALL_BLOCKS_H_
#define LANEPACK_BACKENDS_CPU_TALL_BLOCKS_H_

#include <algorithm>
#include <cstdint>

#include "operations/problem.h"

namespace lanepack {

constexpr int kTallMaxColumns = 256;

struct TallBlocks {
  int count;
  int64_t rows;  // of every block but the last, which may have fewer
};

// One block up to 1 MiB, which a core's L2 holds; else blocks of about 256 KiB, at least four times
// as high as wide, so that the stack of their R factors is small.
inline TallBlocks tall_blocks(const ProblemKey& key) {
  constexpr int64_t kWholeBytes = 1 << 20, kBlockBytes = 1 << 18, kGroup = 16;
  const int64_t row_bytes = key.n * size_bytes(key.dtype);
  if (key.m * row_bytes <= kWholeBytes || key.m < 8 * key.n) return {1, key.m};
  const int64_t height = std::max(kBlockBytes / row_bytes, 4 * key.n);
  const int64_t count = (key.m + height - 1) / height;
  const int64_t rows = ((key.m + count - 1) / count + kGroup - 1) / kGroup * kGroup;
  return {static_cast<int>((key.m + rows - 1) / rows), rows};
}

// A block counts its elements in int.
inline bool fits_tall(const ProblemKey& key) {
  if (key.device != 0 || key.full || key.n < 1 || key.n > kTallMaxColumns || key.m < key.n) {
    return false;
  }
  const TallBlocks blocks = tall_blocks(key);
  const int64_t longest = std::max(blocks.rows, blocks.count * key.n);
  return longest <= (INT32_MAX / 64) / key.n;
}

}  // namespace lanepack

#endif  // LANEPACK_BACKENDS_CPU_TALL_BLOCKS_H_
