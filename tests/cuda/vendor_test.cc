// SPDX-License-Identifier: Apache-2.0
// cuSOLVER's side of the C interface, on stand-ins for it, the driver and NVRTC: handles, streams,
// workspaces, parts of a batch, what is said where something fails. What is computed is tested with
// the emulator (tests/conformance). A process for each test, as in host_test.cc.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "backends/cuda/plan.h"
#include "backends/vendor_cuda/plan.h"
#include "fake_cusolver.h"
#include "fake_driver.h"
#include "lanepack/lanepack.h"

namespace {

using lanepack::vendor_cuda::vendor::arguments;

template <class State>
State* state_of(const char* file, const char* name) {
  void* handle = dlopen(file, RTLD_NOW);
  return handle == nullptr ? nullptr : reinterpret_cast<State* (*)()>(dlsym(handle, name))();
}

class Vendor : public testing::Test {
 protected:
  static constexpr int64_t kOrder = 40;

  void SetUp() override {
    char name[] = "/tmp/lanepack_vendor_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    root_ = name;
    setenv("LANEPACK_CACHE_DIR", name, 1);
    if (std::getenv("LANEPACK_TEST_LAPACK") == nullptr) {
      GTEST_SKIP() << "LANEPACK_TEST_LAPACK names no LAPACK for the stand-in to compute with";
    }
    setenv("LANEPACK_CUDA_LIBRARY", LANEPACK_FAKE_DRIVER, 1);
    setenv("LANEPACK_NVRTC_LIBRARY", LANEPACK_FAKE_NVRTC, 1);
    setenv("LANEPACK_CUSOLVER_LIBRARY", LANEPACK_FAKE_CUSOLVER, 1);
    setenv("LANEPACK_CUBLAS_LIBRARY", LANEPACK_FAKE_CUSOLVER, 1);
    driver_ = state_of<FakeDriver>(LANEPACK_FAKE_DRIVER, "fake_driver");
    solver_ = state_of<FakeSolver>(LANEPACK_FAKE_CUSOLVER, "fake_cusolver");
    ASSERT_NE(driver_, nullptr);
    ASSERT_NE(solver_, nullptr);
    driver_->parameter_bytes = sizeof(arguments);
  }
  void TearDown() override {
    const std::string command = "rm -rf '" + root_ + "'";
    EXPECT_EQ(std::system(command.c_str()), 0);
  }

  // eigh of `batch` matrices; the kernels do not run here, so that the numbers do not count.
  lanepack_eigh_args eigh(int64_t batch, int32_t routing = LANEPACK_ROUTING_FASTEST) {
    const int64_t n = kOrder;
    a_.assign(static_cast<size_t>(batch * n * n), 0.0f);
    v_ = a_;
    w_.assign(static_cast<size_t>(batch * n), 0.0f);
    info_.assign(static_cast<size_t>(batch), 0);
    lanepack_eigh_args args = {};
    args.call.struct_size = sizeof(args);
    args.call.dtype = LANEPACK_DTYPE_F32;
    args.call.device = LANEPACK_DEVICE_CUDA;
    args.call.routing = routing;
    args.call.stream = &root_;
    args.call.info = info_.data();
    args.a = {a_.data(), n, n, batch, 1, n, n * n};
    args.w = {w_.data(), n, 1, batch, 1, n, n};
    args.v = {v_.data(), n, n, batch, 1, n, n * n};
    return args;
  }

  int run(lanepack_eigh_args* args) {
    int64_t bytes = 0;
    const int status = lanepack_eigh_workspace(args, &bytes);
    if (status != LANEPACK_STATUS_OK) return status;
    workspace_.assign(static_cast<size_t>(bytes), 0);
    args->call.workspace = workspace_.data();
    args->call.workspace_bytes = bytes;
    return lanepack_eigh(args);
  }

  std::string kernel(int index) const { return driver_->launches[index].kernel; }

  std::string root_;
  FakeDriver* driver_ = nullptr;
  FakeSolver* solver_ = nullptr;
  std::vector<float> a_, v_, w_;
  std::vector<int32_t> info_;
  std::vector<unsigned char> workspace_;
};

TEST_F(Vendor, RunsOneBatchedRoutineBetweenTheKernels) {
  auto args = eigh(5);
  ASSERT_EQ(run(&args), LANEPACK_STATUS_OK) << lanepack_last_error();
  EXPECT_STREQ(solver_->problem, "");
  EXPECT_EQ(solver_->batched_calls, 1);
  EXPECT_EQ(solver_->single_calls, 0);
  EXPECT_EQ(solver_->largest_batch, 5);
  EXPECT_EQ(solver_->stream, &root_);
  ASSERT_EQ(driver_->launch_count, 5);
  EXPECT_EQ(kernel(0), "lowered vendor::kernel_measure<float>");
  EXPECT_EQ(kernel(1), "lowered vendor::kernel_prepare<float, float>");
  EXPECT_EQ(kernel(2), "lowered vendor::kernel_report<float, float>");
  EXPECT_EQ(kernel(3), "lowered vendor::kernel_finish<float, float>");
  EXPECT_EQ(kernel(4), "lowered vendor::kernel_finish<float, float>");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(driver_->launches[i].stream, &root_);
  EXPECT_EQ(driver_->context_depth, 0) << "a context was left current";
  arguments last = {};
  std::memcpy(&last, driver_->launches[4].parameter, sizeof(last));
  EXPECT_EQ(last.matrix.data, v_.data());
  EXPECT_EQ(last.batch, 5);
  EXPECT_EQ(last.lines, kOrder);
}

TEST_F(Vendor, TakesOneMatrixWithTheOtherRoutine) {
  auto args = eigh(1);
  ASSERT_EQ(run(&args), LANEPACK_STATUS_OK) << lanepack_last_error();
  EXPECT_EQ(solver_->batched_calls, 0);
  EXPECT_EQ(solver_->single_calls, 1);
}

TEST_F(Vendor, TakesOneMatrixAfterTheOtherUnderInvariant) {
  auto args = eigh(7, LANEPACK_ROUTING_INVARIANT);
  ASSERT_EQ(run(&args), LANEPACK_STATUS_OK) << lanepack_last_error();
  EXPECT_STREQ(solver_->problem, "");
  EXPECT_EQ(solver_->batched_calls, 0);
  EXPECT_EQ(solver_->single_calls, 7);
}

TEST_F(Vendor, CutsABatchThatAsksForTooMuchMemory) {
  solver_->bytes_of_matrix = int64_t{100} << 20;
  auto args = eigh(25);
  int64_t bytes = 0;
  ASSERT_EQ(lanepack_eigh_workspace(&args, &bytes), LANEPACK_STATUS_OK) << lanepack_last_error();
  EXPECT_LE(bytes, int64_t{1} << 30);
  EXPECT_GT(bytes, int64_t{9} * 100 << 20);
  // Memory that is never touched.
  const std::unique_ptr<unsigned char[]> workspace(new unsigned char[static_cast<size_t>(bytes)]);
  args.call.workspace = workspace.get();
  args.call.workspace_bytes = bytes;
  ASSERT_EQ(lanepack_eigh(&args), LANEPACK_STATUS_OK) << lanepack_last_error();
  EXPECT_STREQ(solver_->problem, "");
  EXPECT_EQ(solver_->batched_calls, 3);
  EXPECT_LE(solver_->largest_batch, 10);
  EXPECT_EQ(driver_->launch_count, 3 * 5);
}

TEST_F(Vendor, ChecksTheWorkspace) {
  auto args = eigh(5);
  ASSERT_EQ(run(&args), LANEPACK_STATUS_OK) << lanepack_last_error();
  args.call.workspace_bytes -= 1;
  EXPECT_EQ(lanepack_eigh(&args), LANEPACK_STATUS_WORKSPACE_TOO_SMALL);
  EXPECT_NE(std::string(lanepack_last_error()).find("it must have"), std::string::npos);
}

TEST_F(Vendor, AlignsWhatItGets) {
  auto args = eigh(5);
  int64_t bytes = 0;
  ASSERT_EQ(lanepack_eigh_workspace(&args, &bytes), LANEPACK_STATUS_OK) << lanepack_last_error();
  workspace_.assign(static_cast<size_t>(bytes) + 256, 0);
  const auto address = reinterpret_cast<uintptr_t>(workspace_.data());
  args.call.workspace = workspace_.data() + (256 - address % 256) % 256 + 16;
  args.call.workspace_bytes = bytes;
  ASSERT_EQ(lanepack_eigh(&args), LANEPACK_STATUS_OK) << lanepack_last_error();
  EXPECT_STREQ(solver_->problem, "");
}

TEST_F(Vendor, KeepsAHandleForAStream) {
  int other = 0;
  auto args = eigh(5);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(run(&args), LANEPACK_STATUS_OK) << lanepack_last_error();
  EXPECT_EQ(solver_->created, 1);
  args.call.stream = &other;
  ASSERT_EQ(run(&args), LANEPACK_STATUS_OK) << lanepack_last_error();
  EXPECT_EQ(solver_->created, 2);
  EXPECT_EQ(solver_->stream, &other);
  args.call.stream = &root_;
  ASSERT_EQ(run(&args), LANEPACK_STATUS_OK) << lanepack_last_error();
  EXPECT_EQ(solver_->created, 2);
  EXPECT_EQ(solver_->stream, &root_);
  args.call.device_index = 1;
  ASSERT_EQ(run(&args), LANEPACK_STATUS_OK) << lanepack_last_error();
  EXPECT_EQ(solver_->created, 3) << "a handle is of one device";
  EXPECT_GT(driver_->capture_exchanges, 0) << "a handle was made without relaxed capture";
}

TEST_F(Vendor, ThreadsHaveHandlesOfTheirOwn) {
  auto args = eigh(3);
  ASSERT_EQ(run(&args), LANEPACK_STATUS_OK) << lanepack_last_error();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, args]() mutable {
      std::vector<unsigned char> workspace(workspace_.size());
      std::vector<float> a(a_.size()), w(w_.size()), v(v_.size());
      std::vector<int32_t> info(info_.size());
      args.call.workspace = workspace.data();
      args.call.info = info.data();
      args.a.data = a.data();
      args.w.data = w.data();
      args.v.data = v.data();
      for (int i = 0; i < 20; ++i) EXPECT_EQ(lanepack_eigh(&args), 0) << lanepack_last_error();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_STREQ(solver_->problem, "");
  EXPECT_EQ(solver_->batched_calls, 81);
  EXPECT_LE(solver_->created, 4);
  EXPECT_EQ(driver_->context_depth, 0);
}

TEST_F(Vendor, ClearsTheWorkspaceOfAFaultyRelease) {
  solver_->version = 11701;
  auto args = eigh(5);
  ASSERT_EQ(run(&args), LANEPACK_STATUS_OK) << lanepack_last_error();
  ASSERT_EQ(driver_->fill_count, 1);
  EXPECT_EQ(driver_->fills[0].value, 0u);
  EXPECT_EQ(driver_->fills[0].width, static_cast<size_t>(5 * 1000 + 512) / 4);
  EXPECT_EQ(driver_->fills[0].stream, &root_);
}

TEST_F(Vendor, TakesTheSvdOfABatchThroughItsGramMatrices) {
  const int64_t m = 50, n = kOrder, batch = 5;
  std::vector<float> a(static_cast<size_t>(batch * m * n)), u(a), s(a), vh(a);
  lanepack_svd_args args = {};
  args.call.struct_size = sizeof(args);
  args.call.dtype = LANEPACK_DTYPE_F32;
  args.call.device = LANEPACK_DEVICE_CUDA;
  args.call.stream = &root_;
  args.a = {a.data(), m, n, batch, 1, m, m * n};
  args.u = {u.data(), m, n, batch, 1, m, m * n};
  args.s = {s.data(), n, 1, batch, 1, n, n};
  args.vh = {vh.data(), n, n, batch, 1, n, n * n};
  int64_t bytes = 0;
  ASSERT_EQ(lanepack_svd_workspace(&args, &bytes), LANEPACK_STATUS_OK) << lanepack_last_error();
  workspace_.assign(static_cast<size_t>(bytes), 0);
  args.call.workspace = workspace_.data();
  args.call.workspace_bytes = bytes;
  ASSERT_EQ(lanepack_svd(&args), LANEPACK_STATUS_OK) << lanepack_last_error();
  EXPECT_STREQ(solver_->problem, "");
  EXPECT_EQ(solver_->gemm_calls, 2);
  EXPECT_EQ(solver_->batched_calls, 1);
  EXPECT_EQ(solver_->geqrf_calls, batch);
  EXPECT_EQ(solver_->orgqr_calls, batch);
  EXPECT_EQ(kernel(1), "lowered vendor::kernel_prepare<float, double>");
  EXPECT_EQ(kernel(2), "lowered vendor::kernel_report<float, double>");
  args.u.data = args.vh.data = nullptr;  // values alone
  ASSERT_EQ(lanepack_svd(&args), LANEPACK_STATUS_OK) << lanepack_last_error();
  EXPECT_EQ(solver_->gemm_calls, 3);
  EXPECT_EQ(solver_->geqrf_calls, batch);
  args.call.dtype = LANEPACK_DTYPE_F64;  // torch's
  EXPECT_EQ(lanepack_svd(&args), LANEPACK_STATUS_UNSUPPORTED);
}

TEST_F(Vendor, TellsOfARefusedRoutine) {
  solver_->status = 7;
  auto args = eigh(5);
  EXPECT_EQ(run(&args), LANEPACK_STATUS_UNAVAILABLE);
  EXPECT_STREQ(lanepack_last_error(),
               "lanepack_eigh: cusolverDnXsyevBatched gives status 7 (internal error)");
  solver_->status = 2;
  EXPECT_EQ(run(&args), LANEPACK_STATUS_OUT_OF_MEMORY);
  solver_->status = 0;
  EXPECT_EQ(run(&args), LANEPACK_STATUS_OK) << lanepack_last_error();
  EXPECT_EQ(solver_->created, 1);
}

TEST_F(Vendor, TellsOfAMissingLibraryAndFindsALaterOne) {
  setenv("LANEPACK_CUSOLVER_LIBRARY", "/nowhere/libcusolver.so", 1);
  auto args = eigh(5);
  args.call.workspace_bytes = int64_t{1} << 40;
  EXPECT_EQ(lanepack_eigh(&args), LANEPACK_STATUS_UNAVAILABLE);
  EXPECT_EQ(std::string(lanepack_last_error()).rfind("lanepack_eigh: no cuSOLVER of CUDA 12", 0),
            0u)
      << lanepack_last_error();
  setenv("LANEPACK_CUSOLVER_LIBRARY", LANEPACK_FAKE_CUSOLVER, 1);
  EXPECT_EQ(run(&args), LANEPACK_STATUS_OK) << lanepack_last_error();
}

TEST_F(Vendor, RefusesALibraryThatTheDriverDoesNotSupport) {
  driver_->version = 12080;
  auto args = eigh(5);
  EXPECT_EQ(lanepack_eigh(&args), LANEPACK_STATUS_UNAVAILABLE);
  solver_->version = 11702;
  EXPECT_EQ(lanepack_eigh(&args), LANEPACK_STATUS_WORKSPACE_TOO_SMALL) << lanepack_last_error();
}

TEST_F(Vendor, RefusesAStrangerInTheLibrarysPlace) {
  setenv("LANEPACK_CUSOLVER_LIBRARY", LANEPACK_FAKE_NVRTC, 1);
  auto args = eigh(5);
  EXPECT_EQ(lanepack_eigh(&args), LANEPACK_STATUS_UNAVAILABLE);
}

}  // namespace
