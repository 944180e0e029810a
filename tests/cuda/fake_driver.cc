// SPDX-License-Identifier: Apache-2.0
#include "fake_driver.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <vector>

namespace {

int from_environment(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

FakeDriver make_state() {
  FakeDriver state = {};
  state.device_count = from_environment("FAKE_CUDA_DEVICES", 2);
  state.major = from_environment("FAKE_CUDA_MAJOR", 9);
  state.version = from_environment("FAKE_CUDA_VERSION", 13000);
  state.init_result = from_environment("FAKE_CUDA_INIT", 0);
  return state;
}

FakeDriver g_state = make_state();
std::mutex g_mutex;
char g_contexts[64];  // their addresses are the contexts
thread_local std::vector<void*> t_stack;

struct Module {
  int unused;
};
struct Function {
  std::string name;
};

}  // namespace

extern "C" {

FakeDriver* fake_driver() { return &g_state; }
// For callers that do not know the struct.
int fake_launch_count() { return g_state.launch_count; }
const char* fake_launch_kernel(int index) { return g_state.launches[index].kernel; }
void* fake_launch_stream(int index) { return g_state.launches[index].stream; }

int cuInit(unsigned) { return g_state.init_result; }
int cuDriverGetVersion(int* version) {
  *version = g_state.version;
  return 0;
}
int cuGetErrorName(int result, const char** name) {
  *name = result == 2     ? "CUDA_ERROR_OUT_OF_MEMORY"
          : result == 100 ? "CUDA_ERROR_NO_DEVICE"
                          : nullptr;
  return *name == nullptr ? 1 : 0;
}
int cuGetErrorString(int result, const char** text) {
  *text = result == 2 ? "out of memory" : result == 100 ? "no device" : nullptr;
  return *text == nullptr ? 1 : 0;
}
int cuDeviceGetCount(int* count) {
  *count = g_state.device_count;
  return 0;
}
int cuDeviceGet(int* device, int ordinal) {
  *device = 100 + ordinal;  // a handle need not be the number
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 75 ? g_state.major : attribute == 76 ? g_state.minor : 0;
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  ++g_state.retained;
  *context = &g_contexts[device - 100];
  return 0;
}
int cuCtxGetCurrent(void** context) {
  *context = t_stack.empty() ? nullptr : t_stack.back();
  return 0;
}
int cuCtxPushCurrent_v2(void* context) {
  t_stack.push_back(context);
  const std::lock_guard<std::mutex> lock(g_mutex);
  ++g_state.context_depth;
  return 0;
}
int cuCtxPopCurrent_v2(void** context) {
  if (t_stack.empty()) return 201;
  *context = t_stack.back();
  t_stack.pop_back();
  const std::lock_guard<std::mutex> lock(g_mutex);
  --g_state.context_depth;
  return 0;
}
int cuModuleLoadData(Module** module, const void* image) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  if (g_state.load_result != 0) return g_state.load_result;
  if (t_stack.empty()) return 201;
  if (std::memcmp(image, "fake code", 9) != 0) return 200;
  ++g_state.loaded;
  static Module the_module;
  *module = &the_module;
  return 0;
}
int cuModuleUnload(Module*) { return 0; }
int cuModuleGetFunction(Function** function, Module*, const char* name) {
  *function = new Function{name};
  return 0;
}
int cuFuncSetAttribute(Function*, int, int value) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  ++g_state.attributes_set;
  g_state.last_attribute_value = value;
  return 0;
}
int cuLaunchKernel(Function* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   void* stream, void** parameters, void**) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  if (g_state.launch_result != 0) return g_state.launch_result;
  FakeLaunch& launch = g_state.launches[g_state.launch_count++ % 64];
  std::snprintf(launch.kernel, sizeof(launch.kernel), "%s", function->name.c_str());
  const unsigned grid[] = {grid_x, grid_y, grid_z};
  const unsigned block[] = {block_x, block_y, block_z};
  std::memcpy(launch.grid, grid, sizeof(grid));
  std::memcpy(launch.block, block, sizeof(block));
  launch.shared_bytes = shared_bytes;
  launch.stream = stream;
  launch.context = t_stack.empty() ? nullptr : t_stack.back();
  std::memcpy(launch.parameter, parameters[0], g_state.parameter_bytes);
  return 0;
}
int cuMemsetD2D32Async(unsigned long long data, size_t pitch, unsigned value, size_t width,
                       size_t height, void* stream) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  g_state.fills[g_state.fill_count++ % 256] = {data, pitch, value, width, height, stream};
  return 0;
}
int cuMemsetD32Async(unsigned long long data, unsigned value, size_t count, void* stream) {
  return cuMemsetD2D32Async(data, 0, value, count, 1, stream);
}
int cuThreadExchangeStreamCaptureMode(int* mode) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  ++g_state.capture_exchanges;
  *mode = 0;
  return 0;
}

}  // extern "C"
