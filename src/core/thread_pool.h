// SPDX-License-Identifier: Apache-2.0
// The library's own threads: asleep between calls, fixed chunks, no queue.
#ifndef LANEPACK_CORE_THREAD_POOL_H_
#define LANEPACK_CORE_THREAD_POOL_H_

#include <cstddef>
#include <cstdint>

namespace lanepack {

// Number of cores this process may use (affinity respected); at least 1.
int hardware_threads();

// Calls body(context, chunk) once for each chunk in [0, chunks), on at most `threads` threads, the
// caller among them; returns when all are done. Which thread takes a chunk is not fixed: the result
// of a chunk must not depend on it. A caller that finds the pool busy does its chunks itself.
// threads <= 1 never touches the pool. Safe in a child after fork. Never fails: where a thread can't
// be started the caller does the work.
void parallel_chunks(int threads, int64_t chunks, void (*body)(void* context, int64_t chunk),
                     void* context);

template <class Body>
void parallel_chunks(int threads, int64_t chunks, Body&& body) {
  struct Call {
    static void run(void* context, int64_t chunk) { (*static_cast<Body*>(context))(chunk); }
  };
  parallel_chunks(threads, chunks, &Call::run, const_cast<void*>(static_cast<const void*>(&body)));
}

// True in a process that was forked from one that had used the library: vendor libraries must then
// be kept to one thread.
bool in_forked_child();

// Scratch of the calling thread, 64-byte aligned, at least `bytes` large, grown and kept until the
// thread ends; null when memory is short. A second request on the same thread with the same slot
// returns the same memory, so nested users take different slots (0..3).
void* thread_scratch(int slot, size_t bytes);

}  // namespace lanepack

#endif  // LANEPACK_CORE_THREAD_POOL_H_
