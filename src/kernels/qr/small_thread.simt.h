// SPDX-License-Identifier: Apache-2.0
// The GPU kernel of qr with one matrix per thread: sizes to 8 x 8 known at compile time.

namespace qr {

// R at the matrix's scale, with exact zeros below its diagonal, to its slot.
template <int kM, int kN, int kRows, int kColumns, class S>
SIMT_FN void store_r_small(SIMT_PRIVATE const S (&x)[kColumns][kM],
                           SIMT_PRIVATE const simt::real_of<S> (&diagonal)[kM],
                           simt::real_of<S> exponent, SIMT_SHARED S* slot, bool by_rows) {
  const simt::pow2_scale<simt::real_of<S>> scale = simt::make_pow2(exponent);
  SIMT_UNROLL
  for (int j = 0; j < kN; ++j) {
    S column[kRows];
    SIMT_UNROLL
    for (int i = 0; i < kRows; ++i) {
      column[i] = i < j    ? simt::scale_pow2(x[j][i], scale)
                  : i == j ? simt::from_real<S>(simt::scale_pow2(diagonal[j], scale))
                           : simt::zero<S>();
    }
    steps::write_column<kRows, kN>(slot, by_rows, j, column);
  }
}

// kQ: columns of Q, 0: R alone; kR: rows of R.
template <class S, int kM, int kN, int kQ, int kR>
SIMT_KERNEL(steps::kThreads)
kernel_thread(arguments args) {
  using T = simt::real_of<S>;
  using A = steps::slots<S, kM * kN>;
  using Q = steps::slots<S, kQ == 0 ? 1 : kM * kQ>;
  using R = steps::slots<S, kR * kN>;
  constexpr int kAR = A::kOfBlock > R::kOfBlock ? A::kOfBlock : R::kOfBlock;
  constexpr int kEntries = kAR > Q::kOfBlock ? kAR : Q::kOfBlock;
  constexpr int kColumns = kN > kQ ? kN : kQ;
  SIMT_SHARED_ARRAY(S, all, kEntries);
  const int lane = simt::thread_index() % 32;
  SIMT_SHARED S* mine = all + simt::thread_index() / 32 * (kEntries / steps::kWarpsPerBlock);
  const simt::warp_group<32> group;
  for (simt::int64 first = steps::first_of_warp(); first < args.batch;
       first += steps::stride_of_warps()) {
    const int count = steps::count_of_warp(first, args.batch);
    steps::stage_in<kM, kN>(args.a, first, count, mine);
    // a thread past the last matrix repeats it, and its result is not stored
    const int at = lane < count ? lane : count - 1;
    S x[kColumns][kM], tau[kM];
    T diagonal[kM];
    steps::read_slot<kM, kN>(mine + at * A::kStride, args.a.layout == steps::kPackedRows, x);
    const steps::prepared<T> p = steps::prepare_small<false, kM, kN>(x, false);
    factor_small<kM, kN>(x, tau, diagonal);
    group.sync();  // every thread has read its slot
    store_r_small<kM, kN, kR>(x, diagonal, p.exponent, mine + lane * R::kStride,
                              args.r.layout == steps::kPackedRows);
    if (p.bad) steps::fill_slot(mine + lane * R::kStride, kR * kN, steps::nan_entry<S>());
    if (args.info != nullptr && lane < count) args.info[first + lane] = steps::info_of(p.bad, true);
    steps::stage_out<kR, kN>(args.r, first, count, mine);
    if (kQ > 0) {
      form_q_small<kM, kN, kQ>(x, tau);
      SIMT_UNROLL
      for (int j = 0; j < kQ; ++j) {
        steps::write_column<kM, kQ>(mine + lane * Q::kStride, args.q.layout == steps::kPackedRows,
                                    j, x[j]);
      }
      if (p.bad) steps::fill_slot(mine + lane * Q::kStride, kM * kQ, steps::nan_entry<S>());
      steps::stage_out<kM, kQ == 0 ? 1 : kQ>(args.q, first, count, mine);
    }
  }
}

}  // namespace qr
