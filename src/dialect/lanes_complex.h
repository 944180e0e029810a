// SPDX-License-Identifier: Apache-2.0
// One set of words for real and complex S.
#if defined(LANEPACK_DIALECT_LANES_COMPLEX_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LANEPACK_DIALECT_LANES_COMPLEX_H_
#undef LANEPACK_DIALECT_LANES_COMPLEX_H_
#else
#define LANEPACK_DIALECT_LANES_COMPLEX_H_
#endif

#include "dialect/lanes_lone.h"
#include "dialect/lanes_real.h"

HWY_BEFORE_NAMESPACE();
namespace lanepack {
namespace HWY_NAMESPACE {
namespace simt {

// The larger magnitude of the two, where Inf and NaN beat every number and NaN stays.
template <class F, int W, int K>
SIMT_FN lanes<F, W, K> max_magnitude(lanes<F, W, K> largest, lanes<F, W, K> a) {
  using D = hn::CappedTag<F, W>;
  const D d;
  const hn::RebindToSigned<D> di;
  for (int k = 0; k < K; ++k) {
    const auto x = hn::BitCast(di, hn::Abs(a.v[k]));
    largest.v[k] = hn::BitCast(d, hn::Max(x, hn::BitCast(di, largest.v[k])));
  }
  return largest;
}
template <class T>
SIMT_FN T max_magnitude(T largest, complex<T> a) {
  return max_magnitude(max_magnitude(largest, a.re), a.im);
}
template <class T>
SIMT_FN mask_of<T> is_finite(T a) {
  const T x = a - a;
  return x == x;
}

template <class F, int W, int K>
SIMT_FN lanes<F, W, K> conj(lanes<F, W, K> a) {
  return a;
}
template <class T>
SIMT_FN complex<T> conj(complex<T> a) {
  return {a.re, -a.im};
}
template <class F, int W, int K>
SIMT_FN lanes<F, W, K> real(lanes<F, W, K> a) {
  return a;
}
template <class T>
SIMT_FN T real(complex<T> a) {
  return a.re;
}
template <class F, int W, int K>
SIMT_FN lanes<F, W, K> imag(lanes<F, W, K>) {
  return constant<lanes<F, W, K>>(0.0f);
}
template <class T>
SIMT_FN T imag(complex<T> a) {
  return a.im;
}
// The S with this real part and no imaginary one.
template <class S>
struct from_real_;
template <class F, int W, int K>
struct from_real_<lanes<F, W, K>> {
  static SIMT_FN lanes<F, W, K> make(lanes<F, W, K> a) { return a; }
};
template <class F>
struct from_real_<lone<F>> {
  static SIMT_FN lone<F> make(lone<F> a) { return a; }
};
template <class T>
struct from_real_<complex<T>> {
  static SIMT_FN complex<T> make(T a) { return {a, constant<T>(0.0f)}; }
};
template <class S>
SIMT_FN S from_real(real_of<S> a) {
  return from_real_<S>::make(a);
}
template <class S>
SIMT_FN S zero() {
  return from_real<S>(constant<real_of<S>>(0.0f));
}
// The S with these parts; a real S drops the imaginary one.
template <class S>
struct from_parts_;
template <class F, int W, int K>
struct from_parts_<lanes<F, W, K>> {
  static SIMT_FN lanes<F, W, K> make(lanes<F, W, K> re, lanes<F, W, K>) { return re; }
};
template <class F>
struct from_parts_<lone<F>> {
  static SIMT_FN lone<F> make(lone<F> re, lone<F>) { return re; }
};
template <class T>
struct from_parts_<complex<T>> {
  static SIMT_FN complex<T> make(T re, T im) { return {re, im}; }
};
template <class S>
SIMT_FN S from_parts(real_of<S> re, real_of<S> im) {
  return from_parts_<S>::make(re, im);
}
// |a|^2 + sum
template <class F, int W, int K>
SIMT_FN lanes<F, W, K> norm2(lanes<F, W, K> a, lanes<F, W, K> sum) {
  return fma(a, a, sum);
}
template <class T>
SIMT_FN T norm2(complex<T> a, T sum) {
  return fma(a.im, a.im, fma(a.re, a.re, sum));
}

template <class T>
SIMT_FN complex<T> operator+(complex<T> a, complex<T> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class T>
SIMT_FN complex<T> operator-(complex<T> a, complex<T> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class T>
SIMT_FN complex<T> operator-(complex<T> a) {
  return {-a.re, -a.im};
}
template <class T>
SIMT_FN complex<T> operator*(complex<T> a, complex<T> b) {
  return {fnma(a.im, b.im, a.re * b.re), fma(a.im, b.re, a.re * b.im)};
}
template <class T>
SIMT_FN complex<T> fma(complex<T> a, complex<T> b, complex<T> c) {
  return {fnma(a.im, b.im, fma(a.re, b.re, c.re)), fma(a.im, b.re, fma(a.re, b.im, c.im))};
}
template <class T>
SIMT_FN complex<T> fnma(complex<T> a, complex<T> b, complex<T> c) {
  return {fma(a.im, b.im, fnma(a.re, b.re, c.re)), fnma(a.im, b.re, fnma(a.re, b.im, c.im))};
}
// conj(a) * b + c
template <class F, int W, int K>
SIMT_FN lanes<F, W, K> fma_conj(lanes<F, W, K> a, lanes<F, W, K> b, lanes<F, W, K> c) {
  return fma(a, b, c);
}
template <class T>
SIMT_FN complex<T> fma_conj(complex<T> a, complex<T> b, complex<T> c) {
  return {fma(a.im, b.im, fma(a.re, b.re, c.re)), fnma(a.im, b.re, fma(a.re, b.im, c.im))};
}
// c - a * conj(b)
template <class F, int W, int K>
SIMT_FN lanes<F, W, K> fnma_conj(lanes<F, W, K> a, lanes<F, W, K> b, lanes<F, W, K> c) {
  return fnma(a, b, c);
}
template <class T>
SIMT_FN complex<T> fnma_conj(complex<T> a, complex<T> b, complex<T> c) {
  return {fnma(a.im, b.im, fnma(a.re, b.re, c.re)), fma(a.re, b.im, fnma(a.im, b.re, c.im))};
}
// A real number times a.
template <class F, int W, int K>
SIMT_FN lanes<F, W, K> scale(lanes<F, W, K> t, lanes<F, W, K> a) {
  return t * a;
}
template <class T>
SIMT_FN complex<T> scale(T t, complex<T> a) {
  return {t * a.re, t * a.im};
}
// t * a + c and c - t * a with a real t
template <class F, int W, int K>
SIMT_FN lanes<F, W, K> fma_real(lanes<F, W, K> t, lanes<F, W, K> a, lanes<F, W, K> c) {
  return fma(t, a, c);
}
template <class T>
SIMT_FN complex<T> fma_real(T t, complex<T> a, complex<T> c) {
  return {fma(t, a.re, c.re), fma(t, a.im, c.im)};
}
template <class F, int W, int K>
SIMT_FN lanes<F, W, K> fnma_real(lanes<F, W, K> t, lanes<F, W, K> a, lanes<F, W, K> c) {
  return fnma(t, a, c);
}
template <class T>
SIMT_FN complex<T> fnma_real(T t, complex<T> a, complex<T> c) {
  return {fnma(t, a.re, c.re), fnma(t, a.im, c.im)};
}
template <class T>
SIMT_FN complex<T> select(mask_of<T> m, complex<T> a, complex<T> b) {
  return {select(m, a.re, b.re), select(m, a.im, b.im)};
}

}  // namespace simt
}  // namespace HWY_NAMESPACE
}  // namespace lanepack
HWY_AFTER_NAMESPACE();

#endif  // LANEPACK_DIALECT_LANES_COMPLEX_H_ (per target)
