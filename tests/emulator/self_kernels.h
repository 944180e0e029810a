// SPDX-License-Identifier: Apache-2.0
// The kernels by which the emulator itself is tested.
#ifndef LANEPACK_TESTS_EMULATOR_SELF_KERNELS_H_
#define LANEPACK_TESTS_EMULATOR_SELF_KERNELS_H_

#include "table.h"

namespace self_test {

struct arguments {
  const float* in;
  float* out;
  double* wide;
  float** pointers;
  int count;
};

}  // namespace self_test

namespace lanepack::emulator {

extern const Entry kSelfKernels[];
extern const int kSelfKernelCount;

}  // namespace lanepack::emulator

#endif  // LANEPACK_TESTS_EMULATOR_SELF_KERNELS_H_
