// SPDX-License-Identifier: Apache-2.0
// Triangles in device memory.

namespace solve {

// A triangle in device memory as a lower one: element (i, k) at data[i * row + k * column]. An upper one
// is counted from the end.
template <class S>
struct factor_view {
  SIMT_GLOBAL const S* data;
  simt::int64 row, column;
  bool conjugate;
};
template <class S>
SIMT_FN factor_view<S> factor_of(const arguments& args, simt::int64 matrix) {
  factor_view<S> f = {steps::matrix_of<S>(args.a, matrix), args.a.row, args.a.column,
                      args.conjugate != 0};
  if (args.lower == 0) {
    f.data += (args.n - 1) * (f.row + f.column);
    f.row = -f.row;
    f.column = -f.column;
  }
  return f;
}
// Its conjugate transpose, an upper triangle, counted from the end.
template <class S>
SIMT_FN factor_view<S> adjoint_of(const factor_view<S>& f, int n) {
  return {f.data + (n - 1) * (f.row + f.column), -f.column, -f.row, !f.conjugate};
}
template <class S>
SIMT_FN S entry(const factor_view<S>& f, int i, int k) {
  const S x = f.data[i * f.row + k * f.column];
  return simt::select(f.conjugate, simt::conj(x), x);
}
template <class S>
SIMT_FN bool rows_are_adjacent(const factor_view<S>& f) {
  return f.row == 1 || f.row == -1;
}

// Loads under way at a time, of `count` in all.
template <class S>
SIMT_FN constexpr int loads_in_flight(int count) {
  return count % (64 / static_cast<int>(sizeof(S))) == 0 ? 64 / static_cast<int>(sizeof(S)) : 8;
}

}  // namespace solve
