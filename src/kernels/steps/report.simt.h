// SPDX-License-Identifier: Apache-2.0
// What a GPU kernel says of a matrix: include/lanepack/lanepack.h.

namespace steps {

template <class S>
SIMT_FN S nan_entry() {
  using T = simt::real_of<S>;
  return simt::from_parts<S>(simt::not_a_number<T>(), simt::not_a_number<T>());
}

SIMT_CONSTANT int kInfoNotFinite = 2147483647;
SIMT_CONSTANT int kInfoNoConvergence = 2147483646;

SIMT_FN int info_of(bool not_finite, bool converged) {
  return not_finite ? kInfoNotFinite : converged ? 0 : kInfoNoConvergence;
}

}  // namespace steps
