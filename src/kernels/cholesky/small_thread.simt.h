// SPDX-License-Identifier: Apache-2.0
// The GPU kernel of cholesky with one matrix per thread: orders to 8 known at compile time, factored
// as one tile of left_looking_thread.simt.h.

namespace cholesky {

template <class S, int kN>
SIMT_KERNEL(steps::kThreads)
kernel_thread(arguments args) {
  using T = simt::real_of<S>;
  using L = steps::slots<S, kN * kN>;
  SIMT_SHARED_ARRAY(S, all, L::kOfBlock);
  const int lane = simt::thread_index() % 32;
  SIMT_SHARED S* mine = all + simt::thread_index() / 32 * L::kOfWarp;
  const simt::warp_group<32> group;
  for (simt::int64 first = steps::first_of_warp(); first < args.batch;
       first += steps::stride_of_warps()) {
    const int count = steps::count_of_warp(first, args.batch);
    steps::stage_in<kN, kN>(args.a, first, count, mine);
    // a thread past the last matrix repeats it, and its result is not stored
    const int at = lane < count ? lane : count - 1;
    S x[kN][kN];
    steps::read_slot<kN, kN>(mine + at * L::kStride, args.a.layout == steps::kPackedRows, x);
    T largest = simt::constant<T>(0.0f);
    SIMT_UNROLL
    for (int j = 0; j < kN; ++j) {
      x[j][j] = simt::from_real<S>(simt::real(x[j][j]));
      SIMT_UNROLL
      for (int i = j; i < kN; ++i) largest = simt::max_magnitude(largest, x[j][i]);
    }
    const bool bad = !simt::is_finite(largest);
    const raising<T> raised = raising_of(largest);
    SIMT_UNROLL
    for (int j = 0; j < kN; ++j) {
      SIMT_UNROLL
      for (int i = j; i < kN; ++i) x[j][i] = simt::scale(raised.up, x[j][i]);
    }
    const T order = factor_small<kN>(&x[0][0], kN);
    const bool lost = bad || order > simt::constant<T>(0.0f);
    group.sync();  // every thread has read its slot
    SIMT_UNROLL
    for (int j = 0; j < kN; ++j) {
      S column[kN];
      SIMT_UNROLL
      for (int i = 0; i < kN; ++i) {
        column[i] = i < j ? simt::zero<S>() : finished(x[j][i], raised.down, lost);
      }
      steps::write_column<kN, kN>(mine + lane * L::kStride, args.l.layout == steps::kPackedRows, j,
                                  column);
    }
    if (args.info != nullptr && lane < count) {
      args.info[first + lane] = bad ? steps::kInfoNotFinite : static_cast<int>(order);
    }
    steps::stage_out<kN, kN>(args.l, first, count, mine);
  }
}

}  // namespace cholesky
