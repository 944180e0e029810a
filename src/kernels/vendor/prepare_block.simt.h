// SPDX-License-Identifier: Apache-2.0
// What comes before a vendor's routine: a packed copy of each matrix, scaled by a power of two so that
// its largest entry lies in [1, 2); the identity in the place of one that is not finite. Any strides;
// a block takes a part of a matrix, so that one large matrix fills the GPU as well.

namespace vendor {

SIMT_CONSTANT int kThreads = 256;

SIMT_FN bool keeps(int kept, int line, int k) {
  return kept == kAll || (kept == kHead ? k <= line : k >= line);
}

// The lines of a part.
struct lines_of {
  int first, count;
};
SIMT_FN lines_of part_of(const arguments& x, int part) {
  const int first = part * x.lines_of_part;
  const int left = x.lines - first;
  return {first, left < x.lines_of_part ? left : x.lines_of_part};
}

// Distances in `matrix` along a line and from line to line.
SIMT_FN simt::int64 entry_step(const arguments& x) {
  return x.by_rows != 0 ? x.matrix.column : x.matrix.row;
}
SIMT_FN simt::int64 line_step(const arguments& x) {
  return x.by_rows != 0 ? x.matrix.row : x.matrix.column;
}

// Entry k of line `line` as the routine is to see it.
template <class S>
SIMT_FN S load(const arguments& x, SIMT_GLOBAL const S* from, int line, int k) {
  const S a = from[line * line_step(x) + k * entry_step(x)];
  return x.hermitian != 0 && line == k ? simt::from_real<S>(simt::real(a)) : a;
}

// An S as a P of the other precision.
template <class P, class S>
SIMT_FN P convert(S a) {
  using T = simt::real_of<P>;
  return simt::from_parts<P>(static_cast<T>(simt::real(a)), static_cast<T>(simt::imag(a)));
}

// The largest magnitude of every part; not finite if an entry is not.
template <class S>
SIMT_KERNEL(kThreads)
kernel_measure(arguments x) {
  using T = simt::real_of<S>;
  SIMT_SHARED_ARRAY(T, of_warps, kThreads / 32);
  const simt::warp_group<32> warp;
  const int thread = simt::thread_index();
  SIMT_GLOBAL T* largest_of = reinterpret_cast<SIMT_GLOBAL T*>(x.largest);
  const simt::int64 items = x.batch * x.parts;
  SIMT_NO_UNROLL
  for (simt::int64 item = simt::block_index(); item < items; item += simt::block_count()) {
    const simt::int64 matrix = item / x.parts;
    const lines_of lines = part_of(x, static_cast<int>(item - matrix * x.parts));
    SIMT_GLOBAL const S* from =
        reinterpret_cast<SIMT_GLOBAL const S*>(x.matrix.data) + matrix * x.matrix.batch;
    T largest = simt::constant<T>(0.0f);
    SIMT_NO_UNROLL
    for (int i = thread; i < lines.count * x.length; i += kThreads) {
      const int line = lines.first + i / x.length, k = i % x.length;
      if (keeps(x.kept, line, k)) {
        largest = simt::max_magnitude(largest, load<S>(x, from, line, k));
      }
    }
    SIMT_UNROLL
    for (int m = 16; m > 0; m /= 2) {
      largest = simt::max_magnitude(largest, warp.shuffle_xor(largest, m));
    }
    if (warp.lane() == 0) of_warps[thread / 32] = largest;
    simt::sync_block();
    if (thread == 0) {
      SIMT_UNROLL
      for (int w = 1; w < kThreads / 32; ++w) {
        largest = simt::max_magnitude(largest, of_warps[w]);
      }
      largest_of[item] = largest;
    }
    simt::sync_block();
  }
}

// The packed copies, whose entries are P, and the exponents.
template <class S, class P>
SIMT_KERNEL(kThreads)
kernel_prepare(arguments x) {
  using T = simt::real_of<S>;
  const int thread = simt::thread_index();
  SIMT_GLOBAL const T* largest_of = reinterpret_cast<SIMT_GLOBAL const T*>(x.largest);
  SIMT_GLOBAL T* exponents = reinterpret_cast<SIMT_GLOBAL T*>(x.exponents);
  const simt::int64 items = x.batch * x.parts;
  SIMT_NO_UNROLL
  for (simt::int64 item = simt::block_index(); item < items; item += simt::block_count()) {
    const simt::int64 matrix = item / x.parts;
    const int part = static_cast<int>(item - matrix * x.parts);
    const lines_of lines = part_of(x, part);
    SIMT_GLOBAL const S* from =
        reinterpret_cast<SIMT_GLOBAL const S*>(x.matrix.data) + matrix * x.matrix.batch;
    SIMT_GLOBAL P* to = reinterpret_cast<SIMT_GLOBAL P*>(x.packed) + matrix * x.packed_stride;
    T largest = simt::constant<T>(0.0f);
    SIMT_NO_UNROLL
    for (int p = 0; p < x.parts; ++p) {
      largest = simt::max_magnitude(largest, largest_of[matrix * x.parts + p]);
    }
    const bool bad = !simt::is_finite(largest);
    const T e = simt::exponent(bad ? simt::constant<T>(1.0f) : largest);
    const simt::pow2_scale<T> scale = simt::make_pow2(-e);
    if (part == 0 && thread == 0) exponents[matrix] = bad ? simt::not_a_number<T>() : e;
    SIMT_NO_UNROLL
    for (int i = thread; i < lines.count * x.length; i += kThreads) {
      const int line = lines.first + i / x.length, k = i % x.length;
      S a = simt::from_real<S>(simt::constant<T>(bad && line == k ? 1.0f : 0.0f));
      if (!bad && keeps(x.kept, line, k)) {
        a = simt::scale_pow2(load<S>(x, from, line, k), scale);
        if (x.conjugate != 0) a = simt::conj(a);
      }
      to[static_cast<simt::int64>(line) * x.packed_line +
         static_cast<simt::int64>(k) * x.packed_entry] = convert<P>(a);
    }
  }
}

}  // namespace vendor
