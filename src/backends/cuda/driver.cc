// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/driver.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "symbol_versions.h"

namespace lanepack::cuda {
namespace {

// CUdevice_attribute
constexpr int kComputeCapabilityMajor = 75;
constexpr int kComputeCapabilityMinor = 76;

template <class Pointer>
bool resolve(void* handle, const char* name, Pointer* function) {
  *function = reinterpret_cast<Pointer>(dlsym(handle, name));
  return *function != nullptr;
}

bool resolve_all(void* handle, Driver* d) {
  // Suffixes are the driver's versions of a function; the names are those of CUDA 12 and 13.
  resolve(handle, "cuThreadExchangeStreamCaptureMode", &d->exchange_capture_mode);
  return resolve(handle, "cuInit", &d->init) &&
         resolve(handle, "cuDriverGetVersion", &d->driver_get_version) &&
         resolve(handle, "cuGetErrorName", &d->get_error_name) &&
         resolve(handle, "cuGetErrorString", &d->get_error_string) &&
         resolve(handle, "cuDeviceGetCount", &d->device_get_count) &&
         resolve(handle, "cuDeviceGet", &d->device_get) &&
         resolve(handle, "cuDeviceGetAttribute", &d->device_get_attribute) &&
         resolve(handle, "cuDevicePrimaryCtxRetain", &d->primary_context_retain) &&
         resolve(handle, "cuCtxGetCurrent", &d->context_get_current) &&
         resolve(handle, "cuCtxPushCurrent_v2", &d->context_push_current) &&
         resolve(handle, "cuCtxPopCurrent_v2", &d->context_pop_current) &&
         resolve(handle, "cuModuleLoadData", &d->module_load_data) &&
         resolve(handle, "cuModuleUnload", &d->module_unload) &&
         resolve(handle, "cuModuleGetFunction", &d->module_get_function) &&
         resolve(handle, "cuFuncSetAttribute", &d->function_set_attribute) &&
         resolve(handle, "cuLaunchKernel", &d->launch_kernel) &&
         resolve(handle, "cuMemsetD32Async", &d->memset_32_async) &&
         resolve(handle, "cuMemsetD2D32Async", &d->memset_2d_32_async);
}

// What opening the driver came to. It is tried once: a driver does not appear in a running process.
struct Opened {
  Driver driver = {};
  bool usable = false;
  char problem[256] = "";
};

void open_driver(Opened* opened) {
  const char* named = std::getenv("LANEPACK_CUDA_LIBRARY");
  const char* file = named != nullptr && named[0] != '\0' ? named : "libcuda.so.1";
  void* handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    std::snprintf(opened->problem, sizeof(opened->problem), "the driver cannot be opened: %.180s",
                  dlerror());
    return;
  }
  Driver& d = opened->driver;
  if (!resolve_all(handle, &d)) {
    std::snprintf(opened->problem, sizeof(opened->problem),
                  "%.180s lacks functions of CUDA 12's driver", file);
    return;
  }
  Result result = d.init(0);
  if (result == 0) result = d.driver_get_version(&d.version);
  if (result == 0) result = d.device_get_count(&d.device_count);
  if (result != 0) {
    char text[160];
    describe_error(d, result, text, sizeof(text));
    std::snprintf(opened->problem, sizeof(opened->problem), "the driver does not start: %s", text);
    return;
  }
  if (d.device_count == 0) {
    std::snprintf(opened->problem, sizeof(opened->problem), "the driver shows no device");
    return;
  }
  opened->usable = true;
}

const Opened& opened_driver() {
  static const Opened* const opened = [] {
    Opened* fresh = new Opened;
    open_driver(fresh);
    return fresh;
  }();
  return *opened;
}

std::atomic<const Device*> g_devices[kMaxDevices];
std::mutex g_device_mutex;

Result start_device(const Driver& driver, int ordinal, Device* device) {
  int handle = 0;
  device->ordinal = ordinal;
  Result result = driver.device_get(&handle, ordinal);
  const auto ask = [&](int attribute, int* value) {
    if (result == 0) result = driver.device_get_attribute(value, attribute, handle);
  };
  ask(kComputeCapabilityMajor, &device->major);
  ask(kComputeCapabilityMinor, &device->minor);
  if (result == 0) result = driver.primary_context_retain(&device->context, handle);
  return result;
}

}  // namespace

const Driver* driver(const char** problem) {
  const Opened& opened = opened_driver();
  *problem = opened.problem;
  return opened.usable ? &opened.driver : nullptr;
}

void describe_error(const Driver& driver, Result result, char* text, size_t capacity) {
  const char* name = nullptr;
  const char* meaning = nullptr;
  driver.get_error_name(result, &name);
  driver.get_error_string(result, &meaning);
  if (name == nullptr) {
    std::snprintf(text, capacity, "error %d", result);
  } else {
    std::snprintf(text, capacity, "%s (%s)", name, meaning == nullptr ? "" : meaning);
  }
}

Status find_device(const char* function, const Driver& driver, int ordinal, const Device** device) {
  if (ordinal < 0 || ordinal >= driver.device_count || ordinal >= kMaxDevices) {
    return fail(Status::kInvalidArgument, "%s: device_index is %d; the driver shows %d device%s",
                function, ordinal, driver.device_count, driver.device_count == 1 ? "" : "s");
  }
  *device = g_devices[ordinal].load(std::memory_order_acquire);
  if (*device != nullptr) return Status::kOk;
  const std::lock_guard<std::mutex> lock(g_device_mutex);
  *device = g_devices[ordinal].load(std::memory_order_acquire);
  if (*device != nullptr) return Status::kOk;
  auto fresh = std::make_unique<Device>();
  const Result result = start_device(driver, ordinal, fresh.get());
  if (result != 0) {
    char text[160];
    describe_error(driver, result, text, sizeof(text));
    return fail(Status::kUnavailable, "%s: device %d does not start: %s", function, ordinal, text);
  }
  *device = fresh.release();
  g_devices[ordinal].store(*device, std::memory_order_release);
  return Status::kOk;
}

ContextGuard::ContextGuard(const Driver& driver, const Device& device) : driver_(driver) {
  Context current = nullptr;
  result_ = driver.context_get_current(&current);
  if (result_ != 0 || current == device.context) return;
  result_ = driver.context_push_current(device.context);
  pushed_ = result_ == 0;
}

ContextGuard::~ContextGuard() {
  Context popped = nullptr;
  if (pushed_) driver_.context_pop_current(&popped);
}

}  // namespace lanepack::cuda
