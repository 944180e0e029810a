// SPDX-License-Identifier: Apache-2.0
#include "core/thread_pool.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace lanepack {
namespace {

// Enough work that sleeping workers wake before the caller has done it all.
void work_for_a_while() {
  volatile double x = 1;
  for (int i = 0; i < 20000; ++i) x = x * 1.0000001;
}

// Runs body in a forked child, which must end by itself within `seconds`; returns its exit status,
// or -1 if it was killed.
template <class Body>
int in_child(int seconds, Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(static_cast<unsigned>(seconds));
    _exit(body());
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int64_t virtual_bytes() {
  FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return -1;
  long pages = -1;
  if (std::fscanf(file, "%ld", &pages) != 1) pages = -1;
  std::fclose(file);
  return pages < 0 ? -1 : static_cast<int64_t>(pages) * sysconf(_SC_PAGESIZE);
}

bool each_chunk_once(int threads, int64_t chunks) {
  std::vector<std::atomic<int>> count(static_cast<size_t>(chunks));
  parallel_chunks(threads, chunks, [&](int64_t chunk) { ++count[static_cast<size_t>(chunk)]; });
  for (const auto& c : count) {
    if (c != 1) return false;
  }
  return true;
}

TEST(ThreadPool, RunsEachChunkOnce) {
  for (int threads : {-1, 0, 1, 2, 3, 64, 1 << 20}) {
    for (int64_t chunks : {0, 1, 2, 3, 17, 1000}) {
      for (int repeat = 0; repeat < 50; ++repeat) {
        ASSERT_TRUE(each_chunk_once(threads, chunks)) << threads << " threads, " << chunks;
      }
    }
  }
}

TEST(ThreadPool, WhatChunksWroteIsSeenByTheCaller) {
  std::vector<int64_t> written(4096);
  for (int64_t repeat = 1; repeat <= 200; ++repeat) {
    parallel_chunks(hardware_threads(), 64, [&](int64_t chunk) {
      for (int64_t i = chunk * 64; i < (chunk + 1) * 64; ++i) written[i] = repeat;
    });
    for (int64_t value : written) ASSERT_EQ(value, repeat);
  }
}

TEST(ThreadPool, UsesNoMoreThreadsThanAskedFor) {
  for (int threads : {1, 2, 3, 1000}) {
    std::mutex mutex;
    std::set<pthread_t> seen;
    parallel_chunks(threads, 200, [&](int64_t) {
      work_for_a_while();
      std::lock_guard<std::mutex> lock(mutex);
      seen.insert(pthread_self());
    });
    EXPECT_LE(seen.size(), static_cast<size_t>(std::min(threads, hardware_threads())));
    if (threads == 1) {
      EXPECT_EQ(*seen.begin(), pthread_self());
    }
  }
}

TEST(ThreadPool, WorkersTakePart) {
  if (hardware_threads() < 2) GTEST_SKIP() << "one core";
  std::atomic<int> elsewhere{0};
  const pthread_t caller = pthread_self();
  // A busy machine may wake the worker late, so more than one call may be needed.
  for (int repeat = 0; repeat < 1000 && elsewhere == 0; ++repeat) {
    parallel_chunks(2, 100, [&](int64_t) {
      work_for_a_while();
      if (!pthread_equal(pthread_self(), caller)) ++elsewhere;
    });
  }
  EXPECT_GT(elsewhere, 0);
}

TEST(ThreadPool, CallsInsideCallsAndAtOnceDoTheirOwnWork) {
  std::atomic<int64_t> count{0};
  const auto nested = [&] {
    parallel_chunks(4, 10, [&](int64_t) { parallel_chunks(4, 10, [&](int64_t) { ++count; }); });
  };
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 100; ++repeat) nested();
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(count, 8 * 100 * 100);
}

TEST(ThreadPool, WorkersLeaveSignalsToTheProgram) {
  std::atomic<bool> open{false};
  const pthread_t caller = pthread_self();
  parallel_chunks(hardware_threads(), 200, [&](int64_t) {
    work_for_a_while();
    if (pthread_equal(pthread_self(), caller)) return;
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    if (sigismember(&blocked, SIGINT) != 1) open = true;
  });
  EXPECT_FALSE(open);
}

TEST(ThreadPool, SleepsBetweenCalls) {
  parallel_chunks(hardware_threads(), 100, [](int64_t) { work_for_a_while(); });
  rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  usleep(200'000);
  getrusage(RUSAGE_SELF, &after);
  const auto us = [](const rusage& use) {
    return (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * int64_t{1'000'000} + use.ru_utime.tv_usec +
           use.ru_stime.tv_usec;
  };
  EXPECT_LT(us(after) - us(before), 50'000);  // one spinning worker would take 200,000
}

TEST(ThreadPool, ForkedChildHasAPoolOfItsOwn) {
  parallel_chunks(2, 10, [](int64_t) { work_for_a_while(); });
  EXPECT_FALSE(in_forked_child());
  EXPECT_EQ(in_child(20, [] { return in_forked_child() && each_chunk_once(4, 100) ? 7 : 1; }), 7);
  EXPECT_FALSE(in_forked_child());
}

TEST(ThreadPool, ForkWhileWorkersRun) {
  std::atomic<bool> stop{false};
  std::thread caller([&] {
    while (!stop) parallel_chunks(2, 50, [](int64_t) { work_for_a_while(); });
  });
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(in_child(20, [] { return each_chunk_once(2, 100) ? 7 : 1; }), 7) << "fork " << i;
  }
  stop = true;
  caller.join();
  EXPECT_TRUE(each_chunk_once(2, 100));
}

TEST(ThreadPool, WithoutNewThreadsTheCallerWorks) {
  if (virtual_bytes() < 0) GTEST_SKIP() << "the size of the process is not known here";
  // The child has no workers yet; idle threads take the stacks that are left (glibc keeps some of
  // the parent's) until there is no room for another one.
  const auto body = [] {
    const rlim_t bytes = static_cast<rlim_t>(virtual_bytes()) + (rlim_t{2} << 20);
    const rlimit limit{bytes, bytes};
    if (setrlimit(RLIMIT_AS, &limit) != 0) return 1;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, size_t{8} << 20);
    const auto idle = [](void*) -> void* {
      for (;;) pause();
    };
    pthread_t thread;
    int created = 0;
    while (created < 1000 && pthread_create(&thread, &attributes, idle, nullptr) == 0) ++created;
    if (created == 1000) return 2;
    return each_chunk_once(2, 100) && each_chunk_once(2, 100) ? 7 : 3;
  };
  EXPECT_EQ(in_child(20, body), 7);
}

TEST(ThreadScratch, IsAlignedAndKept) {
  for (int slot = 0; slot < 4; ++slot) {
    char* data = static_cast<char*>(thread_scratch(slot, 1000));
    ASSERT_NE(data, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
    std::memset(data, slot + 1, 1000);
  }
  for (int slot = 0; slot < 4; ++slot) {
    const char* data = static_cast<const char*>(thread_scratch(slot, 500));
    EXPECT_EQ(data, thread_scratch(slot, 1000));
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(data[i], slot + 1);
  }
}

TEST(ThreadScratch, Grows) {
  for (size_t bytes : {size_t{1}, size_t{4097}, size_t{3} << 20, size_t{3000001}}) {
    char* data = static_cast<char*>(thread_scratch(1, bytes));
    ASSERT_NE(data, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
    data[0] = data[bytes - 1] = 1;
  }
}

TEST(ThreadScratch, IsNullWhenMemoryIsShort) {
  EXPECT_EQ(thread_scratch(0, SIZE_MAX), nullptr);
  EXPECT_EQ(thread_scratch(0, SIZE_MAX / 2), nullptr);
  EXPECT_EQ(thread_scratch(-1, 1), nullptr);
  EXPECT_EQ(thread_scratch(4, 1), nullptr);
  EXPECT_NE(thread_scratch(0, 1000), nullptr);
}

TEST(ThreadScratch, IsFreedWithItsThread) {
  const int64_t before = virtual_bytes();
  if (before < 0) GTEST_SKIP() << "the size of the process is not known here";
  constexpr size_t kBytes = size_t{64} << 20;
  for (int i = 0; i < 64; ++i) {
    std::thread([&] { EXPECT_NE(thread_scratch(i % 4, kBytes), nullptr); }).join();
  }
  EXPECT_LT(virtual_bytes() - before, static_cast<int64_t>(16 * kBytes));
}

TEST(ThreadScratch, BelongsToOneThread) {
  void* mine = thread_scratch(2, 100);
  void* other = nullptr;
  std::thread([&] { other = thread_scratch(2, 100); }).join();
  EXPECT_NE(other, nullptr);
  EXPECT_EQ(mine, thread_scratch(2, 100));
}

}  // namespace
}  // namespace lanepack
