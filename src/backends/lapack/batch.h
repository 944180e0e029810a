// SPDX-License-Identifier: Apache-2.0
// How a batch is spread: one matrix per thread with LAPACK on one thread, or one after the other
// with LAPACK on all; and the memory, sizes and errors that the operations share.
#ifndef LANEPACK_BACKENDS_LAPACK_BATCH_H_
#define LANEPACK_BACKENDS_LAPACK_BATCH_H_

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "backends/lapack/library.h"
#include "backends/lapack/matrix.h"
#include "core/thread_pool.h"
#include "core/types.h"
#include "dialect/subnormals.h"
#include "operations/problem.h"

namespace lanepack::lapack {

// The two forms of every algorithm.
enum class Spread { kSerial, kParallel };

constexpr int64_t kIntMax = 2147483647;

// Lays arrays out in one block, each on its own cache lines.
class Layout {
 public:
  template <class T>
  int64_t add(int64_t count) {
    const int64_t offset = bytes_;
    bytes_ += round_up(count * static_cast<int64_t>(sizeof(T)), kAlignment);
    return offset;
  }
  int64_t bytes() const { return bytes_; }

 private:
  int64_t bytes_ = 0;
};

template <class T>
T* array_at(char* block, int64_t offset) {
  return reinterpret_cast<T*>(block + offset);
}

// The size of a workspace: at least `minimum`, which the driver's documentation states, and what
// its query answered. The answer is a floating number, which float32 rounds above 2^24.
template <class S>
int64_t workspace_size(int64_t minimum, S answer) {
  using R = real_t<S>;
  const double wide = static_cast<double>(std::real(answer));
  const double slack = 1.0 + static_cast<double>(std::numeric_limits<R>::epsilon());
  const double asked = wide > 16777216.0 ? wide * slack : wide;
  if (asked >= static_cast<double>(kIntMax)) return std::max(minimum, kIntMax);
  return std::max(minimum, static_cast<int64_t>(std::ceil(asked)));
}

// LAPACK counts in 32-bit integers.
inline Status check_size(const char* function, const char* driver, const ProblemKey& key,
                         int64_t elements) {
  if (key.m <= kIntMax && key.n <= kIntMax && elements <= kIntMax) return Status::kOk;
  return fail(Status::kUnsupported,
              "%s: a matrix of %lld x %lld needs %lld elements of workspace in LAPACK's %s, whose "
              "32-bit integers end at %lld",
              function, static_cast<long long>(key.m), static_cast<long long>(key.n),
              static_cast<long long>(elements), driver, static_cast<long long>(kIntMax));
}

// Memory of one matrix at a time. Kept by the thread up to a limit, so that the next call finds its
// pages mapped; above, returned to the system when the call ends.
class Block {
 public:
  explicit Block(int64_t bytes) {
    constexpr int64_t kKeptBytes = int64_t{256} << 20;
    if (bytes <= kKeptBytes) {
      data_ = static_cast<char*>(thread_scratch(0, static_cast<size_t>(bytes)));
    } else if (posix_memalign(&owned_, kAlignment, static_cast<size_t>(bytes)) == 0) {
      data_ = static_cast<char*>(owned_);
    }
  }
  ~Block() { std::free(owned_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  char* data() const { return data_; }

 private:
  void* owned_ = nullptr;
  char* data_ = nullptr;
};

// Calls body(first, last) for pieces of [0, columns), on the pool where that many elements are
// worth it. Subnormal numbers count there, whatever the thread's setting.
template <class Body>
void over_columns(int threads, int64_t columns, int64_t rows, Body&& body) {
  constexpr int64_t kWorthThreads = int64_t{1} << 17;
  const int64_t pieces =
      columns * rows >= kWorthThreads && threads > 1
          ? std::min<int64_t>((columns + kTile - 1) / kTile, 4 * int64_t{threads})
          : 1;
  parallel_chunks(threads, pieces, [&](int64_t piece) {
    KeepSubnormals keep;
    body(piece * columns / pieces, (piece + 1) * columns / pieces);
  });
}

// What decompose(block, b, threads) is called for: every matrix b once, with memory of `bytes`. It
// returns LAPACK's info; a negative one, which says that an argument was wrong, ends as an error.
struct BatchPlan {
  const char* function;  // for error texts
  const char* driver;
  int64_t batch;
  int64_t bytes;
  double matrix_us;  // rough cost of a matrix on one thread
};

template <class Decompose>
Status run_batch(const BatchPlan& plan, const Library& library, Spread spread, int threads,
                 Decompose&& decompose) {
  constexpr int64_t kMaxChunks = 512;
  constexpr double kWorthThreadsUs = 30;  // below, waking a thread costs more than it brings
  Block block(plan.bytes);
  if (block.data() == nullptr) {
    return fail(Status::kOutOfMemory, "%s: %lld bytes of scratch memory could not be allocated",
                plan.function, static_cast<long long>(plan.bytes));
  }
  std::atomic<int> refused{0};
  const auto run = [&](char* data, int64_t b, int inner) {
    KeepSubnormals keep;
    const Int info = decompose(data, b, inner);
    if (info < 0) refused.store(-info, std::memory_order_relaxed);
  };
  if (spread == Spread::kParallel) {
    ThreadLimit limit(library, threads);
    for (int64_t b = 0; b < plan.batch; ++b) run(block.data(), b, threads);
  } else {
    if (plan.matrix_us * static_cast<double>(plan.batch) < kWorthThreadsUs) threads = 1;
    const int64_t chunks = std::min({plan.batch, int64_t{16} * threads, kMaxChunks});
    bool left[kMaxChunks] = {};
    const auto run_chunk = [&](int64_t chunk, char* data) {
      ThreadLimit limit(library, 1);
      const int64_t last = (chunk + 1) * plan.batch / chunks;
      for (int64_t b = chunk * plan.batch / chunks; b < last; ++b) run(data, b, 1);
    };
    const pthread_t caller = pthread_self();
    parallel_chunks(threads, chunks, [&](int64_t chunk) {
      if (pthread_equal(pthread_self(), caller)) return run_chunk(chunk, block.data());
      Block own(plan.bytes);
      if (own.data() == nullptr)
        left[chunk] = true;
      else
        run_chunk(chunk, own.data());
    });
    // Chunks whose thread had no memory; this one has.
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      if (left[chunk]) run_chunk(chunk, block.data());
    }
  }
  if (refused.load() == 0) return Status::kOk;
  return fail(Status::kInternal, "%s: LAPACK's %s refused its argument %d", plan.function,
              plan.driver, refused.load());
}

}  // namespace lanepack::lapack

#endif  // LANEPACK_BACKENDS_LAPACK_BATCH_H_
