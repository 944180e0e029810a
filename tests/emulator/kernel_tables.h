// SPDX-License-Identifier: Apache-2.0
// The GPU's kernels that were compiled for the emulator: kernels_<text>.cc, one object per text and
// scalar type.
#ifndef LANEPACK_TESTS_EMULATOR_KERNEL_TABLES_H_
#define LANEPACK_TESTS_EMULATOR_KERNEL_TABLES_H_

#include "table.h"

namespace lanepack::emulator {

// Adds itself to a list that starts at first().
struct KernelTable {
  KernelTable(const Entry* entries, int count);
  static const KernelTable* first();

  const Entry* entries;
  int count;
  const KernelTable* next;
};

}  // namespace lanepack::emulator

#endif  // LANEPACK_TESTS_EMULATOR_KERNEL_TABLES_H_
