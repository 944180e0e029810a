// SPDX-License-Identifier: Apache-2.0
// QR of a matrix of at most 8 x 8 in the registers of one GPU thread, its sizes known at compile time:
// the method of householder_square_thread.simt.h for any shape, every loop unrolled.
// x[j][i]: row i of column j.

namespace qr {

// How many reflectors a matrix needs: a real matrix's last row has nothing to reflect.
template <int kM, int kN, class S>
SIMT_FN constexpr int count_small() {
  return simt::traits<S>::kComplex ? (kM < kN ? kM : kN) : (kM - 1 < kN ? kM - 1 : kN);
}

// A = Q R of the first kN columns of x: R's strict upper triangle stays there, its diagonal goes to
// `diagonal`, the reflectors stay below, their factors in tau.
template <int kM, int kN, int kColumns, class S>
SIMT_FN void factor_small(SIMT_PRIVATE S (&x)[kColumns][kM], SIMT_PRIVATE S (&tau)[kM],
                          SIMT_PRIVATE simt::real_of<S> (&diagonal)[kM]) {
  using T = simt::real_of<S>;
  constexpr int kCount = count_small<kM, kN, S>();
  SIMT_UNROLL
  for (int k = 0; k < kCount; ++k) {
    T sigma = simt::constant<T>(0.0f);
    SIMT_UNROLL
    for (int i = k + 1; i < kM; ++i) sigma = simt::norm2(x[k][i], sigma);
    const steps::reflector<S> h = steps::make_reflector(x[k][k], sigma);
    x[k][k] = h.head;
    tau[k] = h.tau;
    diagonal[k] = h.beta;
    SIMT_UNROLL
    for (int j = k + 1; j < kN; ++j) {
      S dot = simt::zero<S>();
      SIMT_UNROLL
      for (int i = k; i < kM; ++i) dot = simt::fma_conj(x[k][i], x[j][i], dot);
      dot = simt::conj(h.tau) * dot;
      SIMT_UNROLL
      for (int i = k; i < kM; ++i) x[j][i] = simt::fnma(x[k][i], dot, x[j][i]);
    }
  }
  if (kCount < kM && kCount < kN) diagonal[kCount] = simt::real(x[kCount][kCount]);
}

// The reflectors in x become the kQ first columns of Q.
template <int kM, int kN, int kQ, int kColumns, class S>
SIMT_FN void form_q_small(SIMT_PRIVATE S (&x)[kColumns][kM], SIMT_PRIVATE const S (&tau)[kM]) {
  using T = simt::real_of<S>;
  constexpr int kCount = count_small<kM, kN, S>();
  const S zero = simt::zero<S>(), one = simt::from_real<S>(simt::constant<T>(1.0f));
  SIMT_UNROLL
  for (int j = kCount; j < kQ; ++j) {
    SIMT_UNROLL
    for (int i = 0; i < kM; ++i) x[j][i] = i == j ? one : zero;
  }
  SIMT_UNROLL
  for (int k = kCount - 1; k >= 0; --k) {
    SIMT_UNROLL
    for (int j = k + 1; j < kQ; ++j) {
      S dot = zero;
      SIMT_UNROLL
      for (int i = k + 1; i < kM; ++i) dot = simt::fma_conj(x[k][i], x[j][i], dot);
      dot = tau[k] * dot;
      x[j][k] = simt::fnma(x[k][k], dot, zero);
      SIMT_UNROLL
      for (int i = k + 1; i < kM; ++i) x[j][i] = simt::fnma(x[k][i], dot, x[j][i]);
    }
    const S t = tau[k] * simt::conj(x[k][k]);
    x[k][k] = simt::fnma(x[k][k], t, one);
    SIMT_UNROLL
    for (int i = k + 1; i < kM; ++i) x[k][i] = simt::fnma(x[k][i], t, zero);
  }
}

}  // namespace qr
