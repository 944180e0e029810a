// SPDX-License-Identifier: Apache-2.0
// The SIMT dialect for CPU lanes: T holds one value of each of W * K matrices, in K vectors of W
// lanes. Included once per instruction set through Highway's foreach_target; the words are listed in
// docs/dialect.md. K = 2 hides the latency of the dependent chains of the smallest sizes.
#if defined(LANEPACK_DIALECT_LANES_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LANEPACK_DIALECT_LANES_H_
#undef LANEPACK_DIALECT_LANES_H_
#else
#define LANEPACK_DIALECT_LANES_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"

#ifndef SIMT_FN
#define SIMT_FN HWY_INLINE
// A step that is worth a call of its own: keeps compile time and code size down.
#define SIMT_STEP HWY_NOINLINE
#define SIMT_GLOBAL
#define SIMT_SHARED
#define SIMT_PRIVATE
#define SIMT_CONSTANT static constexpr
#define SIMT_UNROLL _Pragma("GCC unroll 16")
#endif

HWY_BEFORE_NAMESPACE();
namespace lanepack {
namespace HWY_NAMESPACE {
namespace simt {

namespace hn = hwy::HWY_NAMESPACE;

template <class F, int W, int K>
struct lane_mask;

template <class F, int W, int K>
struct lanes {
  using D = hn::CappedTag<F, W>;
  using V = hn::Vec<D>;
  using scalar = F;
  static constexpr int kWidth = W * K;

  V v[K];

  friend HWY_INLINE lanes operator+(lanes a, lanes b) {
    for (int k = 0; k < K; ++k) a.v[k] = hn::Add(a.v[k], b.v[k]);
    return a;
  }
  friend HWY_INLINE lanes operator-(lanes a, lanes b) {
    for (int k = 0; k < K; ++k) a.v[k] = hn::Sub(a.v[k], b.v[k]);
    return a;
  }
  friend HWY_INLINE lanes operator*(lanes a, lanes b) {
    for (int k = 0; k < K; ++k) a.v[k] = hn::Mul(a.v[k], b.v[k]);
    return a;
  }
  friend HWY_INLINE lanes operator/(lanes a, lanes b) {
    for (int k = 0; k < K; ++k) a.v[k] = hn::Div(a.v[k], b.v[k]);
    return a;
  }
  friend HWY_INLINE lanes operator-(lanes a) {
    for (int k = 0; k < K; ++k) a.v[k] = hn::Neg(a.v[k]);
    return a;
  }
};

template <class F, int W, int K>
struct lane_mask {
  using D = hn::CappedTag<F, W>;
  hn::Mask<D> m[K];
};

template <class F>
struct lone {
  using scalar = F;
  static constexpr int kWidth = 1;

  F v;

  friend HWY_INLINE lone operator+(lone a, lone b) { return {a.v + b.v}; }
  friend HWY_INLINE lone operator-(lone a, lone b) { return {a.v - b.v}; }
  friend HWY_INLINE lone operator*(lone a, lone b) { return {a.v * b.v}; }
  friend HWY_INLINE lone operator/(lone a, lone b) { return {a.v / b.v}; }
  friend HWY_INLINE lone operator-(lone a) { return {-a.v}; }
};

struct lone_mask {
  bool m;
};

// ---- traits: what a text may ask of its T and S ----

template <class S>
struct traits;
template <class F, int W, int K>
struct traits<lanes<F, W, K>> {
  using real = lanes<F, W, K>;
  using scalar = F;
  using mask = lane_mask<F, W, K>;
  static constexpr bool kComplex = false;
  static SIMT_FN real set(F x) {
    real r;
    for (int k = 0; k < K; ++k) r.v[k] = hn::Set(hn::CappedTag<F, W>(), x);
    return r;
  }
};
// One matrix alone: plain numbers, so that the compiler vectorises along the rows of its columns.
template <class F>
struct traits<lone<F>> {
  using real = lone<F>;
  using scalar = F;
  using mask = lone_mask;
  static constexpr bool kComplex = false;
  static SIMT_FN real set(F x) { return {x}; }
};

template <class T>
struct complex {
  T re, im;
};
template <class T>
struct traits<complex<T>> {
  using real = T;
  using scalar = typename traits<T>::scalar;
  using mask = typename traits<T>::mask;
  static constexpr bool kComplex = true;
};

template <class S>
using real_of = typename traits<S>::real;
template <class S>
using mask_of = typename traits<S>::mask;

// ---- constants ----

// A literal that float holds exactly, in every lane.
template <class T>
SIMT_FN T constant(float x) {
  return traits<T>::set(static_cast<typename traits<T>::scalar>(x));
}
// Unit roundoff times two: the distance from 1 to the next larger number.
template <class T>
SIMT_FN T eps() {
  using F = typename traits<T>::scalar;
  return traits<T>::set(sizeof(F) == 4 ? static_cast<F>(1.1920928955078125e-07)
                                       : static_cast<F>(2.220446049250313e-16));
}
// The smallest normal number.
template <class T>
SIMT_FN T tiny() {
  using F = typename traits<T>::scalar;
  return traits<T>::set(sizeof(F) == 4 ? static_cast<F>(1.1754943508222875e-38)
                                       : static_cast<F>(2.2250738585072014e-308));
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

// ---- arithmetic on reals ----

// a * b + c, rounded once.
template <class F, int W, int K>
SIMT_FN lanes<F, W, K> fma(lanes<F, W, K> a, lanes<F, W, K> b, lanes<F, W, K> c) {
  for (int k = 0; k < K; ++k) a.v[k] = hn::MulAdd(a.v[k], b.v[k], c.v[k]);
  return a;
}
// c - a * b, rounded once.
template <class F, int W, int K>
SIMT_FN lanes<F, W, K> fnma(lanes<F, W, K> a, lanes<F, W, K> b, lanes<F, W, K> c) {
  for (int k = 0; k < K; ++k) a.v[k] = hn::NegMulAdd(a.v[k], b.v[k], c.v[k]);
  return a;
}
template <class F, int W, int K>
SIMT_FN lanes<F, W, K> sqrt(lanes<F, W, K> a) {
  for (int k = 0; k < K; ++k) a.v[k] = hn::Sqrt(a.v[k]);
  return a;
}
template <class F, int W, int K>
SIMT_FN lanes<F, W, K> abs(lanes<F, W, K> a) {
  for (int k = 0; k < K; ++k) a.v[k] = hn::Abs(a.v[k]);
  return a;
}
// The magnitude of a with the sign of b.
template <class F, int W, int K>
SIMT_FN lanes<F, W, K> copysign(lanes<F, W, K> a, lanes<F, W, K> b) {
  for (int k = 0; k < K; ++k) a.v[k] = hn::CopySign(a.v[k], b.v[k]);
  return a;
}
// min and max of numbers; with a NaN the result is one of the two.
template <class F, int W, int K>
SIMT_FN lanes<F, W, K> min(lanes<F, W, K> a, lanes<F, W, K> b) {
  for (int k = 0; k < K; ++k) a.v[k] = hn::Min(a.v[k], b.v[k]);
  return a;
}
template <class F, int W, int K>
SIMT_FN lanes<F, W, K> max(lanes<F, W, K> a, lanes<F, W, K> b) {
  for (int k = 0; k < K; ++k) a.v[k] = hn::Max(a.v[k], b.v[k]);
  return a;
}
// 1 / sqrt(a) for normal a > 0, relative error below 2 eps. An integer seed and Newton steps of
// third order: the same bits on every instruction set with FMA, and about four times the throughput
// of a square root and a division.
template <class F, int W, int K>
SIMT_FN lanes<F, W, K> rsqrt(lanes<F, W, K> a) {
  using D = hn::CappedTag<F, W>;
  const D d;
  const hn::RebindToUnsigned<D> du;
  using U = hn::TFromD<decltype(du)>;
  constexpr U kSeed = static_cast<U>(sizeof(F) == 4 ? 0x5F375A86ULL : 0x5FE6EB50C7B537A9ULL);
  lanes<F, W, K> y;
  for (int k = 0; k < K; ++k) {
    const auto half = hn::ShiftRight<1>(hn::BitCast(du, a.v[k]));
    y.v[k] = hn::BitCast(d, hn::Sub(hn::Set(du, kSeed), half));
  }
  const lanes<F, W, K> one = constant<lanes<F, W, K>>(1.0f);
  const lanes<F, W, K> half = constant<lanes<F, W, K>>(0.5f);
  const lanes<F, W, K> three_eighths = constant<lanes<F, W, K>>(0.375f);
  for (int step = 0; step < (sizeof(F) == 4 ? 2 : 3); ++step) {
    const lanes<F, W, K> r = fnma(a * y, y, one);
    y = fma(y * r, fma(three_eighths, r, half), y);
  }
  return y;
}

// ---- comparisons, masks, select ----

#define SIMT_COMPARISON_(name, op)                                                 \
  template <class F, int W, int K>                                                 \
  SIMT_FN lane_mask<F, W, K> operator name(lanes<F, W, K> a, lanes<F, W, K> b) {   \
    lane_mask<F, W, K> r;                                                          \
    for (int k = 0; k < K; ++k) r.m[k] = hn::op(a.v[k], b.v[k]);                   \
    return r;                                                                      \
  }
SIMT_COMPARISON_(<, Lt)
SIMT_COMPARISON_(<=, Le)
SIMT_COMPARISON_(>, Gt)
SIMT_COMPARISON_(>=, Ge)
SIMT_COMPARISON_(==, Eq)
#undef SIMT_COMPARISON_

template <class F, int W, int K>
SIMT_FN lane_mask<F, W, K> mask_and(lane_mask<F, W, K> a, lane_mask<F, W, K> b) {
  for (int k = 0; k < K; ++k) a.m[k] = hn::And(a.m[k], b.m[k]);
  return a;
}
template <class F, int W, int K>
SIMT_FN lane_mask<F, W, K> mask_or(lane_mask<F, W, K> a, lane_mask<F, W, K> b) {
  for (int k = 0; k < K; ++k) a.m[k] = hn::Or(a.m[k], b.m[k]);
  return a;
}
template <class F, int W, int K>
SIMT_FN lane_mask<F, W, K> mask_not(lane_mask<F, W, K> a) {
  for (int k = 0; k < K; ++k) a.m[k] = hn::Not(a.m[k]);
  return a;
}
// The same value in every lane.
template <class T>
SIMT_FN mask_of<T> mask_all(bool value) {
  const T zero = constant<T>(0.0f);
  return value ? zero == zero : zero > zero;
}
template <class F, int W, int K>
SIMT_FN bool any(lane_mask<F, W, K> a) {
  bool r = false;
  for (int k = 0; k < K; ++k) r |= !hn::AllFalse(hn::CappedTag<F, W>(), a.m[k]);
  return r;
}
template <class F, int W, int K>
SIMT_FN bool all(lane_mask<F, W, K> a) {
  bool r = true;
  for (int k = 0; k < K; ++k) r &= hn::AllTrue(hn::CappedTag<F, W>(), a.m[k]);
  return r;
}
// m ? a : b, lane by lane.
template <class F, int W, int K>
SIMT_FN lanes<F, W, K> select(lane_mask<F, W, K> m, lanes<F, W, K> a, lanes<F, W, K> b) {
  for (int k = 0; k < K; ++k) a.v[k] = hn::IfThenElse(m.m[k], a.v[k], b.v[k]);
  return a;
}

// ---- exponents ----

// e with 2^e <= |a| < 2^(e+1) for finite a, subnormal ones included (which needs subnormals on);
// 0 where a is 0. The result travels as T.
template <class F, int W, int K>
SIMT_FN lanes<F, W, K> exponent(lanes<F, W, K> a) {
  using T = lanes<F, W, K>;
  using D = hn::CappedTag<F, W>;
  const hn::RebindToSigned<D> di;
  constexpr int kShift = sizeof(F) == 4 ? 23 : 52;
  constexpr int kBias = sizeof(F) == 4 ? 127 : 1023;
  const T big = constant<T>(18014398509481984.0f);  // 2^54 lifts every subnormal to a normal
  const lane_mask<F, W, K> small = abs(a) < tiny<T>();
  const T x = select(small, a * big, a);
  T e;
  for (int k = 0; k < K; ++k) {
    const auto bits = hn::BitCast(di, hn::Abs(x.v[k]));
    e.v[k] = hn::ConvertTo(D(), hn::ShiftRight<kShift>(bits));
  }
  e = e - constant<T>(static_cast<float>(kBias));
  e = select(small, e - constant<T>(54.0f), e);
  return select(a == constant<T>(0.0f), constant<T>(0.0f), e);
}
// a * 2^e for whole e with |e| up to twice the exponent range; rounds at most once where the result
// is normal or a product of it is.
template <class F, int W, int K>
SIMT_FN lanes<F, W, K> power_of_two_(lanes<F, W, K> e) {
  using D = hn::CappedTag<F, W>;
  const hn::RebindToSigned<D> di;
  constexpr int kShift = sizeof(F) == 4 ? 23 : 52;
  constexpr int kBias = sizeof(F) == 4 ? 127 : 1023;
  for (int k = 0; k < K; ++k) {
    const auto biased = hn::Add(hn::ConvertTo(di, e.v[k]), hn::Set(di, kBias));
    e.v[k] = hn::BitCast(D(), hn::ShiftLeft<kShift>(biased));
  }
  return e;
}
template <class F, int W, int K>
SIMT_FN pow2_scale<lanes<F, W, K>> make_pow2(lanes<F, W, K> e) {
  using T = lanes<F, W, K>;
  using D = hn::CappedTag<F, W>;
  const hn::RebindToSigned<D> di;
  T half;
  for (int k = 0; k < K; ++k) {
    half.v[k] = hn::ConvertTo(D(), hn::ShiftRight<1>(hn::ConvertTo(di, e.v[k])));
  }
  return {power_of_two_(half), power_of_two_(e - half)};
}
template <class T>
SIMT_FN T scale_pow2(T a, pow2_scale<T> s) {
  return a * s.first * s.second;
}
template <class T>
SIMT_FN complex<T> scale_pow2(complex<T> a, pow2_scale<T> s) {
  return {a.re * s.first * s.second, a.im * s.first * s.second};
}

// ---- the same words for one matrix alone ----

template <class F>
struct lone_bits_;
template <>
struct lone_bits_<float> {
  using U = uint32_t;
  using I = int32_t;
  static constexpr U kSeed = 0x5F375A86U;
  static constexpr int kShift = 23, kBias = 127;
};
template <>
struct lone_bits_<double> {
  using U = uint64_t;
  using I = int64_t;
  static constexpr U kSeed = 0x5FE6EB50C7B537A9ULL;
  static constexpr int kShift = 52, kBias = 1023;
};
template <class To, class From>
SIMT_FN To bit_copy_(From x) {
  To r;
  static_assert(sizeof(To) == sizeof(From), "same size");
  __builtin_memcpy(&r, &x, sizeof(r));
  return r;
}

#if HWY_TARGET == HWY_SCALAR
template <class F>
SIMT_FN lone<F> fma(lone<F> a, lone<F> b, lone<F> c) {
  return {a.v * b.v + c.v};
}
template <class F>
SIMT_FN lone<F> fnma(lone<F> a, lone<F> b, lone<F> c) {
  return {c.v - a.v * b.v};
}
#else
SIMT_FN lone<float> fma(lone<float> a, lone<float> b, lone<float> c) {
  return {__builtin_fmaf(a.v, b.v, c.v)};
}
SIMT_FN lone<double> fma(lone<double> a, lone<double> b, lone<double> c) {
  return {__builtin_fma(a.v, b.v, c.v)};
}
SIMT_FN lone<float> fnma(lone<float> a, lone<float> b, lone<float> c) {
  return {__builtin_fmaf(-a.v, b.v, c.v)};
}
SIMT_FN lone<double> fnma(lone<double> a, lone<double> b, lone<double> c) {
  return {__builtin_fma(-a.v, b.v, c.v)};
}
#endif
template <class F>
SIMT_FN lone<F> sqrt(lone<F> a) {
  const hn::CappedTag<F, 1> d;
  return {hn::GetLane(hn::Sqrt(hn::Set(d, a.v)))};
}
template <class F>
SIMT_FN lone<F> abs(lone<F> a) {
  using B = lone_bits_<F>;
  using U = typename B::U;
  return {bit_copy_<F>(static_cast<U>(bit_copy_<U>(a.v) << 1 >> 1))};
}
template <class F>
SIMT_FN lone<F> copysign(lone<F> a, lone<F> b) {
  using U = typename lone_bits_<F>::U;
  const U sign = U(1) << (sizeof(F) * 8 - 1);
  return {bit_copy_<F>(static_cast<U>((bit_copy_<U>(a.v) & ~sign) | (bit_copy_<U>(b.v) & sign)))};
}
template <class F>
SIMT_FN lone<F> min(lone<F> a, lone<F> b) {
  return {a.v < b.v ? a.v : b.v};
}
template <class F>
SIMT_FN lone<F> max(lone<F> a, lone<F> b) {
  return {a.v > b.v ? a.v : b.v};
}
template <class F>
SIMT_FN lone<F> rsqrt(lone<F> a) {
  using B = lone_bits_<F>;
  using U = typename B::U;
  using T = lone<F>;
  T y = {bit_copy_<F>(static_cast<U>(B::kSeed - (bit_copy_<U>(a.v) >> 1)))};
  const T one = {F(1)}, half = {F(0.5)}, three_eighths = {F(0.375)};
  for (int step = 0; step < (sizeof(F) == 4 ? 2 : 3); ++step) {
    const T r = fnma(a * y, y, one);
    y = fma(y * r, fma(three_eighths, r, half), y);
  }
  return y;
}
#define SIMT_COMPARISON_(op)                                  \
  template <class F>                                          \
  SIMT_FN lone_mask operator op(lone<F> a, lone<F> b) {       \
    return {a.v op b.v};                                      \
  }
SIMT_COMPARISON_(<)
SIMT_COMPARISON_(<=)
SIMT_COMPARISON_(>)
SIMT_COMPARISON_(>=)
SIMT_COMPARISON_(==)
#undef SIMT_COMPARISON_
SIMT_FN lone_mask mask_and(lone_mask a, lone_mask b) { return {a.m && b.m}; }
SIMT_FN lone_mask mask_or(lone_mask a, lone_mask b) { return {a.m || b.m}; }
SIMT_FN lone_mask mask_not(lone_mask a) { return {!a.m}; }
SIMT_FN bool any(lone_mask a) { return a.m; }
SIMT_FN bool all(lone_mask a) { return a.m; }
template <class F>
SIMT_FN lone<F> select(lone_mask m, lone<F> a, lone<F> b) {
  return m.m ? a : b;
}
template <class F>
SIMT_FN lone<F> exponent(lone<F> a) {
  using B = lone_bits_<F>;
  using U = typename B::U;
  if (a.v == F(0)) return {F(0)};
  const bool small = abs(a).v < tiny<lone<F>>().v;
  const F x = abs(a).v * (small ? F(18014398509481984.0) : F(1));  // 2^54
  const int e = static_cast<int>(bit_copy_<U>(x) >> B::kShift) - B::kBias - (small ? 54 : 0);
  return {static_cast<F>(e)};
}
template <class F>
SIMT_FN pow2_scale<lone<F>> make_pow2(lone<F> e) {
  using B = lone_bits_<F>;
  using U = typename B::U;
  const int whole = static_cast<int>(e.v);
  const int half = whole >> 1;
  return {{bit_copy_<F>(static_cast<U>(static_cast<U>(half + B::kBias) << B::kShift))},
          {bit_copy_<F>(static_cast<U>(static_cast<U>(whole - half + B::kBias) << B::kShift))}};
}
template <class F>
SIMT_FN lone<F> max_magnitude(lone<F> largest, lone<F> a) {
  using I = typename lone_bits_<F>::I;
  const I x = bit_copy_<I>(abs(a).v), y = bit_copy_<I>(largest.v);
  return {bit_copy_<F>(x > y ? x : y)};
}
template <class F>
SIMT_FN lone<F> conj(lone<F> a) {
  return a;
}
template <class F>
SIMT_FN lone<F> real(lone<F> a) {
  return a;
}
template <class F>
SIMT_FN lone<F> imag(lone<F>) {
  return {F(0)};
}
template <class F>
SIMT_FN lone<F> norm2(lone<F> a, lone<F> sum) {
  return fma(a, a, sum);
}
template <class F>
SIMT_FN lone<F> fma_conj(lone<F> a, lone<F> b, lone<F> c) {
  return fma(a, b, c);
}
template <class F>
SIMT_FN lone<F> fnma_conj(lone<F> a, lone<F> b, lone<F> c) {
  return fnma(a, b, c);
}
template <class F>
SIMT_FN lone<F> scale(lone<F> t, lone<F> a) {
  return t * a;
}
template <class F>
SIMT_FN lone<F> fma_real(lone<F> t, lone<F> a, lone<F> c) {
  return fma(t, a, c);
}
template <class F>
SIMT_FN lone<F> fnma_real(lone<F> t, lone<F> a, lone<F> c) {
  return fnma(t, a, c);
}

// ---- words on both ----

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

// ---- one set of words for real and complex S ----

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

// ---- tiles of 16 bytes, for load and store ----

// Order of the tile that transpose_tile() turns; 1 where this instruction set has no shuffles.
template <class F>
constexpr int tile_order() {
  return HWY_TARGET == HWY_SCALAR ? 1 : static_cast<int>(16 / sizeof(F));
}
// Transposes a B x B tile held in B vectors of 16 bytes.
#if HWY_TARGET != HWY_SCALAR
HWY_INLINE void transpose_tile(hn::CappedTag<float, 4> d, hn::Vec<hn::CappedTag<float, 4>> (&t)[4]) {
  const hn::RepartitionToWide<decltype(d)> dw;
  const auto a = hn::InterleaveLower(d, t[0], t[1]);
  const auto b = hn::InterleaveUpper(d, t[0], t[1]);
  const auto c = hn::InterleaveLower(d, t[2], t[3]);
  const auto e = hn::InterleaveUpper(d, t[2], t[3]);
  t[0] = hn::BitCast(d, hn::InterleaveLower(dw, hn::BitCast(dw, a), hn::BitCast(dw, c)));
  t[1] = hn::BitCast(d, hn::InterleaveUpper(dw, hn::BitCast(dw, a), hn::BitCast(dw, c)));
  t[2] = hn::BitCast(d, hn::InterleaveLower(dw, hn::BitCast(dw, b), hn::BitCast(dw, e)));
  t[3] = hn::BitCast(d, hn::InterleaveUpper(dw, hn::BitCast(dw, b), hn::BitCast(dw, e)));
}
HWY_INLINE void transpose_tile(hn::CappedTag<double, 2> d,
                               hn::Vec<hn::CappedTag<double, 2>> (&t)[2]) {
  const auto a = hn::InterleaveLower(d, t[0], t[1]);
  t[1] = hn::InterleaveUpper(d, t[0], t[1]);
  t[0] = a;
}
#else
template <class D, class V>
void transpose_tile(D, V&);  // never called: the tile is one element
#endif

// A size known at compile time, where a text takes "an argument of a type that converts to int".
template <int N>
struct size_constant {
  constexpr operator int() const { return N; }
};

}  // namespace simt
}  // namespace HWY_NAMESPACE
}  // namespace lanepack
HWY_AFTER_NAMESPACE();

#endif  // LANEPACK_DIALECT_LANES_H_ (per target)
