// SPDX-License-Identifier: Apache-2.0
// The dialect's words on one matrix alone, in plain numbers. The same operations in the same order
// as in lanes_real.h, so the same bits.
#if defined(LANEPACK_DIALECT_LANES_LONE_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LANEPACK_DIALECT_LANES_LONE_H_
#undef LANEPACK_DIALECT_LANES_LONE_H_
#else
#define LANEPACK_DIALECT_LANES_LONE_H_
#endif

#include "dialect/lanes_types.h"

HWY_BEFORE_NAMESPACE();
namespace lanepack {
namespace HWY_NAMESPACE {
namespace simt {

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
#define SIMT_COMPARISON_(op)                            \
  template <class F>                                    \
  SIMT_FN lone_mask operator op(lone<F> a, lone<F> b) { \
    return {a.v op b.v};                                \
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

}  // namespace simt
}  // namespace HWY_NAMESPACE
}  // namespace lanepack
HWY_AFTER_NAMESPACE();

#endif  // LANEPACK_DIALECT_LANES_LONE_H_ (per target)
