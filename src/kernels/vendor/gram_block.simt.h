// SPDX-License-Identifier: Apache-2.0
// Singular values and vectors by way of the eigenvalues of A^H A in float64 (svd.cc of the host has
// the steps): what no routine of the vendor's does.

namespace vendor {

// Singular values in descending order, scaled back: the roots of `values`, `length` a matrix, which
// ascend. Rounding may have left one of a singular matrix below zero.
template <class T>
SIMT_KERNEL(kThreads)
kernel_roots(arguments x) {
  SIMT_GLOBAL const double* values = reinterpret_cast<SIMT_GLOBAL const double*>(x.values);
  SIMT_GLOBAL const T* exponents = reinterpret_cast<SIMT_GLOBAL const T*>(x.exponents);
  const simt::int64 count = x.batch * x.length;
  const simt::int64 step = static_cast<simt::int64>(simt::block_count()) * kThreads;
  SIMT_NO_UNROLL
  for (simt::int64 i =
           static_cast<simt::int64>(simt::block_index()) * kThreads + simt::thread_index();
       i < count; i += step) {
    const simt::int64 matrix = i / x.length;
    const int k = static_cast<int>(i - matrix * x.length);
    const T e = exponents[matrix];
    const bool bad = !simt::is_finite(e);
    const double square = values[matrix * x.length + (x.length - 1 - k)];
    const T root = static_cast<T>(simt::sqrt(simt::max(square, simt::constant<double>(0.0f))));
    const T value = simt::scale_pow2(root, simt::make_pow2(bad ? simt::constant<T>(0.0f) : e));
    SIMT_GLOBAL T* to = reinterpret_cast<SIMT_GLOBAL T*>(x.matrix.data);
    to[matrix * x.matrix.batch + k * x.matrix.row] = bad ? simt::not_a_number<T>() : value;
  }
}

// Turns the columns of the packed V for which R = Q^H A V has a negative entry on its diagonal, so that
// A V = Q S with S >= 0. R is `matrix`.
template <class P>
SIMT_KERNEL(kThreads)
kernel_turn(arguments x) {
  const simt::int64 items = x.batch * x.parts;
  SIMT_NO_UNROLL
  for (simt::int64 item = simt::block_index(); item < items; item += simt::block_count()) {
    const simt::int64 matrix = item / x.parts;
    const lines_of lines = part_of(x, static_cast<int>(item - matrix * x.parts));
    SIMT_GLOBAL const P* r =
        reinterpret_cast<SIMT_GLOBAL const P*>(x.matrix.data) + matrix * x.matrix.batch;
    SIMT_GLOBAL P* v = reinterpret_cast<SIMT_GLOBAL P*>(x.packed) + matrix * x.packed_stride;
    SIMT_NO_UNROLL
    for (int i = simt::thread_index(); i < lines.count * x.length; i += kThreads) {
      const int line = lines.first + i / x.length, k = i % x.length;
      const P diagonal = r[line * (x.matrix.row + x.matrix.column)];
      if (simt::real(diagonal) < simt::constant<simt::real_of<P>>(0.0f)) {
        const simt::int64 at = static_cast<simt::int64>(line) * x.packed_line + k;
        v[at] = -v[at];
      }
    }
  }
}

}  // namespace vendor
