// SPDX-License-Identifier: Apache-2.0
// What every operation does around cuSOLVER's routine: a workspace in parts, packed copies of a part
// of the batch, results in the caller's memory.
#ifndef LANEPACK_BACKENDS_VENDOR_CUDA_STEPS_H_
#define LANEPACK_BACKENDS_VENDOR_CUDA_STEPS_H_

#include "backends/vendor_cuda/plan.h"

namespace lanepack::vendor_cuda {

// Lays arrays one behind the other, each at a multiple of 256 bytes.
class Arena {
 public:
  // An array's distance from the start.
  int64_t add(int64_t bytes) {
    const int64_t offset = bytes_;
    bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return offset;
  }
  // What a caller must bring: its memory need not be aligned.
  int64_t total() const { return bytes_ + kAlignment; }
  static unsigned char* start(void* workspace);

 private:
  static constexpr int64_t kAlignment = 256;
  int64_t bytes_ = 0;
};

// The arrays of a part of the batch that every operation has.
struct Common {
  Common() = default;
  // For `matrices` of m x n, which the routine sees as `packed_dtype`.
  Common(Arena* arena, Dtype dtype, Dtype packed_dtype, int64_t matrices, int64_t m, int64_t n);

  int64_t packed = 0, largest = 0, exponents = 0, info = 0;
};

// How a batch is read into packed matrices.
struct Reading {
  kept entries = vendor::kAll;
  bool by_rows = false;    // rows are walked in the place of columns
  bool hermitian = false;  // by_rows: the same matrix then, in the other triangle
  bool adjoint = false;    // A^H is packed
};

// Where a result lies in the routine's memory, and what is done to it.
struct Result {
  void* data;
  Dtype dtype;
  int64_t line, entry, matrix;  // distances of columns, rows and matrices
  bool scaled = false;          // as A was
  bool conjugate = false;
  bool plain = false;  // results of bad matrices are no NaN
};

// The kernels' launches of one call.
class Steps {
 public:
  Steps(const char* caller, const ProblemKey& key, const Launch& launch, const Common& arrays);

  unsigned char* at(int64_t offset) const { return start_ + offset; }
  void* packed() const { return at(arrays_.packed); }
  int* routine_info() const { return reinterpret_cast<int*>(at(arrays_.info)); }

  // Packed copies, column by column, of the matrices of this part of the batch.
  Status prepare(const MatrixBatch& part, const Reading& reading, Dtype packed_dtype) const;
  // info of this part, from the routine's and from `length` real values a matrix at `values`.
  Status report(int64_t matrices, void* values, Dtype dtype, int64_t length, int32_t* info) const;
  Status finish(const MatrixBatch& part, Dtype dtype, const Result& from) const;
  // The roots of ascending float64 `values`, descending.
  Status roots(const MatrixBatch& part, Dtype dtype, void* values) const;
  // Turns columns of the packed n x n `v` by the signs of the diagonals of `r`.
  Status turn(const MatrixBatch& r, Dtype dtype, void* v, int64_t n) const;

 private:
  Status launch(Step step, Dtype dtype, Dtype packed, int64_t items, arguments* arguments) const;

  const char* caller_;
  const ProblemKey& key_;
  const Launch& launch_;
  Common arrays_;
  unsigned char* start_;
};

// Matrices first ... first + count - 1.
MatrixBatch part_of(const MatrixBatch& batch, Dtype dtype, int64_t first, int64_t count);

// Whether the rows of `x` are closer together in memory than its columns.
bool lies_by_rows(const MatrixBatch& x);

}  // namespace lanepack::vendor_cuda

#endif  // LANEPACK_BACKENDS_VENDOR_CUDA_STEPS_H_
