// SPDX-License-Identifier: Apache-2.0
// The GPU kernel of cholesky with a block to a matrix: right_looking_warp.simt.h on more threads.

namespace cholesky {

// kP x kG threads, whole warps, to a matrix of order n <= kN.
template <class S, int kN, int kP, int kG>
SIMT_KERNEL(kP* kG)
kernel_block(arguments args) {
  using T = simt::real_of<S>;
  using L = tiles<S, kN, kP, kG>;
  constexpr int kWarps = L::kThreads / 32;
  SIMT_SHARED_ARRAY(S, vectors, L::kVectors);
  SIMT_SHARED_ARRAY(T, largest_of, kWarps);
  SIMT_SHARED_ARRAY(int, rank_of, kWarps);
  const int index = simt::thread_index();
  const int p = index % kP, g = index / kP, warp = index / 32;
  const simt::warp_group<32> group;
  for (simt::int64 matrix = simt::block_index(); matrix < args.batch;
       matrix += simt::block_count()) {
    S a[L::kColumns][L::kRows];
    const T own = load_tiles<L>(args.a, matrix, args.n, p, g, a);
    const bool own_bad = group.any(!simt::is_finite(own));
    const T own_largest = group.max(own_bad ? simt::constant<T>(1.0f) : own);
    // negative: not finite
    if (group.lane() == 0) largest_of[warp] = own_bad ? simt::constant<T>(-1.0f) : own_largest;
    simt::sync_block();
    bool bad = false;
    T largest = simt::constant<T>(0.0f);
    for (int k = 0; k < kWarps; ++k) {
      bad = bad || largest_of[k] < simt::constant<T>(0.0f);
      largest = simt::max(largest, largest_of[k]);
    }
    const raising<T> raised = raising_of(bad ? simt::constant<T>(1.0f) : largest);
    raise_tiles<L>(raised.up, a);
    int order = 0;
    step_blocks<S, kN, kP, kG, 0>::factor(a, vectors, args.n, p, g, order);
    const int own_rank = group.max(rank_of_order<kN>(order));
    if (group.lane() == 0) rank_of[warp] = own_rank;
    simt::sync_block();
    int rank = 0;
    for (int k = 0; k < kWarps; ++k) rank = rank_of[k] > rank ? rank_of[k] : rank;
    order = order_of_rank<kN>(rank);
    store_tiles<L>(args.l, matrix, args.n, p, g, bad || order != 0, raised.down, a);
    if (args.info != nullptr && index == 0) {
      args.info[matrix] = bad ? steps::kInfoNotFinite : order;
    }
  }
}

}  // namespace cholesky
