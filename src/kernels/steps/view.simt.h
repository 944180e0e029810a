// SPDX-License-Identifier: Apache-2.0
// A batch of matrices as a GPU kernel gets it.

namespace steps {

// How the matrices of a batch lie. Packed: one behind the other without gaps, 16-byte aligned, each
// column by column or row by row (a vector per matrix is both: columns).
enum layout { kStrided = 0, kPackedColumns = 1, kPackedRows = 2 };

// Element (i, j) of matrix b is at data[b * batch + i * row + j * column], counted in elements.
struct view {
  SIMT_GLOBAL void* data;  // null: not wanted
  simt::int64 row, column, batch;
  int layout;
};

}  // namespace steps
