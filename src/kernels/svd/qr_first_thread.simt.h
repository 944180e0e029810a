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
