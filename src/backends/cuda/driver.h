// SPDX-License-Identifier: Apache-2.0
// NVIDIA's driver (libcuda), opened at run time, and the devices that it shows. Nothing of CUDA's
// toolkit is needed to build: what is used of the driver's interface is declared here.
#ifndef LANEPACK_BACKENDS_CUDA_DRIVER_H_
#define LANEPACK_BACKENDS_CUDA_DRIVER_H_

#include <cstddef>

#include "core/types.h"

namespace lanepack::cuda {

using Result = int;  // CUresult; 0: success
using DevicePointer = unsigned long long;
struct ContextObject;
struct ModuleObject;
struct FunctionObject;
using Context = ContextObject*;
using Module = ModuleObject*;
using Function = FunctionObject*;
using Stream = void*;

// The driver's functions under their names without "cu" and version suffix.
struct Driver {
  Result (*init)(unsigned flags);
  Result (*driver_get_version)(int* version);
  Result (*get_error_name)(Result result, const char** name);
  Result (*get_error_string)(Result result, const char** text);
  Result (*device_get_count)(int* count);
  Result (*device_get)(int* device, int ordinal);
  Result (*device_get_attribute)(int* value, int attribute, int device);
  Result (*primary_context_retain)(Context* context, int device);
  Result (*context_get_current)(Context* context);
  Result (*context_push_current)(Context context);
  Result (*context_pop_current)(Context* context);
  Result (*module_load_data)(Module* module, const void* image);
  Result (*module_unload)(Module module);
  Result (*module_get_function)(Function* function, Module module, const char* name);
  Result (*function_set_attribute)(Function function, int attribute, int value);
  Result (*launch_kernel)(Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z,
                          unsigned shared_bytes, Stream stream, void** parameters, void** extra);
  Result (*memset_32_async)(DevicePointer data, unsigned value, size_t count, Stream stream);
  Result (*memset_2d_32_async)(DevicePointer data, size_t pitch, unsigned value, size_t width,
                               size_t height, Stream stream);
  // May be null: drivers before CUDA 10.1.
  Result (*exchange_capture_mode)(int* mode);
  int version;
  int device_count;
};

// The driver, opened and started at the first call; null where there is none, or no device, with
// `*problem` then saying why. LANEPACK_CUDA_LIBRARY in the environment names the file to open in
// place of libcuda.so.1. Safe from several threads.
const Driver* driver(const char** problem);

// "CUDA_ERROR_OUT_OF_MEMORY (out of memory)" into `text`, cut to `capacity`.
void describe_error(const Driver& driver, Result result, char* text, size_t capacity);

// One device, its primary context retained for the life of the process: the one that torch and the
// CUDA runtime use.
struct Device {
  int ordinal;
  Context context;
  int major, minor;  // compute capability
};

constexpr int kMaxDevices = 64;

// The device of that number, or an error headed by `function`. Without a lock once the device has
// been used.
Status find_device(const char* function, const Driver& driver, int ordinal, const Device** device);

// Makes a device's context this thread's current one while it lives, if it is not already.
class ContextGuard {
 public:
  ContextGuard(const Driver& driver, const Device& device);
  ~ContextGuard();
  ContextGuard(const ContextGuard&) = delete;
  ContextGuard& operator=(const ContextGuard&) = delete;
  Result result() const { return result_; }

 private:
  const Driver& driver_;
  Result result_ = 0;
  bool pushed_ = false;
};

// While it lives, what this thread allocates or loads does not spoil a graph that some stream of this
// process captures.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const Driver& driver) : driver_(driver) { exchange(); }
  ~RelaxedCapture() { exchange(); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  void exchange() {
    if (driver_.exchange_capture_mode != nullptr) driver_.exchange_capture_mode(&mode_);
  }

  const Driver& driver_;
  int mode_ = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED
};

}  // namespace lanepack::cuda

#endif  // LANEPACK_BACKENDS_CUDA_DRIVER_H_
