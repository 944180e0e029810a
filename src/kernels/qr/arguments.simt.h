// SPDX-License-Identifier: Apache-2.0
// What every GPU kernel of qr gets.

namespace qr {

struct arguments {
  steps::view a, q, r;          // q: null for R alone
  SIMT_GLOBAL int* info;        // one per matrix; may be null
  SIMT_GLOBAL void* workspace;  // what the plan asks for; null where it asks for nothing
  simt::int64 batch;
  int m, n;
  int q_columns;  // min(m, n), or m: complete; 0: R alone
  int r_rows;     // min(m, n), or m: complete
};

}  // namespace qr
