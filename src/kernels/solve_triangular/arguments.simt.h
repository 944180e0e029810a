// SPDX-License-Identifier: Apache-2.0
// What every GPU kernel of the solves gets.

namespace solve {

// Right sides and transposes have become strides: a stands to the left of X.
struct arguments {
  steps::view a;     // strides of 0 where a factor serves the whole batch
  steps::view b, x;  // n rows; x may be the memory of b
  simt::int64 batch;
  simt::int64 columns;  // of b and x
  int n;
  int lower, conjugate, unit;  // of a: 0 or 1
  int passes;                  // 2: a is a Cholesky factor
};

}  // namespace solve
