// SPDX-License-Identifier: Apache-2.0
// eigh by cyclic two-sided Jacobi (Jacobi 1846; Golub and Van Loan, section 8.5), for orders known at
// compile time: one matrix per thread (or lane), all of it in registers.
// Storage: element (i, j) at a[j * ld + i], the lower triangle alone.

namespace eigh {

// Makes A(q, p) vanish by a unitary rotation of rows and columns p and q. Lanes outside `active` keep
// their values.
template <class S, int n>
SIMT_FN void jacobi_rotation(SIMT_PRIVATE S (&a)[n][n], SIMT_PRIVATE S (&z)[n][n], int p, int q,
                             simt::mask_of<S> active, bool want_vectors) {
  using T = simt::real_of<S>;
  const T zero = simt::constant<T>(0.0f), one = simt::constant<T>(1.0f);
  const S o = a[q][p];
  const T app = simt::real(a[p][p]), aqq = simt::real(a[q][q]);
  const T size = simt::norm2(o, zero);
  const T d = aqq - app;
  const T h = simt::fma(simt::constant<T>(4.0f), size, d * d);
  active = simt::mask_and(active, h >= steps::negligible_square<T>());
  // cos(2 t) = |d| r, so that c^2 and s follow from two reciprocal roots, without a division
  const T r = simt::rsqrt(simt::select(active, h, one));
  const T half = simt::constant<T>(0.5f);
  const T c2 = simt::fma(half * simt::abs(d), r, half);
  const T k = simt::rsqrt(c2);
  const T u = simt::select(active, simt::copysign(r * k, d), zero);  // s / conj(o)
  const T c = simt::select(active, c2 * k, one);
  const S s = simt::scale(u, simt::conj(o));
  const T shift = u * size * k;  // |o| times the tangent
  a[p][p] = simt::from_real<S>(app - shift);
  a[q][q] = simt::from_real<S>(aqq + shift);
  a[q][p] = simt::select(active, simt::zero<S>(), o);
  SIMT_UNROLL
  for (int k = 0; k < n; ++k) {
    if (k == p || k == q) continue;
    const S x = k > p ? a[k][p] : simt::conj(a[p][k]);
    const S y = k > q ? a[k][q] : simt::conj(a[q][k]);
    const S x1 = simt::fnma_conj(y, s, simt::scale(c, x));
    const S y1 = simt::fma(s, x, simt::scale(c, y));
    if (k > p) {
      a[k][p] = x1;
    } else {
      a[p][k] = simt::conj(x1);
    }
    if (k > q) {
      a[k][q] = y1;
    } else {
      a[q][k] = simt::conj(y1);
    }
  }
  if (!want_vectors) return;
  SIMT_UNROLL
  for (int k = 0; k < n; ++k) {
    const S x = z[k][p];
    const S y = z[k][q];
    z[k][p] = simt::fnma_conj(y, s, simt::scale(c, x));
    z[k][q] = simt::fma(s, x, simt::scale(c, y));
  }
}

// Sweeps until no off-diagonal entry is above u / 2 times the norm. d: eigenvalues in no order.
// Returns the lanes that converged.
template <int n, bool kVectors, class S>
SIMT_STEP simt::mask_of<S> jacobi(SIMT_PRIVATE const S* a_in, int ld, SIMT_PRIVATE S* v,
                                  SIMT_PRIVATE simt::real_of<S>* d) {
  using T = simt::real_of<S>;
  constexpr int kBits = n <= 2 ? 2 : 4;
  static_assert(n <= kBits, "all pairs");
  const T zero = simt::constant<T>(0.0f);
  SIMT_PRIVATE S a[n][n];
  SIMT_PRIVATE S z[n][n];
  T norm2 = zero;
  SIMT_UNROLL
  for (int i = 0; i < n; ++i) {
    SIMT_UNROLL
    for (int j = 0; j < n; ++j) {
      a[i][j] = i >= j ? a_in[j * ld + i] : simt::zero<S>();
      z[i][j] = simt::from_real<S>(simt::constant<T>(i == j ? 1.0f : 0.0f));
      norm2 = simt::norm2(a[i][j], norm2);
    }
  }
  const T limit = norm2 * simt::constant<T>(0.0625f) * simt::eps<T>() * simt::eps<T>();
  const int most = 60;  // 3 to 5 as a rule
  for (int sweep = 0; sweep < most; ++sweep) {
    T largest = zero;
    SIMT_UNROLL
    for (int p = 0; p < n - 1; ++p) {
      SIMT_UNROLL
      for (int q = p + 1; q < n; ++q) largest = simt::max(largest, simt::norm2(a[q][p], zero));
    }
    const simt::mask_of<T> active = largest > limit;
    if (!simt::any(active)) break;
    // Pairs that differ in the same bits, (0, 1) (2, 3), (0, 2) (1, 3), (0, 3) (1, 2), have no row in
    // common: order 4 comes to rest in 3.7 sweeps on average, row by row in 4.2, where eigenvalues
    // equal in pairs may also halve the largest entry only, sweep after sweep.
    SIMT_UNROLL
    for (int bits = 1; bits < kBits; ++bits) {
      SIMT_UNROLL
      for (int p = 0; p < n - 1; ++p) {
        const int q = p ^ bits;
        if (q > p && q < n) jacobi_rotation<S, n>(a, z, p, q, active, kVectors);
      }
    }
  }
  T left = zero;
  SIMT_UNROLL
  for (int j = 0; j < n; ++j) {
    d[j] = simt::real(a[j][j]);
    SIMT_UNROLL
    for (int i = 0; i < n; ++i) {
      if (kVectors) v[j * ld + i] = z[i][j];
      if (i > j) left = simt::max(left, simt::norm2(a[i][j], zero));
    }
  }
  return left <= limit;
}

}  // namespace eigh
