// SPDX-License-Identifier: Apache-2.0
// The emulator's own test: broken kernels must be reported by the name of their fault, correct ones
// pass, in every order of lanes.
#include <gtest/gtest.h>

#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "buffers.h"
#include "launch.h"
#include "self_kernels.h"

namespace lanepack::emulator {
namespace {

constexpr Order kOrders[] = {Order::kAscending, Order::kDescending, Order::kShuffled};

struct Outcome {
  Reports reports;
  std::vector<float> out;
};

// `outputs` numbers of `out` must be written; `in` has the numbers i / inputs.
Outcome run(const std::string& name, int blocks, int inputs, int outputs, Order order,
            uint64_t seed = 7, int count = -1) {
  Outcome outcome;
  Memory memory(&outcome.reports);
  Buffers buffers(&memory);
  std::vector<float> in(static_cast<size_t>(inputs));
  for (int i = 0; i < inputs; ++i) in[static_cast<size_t>(i)] = static_cast<float>(i) / inputs;
  self_test::arguments arguments = {};
  arguments.in =
      reinterpret_cast<float*>(buffers.add("in", Use::kInput, in.data(), inputs * 4, 4)->base);
  Array* out = buffers.add("out", Use::kOutput, nullptr, outputs * 4, 4);
  arguments.out = reinterpret_cast<float*>(out->base);
  arguments.count = count < 0 ? inputs : count;
  Launch launch;
  launch.kernel = name;
  launch.blocks = blocks;
  launch.threads = 64;
  launch.order = order;
  launch.seed = seed;
  launch.step_limit = 100'000;
  launch.arguments = &arguments;
  for (int i = 0; i < kSelfKernelCount; ++i) {
    if (name == kSelfKernels[i].name) launch.kernel_entry = kSelfKernels[i].run;
  }
  if (launch.kernel_entry == nullptr) {
    ADD_FAILURE() << "no kernel " << name;
    return outcome;
  }
  run_launch(launch, &memory, &outcome.reports);
  if (outcome.reports.all().empty()) memory.report_unwritten();
  outcome.out.resize(static_cast<size_t>(outputs));
  std::memcpy(outcome.out.data(), out->base, static_cast<size_t>(outputs) * 4);
  return outcome;
}

// ---- correct kernels ----

struct Correct {
  const char* name;
  int blocks, inputs, outputs, count;
};

void PrintTo(const Correct& kernel, std::ostream* out) { *out << kernel.name; }

class CorrectKernel : public testing::TestWithParam<Correct> {};

TEST_P(CorrectKernel, IsNotReportedAndGivesTheSameInEveryOrder) {
  const Correct& kernel = GetParam();
  std::vector<float> first;
  for (const Order order : kOrders) {
    for (const uint64_t seed : {1, 2, 3}) {
      const Outcome outcome =
          run(kernel.name, kernel.blocks, kernel.inputs, kernel.outputs, order, seed, kernel.count);
      EXPECT_EQ(outcome.reports.describe(), "")
          << "order " << static_cast<int>(order) << ", seed " << seed;
      if (first.empty()) first = outcome.out;
      EXPECT_EQ(outcome.out, first) << "order " << static_cast<int>(order);
      if (order != Order::kShuffled) break;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Emulator, CorrectKernel,
                         testing::Values(Correct{"correct::reduce", 2, 300, 5, 300},
                                         Correct{"correct::transpose", 2, 21 * 64, 21 * 64, 21},
                                         Correct{"correct::staged_copy", 3, 1003, 1003, 1003},
                                         Correct{"correct::words", 2, 1, 128, 1},
                                         Correct{"correct::roles", 2, 32, 128, 64},
                                         Correct{"correct::through_device", 2, 64, 128, 64},
                                         Correct{"correct::private_array", 2, 128, 128, 4}),
                         [](const auto& info) { return std::string(info.param.name).substr(9); });

TEST(Emulator, ReduceAndWordsGiveTheirResults) {
  const Outcome sums = run("correct::reduce", 2, 128, 2, Order::kShuffled);
  EXPECT_EQ(sums.out, (std::vector<float>{15.75f, 47.75f}));
  const Outcome words = run("correct::words", 2, 1, 128, Order::kShuffled);
  EXPECT_EQ(words.out, std::vector<float>(128, 1.0f));
}

// ---- broken kernels ----

struct Broken {
  const char* name;
  Fault fault;
  const char* said;  // a part of the report
  bool by_accesses;  // found by the checks of memory
  int blocks = 1;
  int outputs = 64;
};

void PrintTo(const Broken& kernel, std::ostream* out) { *out << kernel.name; }

bool is_race(Fault fault) {
  return fault == Fault::kSharedRace || fault == Fault::kDeviceRace || fault == Fault::kBlockRace;
}

class BrokenKernel : public testing::TestWithParam<Broken> {};

TEST_P(BrokenKernel, IsReported) {
  const Broken& kernel = GetParam();
  if (kernel.by_accesses && !kChecked) GTEST_SKIP() << "this compiler's accesses are not seen";
  const std::string name = std::string("broken::") + kernel.name;
  for (const Order order : kOrders) {
    const Outcome outcome = run(name, kernel.blocks, 64 * kernel.blocks, kernel.outputs, order);
    const std::string text = outcome.reports.describe();
    EXPECT_TRUE(outcome.reports.has(kernel.fault))
        << "order " << static_cast<int>(order) << ": " << text;
    EXPECT_NE(text.find(kernel.said), std::string::npos) << text;
    EXPECT_NE(text.find(name), std::string::npos) << text;
    // Nothing else, but that a read without order may come ahead of the write.
    for (const Report& report : outcome.reports.all()) {
      EXPECT_TRUE(report.fault == kernel.fault ||
                  (is_race(kernel.fault) && report.fault == Fault::kUninitialised))
          << text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Emulator, BrokenKernel,
    testing::Values(
        Broken{"missing_barrier", Fault::kSharedRace, "part[", true},
        Broken{"missing_group_sync", Fault::kSharedRace, "part[", true},
        Broken{"sync_of_a_smaller_group", Fault::kSharedRace, "part[", true},
        Broken{"missing_barrier_of_a_loop", Fault::kSharedRace, "part[", true},
        Broken{"two_writers", Fault::kSharedRace, "flag[0]", true},
        Broken{"race_in_device_memory", Fault::kDeviceRace, "out[", true},
        Broken{"device_memory_of_another_group", Fault::kDeviceRace, "out[", true},
        Broken{"blocks_write_the_same", Fault::kBlockRace, "out[", true, 2},
        Broken{"block_reads_another", Fault::kBlockRace, "out[", true, 2, 128},
        Broken{"divergent_barrier", Fault::kDivergentBarrier, "broken_kernels.simt.h:", false},
        Broken{"warp_at_two_places", Fault::kDivergentBarrier,
               "lane 48 of block 0 waits at meet_block", false},
        Broken{"different_barriers", Fault::kDivergentBarrier, "waits at sync_block", false},
        Broken{"early_return", Fault::kExitBeforeBarrier, "is done", false},
        Broken{"early_return_of_a_group", Fault::kExitBeforeBarrier, "lane 13", false},
        Broken{"divergent_shuffle", Fault::kDivergentWord, "shuffle_xor", false},
        Broken{"different_words", Fault::kDivergentWord, "max", false},
        Broken{"different_distances", Fault::kDivergentWord, "with ", false},
        Broken{"lane_outside_the_group", Fault::kDivergentWord, "for lane 8", false},
        Broken{"one_turn_more", Fault::kExitBeforeBarrier, "lane 7", false},
        Broken{"shared_read_outside", Fault::kOutOfBounds, "part[64]", true},
        Broken{"shared_write_outside", Fault::kOutOfBounds, "part[-1]", true},
        Broken{"device_read_outside", Fault::kOutOfBounds, "in[", true},
        Broken{"device_write_outside", Fault::kOutOfBounds, "out[", true},
        Broken{"null_pointer", Fault::kOutOfBounds, "no array", true},
        Broken{"write_to_an_input", Fault::kReadOnlyWrite, "in[", true},
        Broken{"misaligned", Fault::kMisaligned, "lane 9", true},
        Broken{"private_pointer", Fault::kPrivateLeak, "private memory of lane", true},
        Broken{"private_index", Fault::kUndefined, "index outside", true},
        Broken{"uninitialised_shared", Fault::kUninitialised, "part[40]", true},
        Broken{"uninitialised_output", Fault::kUninitialised, "out[", true},
        Broken{"output_not_whole", Fault::kNotWritten, "out[17]", true},
        Broken{"endless_loop", Fault::kEndlessLoop, "100000 steps", true},
        Broken{"too_much_shared_memory", Fault::kLimits, "65536 bytes", false}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Emulator, TheNumberOfReportsIsBounded) {
  const Outcome outcome = run("broken::missing_barrier", 1, 64, 64, Order::kAscending);
  EXPECT_LE(outcome.reports.all().size(), 12u);
  EXPECT_LE(outcome.reports.describe().size(), 8000u);
}

}  // namespace
}  // namespace lanepack::emulator
