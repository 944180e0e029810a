// SPDX-License-Identifier: Apache-2.0
// Workers sleep on a condition variable. A call opens seats; each worker that wakes takes one,
// wakes two more while seats are left (a tree, so that the caller pays for two signals at most),
// and then claims chunks through an atomic counter, as the caller does. The mutex guards only the
// seats and the sleep; no lock is held while chunks run. The caller waits for the workers that took
// a seat, never for one that is still asleep.
//
// The pool is never freed: workers may be asleep in it when the process exits, and this library
// stays mapped from the first worker on, since their code lies in it.
#include "core/thread_pool.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

#include "core/platform/machine.h"
#include "symbol_versions.h"

namespace lanepack {
namespace {

// LAPACK runs on these threads; the 512 KiB that macOS gives by default is not enough for it.
constexpr size_t kWorkerStackBytes = size_t{8} << 20;
// Loads of one flag before the caller sleeps: about a microsecond, for workers that end with it.
constexpr int kSpins = 500;

std::atomic<bool> forked{false};
std::atomic<int> known_cores{0};

class Pool {
 public:
  using Body = void (*)(void* context, int64_t chunk);

  // False: another call has the pool.
  bool try_acquire() { return !busy_.exchange(true, std::memory_order_acquire); }

  // Only after try_acquire. `helpers` counts the threads beside the caller.
  void run(int helpers, int64_t chunks, Body body, void* context);

 private:
  static void* worker_main(void* pool);
  void start_workers(int wanted);
  void work();
  void claim_chunks();
  void wait_for_helpers();

  // Each on its own cache line: the counter is contended, `active_` is polled.
  alignas(64) std::atomic<int64_t> next_{0};
  alignas(64) std::atomic<int> active_{0};  // changed under mutex_
  alignas(64) std::atomic<bool> busy_{false};
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t seats_open_ = PTHREAD_COND_INITIALIZER;
  pthread_cond_t all_left_ = PTHREAD_COND_INITIALIZER;
  int seats_ = 0;    // under mutex_
  int workers_ = 0;  // changed only by the call that has the pool
  int64_t chunks_ = 0;
  Body body_ = nullptr;
  void* context_ = nullptr;
};

void Pool::run(int helpers, int64_t chunks, Body body, void* context) {
  start_workers(helpers);
  const int seats = std::min(helpers, workers_);
  pthread_mutex_lock(&mutex_);
  body_ = body;
  context_ = context;
  chunks_ = chunks;
  next_.store(0, std::memory_order_relaxed);
  seats_ = seats;
  pthread_mutex_unlock(&mutex_);
  for (int i = 0; i < std::min(seats, 2); ++i) pthread_cond_signal(&seats_open_);
  claim_chunks();
  wait_for_helpers();
  busy_.store(false, std::memory_order_release);
}

void Pool::claim_chunks() {
  for (;;) {
    const int64_t chunk = next_.fetch_add(1, std::memory_order_relaxed);
    if (chunk >= chunks_) return;
    body_(context_, chunk);
  }
}

void Pool::wait_for_helpers() {
  pthread_mutex_lock(&mutex_);
  seats_ = 0;  // a worker that wakes now finds nothing and sleeps again
  pthread_mutex_unlock(&mutex_);
  for (int i = 0; i < kSpins; ++i) {
    if (active_.load(std::memory_order_acquire) == 0) return;
  }
  pthread_mutex_lock(&mutex_);
  while (active_.load(std::memory_order_relaxed) != 0) pthread_cond_wait(&all_left_, &mutex_);
  pthread_mutex_unlock(&mutex_);
}

void Pool::work() {
  pthread_mutex_lock(&mutex_);
  for (;;) {
    while (seats_ == 0) pthread_cond_wait(&seats_open_, &mutex_);
    --seats_;
    active_.fetch_add(1, std::memory_order_relaxed);
    const int to_wake = std::min(seats_, 2);
    pthread_mutex_unlock(&mutex_);
    for (int i = 0; i < to_wake; ++i) pthread_cond_signal(&seats_open_);
    claim_chunks();
    pthread_mutex_lock(&mutex_);
    seats_ = 0;  // every chunk is claimed
    // Release: whoever reads zero without the mutex sees what the chunks wrote.
    if (active_.fetch_sub(1, std::memory_order_release) == 1) pthread_cond_signal(&all_left_);
  }
}

void* Pool::worker_main(void* pool) {
  static_cast<Pool*>(pool)->work();
  return nullptr;
}

// Workers run until the process ends, so the code they run must not be unmapped by dlclose.
void keep_library_mapped() {
  Dl_info self;
  if (dladdr(reinterpret_cast<void*>(&keep_library_mapped), &self) != 0 &&
      self.dli_fname != nullptr) {
    dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
  }
}

void Pool::start_workers(int wanted) {
  if (workers_ >= wanted) return;
  if (workers_ == 0) keep_library_mapped();
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kWorkerStackBytes);
  // Workers inherit the mask: signals belong to the program's own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  while (workers_ < wanted) {
    pthread_t thread;
    if (pthread_create(&thread, &attributes, &Pool::worker_main, this) != 0) break;
    ++workers_;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
}

std::atomic<Pool*> the_pool{nullptr};

// The parent's workers do not exist in the child, and one of them may have held the mutex when the
// process forked: that pool is abandoned.
void after_fork_in_child() {
  the_pool.store(nullptr, std::memory_order_relaxed);
  known_cores.store(0, std::memory_order_relaxed);
  forked.store(true, std::memory_order_relaxed);
}

// At load, not at the first call: torch may have started a vendor library's threads before that.
const int fork_handler_registered = pthread_atfork(nullptr, nullptr, &after_fork_in_child);

Pool* acquire_pool() {
  Pool* pool = the_pool.load(std::memory_order_acquire);
  if (pool == nullptr) {
    Pool* fresh = new (std::nothrow) Pool;
    if (fresh == nullptr) return nullptr;
    if (the_pool.compare_exchange_strong(pool, fresh, std::memory_order_acq_rel)) {
      pool = fresh;
    } else {
      delete fresh;
    }
  }
  return pool->try_acquire() ? pool : nullptr;
}

}  // namespace

int hardware_threads() {
  int cores = known_cores.load(std::memory_order_relaxed);
  if (cores == 0) {
    cores = allowed_cores();
    known_cores.store(cores, std::memory_order_relaxed);
  }
  return cores;
}

bool in_forked_child() { return forked.load(std::memory_order_relaxed); }

void parallel_chunks(int threads, int64_t chunks, void (*body)(void* context, int64_t chunk),
                     void* context) {
  if (threads > 1 && chunks > 1) {
    const int64_t useful = std::min<int64_t>(std::min(threads, hardware_threads()), chunks);
    Pool* pool = useful > 1 ? acquire_pool() : nullptr;
    if (pool != nullptr) {
      pool->run(static_cast<int>(useful) - 1, chunks, body, context);
      return;
    }
  }
  for (int64_t chunk = 0; chunk < chunks; ++chunk) body(context, chunk);
}

namespace {

constexpr int kScratchSlots = 4;
constexpr size_t kHugePageBytes = size_t{2} << 20;

struct Scratch {
  void* data[kScratchSlots] = {};
  size_t bytes[kScratchSlots] = {};
  ~Scratch() {
    for (void* slot : data) std::free(slot);
  }
};

thread_local Scratch scratch;

size_t round_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

void* thread_scratch(int slot, size_t bytes) {
  if (slot < 0 || slot >= kScratchSlots) return nullptr;
  if (scratch.data[slot] != nullptr && bytes <= scratch.bytes[slot]) return scratch.data[slot];
  if (bytes > (SIZE_MAX >> 1)) return nullptr;
  const bool huge = bytes >= kHugePageBytes;
  const size_t size = round_up(std::max<size_t>(bytes, 1), huge ? kHugePageBytes : 4096);
  // Freed first: the old content is not kept, and both at once may be more than there is.
  std::free(scratch.data[slot]);
  scratch.data[slot] = nullptr;
  scratch.bytes[slot] = 0;
  void* data = nullptr;
  if (posix_memalign(&data, huge ? kHugePageBytes : 64, size) != 0) return nullptr;
  if (huge) advise_huge_pages(data, size);
  scratch.data[slot] = data;
  scratch.bytes[slot] = size;
  return data;
}

}  // namespace lanepack
