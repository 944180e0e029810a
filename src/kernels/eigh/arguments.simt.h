// SPDX-License-Identifier: Apache-2.0
// What every GPU kernel of eigh and eigvalsh gets.

namespace eigh {

struct arguments {
  steps::view a, w, v;          // v: null for values alone
  SIMT_GLOBAL int* info;        // one per matrix; may be null
  SIMT_GLOBAL void* workspace;  // what the plan asks for; null where it asks for nothing
  simt::int64 batch;
  int n;
  int upper;  // not 0: the upper triangle is read
};

}  // namespace eigh
