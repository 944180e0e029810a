// SPDX-License-Identifier: Apache-2.0
// The dialect's words where T is a plain float or double: for a GPU's compiler and for the emulator,
// each of which defines the qualifiers first.
#ifndef LANEPACK_DIALECT_SCALAR_H_
#define LANEPACK_DIALECT_SCALAR_H_

#include "dialect/arguments.h"

namespace simt {

// ---- traits: what a text may ask of its T and S ----

// Aligned to its size, so that an entry is one access and not one for each part.
template <class T>
struct alignas(2 * sizeof(T)) complex {
  T re, im;
};

template <class S>
struct traits;
template <>
struct traits<float> {
  using real = float;
  using scalar = float;
  using mask = bool;
  static constexpr bool kComplex = false;
};
template <>
struct traits<double> {
  using real = double;
  using scalar = double;
  using mask = bool;
  static constexpr bool kComplex = false;
};
template <class T>
struct traits<complex<T>> {
  using real = T;
  using scalar = T;
  using mask = bool;
  static constexpr bool kComplex = true;
};
template <class S>
using real_of = typename traits<S>::real;
template <class S>
using mask_of = typename traits<S>::mask;

// k of X, aligned to their size (at most 16 bytes): one wide load or store.
template <class X, int k>
struct alignas(k * sizeof(X)) packet {
  X x[k];
};

// The bits of a T as an integer.
template <class T>
struct bits_;
template <>
struct bits_<float> {
  using I = int;
  static constexpr int kShift = 23, kBias = 127, kMaxExponent = 255;
  static constexpr I kMagnitude = 0x7fffffff;
};
template <>
struct bits_<double> {
  using I = int64;
  static constexpr int kShift = 52, kBias = 1023, kMaxExponent = 2047;
  static constexpr I kMagnitude = 0x7fffffffffffffffLL;
};

// What the instructions give: chosen here, for there is no other place for conditions.
#if defined(__CUDACC__)
SIMT_FN float fma(float a, float b, float c) { return __fmaf_rn(a, b, c); }
SIMT_FN double fma(double a, double b, double c) { return __fma_rn(a, b, c); }
SIMT_FN float sqrt(float a) { return __fsqrt_rn(a); }
SIMT_FN double sqrt(double a) { return __dsqrt_rn(a); }
SIMT_FN int to_bits_(float a) { return __float_as_int(a); }
SIMT_FN int64 to_bits_(double a) { return __double_as_longlong(a); }
SIMT_FN float from_bits_(int a) { return __int_as_float(a); }
SIMT_FN double from_bits_(int64 a) { return __longlong_as_double(a); }
SIMT_FN float abs(float a) { return fabsf(a); }
SIMT_FN double abs(double a) { return ::fabs(a); }
SIMT_FN float copysign(float a, float b) { return copysignf(a, b); }
SIMT_FN double copysign(double a, double b) { return ::copysign(a, b); }
SIMT_FN float min(float a, float b) { return fminf(a, b); }
SIMT_FN double min(double a, double b) { return fmin(a, b); }
SIMT_FN float max(float a, float b) { return fmaxf(a, b); }
SIMT_FN double max(double a, double b) { return fmax(a, b); }
// An estimate from the hardware and one step: of Newton's, and for double of third order.
SIMT_FN float rsqrt(float a) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(a));
  return __fmaf_rn(0.5f * y, __fmaf_rn(-(a * y), y, 1.0f), y);
}
SIMT_FN double rsqrt(double a) {
  double y;
  asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(a));
  const double r = __fma_rn(-(a * y), y, 1.0);
  return __fma_rn(y * r, __fma_rn(0.375, r, 0.5), y);
}
SIMT_FN float reciprocal(float a) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(a));
  return y;
}
SIMT_FN double reciprocal(double a) { return 1.0 / a; }
SIMT_FN int lowest_bit(unsigned a) { return __ffs(static_cast<int>(a)) - 1; }
SIMT_FN int highest_bit(unsigned a) { return 31 - __clz(static_cast<int>(a)); }
#else
SIMT_FN float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
SIMT_FN double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
SIMT_FN float sqrt(float a) { return __builtin_sqrtf(a); }
SIMT_FN double sqrt(double a) { return __builtin_sqrt(a); }
SIMT_FN int to_bits_(float a) {
  int r;
  __builtin_memcpy(&r, &a, sizeof(r));
  return r;
}
SIMT_FN int64 to_bits_(double a) {
  int64 r;
  __builtin_memcpy(&r, &a, sizeof(r));
  return r;
}
SIMT_FN float from_bits_(int a) {
  float r;
  __builtin_memcpy(&r, &a, sizeof(r));
  return r;
}
SIMT_FN double from_bits_(int64 a) {
  double r;
  __builtin_memcpy(&r, &a, sizeof(r));
  return r;
}
SIMT_FN float abs(float a) { return __builtin_fabsf(a); }
SIMT_FN double abs(double a) { return __builtin_fabs(a); }
SIMT_FN float copysign(float a, float b) { return __builtin_copysignf(a, b); }
SIMT_FN double copysign(double a, double b) { return __builtin_copysign(a, b); }
SIMT_FN float min(float a, float b) { return __builtin_fminf(a, b); }
SIMT_FN double min(double a, double b) { return __builtin_fmin(a, b); }
SIMT_FN float max(float a, float b) { return __builtin_fmaxf(a, b); }
SIMT_FN double max(double a, double b) { return __builtin_fmax(a, b); }
SIMT_FN float rsqrt(float a) { return 1.0f / sqrt(a); }
SIMT_FN double rsqrt(double a) { return 1.0 / sqrt(a); }
SIMT_FN float reciprocal(float a) { return 1.0f / a; }
SIMT_FN double reciprocal(double a) { return 1.0 / a; }
SIMT_FN int lowest_bit(unsigned a) { return a == 0 ? -1 : __builtin_ctz(a); }
SIMT_FN int highest_bit(unsigned a) { return a == 0 ? -1 : 31 - __builtin_clz(a); }
#endif

// ---- constants ----

// A literal that float holds exactly.
template <class T>
SIMT_FN constexpr T constant(float x) {
  return static_cast<T>(x);
}
// Unit roundoff times two: the distance from 1 to the next larger number.
template <class T>
SIMT_FN constexpr T eps() {
  return sizeof(T) == 4 ? static_cast<T>(1.1920928955078125e-07)
                        : static_cast<T>(2.220446049250313e-16);
}
// The smallest normal number.
template <class T>
SIMT_FN constexpr T tiny() {
  return sizeof(T) == 4 ? static_cast<T>(1.1754943508222875e-38)
                        : static_cast<T>(2.2250738585072014e-308);
}
template <class T>
SIMT_FN T not_a_number() {
  return from_bits_(bits_<T>::kMagnitude);
}
// True where the real type is float64: for iteration counts that depend on the precision.
template <class T>
SIMT_FN constexpr bool is_double() {
  return sizeof(typename traits<T>::scalar) == 8;
}

// 2^e in two factors.
template <class T>
struct pow2_scale {
  T first, second;  // both powers of two; their product may lie outside the range of T
};

// A size known at compile time, where a text takes "an argument of a type that converts to int".
template <int N>
struct size_constant {
  SIMT_FN constexpr operator int() const { return N; }
};

// ---- arithmetic on reals ----

// c - a * b, rounded once.
SIMT_FN float fnma(float a, float b, float c) { return fma(-a, b, c); }
SIMT_FN double fnma(double a, double b, double c) { return fma(-a, b, c); }

// ---- masks, select ----

SIMT_FN bool mask_and(bool a, bool b) { return a && b; }
SIMT_FN bool mask_or(bool a, bool b) { return a || b; }
SIMT_FN bool mask_not(bool a) { return !a; }
template <class T>
SIMT_FN bool mask_all(bool value) {
  return value;
}
SIMT_FN bool any(bool a) { return a; }
SIMT_FN bool all(bool a) { return a; }
SIMT_FN int select(bool m, int a, int b) { return m ? a : b; }
SIMT_FN float select(bool m, float a, float b) { return m ? a : b; }
SIMT_FN double select(bool m, double a, double b) { return m ? a : b; }

// ---- exponents ----

// e with 2^e <= |a| < 2^(e+1) for finite a, subnormal ones included; 0 where a is 0.
template <class T>
SIMT_FN T exponent(T a) {
  using B = bits_<T>;
  const T x = abs(a);
  const bool small = x < tiny<T>();
  const T lifted = small ? x * constant<T>(18014398509481984.0f) : x;  // 2^54
  const int biased = static_cast<int>(to_bits_(lifted) >> B::kShift);
  const int e = biased - B::kBias - (small ? 54 : 0);
  return x == constant<T>(0.0f) ? constant<T>(0.0f) : static_cast<T>(e);
}
template <class T>
SIMT_FN T power_of_two_(int e) {
  using B = bits_<T>;
  return from_bits_(static_cast<typename B::I>(e + B::kBias) << B::kShift);
}
// 2^e for whole e up to twice the exponent range.
template <class T>
SIMT_FN pow2_scale<T> make_pow2(T e) {
  const int whole = static_cast<int>(e);
  const int half = whole >> 1;
  return {power_of_two_<T>(half), power_of_two_<T>(whole - half)};
}
template <class T>
SIMT_FN T scale_pow2(T a, pow2_scale<T> s) {
  return a * s.first * s.second;
}
template <class T>
SIMT_FN complex<T> scale_pow2(complex<T> a, pow2_scale<T> s) {
  return {a.re * s.first * s.second, a.im * s.first * s.second};
}

// ---- one set of words for real and complex S ----

// The larger magnitude of the two, where Inf and NaN beat every number and NaN stays.
SIMT_FN float max_magnitude(float largest, float a) {
  const int x = to_bits_(a) & bits_<float>::kMagnitude, y = to_bits_(largest);
  return from_bits_(x > y ? x : y);
}
SIMT_FN double max_magnitude(double largest, double a) {
  const int64 x = to_bits_(a) & bits_<double>::kMagnitude, y = to_bits_(largest);
  return from_bits_(x > y ? x : y);
}
template <class T>
SIMT_FN T max_magnitude(T largest, complex<T> a) {
  return max_magnitude(max_magnitude(largest, a.re), a.im);
}
template <class T>
SIMT_FN bool is_finite(T a) {
  const T x = a - a;
  return x == x;
}

SIMT_FN float conj(float a) { return a; }
SIMT_FN double conj(double a) { return a; }
template <class T>
SIMT_FN complex<T> conj(complex<T> a) {
  return {a.re, -a.im};
}
SIMT_FN float real(float a) { return a; }
SIMT_FN double real(double a) { return a; }
template <class T>
SIMT_FN T real(complex<T> a) {
  return a.re;
}
SIMT_FN float imag(float) { return 0.0f; }
SIMT_FN double imag(double) { return 0.0; }
template <class T>
SIMT_FN T imag(complex<T> a) {
  return a.im;
}
// The S with these parts; a real S drops the imaginary one.
template <class S>
struct parts_ {
  static SIMT_FN S make(S re, S) { return re; }
};
template <class T>
struct parts_<complex<T>> {
  static SIMT_FN complex<T> make(T re, T im) { return {re, im}; }
};
template <class S>
SIMT_FN S from_parts(real_of<S> re, real_of<S> im) {
  return parts_<S>::make(re, im);
}
template <class S>
SIMT_FN S from_real(real_of<S> a) {
  return parts_<S>::make(a, constant<real_of<S>>(0.0f));
}
template <class S>
SIMT_FN S zero() {
  return from_real<S>(constant<real_of<S>>(0.0f));
}
// |a|^2 + sum
SIMT_FN float norm2(float a, float sum) { return fma(a, a, sum); }
SIMT_FN double norm2(double a, double sum) { return fma(a, a, sum); }
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
SIMT_FN float fma_conj(float a, float b, float c) { return fma(a, b, c); }
SIMT_FN double fma_conj(double a, double b, double c) { return fma(a, b, c); }
template <class T>
SIMT_FN complex<T> fma_conj(complex<T> a, complex<T> b, complex<T> c) {
  return {fma(a.im, b.im, fma(a.re, b.re, c.re)), fnma(a.im, b.re, fma(a.re, b.im, c.im))};
}
// c - a * conj(b)
SIMT_FN float fnma_conj(float a, float b, float c) { return fnma(a, b, c); }
SIMT_FN double fnma_conj(double a, double b, double c) { return fnma(a, b, c); }
template <class T>
SIMT_FN complex<T> fnma_conj(complex<T> a, complex<T> b, complex<T> c) {
  return {fnma(a.im, b.im, fnma(a.re, b.re, c.re)), fma(a.re, b.im, fnma(a.im, b.re, c.im))};
}
// A real number times a.
SIMT_FN float scale(float t, float a) { return t * a; }
SIMT_FN double scale(double t, double a) { return t * a; }
template <class T>
SIMT_FN complex<T> scale(T t, complex<T> a) {
  return {t * a.re, t * a.im};
}
// t * a + c and c - t * a with a real t
SIMT_FN float fma_real(float t, float a, float c) { return fma(t, a, c); }
SIMT_FN double fma_real(double t, double a, double c) { return fma(t, a, c); }
template <class T>
SIMT_FN complex<T> fma_real(T t, complex<T> a, complex<T> c) {
  return {fma(t, a.re, c.re), fma(t, a.im, c.im)};
}
SIMT_FN float fnma_real(float t, float a, float c) { return fnma(t, a, c); }
SIMT_FN double fnma_real(double t, double a, double c) { return fnma(t, a, c); }
template <class T>
SIMT_FN complex<T> fnma_real(T t, complex<T> a, complex<T> c) {
  return {fnma(t, a.re, c.re), fnma(t, a.im, c.im)};
}
template <class T>
SIMT_FN complex<T> select(bool m, complex<T> a, complex<T> b) {
  return {m ? a.re : b.re, m ? a.im : b.im};
}

}  // namespace simt

#endif  // LANEPACK_DIALECT_SCALAR_H_
