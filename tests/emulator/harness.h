// SPDX-License-Identifier: Apache-2.0
// The interface by which tests/conformance runs the GPU's algorithms on a CPU.
#ifndef LANEPACK_TESTS_EMULATOR_HARNESS_H_
#define LANEPACK_TESTS_EMULATOR_HARNESS_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Element (i, j) of matrix b is at data[b * batch_stride + i * row_stride + j * col_stride].
struct lanepack_emulator_batch {
  void* data;
  int64_t rows, cols, batch, row_stride, col_stride, batch_stride;
};

struct lanepack_emulator_call {
  const char* algorithm;  // "eigh.tridiagonal_ql.warp"
  int32_t operation;      // lanepack::Operation
  int32_t dtype;          // lanepack::Dtype
  int32_t upper, jacobi, full, want_q;
  int32_t order;             // 0 ascending, 1 descending, 2 shuffled by `seed`
  int32_t flush_subnormals;  // as a GPU may
  uint64_t seed;
  int64_t most_blocks;  // of a launch; 0: as many as the batch fills
  int64_t m, n, batch;
  struct lanepack_emulator_batch a;
  struct lanepack_emulator_batch outputs[3];  // qr: Q, R; eigh: w, V; svd: U, s, V^H; else one
  int32_t* info;
  char* text;  // gets what is wrong
  int64_t text_bytes;
  // Of the solves: `a` is lanepack::Factor's. X may have the address of b, and L that of a: in place.
  int32_t lower, conjugate, unit, reserved;
  struct lanepack_emulator_batch b;
};

enum {
  LANEPACK_EMULATOR_OK = 0,
  LANEPACK_EMULATOR_FAULTS = 1,      // text has the reports
  LANEPACK_EMULATOR_NOT_SERVED = 2,  // by this algorithm
  LANEPACK_EMULATOR_NO_KERNEL = 3,   // text has the name that tests/emulator/kernels_*.cc lack
  LANEPACK_EMULATOR_BAD_CALL = 4
};

// The outputs are written where the result is LANEPACK_EMULATOR_OK or _FAULTS. Without data in `a`
// nothing runs: the result says whether the algorithm serves the problem.
int lanepack_emulator_run(const struct lanepack_emulator_call* call);
// The algorithms that there are: name after name, null after the last.
const char* lanepack_emulator_algorithm(int32_t index);
// 1: accesses are checked; 0: a faster build for results alone.
int lanepack_emulator_checked(void);

#ifdef __cplusplus
}
#endif

#endif  // LANEPACK_TESTS_EMULATOR_HARNESS_H_
