// SPDX-License-Identifier: Apache-2.0
// Householder reflectors as LAPACK's larfg makes them: the image of the vector is real, its sign
// opposite to the real part of the head.

namespace steps {

// H = I - tau v v^H with H^H x = beta e_1, where v is x with its head replaced by `head`.
// (LAPACK divides v by its head; here the head stays, which saves a pass over x.)
template <class S>
struct reflector {
  S head;
  S tau;
  simt::real_of<S> beta;
};

template <class T>
SIMT_FN T reflector_tau_(T head, T beta) {
  // beta and head have opposite signs: the product is below zero.
  return simt::constant<T>(-1.0f) / (beta * head);
}
template <class T>
SIMT_FN simt::complex<T> reflector_tau_(simt::complex<T> head, T beta) {
  // tau = conj(-1 / (beta head)) = -head / (beta |head|^2), in an order that cannot underflow: the
  // product below the line has the size of a cube
  const T one = simt::constant<T>(1.0f);
  const T inverse = one / simt::norm2(head, simt::constant<T>(0.0f));
  return simt::scale(-(one / beta), simt::scale(inverse, head));
}

// The squared norm below which a vector counts as zero, in a matrix whose largest entry lies in
// [1, 2): the rest of a column for a reflector, two entries for a rotation. Squares below tiny() may
// have been flushed: they must not matter in a norm that is used, or what it is used for would not be
// orthogonal. 2^-43 (float32) and 2^-471 in the norm are far below u.
template <class T>
SIMT_FN T negligible_square() {
  return simt::tiny<T>() *
         simt::constant<T>(simt::is_double<T>() ? 1208925819614629174706176.0f : 1099511627776.0f);
}

// The reflector of a vector with head alpha and sigma = the squared norm of the rest. Where the
// rest (and the imaginary part of alpha) is negligible, H = I: tau = 0, beta = real(alpha).
template <class S>
SIMT_FN reflector<S> make_reflector(S alpha, simt::real_of<S> sigma) {
  using T = simt::real_of<S>;
  const T one = simt::constant<T>(1.0f);
  const T zero = simt::constant<T>(0.0f);
  const T re = simt::real(alpha);
  const T im = simt::imag(alpha);
  const T rest = simt::fma(im, im, sigma);
  const simt::mask_of<T> trivial = simt::mask_not(rest >= negligible_square<T>());
  const T h = simt::select(trivial, one, simt::fma(re, re, rest));
  const T mu = simt::sqrt(h);
  reflector<S> r;
  r.beta = -simt::copysign(mu, re);
  r.head = alpha - simt::from_real<S>(r.beta);
  r.tau = reflector_tau_(r.head, r.beta);
  r.beta = simt::select(trivial, re, r.beta);
  r.head = simt::select(trivial, simt::from_real<S>(zero), r.head);
  r.tau = simt::select(trivial, simt::from_real<S>(zero), r.tau);
  return r;
}

// sum of |x_i|^2 over first <= i < last, in four interleaved partial sums (fixed order).
template <class S>
SIMT_FN simt::real_of<S> sum_of_squares(SIMT_PRIVATE const S* x, int first, int last) {
  using T = simt::real_of<S>;
  T s0 = simt::constant<T>(0.0f), s1 = s0, s2 = s0, s3 = s0;
  int i = first;
  for (; i + 4 <= last; i += 4) {
    s0 = simt::norm2(x[i], s0);
    s1 = simt::norm2(x[i + 1], s1);
    s2 = simt::norm2(x[i + 2], s2);
    s3 = simt::norm2(x[i + 3], s3);
  }
  for (; i < last; ++i) s0 = simt::norm2(x[i], s0);
  return (s0 + s1) + (s2 + s3);
}

// C <- (I - tau v v^H) C for the rows first <= i < last of the columns j0 <= j < j1 of c. Four
// columns at a time share the loads of v.
template <class S>
SIMT_STEP void apply_reflector(SIMT_PRIVATE const S* v, S tau, SIMT_PRIVATE S* c, int ld, int first,
                               int last, int j0, int j1) {
  int j = j0;
  for (; j + 4 <= j1; j += 4) {
    SIMT_PRIVATE S* c0 = c + j * ld;
    SIMT_PRIVATE S* c1 = c0 + ld;
    SIMT_PRIVATE S* c2 = c1 + ld;
    SIMT_PRIVATE S* c3 = c2 + ld;
    S d0 = simt::zero<S>(), d1 = d0, d2 = d0, d3 = d0;
    for (int i = first; i < last; ++i) {
      const S x = v[i];
      d0 = simt::fma_conj(x, c0[i], d0);
      d1 = simt::fma_conj(x, c1[i], d1);
      d2 = simt::fma_conj(x, c2[i], d2);
      d3 = simt::fma_conj(x, c3[i], d3);
    }
    d0 = tau * d0;
    d1 = tau * d1;
    d2 = tau * d2;
    d3 = tau * d3;
    for (int i = first; i < last; ++i) {
      const S x = v[i];
      c0[i] = simt::fnma(x, d0, c0[i]);
      c1[i] = simt::fnma(x, d1, c1[i]);
      c2[i] = simt::fnma(x, d2, c2[i]);
      c3[i] = simt::fnma(x, d3, c3[i]);
    }
  }
  for (; j < j1; ++j) {
    SIMT_PRIVATE S* c0 = c + j * ld;
    S d0 = simt::zero<S>();
    for (int i = first; i < last; ++i) d0 = simt::fma_conj(v[i], c0[i], d0);
    d0 = tau * d0;
    for (int i = first; i < last; ++i) c0[i] = simt::fnma(v[i], d0, c0[i]);
  }
}

}  // namespace steps
