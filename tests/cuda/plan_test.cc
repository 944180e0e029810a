// SPDX-License-Identifier: Apache-2.0
// What the plans of kernels serve, and that each can be launched.
#include "backends/cuda/plan.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace lanepack::cuda {
namespace {

using Plan = bool (*)(const ProblemKey&, LaunchPlan*);

constexpr Dtype kDtypes[] = {Dtype::kF32, Dtype::kF64, Dtype::kC64, Dtype::kC128};

ProblemKey key_of(Operation operation, Dtype dtype, int64_t m, int64_t n) {
  ProblemKey key = {};
  key.operation = operation;
  key.dtype = dtype;
  key.device = kDeviceCuda;
  key.m = m;
  key.n = n;
  key.batch = 10;
  key.want_q = true;
  return key;
}

std::string text_of(const ProblemKey& key) {
  return std::to_string(static_cast<int>(key.operation)) + " of dtype " +
         std::to_string(static_cast<int>(key.dtype)) + ", " + std::to_string(key.m) + " x " +
         std::to_string(key.n) + (key.full ? ", full" : "");
}

void expect_launchable(const LaunchPlan& plan, const std::string& text) {
  ASSERT_GE(plan.count, 1) << text;
  ASSERT_LE(plan.count, LaunchPlan::kMost) << text;
  EXPECT_GE(plan.workspace_bytes, 0) << text;
  for (int i = 0; i < plan.count; ++i) {
    const KernelPlan& kernel = plan.kernels[i];
    EXPECT_EQ(kernel.threads % 32, 0) << text;
    EXPECT_GE(kernel.threads, 32) << text;
    EXPECT_LE(kernel.threads, 1024) << text;
    EXPECT_GE(kernel.matrices_per_block, 1) << text;
    EXPECT_EQ(kernel.name[std::strlen(kernel.name) - 1], '>') << text << ": " << kernel.name;
  }
}

// Every shape to 128 x 32 and 32 x 128.
template <class Visit>
void each_shape(Visit visit) {
  for (int64_t longer = 1; longer <= 128; ++longer) {
    for (int64_t shorter = 1; shorter <= 32 && shorter <= longer; ++shorter) {
      visit(longer, shorter);
      if (longer != shorter) visit(shorter, longer);
    }
  }
}

TEST(Plan, SvdServesTallAndWideToTheirSize) {
  for (const Dtype dtype : kDtypes) {
    for (const Operation operation : {Operation::kSvd, Operation::kSvdvals}) {
      each_shape([&](int64_t m, int64_t n) {
        ProblemKey key = key_of(operation, dtype, m, n);
        for (const bool full : {false, true}) {
          key.full = full;
          LaunchPlan plan;
          ASSERT_TRUE(plan_svd_warp(key, &plan)) << text_of(key);
          expect_launchable(plan, text_of(key));
          const bool tall = m > 32 || n > 32, vectors = operation == Operation::kSvd;
          EXPECT_EQ(plan.count, 2 + (tall ? 1 : 0) + (tall && vectors ? 1 : 0)) << text_of(key);
        }
      });
    }
  }
}

TEST(Plan, QrServesTallToItsSize) {
  for (const Dtype dtype : kDtypes) {
    each_shape([&](int64_t m, int64_t n) {
      if (n > 32) return;
      for (int variant = 0; variant < 3; ++variant) {
        ProblemKey key = key_of(Operation::kQr, dtype, m, n);
        key.full = variant == 1;
        key.want_q = variant != 2;
        LaunchPlan plan;
        ASSERT_TRUE(plan_qr_warp(key, &plan)) << text_of(key);
        expect_launchable(plan, text_of(key));
      }
    });
  }
}

TEST(Plan, EighServesToItsSize) {
  for (const Dtype dtype : kDtypes) {
    for (const Operation operation : {Operation::kEigh, Operation::kEigvalsh}) {
      for (int64_t n = 1; n <= 32; ++n) {
        const ProblemKey key = key_of(operation, dtype, n, n);
        LaunchPlan plan;
        ASSERT_TRUE(plan_eigh_warp(key, &plan)) << text_of(key);
        expect_launchable(plan, text_of(key));
        EXPECT_EQ(plan.count, 2) << text_of(key);
      }
    }
  }
}

// The iteration takes a warp a block to order 16 of svd and 8 of eigh, and a maker's warp above.
TEST(Plan, TheSizeOfAGroupChoosesTheIteration) {
  const auto in_a_warp = [](Plan make, Operation operation, Dtype dtype, int64_t m, int64_t n) {
    const ProblemKey key = key_of(operation, dtype, m, n);
    LaunchPlan plan;
    EXPECT_TRUE(make(key, &plan)) << text_of(key);
    const int at = m > 32 || n > 32 ? 2 : 1;
    const bool found = std::strstr(plan.kernels[at].name, "_warp<") != nullptr;
    EXPECT_EQ(plan.kernels[at].threads == 32, found) << text_of(key);
    return found;
  };
  for (const Dtype dtype : kDtypes) {
    for (int64_t n = 1; n <= 32; ++n) {
      EXPECT_EQ(in_a_warp(plan_svd_warp, Operation::kSvd, dtype, n, n), n <= 16) << n;
      EXPECT_EQ(in_a_warp(plan_svd_warp, Operation::kSvd, dtype, 36, n), n <= 16) << n;
      EXPECT_EQ(in_a_warp(plan_svd_warp, Operation::kSvd, dtype, n, 36), n <= 16) << n;
      EXPECT_EQ(in_a_warp(plan_eigh_warp, Operation::kEigh, dtype, n, n), n <= 8) << n;
    }
    // The longer side counts where both are to 32.
    EXPECT_FALSE(in_a_warp(plan_svd_warp, Operation::kSvd, dtype, 20, 8));
    EXPECT_TRUE(in_a_warp(plan_svd_warp, Operation::kSvd, dtype, 8, 16));
  }
}

TEST(Plan, LeavesWhatIsLargerToOthers) {
  for (const Dtype dtype : kDtypes) {
    LaunchPlan plan;
    EXPECT_FALSE(plan_svd_warp(key_of(Operation::kSvd, dtype, 33, 33), &plan));
    EXPECT_FALSE(plan_svd_warp(key_of(Operation::kSvd, dtype, 129, 8), &plan));
    EXPECT_FALSE(plan_svd_warp(key_of(Operation::kSvd, dtype, 8, 129), &plan));
    EXPECT_FALSE(plan_svd_warp(key_of(Operation::kSvd, dtype, 0, 8), &plan));
    EXPECT_FALSE(plan_qr_warp(key_of(Operation::kQr, dtype, 33, 33), &plan));
    EXPECT_FALSE(plan_qr_warp(key_of(Operation::kQr, dtype, 129, 8), &plan));
    EXPECT_FALSE(plan_qr_warp(key_of(Operation::kQr, dtype, 8, 0), &plan));
    EXPECT_FALSE(plan_eigh_warp(key_of(Operation::kEigh, dtype, 33, 33), &plan));
    ProblemKey jacobi = key_of(Operation::kSvd, dtype, 16, 16);
    jacobi.jacobi = true;
    EXPECT_FALSE(plan_svd_warp(jacobi, &plan));
  }
}

// The kernels divide the workspace by the batch; nothing else of a plan may depend on it.
TEST(Plan, DependsOnTheBatchInItsWorkspaceAlone) {
  for (const Plan make : {plan_svd_warp, plan_qr_warp, plan_eigh_warp}) {
    ProblemKey key = key_of(make == plan_svd_warp  ? Operation::kSvd
                            : make == plan_qr_warp ? Operation::kQr
                                                   : Operation::kEigh,
                            Dtype::kC128, make == plan_eigh_warp ? 32 : 64, 32);
    LaunchPlan one, many;
    key.batch = 1;
    ASSERT_TRUE(make(key, &one));
    key.batch = int64_t{1} << 24;
    ASSERT_TRUE(make(key, &many));
    EXPECT_GE(many.workspace_bytes, one.workspace_bytes);
    for (int i = 0; i < one.count; ++i) {
      EXPECT_STREQ(one.kernels[i].name, many.kernels[i].name);
      EXPECT_EQ(one.kernels[i].threads, many.kernels[i].threads);
    }
  }
}

}  // namespace
}  // namespace lanepack::cuda
