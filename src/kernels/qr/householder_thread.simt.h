// SPDX-License-Identifier: Apache-2.0
// QR by Householder reflectors, one matrix per thread (or lane).
// Method: reflectors with LAPACK's signs (larfg, geqr2), two of them applied at a time as
// I - V T V^H with a 2 x 2 T (Schreiber and Van Loan 1989; LAPACK larft, larfb), which halves the
// passes over the trailing columns; Q is formed backwards in place (LAPACK org2r, ung2r).
// Storage: element (i, j) at a[j * ld + i]. Reflector k lies in column k from its row k on, its
// head not divided out. Cost: 2 n^2 (m - n / 3) operations, and as many again for the thin Q.

namespace qr {

// What two neighbouring reflectors k and k + 1 need to be applied together. The one that acts first
// is `first`: tau of both, and gram = v_second^H v_first.
template <class S>
struct pair_factors {
  S tau_first, tau_second, gram;
};

// The kColumns columns at c through both reflectors: v in the columns k, k + 1 of a. kForm: the
// backward step of forming Q: reflector k + 1 acts first, and the rows k and k + 1 of c count as
// zero; otherwise reflector k acts first.
template <bool kForm, int kColumns, class S>
SIMT_FN void apply_pair_to(SIMT_PRIVATE const S* v, SIMT_PRIVATE const S* w, pair_factors<S> h,
                           SIMT_PRIVATE S* c, int ld, int k, int m) {
  S head[kColumns], next[kColumns], dv[kColumns], dw[kColumns];
  const S v0 = v[k], v1 = v[k + 1], w1 = w[k + 1];
  for (int q = 0; q < kColumns; ++q) {
    head[q] = kForm ? simt::zero<S>() : c[q * ld + k];
    next[q] = kForm ? simt::zero<S>() : c[q * ld + k + 1];
    dv[q] = simt::zero<S>();
    dw[q] = simt::zero<S>();
    if (!kForm) {
      dv[q] = simt::fma_conj(v1, next[q], simt::fma_conj(v0, head[q], dv[q]));
      dw[q] = simt::fma_conj(w1, next[q], dw[q]);
    }
  }
  for (int i = k + 2; i < m; ++i) {
    const S x = v[i], y = w[i];
    for (int q = 0; q < kColumns; ++q) {
      const S z = c[q * ld + i];
      dv[q] = simt::fma_conj(x, z, dv[q]);
      dw[q] = simt::fma_conj(y, z, dw[q]);
    }
  }
  for (int q = 0; q < kColumns; ++q) {
    if (kForm) {
      dw[q] = h.tau_first * dw[q];
      dv[q] = h.tau_second * simt::fnma(h.gram, dw[q], dv[q]);
    } else {
      dv[q] = h.tau_first * dv[q];
      dw[q] = h.tau_second * simt::fnma(h.gram, dv[q], dw[q]);
    }
    c[q * ld + k] = simt::fnma(v0, dv[q], head[q]);
    c[q * ld + k + 1] = simt::fnma(w1, dw[q], simt::fnma(v1, dv[q], next[q]));
  }
  for (int i = k + 2; i < m; ++i) {
    const S x = v[i], y = w[i];
    for (int q = 0; q < kColumns; ++q) {
      c[q * ld + i] = simt::fnma(y, dw[q], simt::fnma(x, dv[q], c[q * ld + i]));
    }
  }
}

// Columns j0 <= j < j1 of a through the reflectors k and k + 1. Several columns share the loads of
// both vectors; a complex number takes two registers, so there are half as many.
template <bool kForm, class S>
SIMT_STEP void apply_pair(SIMT_PRIVATE S* a, int ld, pair_factors<S> h, int k, int m, int j0,
                          int j1) {
  constexpr int kColumns = simt::traits<S>::kComplex ? 2 : 4;
  SIMT_PRIVATE const S* v = a + k * ld;
  SIMT_PRIVATE const S* w = v + ld;
  int j = j0;
  for (; j + kColumns <= j1; j += kColumns) {
    apply_pair_to<kForm, kColumns>(v, w, h, a + j * ld, ld, k, m);
  }
  for (; j < j1; ++j) apply_pair_to<kForm, 1>(v, w, h, a + j * ld, ld, k, m);
}

// Makes reflector k from column k; its image goes to diagonal[k].
template <class S>
SIMT_STEP void reflect_column(SIMT_PRIVATE S* a, int ld, int k, int m, SIMT_PRIVATE S* tau,
                              SIMT_PRIVATE simt::real_of<S>* diagonal) {
  SIMT_PRIVATE S* v = a + k * ld;
  const steps::reflector<S> h = steps::make_reflector(v[k], steps::sum_of_squares(v, k + 1, m));
  v[k] = h.head;
  tau[k] = h.tau;
  diagonal[k] = h.beta;
}

// x^H y over the rows first <= i < last, in two interleaved partial sums (fixed order).
template <class S>
SIMT_FN S dot_conj(SIMT_PRIVATE const S* x, SIMT_PRIVATE const S* y, int first, int last) {
  S s0 = simt::zero<S>(), s1 = s0;
  int i = first;
  for (; i + 2 <= last; i += 2) {
    s0 = simt::fma_conj(x[i], y[i], s0);
    s1 = simt::fma_conj(x[i + 1], y[i + 1], s1);
  }
  if (i < last) s0 = simt::fma_conj(x[i], y[i], s0);
  return s0 + s1;
}

// A = Q R. The strict upper triangle of a gets R's, diagonal its diagonal, the rest the reflectors.
template <class S>
SIMT_STEP void factor(int m, int n, SIMT_PRIVATE S* a, int ld, SIMT_PRIVATE S* tau,
                      SIMT_PRIVATE simt::real_of<S>* diagonal) {
  const int count = m < n ? m : n;
  int k = 0;
  for (; k + 2 <= count; k += 2) {
    reflect_column(a, ld, k, m, tau, diagonal);
    steps::apply_reflector(a + k * ld, simt::conj(tau[k]), a, ld, k, m, k + 1, k + 2);
    reflect_column(a, ld, k + 1, m, tau, diagonal);
    const pair_factors<S> h = {simt::conj(tau[k]), simt::conj(tau[k + 1]),
                               dot_conj(a + (k + 1) * ld, a + k * ld, k + 1, m)};
    apply_pair<false>(a, ld, h, k, m, k + 2, n);
  }
  if (k < count) {
    reflect_column(a, ld, k, m, tau, diagonal);
    steps::apply_reflector(a + k * ld, simt::conj(tau[k]), a, ld, k, m, k + 1, n);
  }
}

// Column k of a, which holds reflector k, becomes H_k e_k below row k.
template <class S>
SIMT_FN void form_column(SIMT_PRIVATE S* v, S tau, int k, int m) {
  const S zero = simt::zero<S>();
  const S t = tau * simt::conj(v[k]);
  v[k] = simt::fnma(v[k], t, simt::from_real<S>(simt::constant<simt::real_of<S>>(1.0f)));
  for (int i = k + 1; i < m; ++i) v[i] = simt::fnma(v[i], t, zero);
}

// The columns k and k + 1, which hold those reflectors, become H_k H_(k+1) e_k and e_(k+1).
template <class S>
SIMT_STEP void form_pair(SIMT_PRIVATE S* a, int ld, S tau_v, S tau_w, S gram, int k, int m) {
  const S zero = simt::zero<S>();
  const S one = simt::from_real<S>(simt::constant<simt::real_of<S>>(1.0f));
  SIMT_PRIVATE S* v = a + k * ld;
  SIMT_PRIVATE S* w = v + ld;
  const S s = tau_w * simt::conj(w[k + 1]);
  const S t = tau_v * simt::fnma(gram, s, simt::conj(v[k + 1]));
  w[k] = simt::fnma(v[k], t, zero);
  w[k + 1] = simt::fnma(v[k + 1], t, simt::fnma(w[k + 1], s, one));
  for (int i = k + 2; i < m; ++i) w[i] = simt::fnma(v[i], t, simt::fnma(w[i], s, zero));
  form_column(v, tau_v, k, m);
}

// The reflectors in the first `count` columns of a become the first `columns` >= count columns of
// Q, of m entries each.
template <class S>
SIMT_STEP void form_q(int m, int count, int columns, SIMT_PRIVATE S* a, int ld,
                      SIMT_PRIVATE const S* tau) {
  const S zero = simt::zero<S>();
  const S one = simt::from_real<S>(simt::constant<simt::real_of<S>>(1.0f));
  for (int j = count; j < columns; ++j) {
    for (int i = 0; i < m; ++i) a[j * ld + i] = i == j ? one : zero;
  }
  int k = count;
  if (k % 2 != 0) {
    k -= 1;
    steps::apply_reflector(a + k * ld, tau[k], a, ld, k, m, k + 1, columns);
    form_column(a + k * ld, tau[k], k, m);
  }
  while (k > 0) {
    k -= 2;
    const S gram = dot_conj(a + k * ld, a + (k + 1) * ld, k + 1, m);
    const pair_factors<S> h = {tau[k + 1], tau[k], gram};
    apply_pair<true>(a, ld, h, k, m, k + 2, columns);
    form_pair(a, ld, tau[k], tau[k + 1], gram, k, m);
  }
  // what lies above a column's own row was written by the earlier reflectors, save in column 0
}

// R with exact zeros below its diagonal, back at the matrix's scale, dense: rows x n.
template <class S>
SIMT_STEP void copy_r(int rows, int n, SIMT_PRIVATE const S* a, int ld,
                      SIMT_PRIVATE const simt::real_of<S>* diagonal,
                      simt::pow2_scale<simt::real_of<S>> scale, SIMT_PRIVATE S* r) {
  const S zero = simt::zero<S>();
  for (int j = 0; j < n; ++j) {
    SIMT_PRIVATE S* to = r + j * rows;
    const int above = j < rows ? j : rows;
    for (int i = 0; i < above; ++i) to[i] = simt::scale_pow2(a[j * ld + i], scale);
    if (j < rows) to[j] = simt::from_real<S>(simt::scale_pow2(diagonal[j], scale));
    for (int i = j + 1; i < rows; ++i) to[i] = zero;
  }
}

}  // namespace qr
