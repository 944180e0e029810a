// SPDX-License-Identifier: Apache-2.0
// A driver without a device (fake_driver.cc) and a compiler that compiles nothing (fake_nvrtc.cc):
// shared objects in the places of libcuda and libnvrtc, which note what is asked of them. A test
// reads and sets these structs, whose addresses fake_driver() and fake_nvrtc() give.
#ifndef LANEPACK_TESTS_CUDA_FAKE_DRIVER_H_
#define LANEPACK_TESTS_CUDA_FAKE_DRIVER_H_

#include <cstddef>
#include <cstdint>

struct FakeLaunch {
  char kernel[256];  // the name that was asked of its module
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  void* stream;
  void* context;  // the current one
  unsigned char parameter[512];
};

struct FakeFill {
  unsigned long long data;
  size_t pitch;  // 0: of one dimension
  unsigned value;
  size_t width, height;
  void* stream;
};

struct FakeDriver {
  // What it is to be: set before the first call, or between calls.
  int init_result;
  int device_count;
  int major, minor;
  int version;
  int load_result;
  int launch_result;
  size_t parameter_bytes;  // of a kernel's one parameter: so many are noted
  // What happened.
  int retained;  // primary contexts
  int loaded;    // modules
  int attributes_set;
  int last_attribute_value;
  int capture_exchanges;
  int context_depth;  // of this process's threads together
  int launch_count;
  FakeLaunch launches[64];
  int fill_count;
  FakeFill fills[256];
};

struct FakeNvrtc {
  int major, minor;
  int architectures[4];  // ascending; 0: no more
  int compile_result;
  int compiled;
  char options[512];  // of the last program, one space between
  char expression[256];
  size_t source_bytes;
};

extern "C" FakeDriver* fake_driver();
extern "C" FakeNvrtc* fake_nvrtc();

#endif  // LANEPACK_TESTS_CUDA_FAKE_DRIVER_H_
