// SPDX-License-Identifier: Apache-2.0
// svd by one-sided Jacobi for orders known at compile time: one matrix per thread (or lane), all of
// it in registers. The rotations are those of jacobi_thread.simt.h.

namespace svd {

// One sweep over all pairs of columns, of m entries each; z is not touched without kVectors.
template <bool kVectors, int n, int m, class S>
SIMT_FN simt::mask_of<S> small_sweep(SIMT_PRIVATE S (&a)[n][m], SIMT_PRIVATE S (&z)[n][n]) {
  using T = simt::real_of<S>;
  const T zero = simt::constant<T>(0.0f);
  const T limit = jacobi_limit<T>(n);
  T norms[n];
  SIMT_UNROLL
  for (int j = 0; j < n; ++j) {
    norms[j] = zero;
    SIMT_UNROLL
    for (int i = 0; i < m; ++i) norms[j] = simt::norm2(a[j][i], norms[j]);
  }
  simt::mask_of<T> turned = simt::mask_all<T>(false);
  SIMT_UNROLL
  for (int p = 0; p < n - 1; ++p) {
    SIMT_UNROLL
    for (int q = p + 1; q < n; ++q) {
      S gamma = simt::zero<S>();
      SIMT_UNROLL
      for (int i = 0; i < m; ++i) gamma = simt::fma_conj(a[p][i], a[q][i], gamma);
      const plane_rotation<S> r = orthogonalising_rotation(norms[p], norms[q], gamma, limit);
      turned = simt::mask_or(turned, r.active);
      norms[p] = norms[p] - r.shift;
      norms[q] = norms[q] + r.shift;
      SIMT_UNROLL
      for (int i = 0; i < m; ++i) turn(a[p][i], a[q][i], r);
      if (!kVectors) continue;
      SIMT_UNROLL
      for (int i = 0; i < n; ++i) turn(z[p][i], z[q][i], r);
    }
  }
  return turned;
}

// A = U diag(d) V^H, d >= 0 in no order. a: A, then U (without kVectors: lost). x: n entries of
// scratch. Returns the lanes that converged.
template <bool kVectors, int n, class S>
SIMT_STEP simt::mask_of<S> jacobi_small(SIMT_PRIVATE S* a, int ld, SIMT_PRIVATE S* v, int ldv,
                                        SIMT_PRIVATE simt::real_of<S>* d, SIMT_PRIVATE S* x) {
  using T = simt::real_of<S>;
  SIMT_PRIVATE S b[n][n];
  SIMT_PRIVATE S z[n][n];
  SIMT_UNROLL
  for (int j = 0; j < n; ++j) {
    SIMT_UNROLL
    for (int i = 0; i < n; ++i) {
      b[j][i] = a[j * ld + i];
      z[j][i] = simt::from_real<S>(simt::constant<T>(i == j ? 1.0f : 0.0f));
    }
  }
  simt::mask_of<T> turned = simt::mask_all<T>(true);
  const int most = 40;
  for (int sweep = 0; sweep < most && simt::any(turned); ++sweep) {
    turned = small_sweep<kVectors, n>(b, z);
  }
  SIMT_UNROLL
  for (int j = 0; j < n; ++j) {
    SIMT_UNROLL
    for (int i = 0; i < n; ++i) {
      a[j * ld + i] = b[j][i];
      if (kVectors) v[j * ldv + i] = z[j][i];
    }
  }
  normalise_columns(n, a, ld, d, kVectors, x);
  return simt::mask_not(turned);
}

}  // namespace svd
