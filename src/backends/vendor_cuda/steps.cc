// SPDX-License-Identifier: Apache-2.0
#include "backends/vendor_cuda/steps.h"

#include <cstdint>
#include <cstdlib>

#include "backends/cuda/launch.h"

namespace lanepack::vendor_cuda {

unsigned char* Arena::start(void* workspace) {
  const auto address = reinterpret_cast<uintptr_t>(workspace);
  const auto alignment = static_cast<uintptr_t>(kAlignment);
  return static_cast<unsigned char*>(workspace) + (alignment - address % alignment) % alignment;
}

Common::Common(Arena* arena, Dtype dtype, Dtype packed_dtype, int64_t matrices, int64_t m,
               int64_t n) {
  const int64_t real = size_bytes(real_dtype(dtype));
  // As many parts whether A is walked by rows or by columns.
  int by_columns = 0, by_rows = 0, lines = 0;
  share_out(static_cast<int>(n), static_cast<int>(m), &by_columns, &lines);
  share_out(static_cast<int>(m), static_cast<int>(n), &by_rows, &lines);
  packed = arena->add(matrices * m * n * size_bytes(packed_dtype));
  largest = arena->add(matrices * (by_columns > by_rows ? by_columns : by_rows) * real);
  exponents = arena->add(matrices * real);
  info = arena->add(matrices * static_cast<int64_t>(sizeof(int)));
}

Steps::Steps(const char* caller, const ProblemKey& key, const Launch& launch, const Common& arrays)
    : caller_(caller),
      key_(key),
      launch_(launch),
      arrays_(arrays),
      start_(Arena::start(launch.workspace)) {}

Status Steps::launch(Step step, Dtype dtype, Dtype packed, int64_t items,
                     arguments* arguments) const {
  arguments->largest = at(arrays_.largest);
  arguments->exponents = at(arrays_.exponents);
  // The launcher counts blocks by the batch.
  ProblemKey key = key_;
  key.batch = items;
  return cuda::launch(caller_, key, launch_, plan_step(step, dtype, packed), arguments);
}

Status Steps::prepare(const MatrixBatch& part, const Reading& reading, Dtype packed_dtype) const {
  arguments x = {};
  x.matrix = cuda::device_view(part);
  x.packed = packed();
  x.batch = part.batch;
  x.packed_stride = part.rows * part.cols;
  x.lines = static_cast<int>(reading.by_rows ? part.rows : part.cols);
  x.length = static_cast<int>(reading.by_rows ? part.cols : part.rows);
  share_out(x.lines, x.length, &x.parts, &x.lines_of_part);
  const bool transposed = !reading.hermitian && reading.by_rows != reading.adjoint;
  x.packed_line = transposed ? 1 : x.length;
  x.packed_entry = transposed ? x.lines : 1;
  x.kept = reading.entries;
  x.hermitian = reading.hermitian ? 1 : 0;
  x.by_rows = reading.by_rows ? 1 : 0;
  // What is a row of a Hermitian matrix becomes its column: conjugated, of the other triangle.
  x.conjugate = reading.adjoint || (reading.hermitian && reading.by_rows) ? 1 : 0;
  const int64_t items = x.batch * x.parts;
  const Status status = launch(Step::kMeasure, key_.dtype, key_.dtype, items, &x);
  if (status != Status::kOk) return status;
  return launch(Step::kPrepare, key_.dtype, packed_dtype, items, &x);
}

Status Steps::report(int64_t matrices, void* values, Dtype dtype, int64_t length,
                     int32_t* info) const {
  arguments x = {};
  x.values = values;
  x.routine_info = routine_info();
  x.info = info;
  x.batch = matrices;
  x.length = static_cast<int>(length);
  return launch(Step::kReport, real_dtype(key_.dtype), dtype, matrices, &x);
}

Status Steps::finish(const MatrixBatch& part, Dtype dtype, const Result& from) const {
  arguments x = {};
  x.matrix = cuda::device_view(part);
  x.packed = from.data;
  x.batch = part.batch;
  x.packed_stride = from.matrix;
  x.lines = static_cast<int>(part.cols);
  x.length = static_cast<int>(part.rows);
  share_out(x.lines, x.length, &x.parts, &x.lines_of_part);
  x.packed_line = static_cast<int>(from.line);
  x.packed_entry = static_cast<int>(from.entry);
  x.kept = vendor::kAll;
  x.conjugate = from.conjugate ? 1 : 0;
  x.scaled = from.scaled ? 1 : 0;
  x.plain = from.plain ? 1 : 0;
  return launch(Step::kFinish, dtype, from.dtype, x.batch * x.parts, &x);
}

Status Steps::roots(const MatrixBatch& part, Dtype dtype, void* values) const {
  arguments x = {};
  x.matrix = cuda::device_view(part);
  x.values = values;
  x.batch = part.batch;
  x.length = static_cast<int>(part.rows);
  return launch(Step::kRoots, dtype, dtype, x.batch * x.length, &x);
}

Status Steps::turn(const MatrixBatch& r, Dtype dtype, void* v, int64_t n) const {
  arguments x = {};
  x.matrix = cuda::device_view(r);
  x.packed = v;
  x.batch = r.batch;
  x.packed_stride = n * n;
  x.lines = x.length = x.packed_line = static_cast<int>(n);
  share_out(x.lines, x.length, &x.parts, &x.lines_of_part);
  return launch(Step::kTurn, dtype, dtype, x.batch * x.parts, &x);
}

MatrixBatch part_of(const MatrixBatch& batch, Dtype dtype, int64_t first, int64_t count) {
  MatrixBatch part = batch;
  part.data =
      static_cast<unsigned char*>(batch.data) + first * batch.batch_stride * size_bytes(dtype);
  part.batch = count;
  return part;
}

bool lies_by_rows(const MatrixBatch& x) {
  return std::llabs(x.col_stride) < std::llabs(x.row_stride);
}

}  // namespace lanepack::vendor_cuda
