// SPDX-License-Identifier: Apache-2.0
// svd of a matrix with more rows than columns by way of its R (Lawson and Hanson 1974; Chan 1982):
// A = Q R, R = U_R S V^H, U = Q U_R.
// Storage: element (i, j) at a[j * ld + i].

namespace svd {

// r (n x n) <- the R that qr::factor() left in a, zeros below its diagonal.
template <class S>
SIMT_STEP void copy_triangle(int n, SIMT_PRIVATE const S* a, int ld,
                             SIMT_PRIVATE const simt::real_of<S>* diagonal, SIMT_PRIVATE S* r,
                             int ldr) {
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < j; ++i) r[j * ldr + i] = a[j * ld + i];
    r[j * ldr + j] = simt::from_real<S>(diagonal[j]);
    for (int i = j + 1; i < n; ++i) r[j * ldr + i] = simt::zero<S>();
  }
}

// Divides every column by the power of two 2^e, e to `exponents`, that brings its largest entry into
// [1, 2): A = B D, and the R of B times D is the R of A, to full relative accuracy in every column. The
// reflectors then never meet a column that is too small to be told from zero.
template <class S>
SIMT_STEP void scale_columns(int m, int n, SIMT_PRIVATE S* a, int ld,
                             SIMT_PRIVATE simt::real_of<S>* exponents) {
  using T = simt::real_of<S>;
  for (int j = 0; j < n; ++j) {
    SIMT_PRIVATE S* column = a + j * ld;
    T largest = simt::constant<T>(0.0f);
    for (int i = 0; i < m; ++i) largest = simt::max_magnitude(largest, column[i]);
    exponents[j] = simt::exponent(largest);
    const simt::pow2_scale<T> s = simt::make_pow2(-exponents[j]);
    for (int i = 0; i < m; ++i) column[i] = simt::scale_pow2(column[i], s);
  }
}

// r <- r D: what scale_columns() took from the columns.
template <class S>
SIMT_STEP void unscale_triangle(int n, SIMT_PRIVATE S* r, int ldr,
                                SIMT_PRIVATE const simt::real_of<S>* exponents) {
  for (int j = 0; j < n; ++j) {
    const simt::pow2_scale<simt::real_of<S>> s = simt::make_pow2(exponents[j]);
    for (int i = 0; i <= j; ++i) r[j * ldr + i] = simt::scale_pow2(r[j * ldr + i], s);
  }
}

// kRows rows of a from row i on, times w. x: kRows n entries of scratch.
template <int kRows, class S>
SIMT_FN void multiply_row_block(int n, SIMT_PRIVATE S* a, int ld, SIMT_PRIVATE const S* w, int ldw,
                                int i, SIMT_PRIVATE S* x) {
  for (int k = 0; k < n; ++k) {
    for (int q = 0; q < kRows; ++q) x[k * kRows + q] = a[k * ld + i + q];
  }
  int j = 0;
  for (; j + 2 <= n; j += 2) {
    SIMT_PRIVATE const S* w0 = w + j * ldw;
    SIMT_PRIVATE const S* w1 = w0 + ldw;
    S s[kRows], t[kRows];
    for (int q = 0; q < kRows; ++q) s[q] = t[q] = simt::zero<S>();
    for (int k = 0; k < n; ++k) {
      const S y = w0[k], z = w1[k];
      for (int q = 0; q < kRows; ++q) {
        s[q] = simt::fma(x[k * kRows + q], y, s[q]);
        t[q] = simt::fma(x[k * kRows + q], z, t[q]);
      }
    }
    for (int q = 0; q < kRows; ++q) {
      a[j * ld + i + q] = s[q];
      a[(j + 1) * ld + i + q] = t[q];
    }
  }
  if (j < n) {
    S s[kRows];
    for (int q = 0; q < kRows; ++q) s[q] = simt::zero<S>();
    for (int k = 0; k < n; ++k) {
      for (int q = 0; q < kRows; ++q) s[q] = simt::fma(x[k * kRows + q], w[j * ldw + k], s[q]);
    }
    for (int q = 0; q < kRows; ++q) a[j * ld + i + q] = s[q];
  }
}

// The first n columns of a (m rows) <- those columns times w (n x n). x: 4 n entries of scratch.
template <class S>
SIMT_STEP void multiply_columns(int m, int n, SIMT_PRIVATE S* a, int ld, SIMT_PRIVATE const S* w,
                                int ldw, SIMT_PRIVATE S* x) {
  int i = 0;
  for (; i + 4 <= m; i += 4) multiply_row_block<4>(n, a, ld, w, ldw, i, x);
  for (; i < m; ++i) multiply_row_block<1>(n, a, ld, w, ldw, i, x);
}

}  // namespace svd
