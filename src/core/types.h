// SPDX-License-Identifier: Apache-2.0
// Dtypes, the view of a batch of matrices, and how errors travel inside the library.
#ifndef LANEPACK_CORE_TYPES_H_
#define LANEPACK_CORE_TYPES_H_

#include <complex>
#include <cstdint>

namespace lanepack {

enum class Dtype : int32_t { kF32 = 0, kF64 = 1, kC64 = 2, kC128 = 3 };

inline bool is_complex(Dtype dtype) { return dtype == Dtype::kC64 || dtype == Dtype::kC128; }
inline Dtype real_dtype(Dtype dtype) {
  return dtype == Dtype::kC64 ? Dtype::kF32 : dtype == Dtype::kC128 ? Dtype::kF64 : dtype;
}
inline int64_t size_bytes(Dtype dtype) {
  return dtype == Dtype::kF32 ? 4 : dtype == Dtype::kC128 ? 16 : 8;
}

// Element (i, j) of matrix b is at data[b * batch_stride + i * row_stride + j * col_stride].
struct MatrixBatch {
  void* data = nullptr;
  int64_t rows = 0, cols = 0, batch = 0;
  int64_t row_stride = 0, col_stride = 0, batch_stride = 0;
};

template <class S>
struct real_of {
  using type = S;
};
template <class R>
struct real_of<std::complex<R>> {
  using type = R;
};
template <class S>
using real_t = typename real_of<S>::type;

enum class Status : int32_t {
  kOk = 0,
  kInvalidArgument = 1,
  kUnsupported = 2,
  kOutOfMemory = 3,
  kWorkspaceTooSmall = 4,
  kInternal = 5,
  kUnavailable = 6
};

constexpr int32_t kDeviceCpu = 0;  // lanepack_device
constexpr int32_t kDeviceCuda = 1;

constexpr int32_t kInfoNotFinite = 2147483647;
constexpr int32_t kInfoNoConvergence = 2147483646;

// Records the text for lanepack_last_error() of this thread (printf format) and returns `status`.
Status fail(Status status, const char* format, ...) __attribute__((format(printf, 2, 3)));
void clear_error();
const char* last_error();

}  // namespace lanepack

#endif  // LANEPACK_CORE_TYPES_H_
