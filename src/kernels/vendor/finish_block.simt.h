// SPDX-License-Identifier: Apache-2.0
// What comes after a vendor's routine: info, and its results in the caller's memory, scaled back; NaN
// for a matrix that was not finite or that the routine gave up.

namespace vendor {

// info, from the routine's and from the values, of which one that is not finite tells of no
// convergence as well; the exponent of a matrix without results becomes NaN. A warp to a matrix. T is
// the exponents' type, V the values'.
template <class T, class V>
SIMT_KERNEL(kThreads)
kernel_report(arguments x) {
  constexpr int kMatrices = kThreads / 32;
  const simt::warp_group<32> warp;
  const int mine = simt::thread_index() / 32;
  SIMT_GLOBAL const V* values = reinterpret_cast<SIMT_GLOBAL const V*>(x.values);
  SIMT_GLOBAL T* exponents = reinterpret_cast<SIMT_GLOBAL T*>(x.exponents);
  const simt::int64 step = static_cast<simt::int64>(simt::block_count()) * kMatrices;
  SIMT_NO_UNROLL
  for (simt::int64 first = static_cast<simt::int64>(simt::block_index()) * kMatrices;
       first < x.batch; first += step) {
    const simt::int64 matrix = first + mine;
    const bool there = matrix < x.batch;
    bool finite = true;
    SIMT_NO_UNROLL
    for (int k = warp.lane(); there && k < x.length; k += 32) {
      finite = finite && simt::is_finite(values[matrix * x.length + k]);
    }
    finite = warp.all(finite);
    if (there && warp.lane() == 0) {
      const bool bad = !simt::is_finite(exponents[matrix]);
      const bool converged = finite && x.routine_info[matrix] == 0;
      if (!converged) exponents[matrix] = simt::not_a_number<T>();
      if (x.info != nullptr) x.info[matrix] = steps::info_of(bad, converged);
    }
  }
}

// One result: `lines` columns of `length` entries, which may be rows of the routine's, and are of P
// there.
template <class S, class P>
SIMT_KERNEL(kThreads)
kernel_finish(arguments x) {
  using T = simt::real_of<S>;
  SIMT_GLOBAL const T* exponents = reinterpret_cast<SIMT_GLOBAL const T*>(x.exponents);
  const simt::int64 items = x.batch * x.parts;
  SIMT_NO_UNROLL
  for (simt::int64 item = simt::block_index(); item < items; item += simt::block_count()) {
    const simt::int64 matrix = item / x.parts;
    const lines_of lines = part_of(x, static_cast<int>(item - matrix * x.parts));
    SIMT_GLOBAL const P* from =
        reinterpret_cast<SIMT_GLOBAL const P*>(x.packed) + matrix * x.packed_stride;
    SIMT_GLOBAL S* to = reinterpret_cast<SIMT_GLOBAL S*>(x.matrix.data) + matrix * x.matrix.batch;
    const T e = x.plain != 0 ? simt::constant<T>(0.0f) : exponents[matrix];
    const bool bad = !simt::is_finite(e);
    const simt::pow2_scale<T> scale =
        simt::make_pow2(bad || x.scaled == 0 ? simt::constant<T>(0.0f) : e);
    SIMT_NO_UNROLL
    for (int i = simt::thread_index(); i < lines.count * x.length; i += kThreads) {
      const int line = lines.first + i / x.length, k = i % x.length;
      S a = simt::zero<S>();
      if (keeps(x.kept, line, k)) {
        a = convert<S>(from[static_cast<simt::int64>(line) * x.packed_line +
                            static_cast<simt::int64>(k) * x.packed_entry]);
        if (x.conjugate != 0) a = simt::conj(a);
        if (x.scaled != 0) a = simt::scale_pow2(a, scale);
        if (bad) a = steps::nan_entry<S>();
      }
      to[line * line_step(x) + k * entry_step(x)] = a;
    }
  }
}

}  // namespace vendor
