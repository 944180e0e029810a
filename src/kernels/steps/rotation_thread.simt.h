// SPDX-License-Identifier: Apache-2.0
// Plane rotations that many columns meet.

namespace steps {

template <class T>
struct rotation {
  T c, s;
};

// c and s with c^2 + s^2 = 1 up to their own rounding. What comes from one reciprocal root errs alike
// in both, so that every rotation would stretch the vectors it turns (eigh of order 64, float32: their
// loss of orthogonality falls from 21 to 15 sqrt(n) u).
template <class T>
SIMT_FN rotation<T> normalised(T c, T s) {
  const T excess = simt::fnma(s, s, simt::fnma(c, c, simt::constant<T>(1.0f)));
  const T half = simt::constant<T>(0.5f) * excess;
  return {simt::fma(c, half, c), simt::fma(s, half, s)};
}

}  // namespace steps
