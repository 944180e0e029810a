// SPDX-License-Identifier: Apache-2.0
// What every GPU kernel of svd and svdvals gets.

namespace svd {

struct arguments {
  steps::view a, u, s, vh;      // u, vh: null for values alone
  SIMT_GLOBAL int* info;        // one per matrix; may be null
  SIMT_GLOBAL void* workspace;  // what the plan asks for; null where it asks for nothing
  simt::int64 batch;
  int m, n;
  int full;  // not 0: u is m x m and vh is n x n
};

}  // namespace svd
