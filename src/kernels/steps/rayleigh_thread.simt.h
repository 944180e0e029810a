// SPDX-License-Identifier: Apache-2.0
// Values made to fit their vectors. An iteration of rotations rounds its values once a rotation, apart
// from the vectors: above order 32 that is most of the residual. The Rayleigh quotient of a vector is
// as good as the square of the vector's own error. Storage: element (i, j) at a[j * ld + i].

namespace steps {

// Above this order values are corrected.
SIMT_CONSTANT int kRayleighMinN = 33;

// d_j += v_j^H (A - d_j I) v_j for kColumns columns of v from the j-th on.
template <int kColumns, class S>
SIMT_FN void correct_eigenvalues_block_(int n, SIMT_PRIVATE const S* a, SIMT_PRIVATE const S* v,
                                        int ld, SIMT_PRIVATE simt::real_of<S>* d) {
  using T = simt::real_of<S>;
  const T zero = simt::constant<T>(0.0f), two = simt::constant<T>(2.0f);
  T sum[kColumns];
  for (int c = 0; c < kColumns; ++c) sum[c] = zero;
  for (int i = 0; i < n; ++i) {
    SIMT_PRIVATE const S* column = a + i * ld;
    const T diagonal = simt::real(column[i]);
    S t[kColumns];
    for (int c = 0; c < kColumns; ++c) t[c] = simt::zero<S>();
    for (int k = i + 1; k < n; ++k) {
      const S x = column[k];
      for (int c = 0; c < kColumns; ++c) t[c] = simt::fma_conj(x, v[c * ld + k], t[c]);
    }
    for (int c = 0; c < kColumns; ++c) {
      const S x = v[c * ld + i];
      const T both = simt::real(simt::fma_conj(t[c], x, simt::zero<S>()));
      sum[c] = simt::fma(diagonal - d[c], simt::norm2(x, zero), simt::fma(two, both, sum[c]));
    }
  }
  for (int c = 0; c < kColumns; ++c) d[c] = d[c] + sum[c];
}

// a: the lower triangle of A; v: n vectors of norm 1, d: its values.
template <class S>
SIMT_STEP void correct_eigenvalues(int n, SIMT_PRIVATE const S* a, SIMT_PRIVATE const S* v, int ld,
                                   SIMT_PRIVATE simt::real_of<S>* d) {
  int j = 0;
  for (; j + 4 <= n; j += 4) correct_eigenvalues_block_<4>(n, a, v + j * ld, ld, d + j);
  for (; j < n; ++j) correct_eigenvalues_block_<1>(n, a, v + j * ld, ld, d + j);
}

// d_j += real(u_j^H A v_j) - d_j (|u_j|^2 + |v_j|^2) / 2 for kColumns columns of u and v; not below 0.
template <int kColumns, class S>
SIMT_FN void correct_singular_values_block_(int m, int n, SIMT_PRIVATE const S* a, int lda,
                                            SIMT_PRIVATE const S* u, int ldu,
                                            SIMT_PRIVATE const S* v, int ldv,
                                            SIMT_PRIVATE simt::real_of<S>* d) {
  using T = simt::real_of<S>;
  const T zero = simt::constant<T>(0.0f), half = simt::constant<T>(0.5f);
  T sum[kColumns], squares[kColumns];
  for (int c = 0; c < kColumns; ++c) sum[c] = squares[c] = zero;
  for (int k = 0; k < n; ++k) {
    SIMT_PRIVATE const S* column = a + k * lda;
    S t[kColumns];
    for (int c = 0; c < kColumns; ++c) t[c] = simt::zero<S>();
    for (int i = 0; i < m; ++i) {
      const S x = column[i];
      for (int c = 0; c < kColumns; ++c) t[c] = simt::fma_conj(x, u[c * ldu + i], t[c]);
    }
    for (int c = 0; c < kColumns; ++c) {
      const S x = v[c * ldv + k];
      sum[c] = sum[c] + simt::real(simt::fma_conj(t[c], x, simt::zero<S>()));
      squares[c] = simt::norm2(x, squares[c]);
    }
  }
  for (int c = 0; c < kColumns; ++c) {
    for (int i = 0; i < m; ++i) squares[c] = simt::norm2(u[c * ldu + i], squares[c]);
    d[c] = simt::max(zero, d[c] + simt::fnma(half * d[c], squares[c], sum[c]));
  }
}

// u: the first n left vectors of the m x n matrix a, v: its right vectors, d >= 0 its values.
template <class S>
SIMT_STEP void correct_singular_values(int m, int n, SIMT_PRIVATE const S* a, int lda,
                                       SIMT_PRIVATE const S* u, int ldu, SIMT_PRIVATE const S* v,
                                       int ldv, SIMT_PRIVATE simt::real_of<S>* d) {
  int j = 0;
  for (; j + 4 <= n; j += 4) {
    correct_singular_values_block_<4>(m, n, a, lda, u + j * ldu, ldu, v + j * ldv, ldv, d + j);
  }
  for (; j < n; ++j) {
    correct_singular_values_block_<1>(m, n, a, lda, u + j * ldu, ldu, v + j * ldv, ldv, d + j);
  }
}

}  // namespace steps
