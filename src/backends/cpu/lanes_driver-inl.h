// SPDX-License-Identifier: Apache-2.0
// What every lane operation shares: the choice of width, the split of a batch over threads, scratch.
#if defined(LANEPACK_BACKENDS_CPU_LANES_DRIVER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LANEPACK_BACKENDS_CPU_LANES_DRIVER_INL_H_
#undef LANEPACK_BACKENDS_CPU_LANES_DRIVER_INL_H_
#else
#define LANEPACK_BACKENDS_CPU_LANES_DRIVER_INL_H_
#endif

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "backends/cpu/lanes_io-inl.h"
#include "core/thread_pool.h"
#include "core/types.h"
#include "dialect/lanes.h"
#include "dialect/subnormals.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace lanepack {
namespace HWY_NAMESPACE {

// Lanes of one full vector of F here.
template <class F>
constexpr int full_width() {
  return static_cast<int>(HWY_LANES(F));
}

// The dialect's T and S for a C++ scalar at W lanes in K vectors.
template <class F, int W, int K>
using lanes_or_lone = std::conditional_t<W * K == 1, simt::lone<F>, simt::lanes<F, W, K>>;

template <class S, int W, int K>
struct lane_types {
  using real = lanes_or_lone<S, W, K>;
  using scalar = real;
  using F = S;
  static constexpr int kParts = 1;
  static constexpr int kWidth = W * K;
  static constexpr int kStride = static_cast<int>(sizeof(real) / sizeof(F));
};
template <class R, int W, int K>
struct lane_types<std::complex<R>, W, K> {
  using real = lanes_or_lone<R, W, K>;
  using scalar = simt::complex<real>;
  using F = R;
  static constexpr int kParts = 2;
  static constexpr int kWidth = W * K;
  static constexpr int kStride = static_cast<int>(sizeof(real) / sizeof(F));
};

// Column distance that keeps columns off the same cache sets (4 KiB aliasing).
inline int leading_dimension(int rows) { return rows > 4 && rows % 8 == 0 ? rows + 1 : rows; }

// Hands out pieces of a thread's scratch, each 64-byte aligned. Sizes are asked for first.
class Scratch {
 public:
  explicit Scratch(void* base) : at_(static_cast<char*>(base)) {}
  template <class X>
  X* take(size_t count) {
    X* r = reinterpret_cast<X*>(at_);
    at_ += rounded(count * sizeof(X));
    return r;
  }
  static size_t rounded(size_t bytes) { return (bytes + 63) / 64 * 64; }

 private:
  char* at_;
};

// How many lanes serve `batch` matrices on `threads` threads: 1, 4 or all. A pack costs about as much
// at 4 lanes as at 1, and 1.6 times that at full width (measured: eigh n = 16, float32).
inline int choose_width(int64_t batch, int threads, int full) {
  const int64_t share = (batch + threads - 1) / threads;
  if (share <= 1) return 1;
  if (full <= 4) return full;
  const int64_t narrow = (share + 3) / 4 * 10;
  const int64_t wide = (share + full - 1) / full * 16;
  return narrow <= wide ? 4 : full;
}

// Threads worth waking: each one wants about 30 us of work.
inline int worthwhile_threads(int threads, int64_t batch, double matrix_ns) {
  const double total_us = static_cast<double>(batch) * matrix_ns * 1e-3;
  const int64_t most = std::min<int64_t>(threads, batch);
  return static_cast<int>(
      std::max<int64_t>(1, std::min<int64_t>(most, static_cast<int64_t>(total_us / 30.0))));
}

// Runs pack(first, count, scratch) over [0, batch) in steps of `width`, in parallel. Every chunk
// starts at a multiple of the width, so which matrices share a pack does not depend on the threads
// (and the bits depend on neither). scratch_bytes: what one pack needs.
template <class PackBody>
Status for_each_pack(int threads, int64_t batch, int width, double matrix_ns, size_t scratch_bytes,
                     PackBody&& pack) {
  const int64_t packs = (batch + width - 1) / width;
  threads = static_cast<int>(std::min<int64_t>(threads, packs));
  const double pack_us = std::max(1e-3, matrix_ns * width * 1e-3);
  // several chunks a thread even out a busy machine, none below about 20 us
  const int64_t smallest = std::max<int64_t>(1, static_cast<int64_t>(20.0 / pack_us));
  const int64_t even = (packs + threads * 8 - 1) / (threads * 8);
  const int64_t per_chunk = threads <= 1 ? packs : std::max(smallest, even);
  const int64_t chunks = (packs + per_chunk - 1) / per_chunk;
  std::atomic<bool> out_of_memory{false};
  parallel_chunks(threads, chunks, [&](int64_t chunk) {
    void* scratch = thread_scratch(0, scratch_bytes);
    if (scratch == nullptr) {
      out_of_memory.store(true, std::memory_order_relaxed);
      return;
    }
    const KeepSubnormals keep;
    const int64_t end = std::min(packs, (chunk + 1) * per_chunk);
    for (int64_t p = chunk * per_chunk; p < end; ++p) {
      const int64_t first = p * width;
      pack(first, static_cast<int>(std::min<int64_t>(width, batch - first)), scratch);
    }
  });
  if (out_of_memory.load()) {
    return fail(Status::kOutOfMemory,
                "lanepack: no memory for %lld bytes of scratch on each thread",
                static_cast<long long>(scratch_bytes));
  }
  return Status::kOk;
}

// Runs a batch at the width and on the threads that suit it: run.operator()<L>(threads, ns), where L is
// a lane_types<S, ...>. cost_ns(width): what one matrix costs on one thread. kVectors vectors a T,
// which hide each other's latency, where `interleave` holds and the batch fills them; 1: no such text.
template <class S, int kVectors, class Cost, class Run>
Status run_at_best_width(int threads, int64_t batch, bool interleave, Cost&& cost_ns, Run&& run) {
  using F = typename lane_types<S, 1, 1>::F;
  constexpr int kFull = full_width<F>();
  constexpr int kFour = kFull < 4 ? kFull : 4;
  threads = worthwhile_threads(threads, batch, cost_ns(kFull));
  const int width = choose_width(batch, threads, kFull);
  const double ns = cost_ns(width);
  if (width == 1) return run.template operator()<lane_types<S, 1, 1>>(threads, ns);
  if (width <= 4 && kFull > 4) {
    return run.template operator()<lane_types<S, kFour, 4 / kFour>>(threads, ns);
  }
  if constexpr (kVectors > 1) {
    if (interleave && batch >= int64_t{kVectors} * kFull * threads) {
      return run.template operator()<lane_types<S, kFull, kVectors>>(threads, ns);
    }
  }
  return run.template operator()<lane_types<S, kFull, 1>>(threads, ns);
}

// Up to this many columns are sorted in the pack; of more, the ranks are found for the store.
constexpr int kSortMaxN = 4;

// rank[j * kWidth + w]: how many values of lane w come before value j, ties by index. Ascending or
// descending.
template <class T>
HWY_NOINLINE void rank_values(const T* values, int n, bool descending, int32_t* rank) {
  using F = typename T::scalar;
  constexpr int kWidth = T::kWidth;
  const T one = simt::constant<T>(1.0f), zero = simt::constant<T>(0.0f);
  for (int j = 0; j < n; ++j) {
    T count = zero;
    for (int k = 0; k < n; ++k) {
      if (k == j) continue;
      const T a = descending ? -values[k] : values[k];
      const T b = descending ? -values[j] : values[j];
      const simt::mask_of<T> before = k < j ? a <= b : a < b;
      count = count + simt::select(before, one, zero);
    }
    alignas(64) F out[kWidth];
    __builtin_memcpy(out, &count, sizeof(out));
    for (int w = 0; w < kWidth; ++w) rank[j * kWidth + w] = static_cast<int32_t>(out[w]);
  }
}

// One value per lane out of a T, and a mask as bools.
template <class T>
HWY_INLINE void mask_to_bools(simt::mask_of<T> m, bool* out) {
  using F = typename T::scalar;
  const T x = simt::select(m, simt::constant<T>(1.0f), simt::constant<T>(0.0f));
  alignas(64) F values[T::kWidth];
  __builtin_memcpy(values, &x, sizeof(values));
  for (int w = 0; w < T::kWidth; ++w) out[w] = values[w] != F(0);
}

// info of the matrices of a pack, where it is wanted, and fill_nan(index) for each that has no result.
template <class L, class FillNan>
HWY_INLINE void report_pack(simt::mask_of<typename L::real> not_finite,
                            simt::mask_of<typename L::real> converged, int32_t* info, int64_t first,
                            int count, FillNan&& fill_nan) {
  using T = typename L::real;
  if (info == nullptr && !simt::any(not_finite) && simt::all(converged)) return;
  bool bad[L::kWidth], right[L::kWidth];
  mask_to_bools<T>(not_finite, bad);
  mask_to_bools<T>(converged, right);
  for (int i = 0; i < count; ++i) {
    const int32_t found = bad[i] ? kInfoNotFinite : right[i] ? 0 : kInfoNoConvergence;
    if (info != nullptr) info[first + i] = found;
    if (found != 0) fill_nan(first + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace lanepack
HWY_AFTER_NAMESPACE();

#endif  // LANEPACK_BACKENDS_CPU_LANES_DRIVER_INL_H_ (per target)
