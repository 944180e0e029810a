// SPDX-License-Identifier: Apache-2.0
// What every GPU kernel of cholesky gets.

namespace cholesky {

// Of an upper triangle both views have their rows and columns exchanged:
// A^T = conj(A) = conj(L) conj(L)^H, and conj(L)^T is the U of A = U^H U.
struct arguments {
  steps::view a, l;       // l may be the memory of a
  SIMT_GLOBAL int* info;  // one per matrix; may be null
  simt::int64 batch;
  int n;
};

}  // namespace cholesky
