// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <sstream>
#include <string>
#include <thread>

#include "calls.h"

namespace lanepack_test {
namespace {

constexpr int32_t kCpu = LANEPACK_DEVICE_CPU;
constexpr int32_t kCuda = LANEPACK_DEVICE_CUDA;
constexpr const char* kFamilies[] = {"qr", "eigh", "svd"};

class Policy : public testing::Test {
 protected:
  void TearDown() override {
    for (const char* family : kFamilies) {
      lanepack_policy_reset(family, kCpu);
      lanepack_policy_reset(family, kCuda);
    }
  }
};

int64_t get(const char* family, const std::string& name, int32_t device = kCpu) {
  int64_t value = -1;
  EXPECT_EQ(lanepack_policy_get(family, device, name.c_str(), &value), LANEPACK_STATUS_OK)
      << lanepack_last_error();
  return value;
}

void read_set_and_reset(const char* family, int32_t device) {
  ASSERT_NE(lanepack_policy_names(family, device), nullptr);
  std::istringstream names(lanepack_policy_names(family, device));
  int count = 0;
  for (std::string name; names >> name; ++count) {
    const int64_t built_in = get(family, name, device);
    EXPECT_GE(built_in, 0) << name;
    ASSERT_EQ(lanepack_policy_set(family, device, name.c_str(), 1234), LANEPACK_STATUS_OK);
    EXPECT_EQ(get(family, name, device), 1234);
    ASSERT_EQ(lanepack_policy_reset(family, device), LANEPACK_STATUS_OK);
    EXPECT_EQ(get(family, name, device), built_in);
  }
  EXPECT_GE(count, 8) << family;
  EXPECT_EQ(count % 4, 0) << family;
}

TEST_F(Policy, EveryNameIsReadSetAndReset) {
  for (const char* family : kFamilies) {
    read_set_and_reset(family, kCpu);
    read_set_and_reset(family, kCuda);
  }
}

TEST_F(Policy, KindsOfDevicesAreApart) {
  int64_t value = 0;
  EXPECT_EQ(lanepack_policy_get("eigh", kCpu, "warp_max_n", &value),
            LANEPACK_STATUS_INVALID_ARGUMENT);
  EXPECT_EQ(lanepack_policy_get("eigh", kCuda, "lanes_max_n", &value),
            LANEPACK_STATUS_INVALID_ARGUMENT);
  const int64_t warp = get("eigh", "warp_max_n", kCuda);
  ASSERT_EQ(lanepack_policy_set("eigh", kCuda, "warp_max_n", warp + 1), LANEPACK_STATUS_OK);
  ASSERT_EQ(lanepack_policy_reset("eigh", kCpu), LANEPACK_STATUS_OK);
  EXPECT_EQ(get("eigh", "warp_max_n", kCuda), warp + 1);
}

TEST_F(Policy, OneNameLeavesTheOthers) {
  const int64_t double_value = get("eigh", "lanes_max_n_f64");
  const int64_t of_svd = get("svd", "lanes_max_n");
  ASSERT_EQ(lanepack_policy_set("eigh", kCpu, "lanes_max_n", 7), LANEPACK_STATUS_OK);
  EXPECT_EQ(get("eigh", "lanes_max_n_f64"), double_value);
  EXPECT_EQ(get("svd", "lanes_max_n"), of_svd);
}

TEST_F(Policy, RefusesWhatItDoesNotKnow) {
  constexpr int kInvalid = LANEPACK_STATUS_INVALID_ARGUMENT;
  int64_t value = 0;
  EXPECT_EQ(lanepack_policy_set("lu", kCpu, "lanes_max_n", 1), kInvalid);
  EXPECT_EQ(last_error(),
            "lanepack_policy_set: family is 'lu'; it must be one of: qr eigh svd cholesky solve");
  EXPECT_EQ(lanepack_policy_set(nullptr, kCpu, "lanes_max_n", 1), kInvalid);
  for (const char* name : {"lanes_max", "lanes_max_n_", "lanes_max_n_f6", "", "tall_min_ratio"}) {
    EXPECT_EQ(lanepack_policy_get("eigh", kCpu, name, &value), kInvalid) << name;
    EXPECT_NE(last_error().find("it must be one of: lanes_max_n lanes_max_n_f64"),
              std::string::npos)
        << lanepack_last_error();
  }
  EXPECT_EQ(lanepack_policy_get("eigh", kCpu, nullptr, &value), kInvalid);
  EXPECT_EQ(lanepack_policy_get("eigh", kCpu, "lanes_max_n", nullptr), kInvalid);
  EXPECT_EQ(lanepack_policy_names("lu", kCpu), nullptr);
  EXPECT_EQ(lanepack_policy_names(nullptr, kCpu), nullptr);
  EXPECT_EQ(lanepack_policy_names("qr", 9), nullptr);
  EXPECT_EQ(lanepack_policy_reset("lu", kCpu), kInvalid);
  EXPECT_EQ(lanepack_policy_reset("qr", 9), kInvalid);
  EXPECT_EQ(lanepack_policy_reset("qr", LANEPACK_DEVICE_METAL), LANEPACK_STATUS_UNSUPPORTED);
}

TEST_F(Policy, HoldsItsBounds) {
  const int64_t before = get("qr", "lanes_max_n");
  for (int64_t value : {int64_t{-1}, int64_t{1} << 31, INT64_MIN, INT64_MAX}) {
    EXPECT_EQ(lanepack_policy_set("qr", kCpu, "lanes_max_n", value),
              LANEPACK_STATUS_INVALID_ARGUMENT);
    EXPECT_NE(last_error().find("it must be from 0 to 2147483647"), std::string::npos);
  }
  EXPECT_EQ(get("qr", "lanes_max_n"), before);
  EXPECT_EQ(lanepack_policy_set("qr", kCpu, "lanes_max_n", 2147483647), LANEPACK_STATUS_OK);
  EXPECT_EQ(get("qr", "lanes_max_n"), 2147483647);
}

TEST_F(Policy, ReadersSeeWholeValues) {
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int i = 0; i < 20000; ++i) {
      lanepack_policy_set("eigh", kCpu, "lanes_max_n", i % 2 == 0 ? 11 : 2000000000);
    }
    stop = true;
  });
  lanepack_policy_set("eigh", kCpu, "lanes_max_n", 11);
  int others = 0;
  while (!stop) {
    const int64_t value = get("eigh", "lanes_max_n");
    others += value != 11 && value != 2000000000;
  }
  writer.join();
  EXPECT_EQ(others, 0);
}

}  // namespace
}  // namespace lanepack_test
