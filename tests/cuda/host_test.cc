// SPDX-License-Identifier: Apache-2.0
// The CUDA backend on a driver without a device and a compiler that compiles nothing
// (fake_driver.h): what is asked of them, and what is said where they fail. The driver is opened
// once per process, so that each test wants a process of its own, as ctest gives it.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "backends/backend.h"
#include "backends/cuda/kernels.h"
#include "backends/cuda/launch.h"
#include "fake_driver.h"

namespace lanepack::cuda {
namespace {

template <class State>
State* state_of(const char* file, const char* name) {
  void* handle = dlopen(file, RTLD_NOW);
  return handle == nullptr ? nullptr : reinterpret_cast<State* (*)()>(dlsym(handle, name))();
}

KernelPlan kernel_plan(const char* name) {
  KernelPlan plan = {};
  plan.text = "eigh_thread";
  std::snprintf(plan.name, sizeof(plan.name), "%s", name);
  plan.threads = 128;
  plan.matrices_per_block = 100;
  return plan;
}

LaunchPlan launch_plan(int count) {
  LaunchPlan plan = {};
  plan.count = count;
  plan.kernels[0] = kernel_plan("first<1>");
  plan.kernels[1] = kernel_plan("second<2>");
  return plan;
}

class Host : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/lanepack_host_XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    root_ = name;
    setenv("LANEPACK_CACHE_DIR", name, 1);
    setenv("LANEPACK_CUDA_LIBRARY", LANEPACK_FAKE_DRIVER, 1);
    setenv("LANEPACK_NVRTC_LIBRARY", LANEPACK_FAKE_NVRTC, 1);
    driver_ = state_of<FakeDriver>(LANEPACK_FAKE_DRIVER, "fake_driver");
    nvrtc_ = state_of<FakeNvrtc>(LANEPACK_FAKE_NVRTC, "fake_nvrtc");
    ASSERT_NE(driver_, nullptr);
    ASSERT_NE(nvrtc_, nullptr);
    driver_->parameter_bytes = sizeof(parameter_);
    key_.device = kDeviceCuda;
    key_.batch = 1001;
  }
  void TearDown() override {
    const std::string command = "rm -rf '" + root_ + "'";
    EXPECT_EQ(std::system(command.c_str()), 0);
  }

  Status launch_two() { return launch("caller", key_, where_, launch_plan(2), &parameter_); }
  std::string text() { return last_error(); }

  std::string root_;
  FakeDriver* driver_ = nullptr;
  FakeNvrtc* nvrtc_ = nullptr;
  ProblemKey key_ = {};
  Launch where_;
  int64_t parameter_ = 42;
};

TEST_F(Host, LaunchesAPlanOnTheStream) {
  int stream = 0;
  where_.stream = &stream;
  key_.device_index = 1;
  ASSERT_EQ(launch_two(), Status::kOk) << text();
  ASSERT_EQ(driver_->launch_count, 2);
  const FakeLaunch& first = driver_->launches[0];
  EXPECT_STREQ(first.kernel, "lowered first<1>");
  EXPECT_STREQ(driver_->launches[1].kernel, "lowered second<2>");
  EXPECT_EQ(first.grid[0], 11u);
  EXPECT_EQ(first.grid[1] * first.grid[2], 1u);
  EXPECT_EQ(first.block[0], 128u);
  EXPECT_EQ(first.stream, &stream);
  EXPECT_NE(first.context, nullptr);
  EXPECT_EQ(std::memcmp(first.parameter, &parameter_, sizeof(parameter_)), 0);
  EXPECT_EQ(driver_->context_depth, 0) << "a context was left current";
  EXPECT_EQ(driver_->retained, 1);
  EXPECT_EQ(std::string(nvrtc_->options), "--std=c++17 --fmad=false --gpu-architecture=sm_90");
  EXPECT_GT(nvrtc_->source_bytes, 1000u);
}

TEST_F(Host, CompilesOncePerKernelAndDevice) {
  for (int i = 0; i < 3; ++i) ASSERT_EQ(launch_two(), Status::kOk) << text();
  EXPECT_EQ(nvrtc_->compiled, 2);
  EXPECT_EQ(driver_->loaded, 2);
  key_.device_index = 1;  // of the same architecture: the code comes from the disk
  ASSERT_EQ(launch_two(), Status::kOk) << text();
  EXPECT_EQ(nvrtc_->compiled, 2);
  EXPECT_EQ(driver_->loaded, 4);
  EXPECT_NE(driver_->launches[0].context, driver_->launches[6].context);
}

TEST_F(Host, ReadsFromDiskWhatAnotherProcessCompiled) {
  const pid_t pid = fork();
  if (pid == 0) _exit(launch_two() == Status::kOk && nvrtc_->compiled == 2 ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  ASSERT_EQ(launch_two(), Status::kOk) << text();
  EXPECT_EQ(nvrtc_->compiled, 0);
}

TEST_F(Host, CompilesAnewWhatIsDamagedOnDisk) {
  const pid_t pid = fork();
  if (pid == 0) _exit(launch_two() == Status::kOk ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  const std::string spoil = "for f in '" + root_ + "'/cuda/*.kernel; do echo x >> \"$f\"; done";
  ASSERT_EQ(std::system(spoil.c_str()), 0);
  ASSERT_EQ(launch_two(), Status::kOk) << text();
  EXPECT_EQ(nvrtc_->compiled, 2);
}

TEST_F(Host, WorksWithoutAFolder) {
  setenv("LANEPACK_CACHE_DIR", "/proc/lanepack", 1);
  ASSERT_EQ(launch_two(), Status::kOk) << text();
  EXPECT_EQ(nvrtc_->compiled, 2);
}

TEST_F(Host, ThreadsCompileAKernelOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) EXPECT_EQ(launch_two(), Status::kOk) << last_error();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(nvrtc_->compiled, 2);
  EXPECT_EQ(driver_->launch_count, 800);
  EXPECT_EQ(driver_->context_depth, 0);
}

TEST_F(Host, LeavesACurrentContextAlone) {
  const Driver* driver = nullptr;
  const Device* device = nullptr;
  ASSERT_EQ(find_target("caller", key_, &driver, &device), Status::kOk);
  driver->context_push_current(device->context);
  ASSERT_EQ(launch_two(), Status::kOk);
  EXPECT_EQ(driver_->context_depth, 1);
  key_.device_index = 1;
  ASSERT_EQ(launch_two(), Status::kOk);
  Context current = nullptr;
  driver->context_get_current(&current);
  EXPECT_EQ(current, device->context);
}

TEST_F(Host, DoesNotCompileTwiceWhatDoesNotCompile) {
  nvrtc_->compile_result = 6;
  EXPECT_EQ(launch_two(), Status::kUnavailable);
  EXPECT_EQ(text(),
            "caller: kernel first<1>: nvrtcCompileProgram: NVRTC_ERROR_COMPILATION\n"
            "line 7: no such word");
  EXPECT_EQ(launch_two(), Status::kUnavailable);
  EXPECT_EQ(nvrtc_->compiled, 1);
  EXPECT_EQ(driver_->launch_count, 0);
}

TEST_F(Host, TriesAgainToLoad) {
  driver_->load_result = 2;
  EXPECT_EQ(launch_two(), Status::kUnavailable);
  EXPECT_EQ(text(),
            "caller: kernel first<1>: the driver does not load it: CUDA_ERROR_OUT_OF_MEMORY (out "
            "of memory)");
  driver_->load_result = 0;
  EXPECT_EQ(launch_two(), Status::kOk) << text();
}

TEST_F(Host, TellsOfARefusedLaunch) {
  driver_->launch_result = 700;
  EXPECT_EQ(launch_two(), Status::kUnavailable);
  EXPECT_EQ(text(), "caller: a launch: error 700");
  EXPECT_EQ(driver_->context_depth, 0);
}

TEST_F(Host, TellsOfAMissingDriver) {
  setenv("LANEPACK_CUDA_LIBRARY", "/nowhere/libcuda.so", 1);
  EXPECT_EQ(launch_two(), Status::kUnavailable);
  EXPECT_EQ(text().rfind("caller: the driver cannot be opened: /nowhere/libcuda.so", 0), 0u)
      << text();
  CudaState state;
  cuda_describe(&state);
  EXPECT_EQ(state.driver_version, 0);
  EXPECT_NE(std::string(state.problem), "");
}

TEST_F(Host, TellsOfAStrangerInTheDriversPlace) {
  setenv("LANEPACK_CUDA_LIBRARY", LANEPACK_FAKE_NVRTC, 1);
  EXPECT_EQ(launch_two(), Status::kUnavailable);
  EXPECT_NE(text().find("lacks functions of CUDA 12's driver"), std::string::npos) << text();
}

TEST_F(Host, TellsOfADriverThatDoesNotStart) {
  driver_->init_result = 100;
  EXPECT_EQ(launch_two(), Status::kUnavailable);
  EXPECT_EQ(text(), "caller: the driver does not start: CUDA_ERROR_NO_DEVICE (no device)");
}

TEST_F(Host, TellsOfAMissingDevice) {
  key_.device_index = 2;
  EXPECT_EQ(launch_two(), Status::kInvalidArgument);
  EXPECT_EQ(text(), "caller: device_index is 2; the driver shows 2 devices");
}

TEST_F(Host, TellsOfAMissingCompilerAndFindsALaterOne) {
  setenv("LANEPACK_NVRTC_LIBRARY", "/nowhere/libnvrtc.so", 1);
  EXPECT_EQ(launch_two(), Status::kUnavailable);
  EXPECT_EQ(text().rfind("caller: no NVRTC of CUDA 12 or later", 0), 0u) << text();
  setenv("LANEPACK_NVRTC_LIBRARY", LANEPACK_FAKE_NVRTC, 1);
  EXPECT_EQ(launch_two(), Status::kOk) << text();
}

TEST_F(Host, RefusesACompilerThatTheDriverDoesNotSupport) {
  driver_->version = 12040;
  EXPECT_EQ(launch_two(), Status::kUnavailable);
  EXPECT_EQ(text().rfind("caller: no NVRTC", 0), 0u) << text();
}

TEST_F(Host, CompilesPortableCodeForALaterArchitecture) {
  driver_->major = 12;
  driver_->minor = 1;
  ASSERT_EQ(launch_two(), Status::kOk) << text();
  EXPECT_NE(std::string(nvrtc_->options).find("=compute_100"), std::string::npos);
}

TEST_F(Host, TellsOfAnArchitectureThatIsTooOld) {
  driver_->major = 6;
  EXPECT_EQ(launch_two(), Status::kUnavailable);
  EXPECT_EQ(text(), "caller: NVRTC 13.2 does not know compute capability 6.0");
}

TEST_F(Host, AsksForSharedMemoryAboveTheUsual) {
  LaunchPlan plan = launch_plan(1);
  plan.kernels[0].shared_bytes = 40 * 1024;
  ASSERT_EQ(launch("caller", key_, where_, plan, &parameter_), Status::kOk);
  EXPECT_EQ(driver_->attributes_set, 0);
  plan.kernels[0].shared_bytes = 100 * 1024;
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(launch("caller", key_, where_, plan, &parameter_), Status::kOk);
  }
  EXPECT_EQ(driver_->attributes_set, 1);
  EXPECT_EQ(driver_->last_attribute_value, 100 * 1024);
  EXPECT_EQ(driver_->launches[2].shared_bytes, 100u * 1024);
}

TEST_F(Host, ChecksTheWorkspace) {
  LaunchPlan plan = launch_plan(1);
  plan.workspace_bytes = 4096;
  EXPECT_EQ(launch("caller", key_, where_, plan, &parameter_), Status::kWorkspaceTooSmall);
  EXPECT_EQ(text(), "caller: the workspace has 0 bytes; it must have 4096");
  where_.workspace_bytes = 4096;
  EXPECT_EQ(launch("caller", key_, where_, plan, &parameter_), Status::kOk);
}

TEST(Blocks, CoverABatchWithinAnInt) {
  EXPECT_EQ(block_count(1, 100), 1u);
  EXPECT_EQ(block_count(100, 100), 1u);
  EXPECT_EQ(block_count(101, 100), 2u);
  EXPECT_EQ(block_count(10000000, 1), 10000000u);
  EXPECT_EQ(block_count(int64_t{1} << 40, 1), 1u << 30);
  EXPECT_EQ(block_count(int64_t{1} << 40, 256), 1u << 22);
}

TEST_F(Host, DescribesWhatItFinds) {
  CudaState state;
  cuda_describe(&state);
  EXPECT_EQ(state.device_count, 2);
  EXPECT_EQ(state.driver_version, 13000);
  EXPECT_EQ(state.compiler_version, 13020);
  EXPECT_STREQ(state.compiler, LANEPACK_FAKE_NVRTC);
  EXPECT_EQ(state.cache, root_ + "/cuda");
  EXPECT_STREQ(state.problem, "");
  EXPECT_EQ(driver_->retained, 0) << "a device was started";
}

}  // namespace
}  // namespace lanepack::cuda
