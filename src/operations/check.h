// SPDX-License-Identifier: Apache-2.0
// What the checks of all operations share. Every function takes whatever a caller's struct may
// hold: nothing is computed from an unchecked field that could overflow, and no data pointer is
// read.
#ifndef LANEPACK_OPERATIONS_CHECK_H_
#define LANEPACK_OPERATIONS_CHECK_H_

#include "core/types.h"
#include "lanepack/lanepack.h"
#include "operations/problem.h"

namespace lanepack {

// Whether data pointers must be there (a run) or may be null (a workspace query).
enum class Data { kRequired, kOptional };

// Checks that `args`, which starts with a lanepack_call, has the size that this library knows.
Status check_struct_size(const char* function, const char* type, const void* args, int64_t wanted);

// Dtype, device, threads, routing and flags into `key`, stream and workspace into `launch`;
// operation and sizes are left to the caller.
// `allowed_flags`: the LANEPACK_FLAG_* bits that the operation knows.
Status check_call(const char* function, const lanepack_call& call, uint32_t allowed_flags,
                  ProblemKey* key, Launch* launch);

// The same for the fields that lanepack_problem shares with lanepack_call, and its sizes.
Status check_problem(const char* function, const lanepack_problem& problem, ProblemKey* key);

// Bounds of the sizes of the argument `name`; fills key->m, n and batch.
Status check_sizes(const char* function, const lanepack_batch& a, ProblemKey* key,
                   const char* name = "a");
// key->m = key->n, or the text that says they must be.
Status check_square(const char* function, const ProblemKey& key, const char* name = "a");

// One argument of a call, as the checks need it.
struct Argument {
  const char* name;
  const lanepack_batch* batch;
  Dtype dtype;
  bool output;
  // An input that this output may be itself: the same address and the same strides.
  const lanepack_batch* may_be = nullptr;
};

// The memory of a call whose shapes have been checked: addresses, strides and alignment of every
// argument; no output that certainly overlaps another argument (both dense and their ranges meet;
// views that interleave pass); info aligned, with `batch` entries of addressable memory.
Status check_memory(const char* function, const Argument* arguments, int count, Data data,
                    const lanepack_call& call, int64_t batch);

// Text of a wrong shape: "<function>: <name> has shape (b, r, c); it must be (b, r, c)".
Status fail_shape(const char* function, const char* name, const lanepack_batch& got, int64_t batch,
                  int64_t rows, int64_t cols);
inline bool has_shape(const lanepack_batch& got, int64_t batch, int64_t rows, int64_t cols) {
  return got.batch == batch && got.rows == rows && got.cols == cols;
}

inline bool is_empty(const lanepack_batch& batch) {
  return batch.rows == 0 || batch.cols == 0 || batch.batch == 0;
}

// The view that an algorithm gets of an argument that has passed its checks.
MatrixBatch matrix_batch(const lanepack_batch& batch);

}  // namespace lanepack

#endif  // LANEPACK_OPERATIONS_CHECK_H_
