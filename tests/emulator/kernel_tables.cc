// SPDX-License-Identifier: Apache-2.0
#include "kernel_tables.h"

namespace lanepack::emulator {
namespace {

// Not before the first of them is made, which may be ahead of this file's own objects.
const KernelTable*& head() {
  static const KernelTable* table = nullptr;
  return table;
}

}  // namespace

KernelTable::KernelTable(const Entry* its_entries, int its_count)
    : entries(its_entries), count(its_count), next(head()) {
  head() = this;
}

const KernelTable* KernelTable::first() { return head(); }

}  // namespace lanepack::emulator
