// SPDX-License-Identifier: Apache-2.0
// The C interface on CUDA devices, with the driver and compiler of fake_driver.h: what reaches a
// kernel, byte for byte, and what a call without elements leaves. A process for each test, as in
// host_test.cc.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "backends/cuda/plan.h"
#include "fake_driver.h"
#include "lanepack/lanepack.h"

namespace {

using lanepack::cuda::steps::view;
namespace steps = lanepack::cuda::steps;

// Addresses of a device that is not there: nothing may look at them.
void* address(uint64_t number) { return reinterpret_cast<void*>(number << 30); }

lanepack_batch column_major(void* data, int64_t batch, int64_t rows, int64_t cols) {
  return {data, rows, cols, batch, 1, rows, rows * cols};
}

class Calls : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/lanepack_calls_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    root_ = name;
    setenv("LANEPACK_CACHE_DIR", name, 1);
    setenv("LANEPACK_CUDA_LIBRARY", LANEPACK_FAKE_DRIVER, 1);
    setenv("LANEPACK_NVRTC_LIBRARY", LANEPACK_FAKE_NVRTC, 1);
    void* handle = dlopen(LANEPACK_FAKE_DRIVER, RTLD_NOW);
    ASSERT_NE(handle, nullptr);
    driver_ = reinterpret_cast<FakeDriver* (*)()>(dlsym(handle, "fake_driver"))();
  }
  void TearDown() override {
    const std::string command = "rm -rf '" + root_ + "'";
    EXPECT_EQ(std::system(command.c_str()), 0);
  }

  template <class Args>
  Args make(int32_t dtype) {
    Args args = {};
    args.call.struct_size = sizeof(Args);
    args.call.dtype = dtype;
    args.call.device = LANEPACK_DEVICE_CUDA;
    args.call.device_index = 1;
    args.call.stream = address(77);
    args.call.info = static_cast<int32_t*>(address(78));
    return args;
  }

  template <class Args, class Expected>
  void expect_launch(int (*function)(const Args*), const Args& args, const Expected& expected,
                     const std::string& kernel) {
    driver_->parameter_bytes = sizeof(expected);
    driver_->launch_count = 0;
    ASSERT_EQ(function(&args), LANEPACK_STATUS_OK) << lanepack_last_error();
    ASSERT_EQ(driver_->launch_count, 1);
    const FakeLaunch& launch = driver_->launches[0];
    EXPECT_EQ(launch.kernel, "lowered " + kernel);
    EXPECT_EQ(launch.stream, address(77));
    EXPECT_EQ(std::memcmp(launch.parameter, &expected, sizeof(expected)), 0);
  }

  std::string root_;
  FakeDriver* driver_ = nullptr;
};

// Zeros first, so that the gaps between fields are the same.
template <class Arguments>
Arguments zeroed() {
  Arguments arguments;
  std::memset(static_cast<void*>(&arguments), 0, sizeof(arguments));
  return arguments;
}

void set_view(view* v, void* data, int64_t row, int64_t column, int64_t batch, int layout) {
  v->data = data;
  v->row = row;
  v->column = column;
  v->batch = batch;
  v->layout = layout;
}

TEST_F(Calls, EighPassesItsArguments) {
  auto args = make<lanepack_eigh_args>(LANEPACK_DTYPE_F32);
  args.call.flags = LANEPACK_FLAG_UPPER;
  args.a = {address(1), 3, 3, 10000000, 7, -2, 50};
  args.w = column_major(address(2), 10000000, 3, 1);
  args.v = column_major(address(3), 10000000, 3, 3);
  auto expected = zeroed<lanepack::cuda::eigh::arguments>();
  set_view(&expected.a, address(1), 7, -2, 50, steps::kStrided);
  set_view(&expected.w, address(2), 1, 3, 3, steps::kPackedColumns);
  set_view(&expected.v, address(3), 1, 3, 9, steps::kPackedColumns);
  expected.info = args.call.info;
  expected.batch = 10000000;
  expected.n = 3;
  expected.upper = 1;
  expect_launch(lanepack_eigh, args, expected, "eigh::kernel_thread<float, 3, true>");
  EXPECT_GT(driver_->launches[0].grid[0], 1000u);

  args.v = {};
  args.call.info = nullptr;
  args.call.flags = 0;
  set_view(&expected.v, nullptr, 0, 0, 0, expected.v.layout);
  expected.v.layout = lanepack::cuda::device_view({}).layout;
  expected.info = nullptr;
  expected.upper = 0;
  expect_launch(lanepack_eigh, args, expected, "eigh::kernel_thread<float, 3, false>");
}

TEST_F(Calls, QrPassesItsArguments) {
  auto args = make<lanepack_qr_args>(LANEPACK_DTYPE_C64);
  args.a = column_major(address(1), 5, 4, 2);
  args.q = column_major(address(2), 5, 4, 4);
  args.r = column_major(address(3), 5, 4, 2);
  auto expected = zeroed<lanepack::cuda::qr::arguments>();
  set_view(&expected.a, address(1), 1, 4, 8, steps::kPackedColumns);
  set_view(&expected.q, address(2), 1, 4, 16, steps::kPackedColumns);
  set_view(&expected.r, address(3), 1, 4, 8, steps::kPackedColumns);
  expected.info = args.call.info;
  expected.batch = 5;
  expected.m = 4;
  expected.n = 2;
  expected.q_columns = 4;
  expected.r_rows = 4;
  expect_launch(lanepack_qr, args, expected, "qr::kernel_thread<simt::complex<float>, 4, 2, 4, 4>");
}

TEST_F(Calls, SvdPassesItsArguments) {
  auto args = make<lanepack_svd_args>(LANEPACK_DTYPE_F64);
  args.a = {address(1), 2, 3, 9, 3, 1, 6};
  args.u = column_major(address(2), 9, 2, 2);
  args.s = column_major(address(3), 9, 2, 1);
  args.vh = column_major(address(4), 9, 2, 3);
  auto expected = zeroed<lanepack::cuda::svd::arguments>();
  set_view(&expected.a, address(1), 3, 1, 6, steps::kPackedRows);
  set_view(&expected.u, address(2), 1, 2, 4, steps::kPackedColumns);
  set_view(&expected.s, address(3), 1, 2, 2, steps::kPackedColumns);
  set_view(&expected.vh, address(4), 1, 2, 6, steps::kPackedColumns);
  expected.info = args.call.info;
  expected.batch = 9;
  expected.m = 2;
  expected.n = 3;
  expect_launch(lanepack_svd, args, expected, "svd::kernel_thread<double, 2, 3, true, false>");
}

TEST_F(Calls, CholeskyPassesItsArguments) {
  auto args = make<lanepack_cholesky_args>(LANEPACK_DTYPE_F32);
  args.a = {address(1), 8, 8, 9, 8, 1, 64};  // row by row
  args.l = column_major(address(2), 9, 8, 8);
  auto expected = zeroed<lanepack::cuda::cholesky::arguments>();
  set_view(&expected.a, address(1), 8, 1, 64, steps::kPackedRows);
  set_view(&expected.l, address(2), 1, 8, 64, steps::kPackedColumns);
  expected.info = args.call.info;
  expected.batch = 9;
  expected.n = 8;
  expect_launch(lanepack_cholesky, args, expected, "cholesky::kernel_thread<float, 8>");

  // an upper triangle is read and written transposed; in place
  args.call.flags = LANEPACK_FLAG_UPPER;
  args.l = args.a;
  set_view(&expected.a, address(1), 1, 8, 64, steps::kPackedColumns);
  expected.l = expected.a;
  expect_launch(lanepack_cholesky, args, expected, "cholesky::kernel_thread<float, 8>");
}

TEST_F(Calls, CholeskyTakesAWarpAndABlock) {
  const struct {
    int dtype;
    int64_t n;
    const char* kernel;
    unsigned blocks, threads;
  } kCases[] = {{LANEPACK_DTYPE_F64, 20, "cholesky::kernel_rows<double, 24, 8, 64>", 1, 64},
                {LANEPACK_DTYPE_F32, 33, "cholesky::kernel_rows<float, 64, 32, 32>", 7, 32},
                {LANEPACK_DTYPE_F32, 97, "cholesky::kernel_rows<float, 128, 64, 64>", 7, 64},
                {LANEPACK_DTYPE_F64, 65, "cholesky::kernel_panels<double, 128, 128, 16>", 7, 128}};
  for (const auto& each : kCases) {
    auto args = make<lanepack_cholesky_args>(each.dtype);
    args.a = column_major(address(1), 7, each.n, each.n);
    args.l = column_major(address(2), 7, each.n, each.n);
    driver_->launch_count = 0;
    ASSERT_EQ(lanepack_cholesky(&args), LANEPACK_STATUS_OK) << lanepack_last_error();
    ASSERT_EQ(driver_->launch_count, 1);
    EXPECT_EQ(driver_->launches[0].kernel, std::string("lowered ") + each.kernel);
    EXPECT_EQ(driver_->launches[0].grid[0], each.blocks);
    EXPECT_EQ(driver_->launches[0].block[0], each.threads);
  }
}

TEST_F(Calls, SolvesPassTheirArguments) {
  auto args = make<lanepack_solve_args>(LANEPACK_DTYPE_C64);
  args.call.info = nullptr;
  args.call.flags = LANEPACK_FLAG_RIGHT | LANEPACK_FLAG_CONJUGATE | LANEPACK_FLAG_UNIT_DIAGONAL;
  args.a = {address(1), 4, 4, 50, 4, 1, 0};  // one factor for all
  args.b = column_major(address(2), 50, 6, 4);
  args.x = args.b;  // in place
  auto expected = zeroed<lanepack::cuda::solve::arguments>();
  // X A = B with a lower A is A^T X^T = B^T with an upper one
  set_view(&expected.a, address(1), 1, 4, 0, steps::kStrided);
  set_view(&expected.b, address(2), 6, 1, 24, steps::kPackedRows);
  expected.x = expected.b;
  expected.batch = 50;
  expected.columns = 6;
  expected.n = 4;
  expected.conjugate = 1;
  expected.unit = 1;
  expected.passes = 1;
  expect_launch(lanepack_solve_triangular, args, expected,
                "solve::kernel_thread<simt::complex<float>, 4, 8, false, false>");
  EXPECT_EQ(driver_->launches[0].grid[0], 5u);  // 300 right-hand sides, 64 to a block

  args.call.flags = LANEPACK_FLAG_UPPER;
  args.b = args.x = column_major(address(2), 50, 4, 3);
  set_view(&expected.b, address(2), 1, 4, 12, steps::kPackedColumns);
  expected.x = expected.b;
  expected.columns = 3;
  expected.lower = 1;  // U^H stands first
  expected.unit = 0;
  expected.passes = 2;
  expect_launch(lanepack_cholesky_solve, args, expected,
                "solve::kernel_matrix<simt::complex<float>, 4, 3, true>");
}

TEST_F(Calls, ManyRightHandSidesAreBlocksOfTheGrid) {
  auto args = make<lanepack_solve_args>(LANEPACK_DTYPE_F32);
  args.call.info = nullptr;
  args.a = column_major(address(1), 3, 20, 20);
  args.b = column_major(address(2), 3, 20, 100);
  args.x = column_major(address(3), 3, 20, 100);
  ASSERT_EQ(lanepack_solve_triangular(&args), LANEPACK_STATUS_OK) << lanepack_last_error();
  ASSERT_EQ(driver_->launch_count, 1);
  const FakeLaunch& launch = driver_->launches[0];
  EXPECT_STREQ(launch.kernel, "lowered solve::kernel_panel<float, 20, 32, false, 64, 8>");
  EXPECT_EQ(launch.grid[0], 6u);  // 3 matrices in 4 parts, 2 parts to a block
}

TEST_F(Calls, AnInverseHasNoKernel) {
  auto args = make<lanepack_cholesky_inverse_args>(LANEPACK_DTYPE_F32);
  args.call.info = nullptr;
  args.l = column_major(address(1), 3, 4, 4);
  args.x = column_major(address(2), 3, 4, 4);
  EXPECT_EQ(lanepack_cholesky_inverse(&args), LANEPACK_STATUS_UNSUPPORTED);
}

TEST_F(Calls, EverySmallSizeHasAKernel) {
  for (int32_t dtype = LANEPACK_DTYPE_F32; dtype <= LANEPACK_DTYPE_C128; ++dtype) {
    for (int64_t n = 1; n <= 6; ++n) {
      auto args = make<lanepack_eigh_args>(dtype);
      args.a = column_major(address(1), 3, n, n);
      args.w = column_major(address(2), 3, n, 1);
      args.v = column_major(address(3), 3, n, n);
      EXPECT_EQ(lanepack_eigh(&args), LANEPACK_STATUS_OK) << lanepack_last_error();
    }
  }
}

TEST_F(Calls, EveryOrderHasAKernelOfCholeskyAndTheSolves) {
  for (int32_t dtype = LANEPACK_DTYPE_F32; dtype <= LANEPACK_DTYPE_C128; ++dtype) {
    const int64_t most_factored = 128;
    const int64_t most_solved = dtype == LANEPACK_DTYPE_C128 ? 64 : 128;
    for (int64_t n = 1; n <= most_factored + 1; ++n) {
      auto args = make<lanepack_cholesky_args>(dtype);
      args.a = column_major(address(1), 3, n, n);
      args.l = column_major(address(2), 3, n, n);
      EXPECT_EQ(lanepack_cholesky(&args),
                n <= most_factored ? LANEPACK_STATUS_OK : LANEPACK_STATUS_UNSUPPORTED)
          << n << ": " << lanepack_last_error();
    }
    for (int64_t n = 1; n <= most_solved + 1; ++n) {
      for (const int64_t columns : {1, 2, 3, 8, 9, 16, 17, 500}) {
        auto args = make<lanepack_solve_args>(dtype);
        args.call.info = nullptr;
        args.a = column_major(address(1), 3, n, n);
        args.b = column_major(address(2), 3, n, columns);
        args.x = column_major(address(3), 3, n, columns);
        EXPECT_EQ(lanepack_solve_triangular(&args),
                  n <= most_solved ? LANEPACK_STATUS_OK : LANEPACK_STATUS_UNSUPPORTED)
            << n << ": " << lanepack_last_error();
        EXPECT_EQ(lanepack_cholesky_solve(&args),
                  n <= most_solved ? LANEPACK_STATUS_OK : LANEPACK_STATUS_UNSUPPORTED)
            << n << ": " << lanepack_last_error();
      }
    }
  }
}

TEST_F(Calls, AWarpsEighAsksForWorkspaceAndLaunchesTwice) {
  auto args = make<lanepack_eigh_args>(LANEPACK_DTYPE_F32);
  args.a = column_major(address(1), 7, 16, 16);
  args.w = column_major(address(2), 7, 16, 1);
  args.v = column_major(address(3), 7, 16, 16);
  EXPECT_EQ(lanepack_eigh(&args), LANEPACK_STATUS_WORKSPACE_TOO_SMALL);
  int64_t bytes = -1;
  ASSERT_EQ(lanepack_eigh_workspace(&args, &bytes), LANEPACK_STATUS_OK) << lanepack_last_error();
  ASSERT_GT(bytes, 0);
  args.call.workspace = address(9);
  args.call.workspace_bytes = bytes;
  driver_->parameter_bytes = sizeof(lanepack::cuda::eigh::arguments);
  ASSERT_EQ(lanepack_eigh(&args), LANEPACK_STATUS_OK) << lanepack_last_error();
  ASSERT_EQ(driver_->launch_count, 2);
  lanepack::cuda::eigh::arguments passed;
  for (int i = 0; i < 2; ++i) {
    std::memcpy(static_cast<void*>(&passed), driver_->launches[i].parameter, sizeof(passed));
    EXPECT_EQ(passed.workspace, address(9));
    EXPECT_EQ(passed.batch, 7);
  }
}

TEST_F(Calls, WhatHasNoKernelIsSaidSo) {
  auto args = make<lanepack_svd_args>(LANEPACK_DTYPE_F32);
  args.call.flags = LANEPACK_FLAG_JACOBI;
  args.a = column_major(address(1), 3, 700, 700);
  args.u = column_major(address(2), 3, 700, 700);
  args.s = column_major(address(3), 3, 700, 1);
  args.vh = column_major(address(4), 3, 700, 700);
  EXPECT_EQ(lanepack_svd(&args), LANEPACK_STATUS_UNSUPPORTED);
  EXPECT_STREQ(lanepack_last_error(),
               "lanepack_svd: no algorithm of this library serves svd f32 of 700 x 700 on CUDA");
  int64_t bytes = -1;
  EXPECT_EQ(lanepack_svd_workspace(&args, &bytes), LANEPACK_STATUS_UNSUPPORTED);
}

TEST_F(Calls, TheFieldsOfADeviceAreChecked) {
  auto args = make<lanepack_eigh_args>(LANEPACK_DTYPE_F32);
  args.a = column_major(address(1), 3, 2, 2);
  args.w = column_major(address(2), 3, 2, 1);
  args.v = column_major(address(3), 3, 2, 2);
  args.call.device_index = 9;
  EXPECT_EQ(lanepack_eigh(&args), LANEPACK_STATUS_INVALID_ARGUMENT);
  EXPECT_STREQ(lanepack_last_error(),
               "lanepack_eigh: device_index is 9; the driver shows 2 devices");
  args.call.device_index = -1;
  EXPECT_EQ(lanepack_eigh(&args), LANEPACK_STATUS_INVALID_ARGUMENT);
  EXPECT_STREQ(lanepack_last_error(), "lanepack_eigh: device_index is -1; it must not be negative");
  args.call.device_index = 0;
  args.call.workspace = reinterpret_cast<void*>(uintptr_t{8});
  EXPECT_EQ(lanepack_eigh(&args), LANEPACK_STATUS_INVALID_ARGUMENT);
  EXPECT_NE(std::string(lanepack_last_error()).find("aligned to 16 bytes"), std::string::npos);
}

TEST_F(Calls, ComplexNumbersAreAlignedAsAWhole) {
  auto args = make<lanepack_cholesky_args>(LANEPACK_DTYPE_C64);
  args.a = column_major(static_cast<char*>(address(1)) + 4, 3, 2, 2);
  args.l = column_major(address(2), 3, 2, 2);
  EXPECT_EQ(lanepack_cholesky(&args), LANEPACK_STATUS_INVALID_ARGUMENT);
  EXPECT_NE(std::string(lanepack_last_error()).find("aligned to 8 bytes"), std::string::npos)
      << lanepack_last_error();
  args.a.data = static_cast<char*>(address(1)) + 8;
  EXPECT_EQ(lanepack_cholesky(&args), LANEPACK_STATUS_OK) << lanepack_last_error();
}

TEST_F(Calls, WithoutElementsIdentitiesAndInfoAreWritten) {
  auto args = make<lanepack_qr_args>(LANEPACK_DTYPE_C128);
  args.a = column_major(nullptr, 4, 3, 0);
  args.q = column_major(address(2), 4, 3, 3);
  args.r = column_major(nullptr, 4, 3, 0);
  ASSERT_EQ(lanepack_qr(&args), LANEPACK_STATUS_OK) << lanepack_last_error();
  // Zeros over all of q, ones of each of three diagonal places of four matrices, zeros in info.
  ASSERT_EQ(driver_->fill_count, 5);
  const auto base = reinterpret_cast<uintptr_t>(address(2));
  EXPECT_EQ(driver_->fills[0].data, base);
  EXPECT_EQ(driver_->fills[0].width, 4u * 9 * 4);
  EXPECT_EQ(driver_->fills[0].value, 0u);
  for (unsigned k = 0; k < 3; ++k) {
    const FakeFill& ones = driver_->fills[1 + k];
    EXPECT_EQ(ones.data, base + k * 4 * 16 + 4);
    EXPECT_EQ(ones.pitch, 9u * 16);
    EXPECT_EQ(ones.width, 1u);
    EXPECT_EQ(ones.height, 4u);
    EXPECT_EQ(ones.value, 0x3ff00000u);
    EXPECT_EQ(ones.stream, address(77));
  }
  EXPECT_EQ(driver_->fills[4].data, reinterpret_cast<uintptr_t>(address(78)));
  EXPECT_EQ(driver_->fills[4].width, 4u);
  EXPECT_EQ(driver_->launch_count, 0);
}

TEST_F(Calls, RoutesByThePolicyOfTheDevice) {
  lanepack_problem problem = {};
  problem.struct_size = sizeof(problem);
  problem.operation = LANEPACK_OPERATION_EIGH;
  problem.device = LANEPACK_DEVICE_CUDA;
  problem.m = problem.n = 4;
  problem.batch = 10;
  char identifier[64];
  const auto route = [&] { return lanepack_route(&problem, identifier, sizeof(identifier)); };
  ASSERT_EQ(route(), LANEPACK_STATUS_OK) << lanepack_last_error();
  EXPECT_STREQ(identifier, "eigh.small.thread");
  ASSERT_EQ(lanepack_policy_set("eigh", LANEPACK_DEVICE_CUDA, "gpu_min_batch", 11), 0);
  EXPECT_EQ(route(), LANEPACK_STATUS_OK);
  EXPECT_STREQ(identifier, "eigh.vendor");
  problem.routing = LANEPACK_ROUTING_INVARIANT;  // does not look at the batch
  EXPECT_EQ(route(), LANEPACK_STATUS_OK);
  EXPECT_STREQ(identifier, "eigh.small.thread");
  ASSERT_EQ(lanepack_policy_reset("eigh", LANEPACK_DEVICE_CUDA), 0);
  problem.device = LANEPACK_DEVICE_CPU;
  ASSERT_EQ(route(), LANEPACK_STATUS_OK);
  EXPECT_NE(std::string(identifier), "eigh.small.thread");
}

}  // namespace
