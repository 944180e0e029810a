// SPDX-License-Identifier: Apache-2.0
// What comes ahead of and after a decomposition in the registers of one GPU thread. Matrices are
// a[j][i]: row i of column j.

namespace steps {

// prepare() of prepare_thread.simt.h with every loop unrolled, for the first kN columns.
template <bool kLower, int kM, int kN, int kColumns, class S>
SIMT_FN prepared<simt::real_of<S>> prepare_small(SIMT_PRIVATE S (&a)[kColumns][kM],
                                                 bool conjugate) {
  using T = simt::real_of<S>;
  T largest = simt::constant<T>(0.0f);
  SIMT_UNROLL
  for (int j = 0; j < kN; ++j) {
    if (kLower) a[j][j] = simt::from_real<S>(simt::real(a[j][j]));
    SIMT_UNROLL
    for (int i = kLower ? j : 0; i < kM; ++i) largest = simt::max_magnitude(largest, a[j][i]);
  }
  prepared<T> r;
  r.bad = !simt::is_finite(largest);
  r.exponent = simt::exponent(r.bad ? simt::constant<T>(1.0f) : largest);
  const simt::pow2_scale<T> s = simt::make_pow2(-r.exponent);
  SIMT_UNROLL
  for (int j = 0; j < kN; ++j) {
    SIMT_UNROLL
    for (int i = kLower ? j : 0; i < kM; ++i) {
      const S x = simt::scale_pow2(a[j][i], s);
      const S y = kLower && conjugate ? simt::conj(x) : x;
      a[j][i] = simt::select(r.bad, simt::from_real<S>(simt::constant<T>(i == j ? 1.0f : 0.0f)), y);
    }
  }
  return r;
}

// Of a Hermitian matrix, scaled already: takes the first diagonal entry from all of them where each lies
// within a factor of two of it, which is exact (Sterbenz), and scales what is left anew. A cluster of
// eigenvalues is then resolved to u times its width instead of u times its size. Gives the shift, at
// the scale of the input.
template <int n, class S>
SIMT_FN simt::real_of<S> take_shift(SIMT_PRIVATE S (&a)[n][n],
                                    SIMT_PRIVATE prepared<simt::real_of<S>>& p) {
  using T = simt::real_of<S>;
  const T zero = simt::constant<T>(0.0f);
  const T first = simt::real(a[0][0]), size = simt::abs(first);
  bool near = true;
  SIMT_UNROLL
  for (int i = 1; i < n; ++i) {
    const T x = first < zero ? -simt::real(a[i][i]) : simt::real(a[i][i]);
    near = near && x >= simt::constant<T>(0.5f) * size && x <= size + size;
  }
  const T shift = near ? first : zero;
  T largest = zero;
  SIMT_UNROLL
  for (int j = 0; j < n; ++j) {
    a[j][j] = simt::from_real<S>(simt::real(a[j][j]) - shift);
    SIMT_UNROLL
    for (int i = j; i < n; ++i) largest = simt::max_magnitude(largest, a[j][i]);
  }
  const T exponent = simt::exponent(largest);
  const simt::pow2_scale<T> s = simt::make_pow2(-exponent);
  SIMT_UNROLL
  for (int j = 0; j < n; ++j) {
    SIMT_UNROLL
    for (int i = j; i < n; ++i) a[j][i] = simt::scale_pow2(a[j][i], s);
  }
  const T unscaled = simt::scale_pow2(shift, simt::make_pow2(p.exponent));
  p.exponent = p.exponent + exponent;
  return unscaled;
}

// Where value j stands among the values: equal ones in the order in which they came.
template <bool kDescending, int n, class T>
SIMT_FN int rank_small(SIMT_PRIVATE const T (&d)[n], int j) {
  int rank = 0;
  SIMT_UNROLL
  for (int k = 0; k < n; ++k) {
    const bool before = k < j ? !(kDescending ? d[k] < d[j] : d[j] < d[k])
                              : (kDescending ? d[j] < d[k] : d[k] < d[j]);
    if (k != j && before) ++rank;
  }
  return rank;
}

// Values and, with kVectors, their columns in order, to their slots; values at the matrix's scale and
// with `shift`. To order 4 they are exchanged in registers first, which costs less than addresses that differ.
template <bool kDescending, bool kVectors, int kM, int n, class S>
SIMT_FN void store_sorted(SIMT_PRIVATE simt::real_of<S> (&d)[n], simt::real_of<S> exponent,
                          simt::real_of<S> shift, SIMT_SHARED simt::real_of<S>* values,
                          SIMT_PRIVATE S (&z)[n][kM], SIMT_SHARED S* matrix, bool by_rows) {
  using T = simt::real_of<S>;
  constexpr bool kExchange = n <= 4;
  const simt::pow2_scale<T> scale = simt::make_pow2(exponent);
  if (kExchange) {
    SIMT_UNROLL
    for (int last = n - 1; last > 0; --last) {
      SIMT_UNROLL
      for (int j = 0; j < last; ++j) {
        const bool wrong = kDescending ? d[j] < d[j + 1] : d[j + 1] < d[j];
        exchange(d[j], d[j + 1], wrong);
        SIMT_UNROLL
        for (int i = 0; i < (kVectors ? kM : 0); ++i) exchange(z[j][i], z[j + 1][i], wrong);
      }
    }
  }
  SIMT_UNROLL
  for (int j = 0; j < n; ++j) {
    const int rank = kExchange ? j : rank_small<kDescending>(d, j);
    values[rank] = simt::scale_pow2(d[j], scale) + shift;
    if (kVectors) write_column<kM, n>(matrix, by_rows, rank, z[j]);
  }
}

}  // namespace steps
