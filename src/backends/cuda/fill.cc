// SPDX-License-Identifier: Apache-2.0
// What a call without elements leaves: zeros and identities, by the driver's fills.
#include <cstdint>

#include "backends/backend.h"
#include "backends/cuda/launch.h"

namespace lanepack {
namespace {

using cuda::ContextGuard;
using cuda::Device;
using cuda::DevicePointer;
using cuda::Driver;
using cuda::Result;

DevicePointer address_of(const void* data) { return reinterpret_cast<uintptr_t>(data); }

// Fills `count` places that lie `stride` bytes apart, each of `words` 32-bit words.
Result fill(const Driver& driver, const Launch& where, DevicePointer data, int64_t stride,
            int64_t count, unsigned value, int64_t words) {
  if (stride < 0) {
    data += static_cast<DevicePointer>((count - 1) * stride);
    stride = -stride;
  }
  if (stride == 4 * words || count == 1) {
    return driver.memset_32_async(data, value, static_cast<size_t>(count * words), where.stream);
  }
  return driver.memset_2d_32_async(data, static_cast<size_t>(stride), value,
                                   static_cast<size_t>(words), static_cast<size_t>(count),
                                   where.stream);
}

// Zeros, then ones on the diagonals; the shorter of the two walks, along a batch or through it, is
// the loop.
class IdentityFill {
 public:
  IdentityFill(const Driver& driver, const Launch& where, Dtype dtype, const MatrixBatch& output)
      : driver_(driver), where_(where), out_(output), bytes_(size_bytes(dtype)) {
    const bool is_double = real_dtype(dtype) == Dtype::kF64;
    one_ = is_double ? 0x3ff00000u : 0x3f800000u;  // the upper word of a 1
    one_offset_ = is_double ? 4 : 0;
  }

  Result zeros() const {
    const bool packed = out_.row_stride == 1 && out_.col_stride == out_.rows &&
                        out_.batch_stride == out_.rows * out_.cols;
    const int64_t words = bytes_ / 4;
    if (packed) {
      return fill(driver_, where_, address_of(out_.data), 4, out_.batch * out_.batch_stride * words,
                  0, 1);
    }
    Result result = 0;
    for (int64_t i = 0; i < out_.batch && result == 0; ++i) {
      for (int64_t j = 0; j < out_.cols && result == 0; ++j) {
        result =
            fill(driver_, where_, place(i, 0, j), out_.row_stride * bytes_, out_.rows, 0, words);
      }
    }
    return result;
  }

  Result ones() const {
    const int64_t order = out_.rows < out_.cols ? out_.rows : out_.cols;
    const int64_t step = (out_.row_stride + out_.col_stride) * bytes_;
    Result result = 0;
    if (out_.batch <= order) {
      for (int64_t i = 0; i < out_.batch && result == 0; ++i) {
        result = fill(driver_, where_, place(i, 0, 0) + one_offset_, step, order, one_, 1);
      }
    } else {
      for (int64_t k = 0; k < order && result == 0; ++k) {
        result = fill(driver_, where_, place(0, k, k) + one_offset_, out_.batch_stride * bytes_,
                      out_.batch, one_, 1);
      }
    }
    return result;
  }

 private:
  DevicePointer place(int64_t b, int64_t i, int64_t j) const {
    const int64_t offset = b * out_.batch_stride + i * out_.row_stride + j * out_.col_stride;
    return address_of(out_.data) + static_cast<DevicePointer>(offset * bytes_);
  }

  const Driver& driver_;
  const Launch& where_;
  const MatrixBatch& out_;
  int64_t bytes_;
  unsigned one_;
  DevicePointer one_offset_;
};

}  // namespace

Status cuda_clear_info(const char* function, const ProblemKey& key, const Launch& launch,
                       int32_t* info) {
  if (info == nullptr || key.batch == 0) return Status::kOk;
  const Driver* driver = nullptr;
  const Device* device = nullptr;
  const Status status = cuda::find_target(function, key, &driver, &device);
  if (status != Status::kOk) return status;
  const ContextGuard guard(*driver, *device);
  Result result = guard.result();
  if (result == 0) result = fill(*driver, launch, address_of(info), 4, key.batch, 0, 1);
  return result == 0 ? Status::kOk : cuda::fail_device(function, *driver, "a fill", result);
}

Status cuda_fill_identity(const char* function, const ProblemKey& key, const Launch& launch,
                          const MatrixBatch& output) {
  if (output.rows == 0 || output.cols == 0 || output.batch == 0) return Status::kOk;
  const Driver* driver = nullptr;
  const Device* device = nullptr;
  const Status status = cuda::find_target(function, key, &driver, &device);
  if (status != Status::kOk) return status;
  const ContextGuard guard(*driver, *device);
  const IdentityFill identity(*driver, launch, key.dtype, output);
  Result result = guard.result();
  if (result == 0) result = identity.zeros();
  if (result == 0) result = identity.ones();
  return result == 0 ? Status::kOk : cuda::fail_device(function, *driver, "a fill", result);
}

}  // namespace lanepack
