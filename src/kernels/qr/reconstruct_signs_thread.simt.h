// SPDX-License-Identifier: Apache-2.0
// The signs that Householder reflectors would have given a QR found by another method.
// Method: Householder reconstruction (Ballard, Demmel, Grigori, Jacquelin, Knight and Nguyen 2014,
// Lemma 6.2 and Algorithm 6). With Q1 the top n x n block of Q, the LU factors of Q1 - S without
// pivoting give the reflectors; S_jj = -sgn(Re d), where d is entry (j, j) of what is left of Q1 at
// step j. Up to R's diagonal d is the head of the pivot column after the reflectors before, so the
// S_jj of LAPACK's rule (R_jj opposite in sign to the real part of that head) are the same. A pivot
// d - S_jj has a real part of at least 1, so the elimination is stable.

namespace qr {

// q1 (n x n, element (i, j) at j * n + i) is overwritten; sign[j] gets S_jj. Q S and S R have
// LAPACK's signs, where R's diagonal was real and above zero or below it.
template <class S>
SIMT_STEP void reconstruct_signs(int n, SIMT_PRIVATE S* q1, SIMT_PRIVATE simt::real_of<S>* sign) {
  using T = simt::real_of<S>;
  const T one = simt::constant<T>(1.0f);
  for (int j = 0; j < n; ++j) {
    SIMT_PRIVATE S* l = q1 + j * n;
    sign[j] = -simt::copysign(one, simt::real(l[j]));
    const S pivot = l[j] - simt::from_real<S>(sign[j]);
    const T inverse = one / simt::norm2(pivot, simt::constant<T>(0.0f));
    const S reciprocal = simt::scale(inverse, simt::conj(pivot));
    for (int i = j + 1; i < n; ++i) l[i] = l[i] * reciprocal;
    for (int k = j + 1; k < n; ++k) {
      SIMT_PRIVATE S* c = q1 + k * n;
      const S u = c[j];
      for (int i = j + 1; i < n; ++i) c[i] = simt::fnma(l[i], u, c[i]);
    }
  }
}

}  // namespace qr
