// SPDX-License-Identifier: Apache-2.0
// Structs filled from fuzz data. Whatever they hold, the checks return a status: every call goes
// through its workspace query, which checks all and touches no data, and through the route. A call
// is also run where the struct, by this file's own reckoning, stays inside memory that is there.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "lanepack/lanepack.h"

namespace {

constexpr int64_t kArenaBytes = 1 << 16;
constexpr int64_t kInterestingSizes[] = {0,
                                         1,
                                         2,
                                         3,
                                         4,
                                         5,
                                         7,
                                         8,
                                         16,
                                         33,
                                         -1,
                                         INT64_MAX,
                                         INT64_MIN,
                                         int64_t{1} << 31,
                                         int64_t{1} << 32,
                                         int64_t{1} << 62};

alignas(64) unsigned char g_arena[5][kArenaBytes];

// Hands out the fuzzer's bytes, then zeros.
class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  uint8_t byte() { return at_ < size_ ? data_[at_++] : 0; }
  int64_t word() {
    uint64_t x = 0;
    for (int i = 0; i < 8; ++i) x = x << 8 | byte();
    return static_cast<int64_t>(x);
  }
  // Mostly small and often legal, sometimes anything.
  int64_t size() {
    const uint8_t kind = byte();
    if (kind < 16) return word();
    return kInterestingSizes[kind < 48 ? byte() % 16 : byte() % 10];
  }
  int32_t choice(int32_t count) {
    const uint8_t kind = byte();
    return kind < 8 ? static_cast<int32_t>(word()) : kind % count;
  }

 private:
  const uint8_t* data_;
  size_t size_;
  size_t at_ = 0;
};

void fill_batch(Bytes* bytes, int arena, int64_t batch, int64_t rows, int64_t cols,
                lanepack_batch* out) {
  *out = {g_arena[arena], rows, cols, batch, 1, rows, 0};
  __builtin_mul_overflow(rows, cols, &out->batch_stride);
  const uint8_t change = bytes->byte();
  if (change % 4 != 0) return;
  switch (bytes->byte() % 8) {
    case 0:
      out->data = nullptr;
      break;
    case 1:
      out->data = g_arena[arena] + bytes->byte();
      break;
    case 2:
      out->rows = bytes->size();
      break;
    case 3:
      out->cols = bytes->size();
      break;
    case 4:
      out->batch = bytes->size();
      break;
    case 5:
      out->row_stride = bytes->size();
      break;
    case 6:
      out->col_stride = bytes->size();
      break;
    case 7:
      out->batch_stride = bytes->size();
      break;
  }
}

void fill_call(Bytes* bytes, int64_t struct_size, lanepack_call* call) {
  std::memset(call, 0, sizeof(*call));
  call->struct_size = bytes->byte() == 0 ? bytes->word() : struct_size;
  call->dtype = bytes->choice(4);
  call->routing = bytes->choice(2);
  call->threads = bytes->byte() < 8 ? static_cast<int32_t>(bytes->word()) : 1;
  if (bytes->byte() < 16) call->flags = static_cast<uint32_t>(bytes->choice(4));
  if (bytes->byte() < 4) call->device = bytes->choice(4);
  if (bytes->byte() < 4) call->device_index = static_cast<int32_t>(bytes->word());
  if (bytes->byte() < 4) call->stream = g_arena;
  if (bytes->byte() < 4) call->workspace_bytes = bytes->word();
  if (bytes->byte() < 128) call->info = reinterpret_cast<int32_t*>(g_arena[4]);
}

bool inside(__int128 value, __int128 limit) { return value >= 0 && value <= limit; }

// True if every element lies in the argument's arena, whatever the dtype.
bool is_safe(const lanepack_batch& batch, int arena) {
  if (batch.rows == 0 || batch.cols == 0 || batch.batch == 0) {
    return inside(batch.rows, 64) && inside(batch.cols, 64) && inside(batch.batch, 64);
  }
  if (batch.data == nullptr) return true;
  const int64_t counts[] = {batch.rows, batch.cols, batch.batch};
  const int64_t strides[] = {batch.row_stride, batch.col_stride, batch.batch_stride};
  const auto* const first = static_cast<const unsigned char*>(batch.data);
  if (first < g_arena[arena] || first >= g_arena[arena] + 256) return false;
  __int128 low = first - g_arena[arena];
  __int128 high = low + 16;
  for (int d = 0; d < 3; ++d) {
    if (!inside(counts[d], 64)) return false;
    const __int128 reach = static_cast<__int128>(counts[d] - 1) * strides[d] * 16;
    (reach < 0 ? low : high) += reach;
  }
  return low >= 0 && high <= kArenaBytes;
}

// A status that the header has, and a text exactly when it is an error. A CUDA device need not be
// there.
void check_status(int status) {
  const bool has_text = lanepack_last_error()[0] != '\0';
  const bool known = (status >= LANEPACK_STATUS_OK && status <= LANEPACK_STATUS_UNSUPPORTED) ||
                     status == LANEPACK_STATUS_UNAVAILABLE;
  if (!known || has_text != (status != LANEPACK_STATUS_OK)) {
    std::abort();
  }
}

template <class Args>
void run(Args* args, bool safe, int (*function)(const Args*),
         int (*workspace)(const Args*, int64_t*)) {
  int64_t needed = -1;
  const int status = workspace(args, &needed);
  check_status(status);
  if ((status == LANEPACK_STATUS_OK) != (needed >= 0)) std::abort();
  // The arenas are no memory of a device.
  safe = safe && args->call.device != LANEPACK_DEVICE_CUDA;
  // What the workspace query refuses the call must refuse too, so it is called in any case then.
  if (safe || status != LANEPACK_STATUS_OK) {
    const int run_status = function(args);
    check_status(run_status);
    // The query is refused for want of an algorithm before a null address is.
    const bool same = run_status == status || (status == LANEPACK_STATUS_UNSUPPORTED &&
                                               run_status == LANEPACK_STATUS_INVALID_ARGUMENT);
    if (status != LANEPACK_STATUS_OK && !same) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Bytes bytes(data, size);
  const uint8_t operation = bytes.byte() % 4;
  const int64_t m = bytes.size();
  const int64_t n = bytes.byte() < 64 ? bytes.size() : m;
  const int64_t batch = bytes.size();
  const int64_t k = m < n ? m : n;
  const bool full = bytes.byte() % 2 == 0;
  if (operation == 0) {
    lanepack_qr_args args;
    fill_call(&bytes, sizeof(args), &args.call);
    fill_batch(&bytes, 0, batch, m, n, &args.a);
    fill_batch(&bytes, 1, batch, m, full ? m : k, &args.q);
    fill_batch(&bytes, 2, batch, full ? m : k, n, &args.r);
    const bool safe = is_safe(args.a, 0) && is_safe(args.q, 1) && is_safe(args.r, 2);
    run(&args, safe, lanepack_qr, lanepack_qr_workspace);
  } else if (operation == 1) {
    lanepack_eigh_args args;
    fill_call(&bytes, sizeof(args), &args.call);
    fill_batch(&bytes, 0, batch, m, n, &args.a);
    fill_batch(&bytes, 1, batch, n, 1, &args.w);
    fill_batch(&bytes, 2, batch, n, n, &args.v);
    const bool safe = is_safe(args.a, 0) && is_safe(args.w, 1) && is_safe(args.v, 2);
    run(&args, safe, lanepack_eigh, lanepack_eigh_workspace);
  } else if (operation == 2) {
    lanepack_svd_args args;
    fill_call(&bytes, sizeof(args), &args.call);
    fill_batch(&bytes, 0, batch, m, n, &args.a);
    fill_batch(&bytes, 1, batch, m, full ? m : k, &args.u);
    fill_batch(&bytes, 2, batch, k, 1, &args.s);
    fill_batch(&bytes, 3, batch, full ? n : k, n, &args.vh);
    const bool safe =
        is_safe(args.a, 0) && is_safe(args.u, 1) && is_safe(args.s, 2) && is_safe(args.vh, 3);
    run(&args, safe, lanepack_svd, lanepack_svd_workspace);
  } else {
    lanepack_problem problem = {};
    problem.struct_size = bytes.byte() == 0 ? bytes.word() : int64_t{sizeof(problem)};
    problem.operation = bytes.choice(5);
    problem.dtype = bytes.choice(4);
    problem.threads = bytes.choice(4);
    problem.routing = bytes.choice(2);
    problem.flags = static_cast<uint32_t>(bytes.choice(4));
    problem.full = bytes.choice(2);
    problem.m = m;
    problem.n = n;
    problem.batch = batch;
    char identifier[40];
    check_status(lanepack_route(&problem, identifier, bytes.byte() % 41));
  }
  return 0;
}
