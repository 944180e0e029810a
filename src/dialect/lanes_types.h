// SPDX-License-Identifier: Apache-2.0
// The dialect's types on CPU lanes: T holds one value of each of W * K matrices, in K vectors of W
// lanes; // lone<F> is the T of one matrix alone. Traits and constants.
#if defined(LANEPACK_DIALECT_LANES_TYPES_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LANEPACK_DIALECT_LANES_TYPES_H_
#undef LANEPACK_DIALECT_LANES_TYPES_H_
#else
#define LANEPACK_DIALECT_LANES_TYPES_H_
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

// A size known at compile time, where a text takes "an argument of a type that converts to int".
template <int N>
struct size_constant {
  constexpr operator int() const { return N; }
};

}  // namespace simt
}  // namespace HWY_NAMESPACE
}  // namespace lanepack
HWY_AFTER_NAMESPACE();

#endif  // LANEPACK_DIALECT_LANES_TYPES_H_ (per target)
