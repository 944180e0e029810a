// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <thread>

#include "calls.h"
#include "header_c99.h"

namespace lanepack_test {
namespace {

TEST(Header, HasTheLayoutOfTheAbi) {
  // ABI 2 on a 64-bit machine. A change here needs a new LANEPACK_ABI_VERSION.
  const size_t expected[] = {56, 64, 232, 232, 288, 64, 1304, 20, 56, 176, 176, 232, 56, 536};
  ASSERT_EQ(LANEPACK_ABI_VERSION, 2);
  ASSERT_EQ(kLanepackC99LayoutCount, std::size(expected));
  for (size_t i = 0; i < std::size(expected); ++i) EXPECT_EQ(kLanepackC99Layout[i], expected[i]);
}

TEST(Header, IsTheSameInCAndCpp) {
  const size_t here[] = {
      sizeof(lanepack_batch),
      sizeof(lanepack_call),
      sizeof(lanepack_qr_args),
      sizeof(lanepack_eigh_args),
      sizeof(lanepack_svd_args),
      sizeof(lanepack_problem),
      sizeof(lanepack_cuda_state),
      offsetof(lanepack_call, threads),
      offsetof(lanepack_call, info),
      offsetof(lanepack_qr_args, r),
      offsetof(lanepack_eigh_args, v),
      offsetof(lanepack_svd_args, vh),
      offsetof(lanepack_problem, batch),
      offsetof(lanepack_cuda_state, cache),
  };
  for (size_t i = 0; i < std::size(here); ++i) EXPECT_EQ(kLanepackC99Layout[i], here[i]);
  EXPECT_EQ(lanepack_c99_abi_version(), LANEPACK_ABI_VERSION);
}

TEST(Library, TellsAboutItself) {
  EXPECT_EQ(lanepack_abi_version(), LANEPACK_ABI_VERSION);
  const std::string version = lanepack_version();
  EXPECT_EQ(std::count(version.begin(), version.end(), '.'), 2) << version;
  const std::string target = lanepack_cpu_target();
  EXPECT_TRUE(target == "avx512" || target == "avx2" || target == "baseline" || target == "neon")
      << target;
  EXPECT_NE(lanepack_lapack_name(), nullptr);
}

TEST(Library, KeepsErrorsApartByThread) {
  EXPECT_EQ(lanepack_qr(nullptr), LANEPACK_STATUS_INVALID_ARGUMENT);
  const std::string text = last_error();
  EXPECT_EQ(text, "lanepack_qr: the argument is null; it must be a lanepack_qr_args");
  std::string other = "unset";
  std::thread([&] { other = lanepack_last_error(); }).join();
  EXPECT_EQ(other, "");
  EXPECT_EQ(last_error(), text);
}

}  // namespace
}  // namespace lanepack_test
