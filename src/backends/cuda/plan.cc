// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/plan.h"

#include "backends/cuda/plan_parts.h"

namespace lanepack::cuda {

const char* scalar_name(Dtype dtype) {
  switch (dtype) {
    case Dtype::kF32:
      return "float";
    case Dtype::kF64:
      return "double";
    case Dtype::kC64:
      return "simt::complex<float>";
    default:
      return "simt::complex<double>";
  }
}

namespace {

// Strides of dimensions of one entry do not count.
bool packed(const MatrixBatch& x, int64_t row_stride, int64_t column_stride) {
  return (x.rows == 1 || x.row_stride == row_stride) &&
         (x.cols == 1 || x.col_stride == column_stride) &&
         (x.batch == 1 || x.batch_stride == x.rows * x.cols);
}

}  // namespace

steps::view device_view(const MatrixBatch& x) {
  steps::view view = {x.data, x.row_stride, x.col_stride, x.batch_stride, steps::kStrided};
  constexpr uintptr_t kPacket = 16;  // bytes of a wide access
  if (reinterpret_cast<uintptr_t>(x.data) % kPacket != 0) return view;
  if (packed(x, 1, x.rows)) {
    view.layout = steps::kPackedColumns;
  } else if (packed(x, x.cols, 1)) {
    view.layout = steps::kPackedRows;
  }
  return view;
}

}  // namespace lanepack::cuda
