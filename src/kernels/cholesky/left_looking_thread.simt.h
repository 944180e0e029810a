// SPDX-License-Identifier: Apache-2.0
// Cholesky, A = L L^H, one matrix per thread (or lane).
// Method: left-looking by square tiles (Golub and Van Loan, 4.2; LAPACK potrf): a tile is held in
// registers while everything to its left is subtracted from it, in the order of the columns, so that
// the tile's order changes no bit.
// Storage: element (i, j) at a[j * ld + i], the lower triangle alone. Cost: n^3 / 6 fused
// multiply-adds, two loads for every four of them.

namespace cholesky {

// Rows and columns of a tile: 16 registers of accumulators.
template <class S>
struct tile_order {
  static constexpr int value = simt::traits<S>::kComplex ? 2 : 4;
};

// What the reduction of one tile of the diagonal leaves behind.
template <class T>
struct progress {
  T order;  // of the first leading minor that is not positive, 0 as long as all are
};

// The tile at (i, j) less the product of what lies to its left: acc = A - L(i.., :j) L(j.., :j)^H.
template <int kRows, int kCols, class S>
SIMT_FN void reduce_tile(SIMT_PRIVATE const S* a, int ld, int i, int j,
                         SIMT_PRIVATE S (&acc)[kRows][kCols]) {
  SIMT_PRIVATE const S* tile = a + j * ld + i;
  SIMT_PRIVATE const S* rows = a + i;
  SIMT_PRIVATE const S* cols = a + j;
  SIMT_UNROLL
  for (int r = 0; r < kRows; ++r) {
    SIMT_UNROLL
    for (int c = 0; c < kCols; ++c) acc[r][c] = tile[c * ld + r];
  }
  for (int k = 0; k < j; ++k, rows += ld, cols += ld) {
    S left[kRows], right[kCols];
    SIMT_UNROLL
    for (int r = 0; r < kRows; ++r) left[r] = rows[r];
    SIMT_UNROLL
    for (int c = 0; c < kCols; ++c) right[c] = cols[c];
    SIMT_UNROLL
    for (int r = 0; r < kRows; ++r) {
      SIMT_UNROLL
      for (int c = 0; c < kCols; ++c) acc[r][c] = simt::fnma_conj(left[r], right[c], acc[r][c]);
    }
  }
}

// The tile of the diagonal at j becomes its own factor; inverse gets 1 / L(j, j). A pivot that is
// not positive is counted once and replaced by one: its matrix is lost, its neighbours see nothing.
template <int kCols, class S>
SIMT_FN void factor_tile(SIMT_PRIVATE S* a, int ld, int j,
                         SIMT_PRIVATE simt::real_of<S> (&inverse)[kCols],
                         SIMT_PRIVATE progress<simt::real_of<S>>& state) {
  using T = simt::real_of<S>;
  const T zero = simt::constant<T>(0.0f), one = simt::constant<T>(1.0f);
  S acc[kCols][kCols];
  reduce_tile<kCols, kCols>(a, ld, j, j, acc);
  SIMT_UNROLL
  for (int c = 0; c < kCols; ++c) {
    const T pivot = simt::real(acc[c][c]);
    const simt::mask_of<T> positive = pivot > zero;
    const T here = simt::constant<T>(static_cast<float>(j + c + 1));
    state.order = simt::select(simt::mask_or(positive, state.order > zero), state.order, here);
    const T root = simt::sqrt(simt::select(positive, pivot, one));
    inverse[c] = one / root;
    a[(j + c) * ld + j + c] = simt::from_real<S>(root);
    SIMT_UNROLL
    for (int r = c + 1; r < kCols; ++r) {
      acc[r][c] = simt::scale(inverse[c], acc[r][c]);
      a[(j + c) * ld + j + r] = acc[r][c];
    }
    SIMT_UNROLL
    for (int q = c + 1; q < kCols; ++q) {
      SIMT_UNROLL
      for (int r = q; r < kCols; ++r) {
        acc[r][q] = simt::fnma_conj(acc[r][c], acc[q][c], acc[r][q]);
      }
    }
  }
}

// The tile at (i, j) below the diagonal: reduced, then divided by the factor of the diagonal's tile.
template <int kRows, int kCols, class S>
SIMT_STEP void solve_tile(SIMT_PRIVATE S* a, int ld, int i, int j,
                          SIMT_PRIVATE const simt::real_of<S> (&inverse)[kCols]) {
  S acc[kRows][kCols];
  reduce_tile<kRows, kCols>(a, ld, i, j, acc);
  SIMT_UNROLL
  for (int c = 0; c < kCols; ++c) {
    SIMT_UNROLL
    for (int p = 0; p < c; ++p) {
      const S factor = a[(j + p) * ld + j + c];
      SIMT_UNROLL
      for (int r = 0; r < kRows; ++r) acc[r][c] = simt::fnma_conj(acc[r][p], factor, acc[r][c]);
    }
    SIMT_UNROLL
    for (int r = 0; r < kRows; ++r) {
      acc[r][c] = simt::scale(inverse[c], acc[r][c]);
      a[(j + c) * ld + i + r] = acc[r][c];
    }
  }
}

// kCols columns from j on, in all rows below.
template <int kCols, class S>
SIMT_FN void factor_columns(int n, SIMT_PRIVATE S* a, int ld, int j,
                            SIMT_PRIVATE progress<simt::real_of<S>>& state) {
  simt::real_of<S> inverse[kCols];
  factor_tile<kCols>(a, ld, j, inverse, state);
  int i = j + kCols;
  for (; i + tile_order<S>::value <= n; i += tile_order<S>::value) {
    solve_tile<tile_order<S>::value, kCols>(a, ld, i, j, inverse);
  }
  for (; i < n; ++i) solve_tile<1, kCols>(a, ld, i, j, inverse);
}

// A's lower triangle becomes L. Returns the order of the first leading minor that is not positive,
// as a number, 0 where there is none.
template <class S>
SIMT_STEP simt::real_of<S> factor(int n, SIMT_PRIVATE S* a, int ld) {
  progress<simt::real_of<S>> state;
  state.order = simt::constant<simt::real_of<S>>(0.0f);
  int j = 0;
  for (; j + tile_order<S>::value <= n; j += tile_order<S>::value) {
    factor_columns<tile_order<S>::value>(n, a, ld, j, state);
  }
  for (; j < n; ++j) factor_columns<1>(n, a, ld, j, state);
  return state.order;
}

// The same for an order known at compile time: one tile, all of it in registers.
template <int kOrder, class S>
SIMT_FN simt::real_of<S> factor_small(SIMT_PRIVATE S* a, int ld) {
  progress<simt::real_of<S>> state;
  state.order = simt::constant<simt::real_of<S>>(0.0f);
  simt::real_of<S> inverse[kOrder];
  factor_tile<kOrder>(a, ld, 0, inverse, state);
  return state.order;
}

// Where A's largest entry is so small that its products would be rounded to multiples of the smallest
// subnormal number, A is multiplied by 2^120. Returns what L is to be multiplied by then: 2^-60, or 1.
template <class S>
SIMT_FN simt::real_of<S> raise_small(int n, SIMT_PRIVATE S* a, int ld, simt::real_of<S> largest) {
  using T = simt::real_of<S>;
  const T one = simt::constant<T>(1.0f);
  const T limit = simt::tiny<T>() * simt::constant<T>(1073741824.0f);  // 2^30
  const simt::mask_of<T> small = largest < limit;
  if (!simt::any(small)) return one;
  const T factor =
      simt::select(small, simt::constant<T>(1329227995784915872903807060280344576.0f), one);
  for (int j = 0; j < n; ++j) {
    for (int i = j; i < n; ++i) a[j * ld + i] = simt::scale(factor, a[j * ld + i]);
  }
  return simt::select(small, simt::constant<T>(8.673617379884035e-19f), one);
}

// The reverse, on L.
template <class S>
SIMT_FN void lower_factor(int n, SIMT_PRIVATE S* a, int ld, simt::real_of<S> factor) {
  if (simt::all(factor == simt::constant<simt::real_of<S>>(1.0f))) return;
  for (int j = 0; j < n; ++j) {
    for (int i = j; i < n; ++i) a[j * ld + i] = simt::scale(factor, a[j * ld + i]);
  }
}

// Zeros above L's diagonal.
template <class S>
SIMT_FN void clear_above_diagonal(int n, SIMT_PRIVATE S* a, int ld) {
  for (int j = 1; j < n; ++j) {
    for (int i = 0; i < j; ++i) a[j * ld + i] = simt::zero<S>();
  }
}

}  // namespace cholesky
