// SPDX-License-Identifier: Apache-2.0
// What the GPU's kernels of cholesky do to small matrices: raise_small() of left_looking_thread.simt.h
// for the numbers of one thread.

namespace cholesky {

// What A is multiplied by where its largest entry is so small that its products would be rounded to
// multiples of the smallest subnormal number, and L after that; one and one elsewhere.
template <class T>
struct raising {
  T up, down;  // 2^120 and 2^-60
};
template <class T>
SIMT_FN raising<T> raising_of(T largest) {
  const T one = simt::constant<T>(1.0f);
  const bool small = largest < simt::tiny<T>() * simt::constant<T>(1073741824.0f);  // 2^30
  return {small ? simt::constant<T>(1329227995784915872903807060280344576.0f) : one,
          small ? simt::constant<T>(8.673617379884035e-19f) : one};
}

// An entry of L as it is stored: NaN where the matrix is lost.
template <class S>
SIMT_FN S finished(S x, simt::real_of<S> down, bool lost) {
  return simt::select(lost, steps::nan_entry<S>(), simt::scale(down, x));
}

}  // namespace cholesky
