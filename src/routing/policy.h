// SPDX-License-Identifier: Apache-2.0
// The policy: named integer thresholds per operation family and dtype. One table in policy.cc holds
// names, built-in values and bounds. Reading and writing are atomic per threshold.
#ifndef LANEPACK_ROUTING_POLICY_H_
#define LANEPACK_ROUTING_POLICY_H_

#include <cstdint>

#include "core/types.h"

namespace lanepack {

enum class Family : int32_t { kQr = 0, kEigh = 1, kSvd = 2, kCholesky = 3, kSolve = 4 };

enum class Threshold : int32_t {
  // Largest max(m, n) that the lanes take when a LAPACK is there. Its name: lanes_max_n.
  kLanesMaxN = 0,
  // Smallest max(m, n) from which a batch of fewer matrices than threads goes through LAPACK with
  // all threads inside each call (routing `fastest`). lapack_parallel_min_n.
  kLapackParallelMinN = 1,
  // Tall: the longer side has at least this many times the entries of the shorter. tall_min_ratio.
  kTallMinRatio = 2,
  // ... and the shorter side has at most this many entries. tall_max_n.
  kTallMaxN = 3,
  // Largest max(m, n) of a matrix that comes alone for the lanes (routing `fastest`): it fills one
  // lane of many, so that LAPACK is faster from a smaller order. lone_lanes_max_n.
  kLoneLanesMaxN = 4,
  // CUDA: largest max(m, n) that one thread a matrix takes. thread_max_n.
  kThreadMaxN = 5,
  // CUDA: largest min(m, n) that one warp a matrix, or a part of one, takes. warp_max_n.
  kWarpMaxN = 6,
  // CUDA: a smaller batch goes to the vendor's routine (routing `fastest`). gpu_min_batch.
  kGpuMinBatch = 7,
  // CUDA: largest max(m, n) that one block a matrix takes. block_max_n.
  kBlockMaxN = 8,
  kCount
};

// The value in force; the family must have the threshold, each of which belongs to one kind of
// device.
int64_t threshold(Family family, Threshold threshold, Dtype dtype);

// By name, as the C interface has them. `function` heads the error text. Unknown family or name, or
// a value out of its bounds: kInvalidArgument, with the text of what is wanted.
Status set_policy(const char* function, const char* family, int32_t device, const char* name,
                  int64_t value);
Status get_policy(const char* function, const char* family, int32_t device, const char* name,
                  int64_t* value);
Status reset_policy(const char* function, const char* family, int32_t device);

// Names separated by single spaces, in the table's order; null for an unknown family, with an error
// recorded.
const char* policy_names(const char* function, const char* family, int32_t device);

}  // namespace lanepack

#endif  // LANEPACK_ROUTING_POLICY_H_
