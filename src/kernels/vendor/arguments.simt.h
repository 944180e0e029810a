// SPDX-License-Identifier: Apache-2.0
// What the kernels around a vendor's routine get. Each launch fills the fields that its kernel reads.

namespace vendor {

// Which entries of a line count: all, those up to the diagonal, those from the diagonal on.
enum kept { kAll = 0, kHead = 1, kTail = 2 };

// A matrix is walked by lines: its columns, or its rows where they lie closer together. The blocks of
// a launch take parts of `lines_of_part` lines each, `parts` to a matrix.
struct arguments {
  steps::view matrix;           // A, or the result that is written
  SIMT_GLOBAL void* packed;     // the routine's matrices, packed_stride entries apart
  SIMT_GLOBAL void* values;     // real, `length` a matrix
  SIMT_GLOBAL void* largest;    // real, of each part
  SIMT_GLOBAL void* exponents;  // real, one a matrix: it was scaled by 2^-e; NaN: its results are
  SIMT_GLOBAL int* routine_info;
  SIMT_GLOBAL int* info;  // may be null
  simt::int64 batch;
  simt::int64 packed_stride;
  int lines, length;
  int parts, lines_of_part;
  int packed_line, packed_entry;  // distances in a packed matrix
  int kept;                       // the other entries are not read, and written as zeros
  int hermitian;                  // not 0: of the diagonal the real part alone counts
  int by_rows;                    // not 0: a line is a row of `matrix`
  int conjugate;                  // not 0: what is copied is conjugated
  int scaled;                     // not 0: results are scaled back
  int plain;                      // not 0: results of a bad matrix are copied like others
};

}  // namespace vendor
