// SPDX-License-Identifier: Apache-2.0
#include "c_api/entry.h"

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace lanepack {
namespace {

template <class S>
void fill_identity_of(const MatrixBatch& output) {
  S* const data = static_cast<S*>(output.data);
  for (int64_t b = 0; b < output.batch; ++b) {
    for (int64_t j = 0; j < output.cols; ++j) {
      for (int64_t i = 0; i < output.rows; ++i) {
        data[b * output.batch_stride + i * output.row_stride + j * output.col_stride] =
            S(i == j ? 1 : 0);
      }
    }
  }
}

}  // namespace

void log_route(const ProblemKey& key, const char* identifier) {
  const char* const log = std::getenv("LANEPACK_LOG");
  if (log == nullptr || std::strcmp(log, "route") != 0) return;
  std::fprintf(stderr, "lanepack: %s %s %" PRId64 "x%" PRId64 " batch %" PRId64 " %s %d %s -> %s\n",
               operation_name(key.operation), dtype_name(key.dtype), key.m, key.n, key.batch,
               key.device == kDeviceCuda ? "CUDA device" : "threads",
               key.device == kDeviceCuda ? key.device_index : key.threads,
               key.routing == Routing::kInvariant ? "invariant" : "fastest", identifier);
}

void fill_identity(Dtype dtype, const MatrixBatch& output) {
  if (output.rows == 0 || output.cols == 0 || output.batch == 0) return;
  switch (dtype) {
    case Dtype::kF32:
      return fill_identity_of<float>(output);
    case Dtype::kF64:
      return fill_identity_of<double>(output);
    case Dtype::kC64:
      return fill_identity_of<std::complex<float>>(output);
    case Dtype::kC128:
      return fill_identity_of<std::complex<double>>(output);
  }
}

void clear_info(int32_t* info, int64_t batch) {
  if (info == nullptr) return;
  std::memset(info, 0, static_cast<size_t>(batch) * sizeof(int32_t));
}

}  // namespace lanepack
