// SPDX-License-Identifier: Apache-2.0
// The dialect's words on real T, many matrices at a time.
#if defined(LANEPACK_DIALECT_LANES_REAL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LANEPACK_DIALECT_LANES_REAL_H_
#undef LANEPACK_DIALECT_LANES_REAL_H_
#else
#define LANEPACK_DIALECT_LANES_REAL_H_
#endif

#include "dialect/lanes_types.h"

HWY_BEFORE_NAMESPACE();
namespace lanepack {
namespace HWY_NAMESPACE {
namespace simt {

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

#define SIMT_COMPARISON_(name, op)                                               \
  template <class F, int W, int K>                                               \
  SIMT_FN lane_mask<F, W, K> operator name(lanes<F, W, K> a, lanes<F, W, K> b) { \
    lane_mask<F, W, K> r;                                                        \
    for (int k = 0; k < K; ++k) r.m[k] = hn::op(a.v[k], b.v[k]);                 \
    return r;                                                                    \
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

}  // namespace simt
}  // namespace HWY_NAMESPACE
}  // namespace lanepack
HWY_AFTER_NAMESPACE();

#endif  // LANEPACK_DIALECT_LANES_REAL_H_ (per target)
