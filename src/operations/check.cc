// SPDX-License-Identifier: Apache-2.0
#include "operations/check.h"

#include <algorithm>
#include <cinttypes>
#include <utility>

#include "core/thread_pool.h"

namespace lanepack {
namespace {

// Kernels and LAPACK count rows and columns in int.
constexpr int64_t kMaxOrder = 2147483647;

// The fields that lanepack_call and lanepack_problem have in common.
template <class Source>
Status check_common(const char* function, const Source& source, uint32_t allowed_flags,
                    ProblemKey* key) {
  if (source.dtype < LANEPACK_DTYPE_F32 || source.dtype > LANEPACK_DTYPE_C128) {
    return fail(Status::kInvalidArgument,
                "%s: dtype is %d; it must be 0 (float32), 1 (float64), 2 (complex64) or "
                "3 (complex128)",
                function, source.dtype);
  }
  if (source.device < LANEPACK_DEVICE_CPU || source.device > LANEPACK_DEVICE_METAL) {
    return fail(Status::kInvalidArgument,
                "%s: device is %d; it must be 0 (CPU), 1 (CUDA) or 2 (Metal)", function,
                source.device);
  }
  if (source.device == LANEPACK_DEVICE_METAL) {
    return fail(Status::kUnsupported,
                "%s: device is %d (Metal); this library serves 0 (CPU) and 1 (CUDA)", function,
                source.device);
  }
  if (source.device_index < 0 ||
      (source.device == LANEPACK_DEVICE_CPU && source.device_index != 0)) {
    return fail(Status::kInvalidArgument, "%s: device_index is %d; it must %s", function,
                source.device_index,
                source.device == LANEPACK_DEVICE_CPU ? "be 0 for the CPU" : "not be negative");
  }
  if (source.threads < 0) {
    return fail(Status::kInvalidArgument,
                "%s: threads is %d; it must be positive, or 0 for all cores", function,
                source.threads);
  }
  if (source.routing != LANEPACK_ROUTING_FASTEST && source.routing != LANEPACK_ROUTING_INVARIANT) {
    return fail(Status::kInvalidArgument,
                "%s: routing is %d; it must be 0 (fastest) or 1 (invariant)", function,
                source.routing);
  }
  if ((source.flags & ~allowed_flags) != 0) {
    return fail(Status::kInvalidArgument, "%s: flags is 0x%x; this operation knows 0x%x only",
                function, source.flags, allowed_flags);
  }
  key->dtype = static_cast<Dtype>(source.dtype);
  key->device = source.device;
  key->device_index = source.device_index;
  key->threads = source.threads == 0 ? hardware_threads() : source.threads;
  key->routing = static_cast<Routing>(source.routing);
  key->upper = (source.flags & LANEPACK_FLAG_UPPER) != 0;
  key->jacobi = (source.flags & LANEPACK_FLAG_JACOBI) != 0;
  return Status::kOk;
}

Status check_counts(const char* function, const char* name, int64_t m, int64_t n, int64_t batch,
                    ProblemKey* key) {
  if (m < 0 || n < 0 || batch < 0) {
    return fail(Status::kInvalidArgument,
                "%s: %s has %" PRId64 " rows, %" PRId64 " columns and a batch of %" PRId64
                "; none may be negative",
                function, name, m, n, batch);
  }
  if (m > kMaxOrder || n > kMaxOrder) {
    return fail(Status::kUnsupported,
                "%s: %s has %" PRId64 " rows and %" PRId64 " columns; at most %" PRId64
                " of each are served",
                function, name, m, n, kMaxOrder);
  }
  key->m = m;
  key->n = n;
  key->batch = batch;
  return Status::kOk;
}

// Smallest and largest element offset, and the element count, of a batch that is not empty.
struct Extent {
  int64_t lowest = 0;
  int64_t highest = 0;
  int64_t elements = 1;
};

// False if one of them does not fit 64 bits.
bool find_extent(const lanepack_batch& b, Extent* extent) {
  const int64_t counts[] = {b.rows, b.cols, b.batch};
  const int64_t strides[] = {b.row_stride, b.col_stride, b.batch_stride};
  for (int d = 0; d < 3; ++d) {
    int64_t reach = 0;
    if (__builtin_mul_overflow(extent->elements, counts[d], &extent->elements)) return false;
    if (__builtin_mul_overflow(counts[d] - 1, strides[d], &reach)) return false;
    int64_t* const end = reach < 0 ? &extent->lowest : &extent->highest;
    if (__builtin_add_overflow(*end, reach, end)) return false;
  }
  return true;
}

// The address range [first, last) of an argument that is not empty; false if it leaves the address
// space.
bool find_range(const Argument& argument, const Extent& extent, uintptr_t* first, uintptr_t* last) {
  const int64_t bytes = size_bytes(argument.dtype);
  int64_t low = 0;
  int64_t high = 0;
  int64_t total = 0;
  if (__builtin_mul_overflow(extent.lowest, bytes, &low) ||
      __builtin_mul_overflow(extent.highest, bytes, &high) ||
      __builtin_add_overflow(high, bytes, &high) ||
      __builtin_mul_overflow(extent.elements, bytes, &total)) {
    return false;
  }
  const auto base = reinterpret_cast<uintptr_t>(argument.batch->data);
  const uintptr_t below = uintptr_t{0} - static_cast<uintptr_t>(low);
  if (argument.batch->data != nullptr && below > base) return false;
  *first = base - below;
  return argument.batch->data == nullptr ||
         !__builtin_add_overflow(base, static_cast<uintptr_t>(high), last);
}

uint64_t magnitude(int64_t x) { return x < 0 ? uint64_t{0} - static_cast<uint64_t>(x) : x; }

uint64_t greatest_common_divisor(uint64_t x, uint64_t y) {
  while (y != 0) {
    x %= y;
    std::swap(x, y);
  }
  return x;
}

struct Dimension {
  uint64_t count;
  uint64_t stride;
};

// The dimensions of more than one entry, smallest stride first. Returns how many there are.
int list_dimensions(const lanepack_batch& b, Dimension (&dimensions)[3]) {
  int used = 0;
  const int64_t counts[] = {b.rows, b.cols, b.batch};
  const int64_t strides[] = {b.row_stride, b.col_stride, b.batch_stride};
  for (int d = 0; d < 3; ++d) {
    if (counts[d] > 1) {
      dimensions[used++] = {static_cast<uint64_t>(counts[d]), magnitude(strides[d])};
    }
  }
  std::sort(dimensions, dimensions + used,
            [](const Dimension& x, const Dimension& y) { return x.stride < y.stride; });
  return used;
}

// True if two entries certainly share memory: a stride of 0, more entries than places, or two
// dimensions of which some steps of one lead where some steps of the other do. (Three dimensions
// that meet only together are not looked for.)
bool overlaps_itself(const lanepack_batch& b, const Extent& extent) {
  Dimension dimensions[3];
  const int used = list_dimensions(b, dimensions);
  uint64_t reach = 0;
  bool nested = true;
  for (int d = 0; d < used; ++d) {
    if (dimensions[d].stride == 0) return true;
    nested = nested && dimensions[d].stride > reach;
    reach += (dimensions[d].count - 1) * dimensions[d].stride;
  }
  if (nested) return false;
  if (static_cast<uint64_t>(extent.elements) > reach + 1) return true;
  for (int i = 0; i < used; ++i) {
    for (int j = i + 1; j < used; ++j) {
      const uint64_t divisor = greatest_common_divisor(dimensions[i].stride, dimensions[j].stride);
      if (dimensions[j].stride / divisor < dimensions[i].count &&
          dimensions[i].stride / divisor < dimensions[j].count) {
        return true;
      }
    }
  }
  return false;
}

// No gap between its entries.
bool is_dense(const lanepack_batch& b) {
  Dimension dimensions[3];
  const int used = list_dimensions(b, dimensions);
  uint64_t next = 1;
  for (int d = 0; d < used; ++d) {
    if (dimensions[d].stride != next) return false;
    next *= dimensions[d].count;
  }
  return true;
}

}  // namespace

Status check_struct_size(const char* function, const char* type, const void* args, int64_t wanted) {
  if (args == nullptr) {
    return fail(Status::kInvalidArgument, "%s: the argument is null; it must be a %s", function,
                type);
  }
  // Nothing beyond the first field may be read before this.
  const int64_t got = *static_cast<const int64_t*>(args);
  if (got != wanted) {
    return fail(Status::kInvalidArgument,
                "%s: struct_size is %" PRId64 "; %s has %" PRId64 " bytes in ABI version %d",
                function, got, type, wanted, LANEPACK_ABI_VERSION);
  }
  return Status::kOk;
}

Status check_call(const char* function, const lanepack_call& call, uint32_t allowed_flags,
                  ProblemKey* key, Launch* launch) {
  const Status status = check_common(function, call, allowed_flags, key);
  if (status != Status::kOk) return status;
  if (call.stream != nullptr && call.device == LANEPACK_DEVICE_CPU) {
    return fail(Status::kInvalidArgument, "%s: stream is not null; it must be null for the CPU",
                function);
  }
  if (call.workspace_bytes < 0) {
    return fail(Status::kInvalidArgument,
                "%s: workspace_bytes is %" PRId64 "; it must not be negative", function,
                call.workspace_bytes);
  }
  constexpr uintptr_t kAlignment = 16;  // of the widest load of a kernel
  if (call.device == LANEPACK_DEVICE_CUDA &&
      reinterpret_cast<uintptr_t>(call.workspace) % kAlignment != 0) {
    return fail(Status::kInvalidArgument, "%s: workspace is %p; it must be aligned to 16 bytes",
                function, call.workspace);
  }
  *launch = {call.stream, call.workspace, call.workspace == nullptr ? 0 : call.workspace_bytes};
  return Status::kOk;
}

Status check_problem(const char* function, const lanepack_problem& problem, ProblemKey* key) {
  if (problem.operation < LANEPACK_OPERATION_QR ||
      problem.operation > LANEPACK_OPERATION_CHOLESKY_INVERSE) {
    return fail(Status::kInvalidArgument,
                "%s: operation is %d; it must be 0 (qr), 1 (eigh), 2 (eigvalsh), 3 (svd), "
                "4 (svdvals), 5 (cholesky), 6 (solve_triangular), 7 (cholesky_solve) or "
                "8 (cholesky_inverse)",
                function, problem.operation);
  }
  key->operation = static_cast<Operation>(problem.operation);
  const bool is_eigh = key->operation == Operation::kEigh || key->operation == Operation::kEigvalsh;
  const bool is_svd = key->operation == Operation::kSvd || key->operation == Operation::kSvdvals;
  const bool has_sides = key->operation == Operation::kSolveTriangular ||
                         key->operation == Operation::kCholeskySolve ||
                         key->operation == Operation::kCholeskyInverse;
  const bool is_square = is_eigh || key->operation == Operation::kCholesky;
  uint32_t flags = is_square ? LANEPACK_FLAG_UPPER : is_svd ? LANEPACK_FLAG_JACOBI : 0u;
  if (has_sides) flags = ~static_cast<uint32_t>(LANEPACK_FLAG_JACOBI) & 63u;
  Status status = check_common(function, problem, flags, key);
  if (status != Status::kOk) return status;
  status = check_counts(function, "a", problem.m, problem.n, problem.batch, key);
  if (status != Status::kOk) return status;
  const bool may_be_full = key->operation == Operation::kQr || key->operation == Operation::kSvd;
  if (problem.full != 0 && (problem.full != 1 || !may_be_full)) {
    return fail(Status::kInvalidArgument, "%s: full is %d; it must be 0, or for qr and svd 0 or 1",
                function, problem.full);
  }
  key->full = problem.full == 1;
  if (has_sides) {
    key->columns = key->m;
    key->m = key->n;
  }
  return is_square ? check_square(function, *key) : Status::kOk;
}

Status check_sizes(const char* function, const lanepack_batch& a, ProblemKey* key,
                   const char* name) {
  return check_counts(function, name, a.rows, a.cols, a.batch, key);
}

Status check_square(const char* function, const ProblemKey& key, const char* name) {
  if (key.m == key.n) return Status::kOk;
  return fail(Status::kInvalidArgument,
              "%s: %s has %" PRId64 " rows and %" PRId64 " columns; it must be square", function,
              name, key.m, key.n);
}

namespace {

Status check_layout(const char* function, const Argument& argument, Data data, int32_t device) {
  const lanepack_batch& b = *argument.batch;
  if (is_empty(b)) return Status::kOk;
  if (b.data == nullptr && data == Data::kRequired) {
    return fail(Status::kInvalidArgument,
                "%s: %s.data is null; it must hold %" PRId64 " x %" PRId64 " x %" PRId64
                " elements",
                function, argument.name, b.batch, b.rows, b.cols);
  }
  Extent extent;
  uintptr_t first = 0;
  uintptr_t last = 0;
  if (!find_extent(b, &extent) || !find_range(argument, extent, &first, &last)) {
    return fail(Status::kInvalidArgument,
                "%s: %s has shape (%" PRId64 ", %" PRId64 ", %" PRId64 ") and strides (%" PRId64
                ", %" PRId64 ", %" PRId64 "); its elements must lie in the address space",
                function, argument.name, b.batch, b.rows, b.cols, b.batch_stride, b.row_stride,
                b.col_stride);
  }
  // A GPU loads an entry whole.
  const Dtype aligned = device == kDeviceCuda ? argument.dtype : real_dtype(argument.dtype);
  const int64_t alignment = size_bytes(aligned);
  if (reinterpret_cast<uintptr_t>(b.data) % static_cast<uintptr_t>(alignment) != 0) {
    return fail(Status::kInvalidArgument, "%s: %s.data is %p; it must be aligned to %d bytes",
                function, argument.name, b.data, static_cast<int>(alignment));
  }
  if (argument.output && overlaps_itself(b, extent)) {
    return fail(Status::kInvalidArgument,
                "%s: %s has shape (%" PRId64 ", %" PRId64 ", %" PRId64 ") and strides (%" PRId64
                ", %" PRId64 ", %" PRId64 "); the elements of an output must not overlap",
                function, argument.name, b.batch, b.rows, b.cols, b.batch_stride, b.row_stride,
                b.col_stride);
  }
  return Status::kOk;
}

// Whether `output` is allowed to be `input`, and is.
bool is_same(const Argument& output, const Argument& input) {
  if (output.may_be != input.batch) return false;
  const MatrixBatch x = matrix_batch(*output.batch);
  const MatrixBatch y = matrix_batch(*input.batch);
  return x.data == y.data && x.row_stride == y.row_stride && x.col_stride == y.col_stride &&
         x.batch_stride == y.batch_stride;
}

Status check_overlap(const char* function, const Argument* arguments, int count) {
  uintptr_t first[4];
  uintptr_t last[4];
  bool known[4];
  for (int i = 0; i < count; ++i) {
    const lanepack_batch& b = *arguments[i].batch;
    Extent extent;
    known[i] = b.data != nullptr && !is_empty(b) && is_dense(b) && find_extent(b, &extent) &&
               find_range(arguments[i], extent, &first[i], &last[i]);
    if (!known[i]) continue;
    for (int j = 0; j < i; ++j) {
      if (!known[j] || !(arguments[i].output || arguments[j].output)) continue;
      if (is_same(arguments[i], arguments[j]) || is_same(arguments[j], arguments[i])) continue;
      if (first[i] < last[j] && first[j] < last[i]) {
        return fail(Status::kInvalidArgument,
                    "%s: %s and %s share memory; an output must not overlap another argument",
                    function, arguments[j].name, arguments[i].name);
      }
    }
  }
  return Status::kOk;
}

Status check_info(const char* function, const lanepack_call& call, int64_t batch) {
  if (call.info == nullptr || batch == 0) return Status::kOk;
  const auto address = reinterpret_cast<uintptr_t>(call.info);
  uintptr_t bytes = 0;
  uintptr_t last = 0;
  if (address % alignof(int32_t) != 0) {
    return fail(Status::kInvalidArgument, "%s: info is %p; it must be aligned to 4 bytes", function,
                static_cast<const void*>(call.info));
  }
  if (__builtin_mul_overflow(static_cast<uintptr_t>(batch), sizeof(int32_t), &bytes) ||
      __builtin_add_overflow(address, bytes, &last)) {
    return fail(Status::kInvalidArgument,
                "%s: info has %" PRId64 " entries; they must lie in the address space", function,
                batch);
  }
  return Status::kOk;
}

}  // namespace

Status check_memory(const char* function, const Argument* arguments, int count, Data data,
                    const lanepack_call& call, int64_t batch) {
  Status status = Status::kOk;
  for (int i = 0; i < count && status == Status::kOk; ++i) {
    status = check_layout(function, arguments[i], data, call.device);
  }
  if (status == Status::kOk) status = check_overlap(function, arguments, count);
  if (status == Status::kOk) status = check_info(function, call, batch);
  return status;
}

Status fail_shape(const char* function, const char* name, const lanepack_batch& got, int64_t batch,
                  int64_t rows, int64_t cols) {
  return fail(Status::kInvalidArgument,
              "%s: %s has shape (%" PRId64 ", %" PRId64 ", %" PRId64 "); it must be (%" PRId64
              ", %" PRId64 ", %" PRId64 ")",
              function, name, got.batch, got.rows, got.cols, batch, rows, cols);
}

MatrixBatch matrix_batch(const lanepack_batch& batch) {
  MatrixBatch result = {batch.data,       batch.rows,       batch.cols,        batch.batch,
                        batch.row_stride, batch.col_stride, batch.batch_stride};
  // The stride of a dimension of one entry leads nowhere and may be anything: the dense one, so that
  // nothing overflows that is computed from it, and what looks for dense columns finds them.
  if (batch.rows <= 1) result.row_stride = 1;
  if (batch.cols <= 1) result.col_stride = batch.rows;
  if (batch.batch <= 1) result.batch_stride = batch.rows * batch.cols;
  return result;
}

}  // namespace lanepack
