// SPDX-License-Identifier: Apache-2.0
// The right-hand sides of a batch, or blocks of them, counted through all matrices.

namespace solve {

// Where part `number` of the whole batch stands, of matrices that have `parts` each.
struct place {
  simt::int64 matrix;
  int part;
};
SIMT_FN place place_of(simt::int64 number, int parts) {
  if (parts == 1) return {number, 0};
  constexpr simt::int64 kSmall = 2147483647;
  if (number <= kSmall) {  // a division of 64 bits takes five times as long
    const int small = static_cast<int>(number), matrix = small / parts;
    return {matrix, small - matrix * parts};
  }
  const simt::int64 matrix = number / parts;
  return {matrix, static_cast<int>(number - matrix * parts)};
}

}  // namespace solve
