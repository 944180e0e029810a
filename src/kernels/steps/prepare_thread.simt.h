// SPDX-License-Identifier: Apache-2.0
// What comes before every decomposition: find what is not finite, scale by a power of two.
// Storage: element (i, j) at a[j * ld + i].

namespace steps {

// What the store needs to know about each matrix.
template <class T>
struct prepared {
  simt::mask_of<T> bad;  // NaN or Inf in the part that is read
  T exponent;            // the matrix was multiplied by 2^-exponent
};

// Largest magnitude over rows i0(j) <= i < m of n columns; lower: i0(j) = j, else 0. Of a Hermitian
// matrix's diagonal only the real part is read (LAPACK heevd).
template <bool kLower, class S, class M, class N>
SIMT_STEP simt::real_of<S> largest_magnitude(SIMT_PRIVATE const S* a, int ld, M m, N n) {
  using T = simt::real_of<S>;
  T largest = simt::constant<T>(0.0f);
  for (int j = 0; j < n; ++j) {
    int i = 0;
    if (kLower) {
      largest = simt::max_magnitude(largest, simt::real(a[j * ld + j]));
      i = j + 1;
    }
    for (; i < m; ++i) largest = simt::max_magnitude(largest, a[j * ld + i]);
  }
  return largest;
}

// Scales every matrix so that its largest entry lies in [1, 2) and replaces one that is not finite
// by the identity, so that it costs its neighbours nothing. kLower: the lower triangle alone;
// `conjugate` turns an upper triangle that was loaded transposed into the lower one.
template <bool kLower, class S, class M, class N>
SIMT_STEP prepared<simt::real_of<S>> prepare(SIMT_PRIVATE S* a, int ld, M m, N n, bool conjugate) {
  using T = simt::real_of<S>;
  const T largest = largest_magnitude<kLower>(a, ld, m, n);
  prepared<T> r;
  r.bad = simt::mask_not(simt::is_finite(largest));
  r.exponent = simt::exponent(simt::select(r.bad, simt::constant<T>(1.0f), largest));
  const simt::pow2_scale<T> s = simt::make_pow2(-r.exponent);
  const bool any_bad = simt::any(r.bad);
  for (int j = 0; j < n; ++j) {
    for (int i = kLower ? j : 0; i < m; ++i) {
      S x = simt::scale_pow2(a[j * ld + i], s);
      if (kLower && i == j) x = simt::from_real<S>(simt::real(x));
      if (kLower && conjugate) x = simt::conj(x);
      if (any_bad) {
        const S unit = simt::from_real<S>(simt::constant<T>(i == j ? 1.0f : 0.0f));
        x = simt::select(r.bad, unit, x);
      }
      a[j * ld + i] = x;
    }
  }
  return r;
}

}  // namespace steps
