// SPDX-License-Identifier: Apache-2.0
// What every GPU kernel of svd and svdvals gets.

namespace svd {

// What the kernels of a tall problem (a wide one is its transpose) hand on in the workspace, n =
// min(rows, columns): R and U_R of each matrix, packed columns; its reflectors and their tau; the
// exponent of A's scale, NaN where A is not finite; and d and e of R. Each starts at a whole packet.
struct tall_parts {
  SIMT_GLOBAL void* r;
  SIMT_GLOBAL void* u;
  SIMT_GLOBAL void* vectors;
  SIMT_GLOBAL void* tau;
  SIMT_GLOBAL void* exponents;
  SIMT_GLOBAL void* bidiagonals;
  steps::view vh;  // where V^H of R belongs
};

struct arguments {
  steps::view a, u, s, vh;      // u, vh: null for values alone
  SIMT_GLOBAL int* info;        // one per matrix; may be null
  SIMT_GLOBAL void* workspace;  // what the plan asks for; null where it asks for nothing
  simt::int64 batch;
  int m, n;
  int full;         // not 0: u is m x m and vh is n x n
  tall_parts tall;  // where QR comes first
};

}  // namespace svd
