// SPDX-License-Identifier: Apache-2.0
// The lanes of one T as a group that works on one matrix: the words of a warp text. Sums follow one
// tree of halves, so their bits do not depend on how many vectors hold the lanes.
#if defined(LANEPACK_DIALECT_LANES_GROUP_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LANEPACK_DIALECT_LANES_GROUP_H_
#undef LANEPACK_DIALECT_LANES_GROUP_H_
#else
#define LANEPACK_DIALECT_LANES_GROUP_H_
#endif

#include "dialect/lanes_complex.h"
#include "dialect/lanes_real.h"
#include "dialect/lanes_types.h"

HWY_BEFORE_NAMESPACE();
namespace lanepack {
namespace HWY_NAMESPACE {
namespace simt {

// The sum of a vector's lanes: lane i plus lane i + W / 2, and again.
template <class F, int W>
SIMT_FN F sum_of_lanes_(hn::Vec<hn::CappedTag<F, W>> v) {
#if HWY_TARGET != HWY_SCALAR
  const hn::CappedTag<F, W> d;
  if constexpr (W * sizeof(F) > 16) {
    const hn::CappedTag<F, W / 2> half;
    return sum_of_lanes_<F, W / 2>(hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  } else if constexpr (W == 4) {
    v = hn::Add(v, hn::Shuffle1032(v));
    return hn::GetLane(hn::Add(v, hn::Shuffle2301(v)));
  } else if constexpr (W == 2) {
    return hn::GetLane(hn::Add(v, hn::Reverse(d, v)));
  } else {
    return hn::GetLane(v);
  }
#else
  return hn::GetLane(v);
#endif
}

template <class T>
struct lane_group;
template <class F, int W, int K>
struct lane_group<lanes<F, W, K>> {
  using T = lanes<F, W, K>;
  static constexpr int kWidth = W * K;

  SIMT_FN constexpr int width() const { return kWidth; }
  // The index of each lane.
  SIMT_FN T lane() const {
    const hn::CappedTag<F, W> d;
    T r;
    for (int k = 0; k < K; ++k) r.v[k] = hn::Iota(d, static_cast<F>(k * W));
    return r;
  }
  // The sum over the lanes, in every lane.
  SIMT_FN T sum(T x) const {
    for (int half = K / 2; half > 0; half /= 2) {
      for (int k = 0; k < half; ++k) x.v[k] = hn::Add(x.v[k], x.v[k + half]);
    }
    return traits<T>::set(sum_of_lanes_<F, W>(x.v[0]));
  }
  SIMT_FN complex<T> sum(complex<T> x) const { return {sum(x.re), sum(x.im)}; }
  // The value of one lane, in every lane; the lane is the same for the whole group.
  SIMT_FN T broadcast(T x, int from) const {
    F values[kWidth];
    __builtin_memcpy(values, &x, sizeof(values));
    return traits<T>::set(values[from]);
  }
  SIMT_FN complex<T> broadcast(complex<T> x, int from) const {
    return {broadcast(x.re, from), broadcast(x.im, from)};
  }
};

// A number from memory in every lane; a complex one lies there as two.
template <class S>
struct uniform_;
template <class F, int W, int K>
struct uniform_<lanes<F, W, K>> {
  static constexpr int kParts = 1;
  static SIMT_FN lanes<F, W, K> load(const F* p) { return traits<lanes<F, W, K>>::set(p[0]); }
};
template <class T>
struct uniform_<complex<T>> {
  static constexpr int kParts = 2;
  static SIMT_FN complex<T> load(const typename T::scalar* p) {
    return {traits<T>::set(p[0]), traits<T>::set(p[1])};
  }
};
template <class S>
SIMT_FN S uniform(SIMT_SHARED const typename traits<S>::scalar* p) {
  return uniform_<S>::load(p);
}

}  // namespace simt
}  // namespace HWY_NAMESPACE
}  // namespace lanepack
HWY_AFTER_NAMESPACE();

#endif  // LANEPACK_DIALECT_LANES_GROUP_H_ (per target)
