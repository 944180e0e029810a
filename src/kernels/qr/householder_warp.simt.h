// SPDX-License-Identifier: Apache-2.0
// QR by Householder reflectors, kW lanes of a warp to a matrix: n <= kW <= 32 columns, one in the
// registers of each lane, and m <= kM rows. The owner of column k puts what is left of it into shared
// memory once, where all lanes read it; no sum runs across lanes, and the same copy serves the
// backward formation of Q (4096 matrices of 32 x 32, float32, on an H200: 41 us).
// Registers are shifted: entry i of a column stands for row k + i at step k, so that k is a loop's
// index and not a register's. Steps come in blocks of steps::kBlock with the length that is left.

namespace qr {

// The shared memory of a matrix.
template <class S, int kM, int kW>
struct warp_layout {
  static constexpr int kStride = steps::tile_stride<S, kM>();
  static constexpr int kRStride = kW + 1;
  static constexpr int kVectors = kW * kStride;  // reflector k at k * kStride, from its row k on
  static constexpr int kR = kW * kRStride;       // entry (k, j) of R at k * kRStride + j
  static constexpr int kHeads = kW, kTau = kW;
  static constexpr int kUsed = kVectors + kR + kHeads + kTau;
  static constexpr int kTotal =
      (kUsed * static_cast<int>(sizeof(S)) + 15) / 16 * 16 / static_cast<int>(sizeof(S));
};

template <class S>
struct warp_memory {
  SIMT_SHARED S* vectors;
  SIMT_SHARED S* r;
  SIMT_SHARED S* heads;
  SIMT_SHARED S* tau;
};

// A column of more bytes than this is read from shared memory again for its second use: it and the
// lane's own would not both fit in registers.
SIMT_CONSTANT int kMostHeld = 256;

// Four partial sums, in a fixed order, over the entries 1 <= i < kL of the column at `shared`: of
// conj(v_i) x_(i - shift), and of |v_i|^2.
template <class S>
struct column_sums {
  S dot[4];
  simt::real_of<S> squares[4];
};
template <int kL, int kX, class S>
SIMT_FN column_sums<S> sums_with_column(SIMT_SHARED const S* shared, SIMT_PRIVATE const S (&x)[kX],
                                        int shift) {
  using P = steps::packet_of<S>;
  constexpr int kWidth = 16 / static_cast<int>(sizeof(S));
  SIMT_SHARED const P* packets = reinterpret_cast<SIMT_SHARED const P*>(shared);
  column_sums<S> sums;
  SIMT_UNROLL
  for (int i = 0; i < 4; ++i) {
    sums.dot[i] = simt::zero<S>();
    sums.squares[i] = simt::constant<simt::real_of<S>>(0.0f);
  }
  SIMT_UNROLL
  for (int k = 0; k < kL / kWidth; ++k) {
    const P p = packets[k];
    SIMT_UNROLL
    for (int w = 0; w < kWidth; ++w) {
      const int i = k * kWidth + w;
      if (i == 0) continue;
      sums.dot[i % 4] = simt::fma_conj(p.x[w], x[i - shift], sums.dot[i % 4]);
      sums.squares[i % 4] = simt::norm2(p.x[w], sums.squares[i % 4]);
    }
  }
  return sums;
}
template <class X>
SIMT_FN X sum_of_four(SIMT_PRIVATE const X (&s)[4]) {
  return (s[0] + s[1]) + (s[2] + s[3]);
}

// x_(i - to) <- x_(i - from) - v_i f over 1 <= i < kL, upwards or downwards as the shift asks.
template <int kL, int kX, class S>
SIMT_FN void subtract_column(SIMT_SHARED const S* shared, S f, bool down, SIMT_PRIVATE S (&x)[kX]) {
  using P = steps::packet_of<S>;
  constexpr int kWidth = 16 / static_cast<int>(sizeof(S));
  SIMT_SHARED const P* packets = reinterpret_cast<SIMT_SHARED const P*>(shared);
  SIMT_UNROLL
  for (int n = 0; n < kL / kWidth; ++n) {
    const int k = down ? kL / kWidth - 1 - n : n;
    const P p = packets[k];
    SIMT_UNROLL
    for (int y = 0; y < kWidth; ++y) {
      const int w = down ? kWidth - 1 - y : y, i = k * kWidth + w;
      if (i == 0) continue;
      if (down) {
        x[i] = simt::fnma(p.x[w], f, x[i - 1]);
      } else {
        x[i - 1] = simt::fnma(p.x[w], f, x[i]);
      }
    }
  }
}

// Steps k0 <= k < k1, where at most kL rows are left.
template <int kL, int kM, int kW, class S>
SIMT_FN void factor_block(SIMT_PRIVATE S (&a)[kM], const warp_memory<S>& memory, int k0, int k1) {
  using L = warp_layout<S, kM, kW>;
  const simt::joint_group<kW> group;
  const int lane = group.lane();
  SIMT_NO_UNROLL
  for (int k = k0; k < k1; ++k) {
    SIMT_SHARED S* shared = memory.vectors + k * L::kStride;
    if (lane == k) steps::write_packets<kL>(shared, a);
    group.sync();
    const column_sums<S> sums = sums_with_column<kL>(shared, a, 0);
    const steps::reflector<S> h = steps::make_reflector(shared[0], sum_of_four(sums.squares));
    const S f = simt::conj(h.tau) * simt::fma_conj(h.head, a[0], sum_of_four(sums.dot));
    const S above = simt::fnma(h.head, f, a[0]);
    if (kL * static_cast<int>(sizeof(S)) > kMostHeld) group.sync();
    subtract_column<kL>(shared, f, false, a);
    a[kL - 1] = simt::zero<S>();
    memory.r[k * L::kRStride + lane] = lane == k  ? simt::from_real<S>(h.beta)
                                       : lane > k ? above
                                                  : simt::zero<S>();
    if (lane == k) {
      memory.heads[k] = h.head;
      memory.tau[k] = h.tau;
    }
  }
}

// Backwards through the same steps: x becomes column `lane` of Q.
template <int kL, int kM, int kW, class S>
SIMT_FN void form_block(SIMT_PRIVATE S (&x)[kM], const warp_memory<S>& memory, int k0, int k1) {
  using T = simt::real_of<S>;
  using L = warp_layout<S, kM, kW>;
  const simt::joint_group<kW> group;
  const int lane = group.lane();
  SIMT_NO_UNROLL
  for (int k = k1 - 1; k >= k0; --k) {
    SIMT_SHARED const S* shared = memory.vectors + k * L::kStride;
    const S head = memory.heads[k];
    const S unit = simt::from_real<S>(simt::constant<T>(lane == k ? 1.0f : 0.0f));
    const column_sums<S> sums = sums_with_column<kL>(shared, x, 1);
    const S f = memory.tau[k] * simt::fma_conj(head, unit, sum_of_four(sums.dot));
    if (kL * static_cast<int>(sizeof(S)) > kMostHeld) group.sync();
    subtract_column<kL>(shared, f, true, x);
    x[0] = simt::fnma(head, f, unit);
  }
}

// All steps: kFrom is where the block starts.
template <int kFrom, int kM, int kW, class S>
struct warp_blocks {
  static constexpr int kL = kM - kFrom;
  static constexpr bool kMore = kFrom + steps::kBlock < kW && kFrom + steps::kBlock < kM;
  using Next = warp_blocks<kMore ? kFrom + steps::kBlock : -1, kM, kW, S>;
  static SIMT_FN void factor(SIMT_PRIVATE S (&a)[kM], const warp_memory<S>& memory, int count) {
    factor_block<kL, kM, kW>(a, memory, kFrom, steps::clipped(count, kFrom + steps::kBlock));
    Next::factor(a, memory, count);
  }
  static SIMT_FN void form(SIMT_PRIVATE S (&x)[kM], const warp_memory<S>& memory, int count) {
    Next::form(x, memory, count);
    form_block<kL, kM, kW>(x, memory, kFrom, steps::clipped(count, kFrom + steps::kBlock));
  }
};
template <int kM, int kW, class S>
struct warp_blocks<-1, kM, kW, S> {
  static SIMT_FN void factor(SIMT_PRIVATE S (&)[kM], const warp_memory<S>&, int) {}
  static SIMT_FN void form(SIMT_PRIVATE S (&)[kM], const warp_memory<S>&, int) {}
};

// R from shared memory, back at the matrix's scale; zeros below `count` rows.
template <int kM, int kW, class S>
SIMT_FN void store_r_warp(const arguments& args, simt::int64 matrix, bool valid, int count,
                          const steps::group_prepared<simt::real_of<S>>& p,
                          SIMT_SHARED const S* r) {
  using L = warp_layout<S, kM, kW>;
  const simt::joint_group<kW> group;
  const simt::pow2_scale<simt::real_of<S>> scale = simt::make_pow2(p.exponent);
  SIMT_GLOBAL S* to = steps::matrix_of<S>(args.r, matrix);
  group.sync();
  // lanes walk along what is contiguous
  const bool by_rows = args.r.column == 1;
  const int outer = by_rows ? args.r_rows : args.n, inner = by_rows ? args.n : args.r_rows;
  const int along = by_rows ? 1 : L::kRStride, step = by_rows ? L::kRStride : 1;
  const simt::int64 stride = by_rows ? args.r.row : args.r.column;
  for (int y = group.lane(); valid && y < inner; y += kW) {
    SIMT_SHARED const S* from = r + y * along;
    SIMT_GLOBAL S* at = to + y * (by_rows ? args.r.column : args.r.row);
    for (int x = 0; x < outer; ++x) {
      const bool inside = (by_rows ? x : y) < count;
      S value = inside ? simt::scale_pow2(*from, scale) : simt::zero<S>();
      if (p.bad) value = steps::nan_entry<S>();
      *at = value;
      from += step;
      at += stride;
    }
  }
}

// kQ: whether Q is wanted. Serves m <= kM, n <= kW and as many columns of Q.
template <class S, int kM, int kW, bool kQ, int kThreads>
SIMT_KERNEL(kThreads)
kernel_warp(arguments args) {
  using T = simt::real_of<S>;
  using L = warp_layout<S, kM, kW>;
  constexpr int kGroups = kThreads / kW;
  SIMT_SHARED_ARRAY(S, all, kGroups * L::kTotal);
  const int index = simt::thread_index() / kW;
  SIMT_SHARED S* mine = all + index * L::kTotal;
  const warp_memory<S> memory = {mine, mine + L::kVectors, mine + L::kVectors + L::kR,
                                 mine + L::kVectors + L::kR + L::kHeads};
  const simt::joint_group<kW> group;
  const int lane = group.lane();
  const int count = steps::clipped(args.m, args.n);
  for (simt::int64 first = static_cast<simt::int64>(simt::block_index()) * kGroups;
       first < args.batch; first += static_cast<simt::int64>(simt::block_count()) * kGroups) {
    // a group past the last matrix repeats it and stores nothing
    const bool valid = first + index < args.batch;
    const simt::int64 matrix = valid ? first + index : args.batch - 1;
    S a[kM];
    steps::load_column<kM, kW>(args.a, matrix, args.m, args.n, memory.vectors, a);
    const steps::group_prepared<T> p = steps::prepare_column<kW>(a);
    group.sync();
    warp_blocks<0, kM, kW, S>::factor(a, memory, count);
    store_r_warp<kM, kW>(args, matrix, valid, count, p, memory.r);
    if (args.info != nullptr && valid && lane == 0) {
      args.info[matrix] = steps::info_of(p.bad, true);
    }
    if (kQ) {
      SIMT_UNROLL
      for (int i = 0; i < kM; ++i) {
        a[i] = simt::from_real<S>(simt::constant<T>(i + count == lane ? 1.0f : 0.0f));
      }
      warp_blocks<0, kM, kW, S>::form(a, memory, count);
      SIMT_UNROLL
      for (int i = 0; i < kM; ++i) a[i] = simt::select(p.bad, steps::nan_entry<S>(), a[i]);
      steps::store_column<kM, kW>(args.q, matrix, args.m, args.q_columns, valid, memory.vectors, a);
    }
    group.sync();
  }
}

}  // namespace qr
