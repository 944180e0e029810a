// SPDX-License-Identifier: Apache-2.0
// eigh by Householder tridiagonalisation and implicit QL in the registers of one GPU thread: the
// method, the test and the rotations of tridiagonal_ql_thread.simt.h for an order known at compile
// time, every loop unrolled (n = 8, float32, 100,000 matrices on an H200: 47 us; two-sided Jacobi 111,
// vectors in shared memory 74). A thread's branch is its own: what it skips needs no select.
// a[j][i]: row i of column j, the lower triangle alone; z[j][i]: the vectors.

namespace eigh {

// A = Q T Q^H: the reflectors stay in the columns of a, their factors in tau; d and e get T.
template <int n, class S>
SIMT_FN void tridiagonalise_small(SIMT_PRIVATE S (&a)[n][n], SIMT_PRIVATE S (&tau)[n],
                                  SIMT_PRIVATE simt::real_of<S> (&d)[n],
                                  SIMT_PRIVATE simt::real_of<S> (&e)[n]) {
  using T = simt::real_of<S>;
  // the last entry below the diagonal of a real matrix is real already
  constexpr int kCount = simt::traits<S>::kComplex ? n - 1 : n - 2;
  SIMT_UNROLL
  for (int k = 0; k < kCount; ++k) {
    T sigma = simt::constant<T>(0.0f);
    SIMT_UNROLL
    for (int i = k + 2; i < n; ++i) sigma = simt::norm2(a[k][i], sigma);
    const steps::reflector<S> h = steps::make_reflector(a[k][k + 1], sigma);
    e[k] = h.beta;
    tau[k] = h.tau;
    a[k][k + 1] = h.head;
    S p[n];
    S dot = simt::zero<S>();
    SIMT_UNROLL
    for (int i = k + 1; i < n; ++i) {
      S sum = simt::zero<S>();
      SIMT_UNROLL
      for (int j = k + 1; j < n; ++j) {
        sum = j <= i ? simt::fma(a[j][i], a[k][j], sum) : simt::fma_conj(a[i][j], a[k][j], sum);
      }
      p[i] = h.tau * sum;
      dot = simt::fma_conj(p[i], a[k][i], dot);
    }
    dot = simt::scale(simt::constant<T>(-0.5f), h.tau * dot);
    SIMT_UNROLL
    for (int i = k + 1; i < n; ++i) p[i] = simt::fma(dot, a[k][i], p[i]);
    SIMT_UNROLL
    for (int j = k + 1; j < n; ++j) {
      SIMT_UNROLL
      for (int i = j; i < n; ++i) {
        a[j][i] = simt::fnma_conj(p[i], a[k][j], simt::fnma_conj(a[k][i], p[j], a[j][i]));
      }
      a[j][j] = simt::from_real<S>(simt::real(a[j][j]));
    }
  }
  SIMT_UNROLL
  for (int i = 0; i < n; ++i) d[i] = simt::real(a[i][i]);
  if (kCount < n - 1) e[n - 2] = simt::real(a[n - 2][n - 1]);
  e[n - 1] = simt::constant<T>(0.0f);
}

// z <- Q, from the reflectors in a.
template <int n, class S>
SIMT_FN void form_q_small(SIMT_PRIVATE const S (&a)[n][n], SIMT_PRIVATE const S (&tau)[n],
                          SIMT_PRIVATE S (&z)[n][n]) {
  using T = simt::real_of<S>;
  constexpr int kCount = simt::traits<S>::kComplex ? n - 1 : n - 2;
  SIMT_UNROLL
  for (int j = 0; j < n; ++j) {
    SIMT_UNROLL
    for (int i = 0; i < n; ++i) {
      z[j][i] = simt::from_real<S>(simt::constant<T>(i == j ? 1.0f : 0.0f));
    }
  }
  SIMT_UNROLL
  for (int k = kCount - 1; k >= 0; --k) {
    SIMT_UNROLL
    for (int j = k + 1; j < n; ++j) {
      S dot = simt::zero<S>();
      SIMT_UNROLL
      for (int i = k + 1; i < n; ++i) dot = simt::fma_conj(a[k][i], z[j][i], dot);
      dot = tau[k] * dot;
      SIMT_UNROLL
      for (int i = k + 1; i < n; ++i) z[j][i] = simt::fnma(a[k][i], dot, z[j][i]);
    }
  }
}

// T = V diag(d) V^T applied to the columns of z (not touched without kVectors): d gets the
// eigenvalues in no order. True where it converged.
template <bool kVectors, int n, class S>
SIMT_FN bool implicit_ql_small(SIMT_PRIVATE simt::real_of<S> (&d)[n],
                               SIMT_PRIVATE simt::real_of<S> (&e)[n], SIMT_PRIVATE S (&z)[n][n]) {
  using T = simt::real_of<S>;
  const T zero = simt::constant<T>(0.0f), one = simt::constant<T>(1.0f);
  const T two = simt::constant<T>(2.0f);
  T norm = zero;
  SIMT_UNROLL
  for (int i = 0; i < n; ++i) {
    const T before = i > 0 ? simt::abs(e[i > 0 ? i - 1 : 0]) : zero;
    norm = simt::max(norm, simt::abs(d[i]) + (before + simt::abs(e[i])));
  }
  const T tol = norm * two * simt::eps<T>();
  bool busy = true;
  SIMT_NO_UNROLL
  for (int sweep = 0; sweep <= 30 * n; ++sweep) {
    // the first block that is not diagonal yet: rows first .. last
    int first = n, last = n;
    T d_first = zero, d_next = zero, e_first = one, d_last = zero;
    SIMT_UNROLL
    for (int i = n - 2; i >= 0; --i) {
      if (!(simt::abs(e[i]) > tol)) continue;
      const bool ends = i == n - 2 || !(simt::abs(e[i + 1]) > tol);
      last = ends ? i + 1 : last;
      d_last = ends ? d[i + 1] : d_last;
      first = i;
      d_first = d[i];
      d_next = d[i + 1];
      e_first = e[i];
    }
    busy = first < n;
    if (!busy || sweep == 30 * n) break;
    // Wilkinson's shift, from the upper end of the block
    const T theta = (d_next - d_first) / (two * e_first);
    const T root = simt::sqrt(simt::fma(theta, theta, one));
    T g = d_last - d_first + e_first / (theta + simt::copysign(root, theta));
    T p = zero, s = one, c = one;
    SIMT_UNROLL
    for (int i = n - 2; i >= 0; --i) {
      if (i < first || i >= last) continue;
      const T f = s * e[i], b = c * e[i];
      const T h = simt::fma(g, g, f * f);
      const bool vanishes = !(h >= steps::negligible_square<T>());
      const T base = d[i + 1] - p;
      const T q = simt::fma(d[i] - base, f, two * (g * b));
      const T y = simt::rsqrt(vanishes ? one : h);
      if (i < n - 2 && i + 1 < last) e[i + 1] = vanishes ? g : h * y;
      c = vanishes ? one : g * y;
      s = vanishes ? zero : f * y;
      const T r = vanishes ? zero : q * y;
      p = s * r;
      d[i + 1] = base + p;
      g = vanishes ? b : simt::fma(c, r, -b);
      if (i == first) {
        d[i] = d[i] - p;
        e[i] = g;
      }
      SIMT_UNROLL
      for (int k = 0; k < (kVectors ? n : 0); ++k) {
        const S x = z[i][k], w = z[i + 1][k];
        z[i + 1][k] = simt::fma_real(s, x, simt::scale(c, w));
        z[i][k] = simt::fnma_real(s, w, simt::scale(c, x));
      }
    }
  }
  return !busy;
}

// Everything between load and store.
template <bool kVectors, int n, class S>
SIMT_FN bool tridiagonal_ql_small(SIMT_PRIVATE S (&a)[n][n], SIMT_PRIVATE S (&z)[n][n],
                                  SIMT_PRIVATE simt::real_of<S> (&d)[n]) {
  S tau[n];
  simt::real_of<S> e[n];
  tridiagonalise_small(a, tau, d, e);
  if (kVectors) form_q_small(a, tau, z);
  return implicit_ql_small<kVectors>(d, e, z);
}

}  // namespace eigh
