// SPDX-License-Identifier: Apache-2.0
// QR of a square matrix of order 2, 3 or 4 known at compile time, held in registers: the method of
// householder_thread.simt.h with one reflector at a time.

namespace qr {

// a (n x n, ld = n) becomes Q if `want_q`; r gets R at the scale of the input.
template <int kN, class S>
SIMT_STEP void solve_square(SIMT_PRIVATE S* a, SIMT_PRIVATE S* r, bool want_q,
                            simt::pow2_scale<simt::real_of<S>> scale) {
  using T = simt::real_of<S>;
  const S zero = simt::zero<S>();
  const S one = simt::from_real<S>(simt::constant<T>(1.0f));
  // a real matrix's last reflector is the identity
  constexpr int kCount = simt::traits<S>::kComplex ? kN : kN - 1;
  S x[kN][kN], tau[kN];  // x[j][i]: row i of column j
  T diagonal[kN];
  SIMT_UNROLL
  for (int j = 0; j < kN; ++j) {
    SIMT_UNROLL
    for (int i = 0; i < kN; ++i) x[j][i] = a[j * kN + i];
  }
  diagonal[kN - 1] = simt::real(x[kN - 1][kN - 1]);
  SIMT_UNROLL
  for (int k = 0; k < kCount; ++k) {
    T sigma = simt::constant<T>(0.0f);
    SIMT_UNROLL
    for (int i = k + 1; i < kN; ++i) sigma = simt::norm2(x[k][i], sigma);
    const steps::reflector<S> h = steps::make_reflector(x[k][k], sigma);
    x[k][k] = h.head;
    tau[k] = h.tau;
    diagonal[k] = h.beta;
    SIMT_UNROLL
    for (int j = k + 1; j < kN; ++j) {
      S d = zero;
      SIMT_UNROLL
      for (int i = k; i < kN; ++i) d = simt::fma_conj(x[k][i], x[j][i], d);
      d = simt::conj(h.tau) * d;
      SIMT_UNROLL
      for (int i = k; i < kN; ++i) x[j][i] = simt::fnma(x[k][i], d, x[j][i]);
    }
    if (!simt::traits<S>::kComplex && k == kN - 2) diagonal[kN - 1] = simt::real(x[kN - 1][kN - 1]);
  }
  SIMT_UNROLL
  for (int j = 0; j < kN; ++j) {
    SIMT_UNROLL
    for (int i = 0; i < kN; ++i) {
      const S above = simt::scale_pow2(x[j][i], scale);
      r[j * kN + i] = i < j   ? above
                      : i > j ? zero
                              : simt::from_real<S>(simt::scale_pow2(diagonal[j], scale));
    }
  }
  if (!want_q) return;
  if (kCount < kN) x[kN - 1][kN - 1] = one;
  SIMT_UNROLL
  for (int k = kCount - 1; k >= 0; --k) {
    SIMT_UNROLL
    for (int j = k + 1; j < kN; ++j) {
      S d = zero;
      SIMT_UNROLL
      for (int i = k + 1; i < kN; ++i) d = simt::fma_conj(x[k][i], x[j][i], d);
      d = tau[k] * d;
      x[j][k] = simt::fnma(x[k][k], d, zero);
      SIMT_UNROLL
      for (int i = k + 1; i < kN; ++i) x[j][i] = simt::fnma(x[k][i], d, x[j][i]);
    }
    const S t = tau[k] * simt::conj(x[k][k]);
    x[k][k] = simt::fnma(x[k][k], t, one);
    SIMT_UNROLL
    for (int i = k + 1; i < kN; ++i) x[k][i] = simt::fnma(x[k][i], t, zero);
  }
  SIMT_UNROLL
  for (int j = 0; j < kN; ++j) {
    SIMT_UNROLL
    for (int i = 0; i < kN; ++i) a[j * kN + i] = x[j][i];
  }
}

}  // namespace qr
