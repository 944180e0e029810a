// SPDX-License-Identifier: Apache-2.0
// What the plans of all operations share.
#ifndef LANEPACK_BACKENDS_CUDA_PLAN_PARTS_H_
#define LANEPACK_BACKENDS_CUDA_PLAN_PARTS_H_

#include "backends/cuda/plan.h"

namespace lanepack::cuda {

// Of a text: "simt::complex<float>".
const char* scalar_name(Dtype dtype);

// Sizes known at compile time, one matrix per thread: rows and columns to this.
inline constexpr int64_t kThreadMaxN = 8;
// Threads of a block where each holds a matrix: steps::kThreads of staging_thread.simt.h.
inline constexpr int kThreadBlock = 64;

// One matrix to lanes of a warp: rows or columns to this.
inline constexpr int64_t kWarpMaxN = 32;
// Static shared memory of a block.
inline constexpr int64_t kMostSharedBytes = int64_t{48} * 1024;

// Rows of a matrix whose columns are spread over the warps of a block: to this.
inline constexpr int64_t kBlockMaxM = 128;
// Threads of a block that make the rotations for its other threads: steps::kMakers of
// row_rotations_block.simt.h.
inline constexpr int kMakers = 32;
// Blocks of such a kernel for whose registers a multiprocessor must have room: while the makers of one
// wait for a chain of scalars, the other works.
inline constexpr int kTurningBlocks = 2;

inline int round_up(int64_t x, int multiple) {
  return static_cast<int>((x + multiple - 1) / multiple * multiple);
}
// Lanes that n rows or columns need: 8, 16 or 32.
inline int lanes_for(int64_t n) { return n <= 8 ? 8 : n <= 16 ? 16 : 32; }

// Warps to a matrix whose columns have that many rows: each holds at most 256 bytes of a column.
inline int parts_for(int64_t rows, int64_t element_bytes) {
  constexpr int64_t kMostBytes = 256;
  int parts = 1;
  while (rows * element_bytes > kMostBytes * parts) parts *= 2;
  return parts;
}

}  // namespace lanepack::cuda

#endif  // LANEPACK_BACKENDS_CUDA_PLAN_PARTS_H_
