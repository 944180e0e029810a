// SPDX-License-Identifier: Apache-2.0
// What bidiagonalise_warp.simt.h does, for matrices of which a lane's registers hold a row or a column
// but not both (complex128 above 16): the lanes of one warp have the rows of B, those of a second one
// the columns. Each makes the vector that its own sums give and reads the other's. The reduction is a
// step longer for it, the update and the two factors take half as long.

namespace svd {

// Row (the first warp) or column `lane` of B.
template <int kN, class S>
SIMT_FN void load_one(const arguments& args, simt::int64 matrix, bool wide, bool rows,
                      SIMT_SHARED S* tile, SIMT_PRIVATE S (&a)[kN]) {
  const simt::warp_group<32> warp;
  constexpr int kStride = steps::tile_stride<S, kN>();
  const int lane = warp.lane();
  steps::view x = args.a;
  const bool exchanged = x.row != 1;
  if (exchanged) x = steps::transposed(x);
  const int m = exchanged ? args.n : args.m, n = exchanged ? args.m : args.n;
  simt::sync_block();
  if (rows) steps::load_tile<kN, 32>(x, matrix, m, n, tile);
  simt::sync_block();
  // the tile holds B, or its transpose
  const bool direct = exchanged == wide;
  if (direct != rows) {
    steps::read_packets<kN>(tile + (lane < n ? lane : 0) * kStride, a);
    SIMT_UNROLL
    for (int j = 0; j < kN; ++j) a[j] = lane < n ? a[j] : simt::zero<S>();
  } else {
    SIMT_UNROLL
    for (int j = 0; j < kN; ++j) {
      const S across = tile[(j < n ? j : 0) * kStride + (lane < m ? lane : 0)];
      a[j] = lane < m && j < n ? across : simt::zero<S>();
    }
  }
  simt::sync_block();
}

// a_(j - 1) <- a_j - p_j s - t_j over 1 <= j < kL: of a column t_j = q_j conj(r), of a row r conj(q_j),
// where q_1 is `head`.
template <int kL, bool kColumns, int kX, class S>
SIMT_FN void subtract_both(SIMT_SHARED const S* p, S s, SIMT_SHARED const S* q, S r, S head,
                           SIMT_PRIVATE S (&a)[kX]) {
  using P = steps::packet_of<S>;
  constexpr int kWidth = 16 / static_cast<int>(sizeof(S));
  SIMT_SHARED const P* ps = reinterpret_cast<SIMT_SHARED const P*>(p);
  SIMT_SHARED const P* qs = reinterpret_cast<SIMT_SHARED const P*>(q);
  SIMT_UNROLL
  for (int k = 0; k < kL / kWidth; ++k) {
    const P x = ps[k], y = qs[k];
    SIMT_UNROLL
    for (int w = 0; w < kWidth; ++w) {
      const int j = k * kWidth + w;
      if (j == 0) continue;
      const S without = kColumns ? simt::fnma_conj(y.x[w], r, a[j])
                                 : simt::fnma_conj(r, j == 1 ? head : y.x[w], a[j]);
      a[j - 1] = simt::fnma(x.x[w], s, without);
    }
  }
  a[kL - 1] = simt::zero<S>();
}

// bidiagonalise_block() of bidiagonalise_warp.simt.h.
template <int kL, int kN, class S>
SIMT_FN void bidiagonalise_apart(SIMT_PRIVATE S (&a)[kN], const bidiagonal_memory<S>& memory,
                                 const bidiagonal<simt::real_of<S>>& t, bool rows, int k0, int k1) {
  using T = simt::real_of<S>;
  constexpr int kStride = steps::tile_stride<S, kN>();
  const simt::warp_group<32> warp;
  const int lane = warp.lane();
  const S none = simt::zero<S>();
  const T zero = simt::constant<T>(0.0f);
  SIMT_NO_UNROLL
  for (int k = k0; k < k1; ++k) {
    SIMT_SHARED S* left = memory.left + k * kStride;
    SIMT_SHARED S* right = memory.right + k * kStride;
    const int place = steps::place_at<kN>(lane, k);
    const bool inside = lane < kN;
    // the left reflector, from column k: entry 0 of the rows
    if (rows && inside) left[place] = lane >= k ? a[0] : none;
    simt::sync_block();
    const S x = inside ? left[place] : none;
    const T below = warp.sum(lane > k ? simt::norm2(x, zero) : zero);
    const steps::reflector<S> h = steps::make_reflector(left[0], below);
    // the right one, from what is left of row k: entry 0 of the columns
    if (!rows) {
      const S dot = simt::fma_conj(h.head, a[0], steps::product_with<kL, true>(left, a, 1));
      const S w = lane > k ? simt::conj(h.tau) * dot : none;
      if (inside) {
        right[place] = lane > k ? simt::conj(simt::fnma(h.head, w, a[0])) : none;
        memory.product[place] = w;
      }
    }
    simt::sync_block();
    const S z = inside ? right[place] : none, w = inside ? memory.product[place] : none;
    const T beyond = warp.sum(lane > k + 1 ? simt::norm2(z, zero) : zero);
    const steps::reflector<S> g = steps::make_reflector(right[1], beyond);
    const S own = lane == k + 1 ? g.head : z, v = lane == k ? h.head : x;
    if (rows) {
      const S both = warp.sum(w * own);
      const S sum = simt::fma(a[1], g.head, steps::product_with<kL, false>(right, a, 2));
      const S y = lane > k ? g.tau * simt::fnma(v, both, sum) : none;
      if (inside) memory.change[place] = y;
      if (lane == k) {
        memory.left_heads[k] = h.head;
        memory.left_tau[k] = h.tau;
        memory.right_heads[k] = g.head;
        memory.right_tau[k] = g.tau;
        t.d[k] = h.beta;
        t.e[k] = g.beta;
      }
      subtract_both<kL, false>(memory.product, v, right, y, g.head, a);
    }
    simt::sync_block();
    if (!rows) subtract_both<kL, true>(left, w, memory.change, own, none, a);
  }
}

// All blocks from the one that starts at kFrom.
template <int kFrom, int kN, class S>
struct blocks_apart {
  using Next = blocks_apart<(kFrom + steps::kBlock < kN) ? kFrom + steps::kBlock : -1, kN, S>;
  static SIMT_FN void run(SIMT_PRIVATE S (&a)[kN], const bidiagonal_memory<S>& memory,
                          const bidiagonal<simt::real_of<S>>& t, bool rows, int count) {
    bidiagonalise_apart<kN - kFrom, kN>(a, memory, t, rows, kFrom,
                                        steps::clipped(count, kFrom + steps::kBlock));
    Next::run(a, memory, t, rows, count);
  }
};
template <int kN, class S>
struct blocks_apart<-1, kN, S> {
  static SIMT_FN void run(SIMT_PRIVATE S (&)[kN], const bidiagonal_memory<S>&,
                          const bidiagonal<simt::real_of<S>>&, bool, int) {}
};

// A matrix to a block of two warps. kTall: the second problem of a tall A.
template <class S, int kN, bool kVectors, bool kTall>
SIMT_KERNEL(64)
kernel_bidiagonalise_apart(arguments given) {
  using T = simt::real_of<S>;
  using L = bidiagonal_layout<S, kN, 32>;
  constexpr int kScratch = 2 * L::kVectors;
  SIMT_SHARED_ARRAY(S, all, L::kTotal);
  SIMT_SHARED S* heads = all + kScratch + 2 * L::kStride;
  const bidiagonal_memory<S> memory = {
      all,   all + L::kVectors, all + kScratch, all + kScratch + L::kStride,
      heads, heads + kN,        heads + 2 * kN, heads + 3 * kN};
  const bool rows = simt::thread_index() < 32;
  const arguments args = kTall ? second_problem<S>(given) : given;
  const bool wide = args.m < args.n;
  const int n = wide ? args.m : args.n;
  for (simt::int64 matrix = simt::block_index(); matrix < args.batch;
       matrix += simt::block_count()) {
    S a[kN];
    load_one<kN>(args, matrix, wide, rows, all, a);
    const steps::group_prepared<T> p = steps::prepare_column<32>(a);
    const bidiagonal<T> t = bidiagonal_of<T>(args, n, matrix);
    if (simt::thread_index() == 0) store_exponent<S, kTall>(given, matrix, t, p);
    blocks_apart<0, kN, S>::run(a, memory, t, rows, n);
    simt::sync_block();
    if (kVectors) {
      if (rows) {
        form_left<kN, 32>(args, matrix, wide, true, memory);
      } else {
        form_right<kN, 32>(args, matrix, wide, true, memory);
      }
    }
  }
}

}  // namespace svd
