// SPDX-License-Identifier: Apache-2.0
// The first kernel of svd with lanes of a warp to a matrix: B = U T V^H with a real upper bidiagonal
// T by Householder reflectors, of B = A, or of A's transpose where A is wide. Lane i of kW keeps row i
// and column i of B, so that what either reflector needs is a lane's own sum; rows and columns to
// kN <= kW. U and V go where the outputs are, T to the workspace.
// Registers are shifted (steps/shifted_warp.simt.h). Vectors are read from shared memory again at each
// use: held in registers too, they would halve the warps that fit.

namespace svd {

// What the first kernel leaves of a matrix in the workspace, n values: d (n), e (n), the exponent of
// its scale (NaN where the matrix is not finite).
template <class T>
struct bidiagonal {
  SIMT_GLOBAL T* d;
  SIMT_GLOBAL T* e;
  SIMT_GLOBAL T* exponent;
};
template <class T>
SIMT_FN bidiagonal<T> bidiagonal_of(const arguments& args, int n, simt::int64 matrix) {
  SIMT_GLOBAL T* base = reinterpret_cast<SIMT_GLOBAL T*>(args.workspace) + matrix * (2 * n + 1);
  return {base, base + n, base + 2 * n};
}

// Where a factor lies between the kernels. A packed output holds it column by column, whatever the
// order of the output itself: lanes side by side hold rows side by side.
struct raw_factor {
  simt::int64 row, column;
  bool packed;
};
SIMT_FN raw_factor raw_factor_of(const steps::view& x, bool transposed, int rows) {
  if (x.layout != steps::kStrided) return {1, rows, true};
  return {transposed ? x.column : x.row, transposed ? x.row : x.column, false};
}

// The shared memory of a matrix.
template <class S, int kN, int kW>
struct bidiagonal_layout {
  static constexpr int kStride = steps::tile_stride<S, kN>();
  static constexpr int kVectors = kN * kStride;  // of U, then of V
  static constexpr int kUsed = 2 * kVectors + 2 * kStride + 4 * kN;
  static constexpr int kTotal =
      (kUsed * static_cast<int>(sizeof(S)) + 15) / 16 * 16 / static_cast<int>(sizeof(S));
};
template <class S>
struct bidiagonal_memory {
  SIMT_SHARED S* left;     // reflector k of U at k * stride, from row k on
  SIMT_SHARED S* right;    // of V, from row k on: its head is entry 1
  SIMT_SHARED S* product;  // w: the row that the left reflector takes away, conj(tau) v^H B
  SIMT_SHARED S* change;   // y: the column that the right one does
  SIMT_SHARED S* left_heads;
  SIMT_SHARED S* left_tau;
  SIMT_SHARED S* right_heads;
  SIMT_SHARED S* right_tau;
};

// Row and column `lane` of B.
template <int kN, int kW, class S>
SIMT_FN void load_both(const arguments& args, simt::int64 matrix, bool wide, SIMT_SHARED S* tile,
                       SIMT_PRIVATE S (&row)[kN], SIMT_PRIVATE S (&column)[kN]) {
  const simt::joint_group<kW> group;
  constexpr int kStride = steps::tile_stride<S, kN>();
  const int lane = group.lane();
  steps::view x = args.a;
  const bool exchanged = x.row != 1;
  if (exchanged) x = steps::transposed(x);
  const int m = exchanged ? args.n : args.m, n = exchanged ? args.m : args.n;
  group.sync();
  steps::load_tile<kN, kW>(x, matrix, m, n, tile);
  group.sync();
  // the tile holds B, or its transpose
  const bool direct = exchanged == wide;
  S along[kN];
  steps::read_packets<kN>(tile + (lane < n ? lane : 0) * kStride, along);
  SIMT_UNROLL
  for (int j = 0; j < kN; ++j) {
    const S across = tile[(j < n ? j : 0) * kStride + (lane < m ? lane : 0)];
    const S a = lane < n ? along[j] : simt::zero<S>();
    const S b = lane < m && j < n ? across : simt::zero<S>();
    column[j] = direct ? a : b;
    row[j] = direct ? b : a;
  }
  group.sync();
}

// Steps k0 <= k < k1, where at most kL rows and columns are left.
template <int kL, int kN, int kW, class S>
SIMT_FN void bidiagonalise_block(SIMT_PRIVATE S (&row)[kN], SIMT_PRIVATE S (&column)[kN],
                                 const bidiagonal_memory<S>& memory,
                                 const bidiagonal<simt::real_of<S>>& t, bool valid, int k0,
                                 int k1) {
  using T = simt::real_of<S>;
  using P = steps::packet_of<S>;
  constexpr int kWidth = 16 / static_cast<int>(sizeof(S));
  constexpr int kStride = bidiagonal_layout<S, kN, kW>::kStride;
  const simt::joint_group<kW> group;
  const int lane = group.lane();
  const S none = simt::zero<S>();
  const T zero = simt::constant<T>(0.0f);
  SIMT_NO_UNROLL
  for (int k = k0; k < k1; ++k) {
    SIMT_SHARED S* left = memory.left + k * kStride;
    SIMT_SHARED S* right = memory.right + k * kStride;
    const int place = steps::place_at<kN>(lane, k);
    // the left reflector, from column k: entry 0 of the rows
    const S x = lane >= k ? row[0] : none;
    if (lane < kN) left[place] = x;
    group.sync();
    const T below = group.sum(lane > k ? simt::norm2(x, zero) : zero);
    const steps::reflector<S> h = steps::make_reflector(left[0], below);
    const S v = lane == k ? h.head : x;
    const S dot = simt::fma_conj(h.head, column[0], steps::product_with<kL, true>(left, column, 1));
    const S w = lane > k ? simt::conj(h.tau) * dot : none;
    // the right one, from what is left of row k
    const S z = lane > k ? simt::conj(simt::fnma(h.head, w, column[0])) : none;
    if (lane < kN) {
      right[place] = z;
      memory.product[place] = w;
    }
    group.sync();
    const T beyond = group.sum(lane > k + 1 ? simt::norm2(z, zero) : zero);
    const steps::reflector<S> g = steps::make_reflector(right[1], beyond);
    const S own = lane == k + 1 ? g.head : z;
    const S both = group.sum(w * own);
    const S sum = simt::fma(row[1], g.head, steps::product_with<kL, false>(right, row, 2));
    const S y = lane > k ? g.tau * simt::fnma(v, both, sum) : none;
    if (lane < kN) memory.change[place] = y;
    if (lane == k) {
      memory.left_heads[k] = h.head;
      memory.left_tau[k] = h.tau;
      memory.right_heads[k] = g.head;
      memory.right_tau[k] = g.tau;
      if (valid) {
        t.d[k] = h.beta;
        t.e[k] = g.beta;
      }
    }
    group.sync();
    SIMT_SHARED const P* lefts = reinterpret_cast<SIMT_SHARED const P*>(left);
    SIMT_SHARED const P* rights = reinterpret_cast<SIMT_SHARED const P*>(right);
    SIMT_SHARED const P* products = reinterpret_cast<SIMT_SHARED const P*>(memory.product);
    SIMT_SHARED const P* changes = reinterpret_cast<SIMT_SHARED const P*>(memory.change);
    SIMT_UNROLL
    for (int q = 0; q < kL / kWidth; ++q) {
      const P ww = products[q], zz = rights[q], vv = lefts[q], yy = changes[q];
      SIMT_UNROLL
      for (int p = 0; p < kWidth; ++p) {
        const int j = q * kWidth + p;
        if (j == 0) continue;
        const S zj = j == 1 ? g.head : zz.x[p];
        row[j - 1] = simt::fnma(v, ww.x[p], simt::fnma_conj(y, zj, row[j]));
        column[j - 1] = simt::fnma(vv.x[p], w, simt::fnma_conj(yy.x[p], own, column[j]));
      }
    }
    row[kL - 1] = none;
    column[kL - 1] = none;
  }
}

// All blocks from the one that starts at kFrom.
template <int kFrom, int kN, int kW, class S>
struct bidiagonal_blocks {
  using Next =
      bidiagonal_blocks<(kFrom + steps::kBlock < kN) ? kFrom + steps::kBlock : -1, kN, kW, S>;
  static SIMT_FN void run(SIMT_PRIVATE S (&row)[kN], SIMT_PRIVATE S (&column)[kN],
                          const bidiagonal_memory<S>& memory, const bidiagonal<simt::real_of<S>>& t,
                          bool valid, int count) {
    bidiagonalise_block<kN - kFrom, kN, kW>(row, column, memory, t, valid, kFrom,
                                            steps::clipped(count, kFrom + steps::kBlock));
    Next::run(row, column, memory, t, valid, count);
  }
};
template <int kN, int kW, class S>
struct bidiagonal_blocks<-1, kN, kW, S> {
  static SIMT_FN void run(SIMT_PRIVATE S (&)[kN], SIMT_PRIVATE S (&)[kN],
                          const bidiagonal_memory<S>&, const bidiagonal<simt::real_of<S>>&, bool,
                          int) {}
};

// Row `lane` of the identity.
template <int kN, class S>
SIMT_FN void unit_row(int lane, SIMT_PRIVATE S (&q)[kN]) {
  SIMT_UNROLL
  for (int j = 0; j < kN; ++j) {
    q[j] = simt::from_real<S>(simt::constant<simt::real_of<S>>(j == lane ? 1.0f : 0.0f));
  }
}

// U_b, its first n columns or with full all m.
template <int kN, int kW, class S>
SIMT_FN void form_left(const arguments& args, simt::int64 matrix, bool wide, bool valid,
                       const bidiagonal_memory<S>& memory) {
  constexpr int kStride = bidiagonal_layout<S, kN, kW>::kStride;
  const simt::joint_group<kW> group;
  const int lane = group.lane();
  const int m = wide ? args.n : args.m, n = wide ? args.m : args.n;
  const steps::view view = steps::select_view(wide, args.vh, args.u);
  const raw_factor u = raw_factor_of(view, wide, m);
  S q[kN];
  unit_row(lane, q);
  SIMT_GLOBAL S* to = steps::matrix_of<S>(view, matrix) + lane * u.row;
  const bool stores = valid && lane < m;
  steps::row_blocks<0, 0, kW, kN, S>::form(q, memory.left, kStride, memory.left_heads,
                                           memory.left_tau, to, u.column, stores, n);
  if (stores && args.full != 0) {
    SIMT_UNROLL
    for (int j = 0; j < kN; ++j) {
      if (n + j < m) to[(n + j) * u.column] = q[j];
    }
  }
}
// V_b.
template <int kN, int kW, class S>
SIMT_FN void form_right(const arguments& args, simt::int64 matrix, bool wide, bool valid,
                        const bidiagonal_memory<S>& memory) {
  constexpr int kStride = bidiagonal_layout<S, kN, kW>::kStride;
  const simt::joint_group<kW> group;
  const int lane = group.lane();
  const int n = wide ? args.m : args.n;
  const steps::view view = steps::select_view(wide, args.u, args.vh);
  const raw_factor v = raw_factor_of(view, !wide, n);
  S q[kN];
  unit_row(lane, q);
  SIMT_GLOBAL S* to = steps::matrix_of<S>(view, matrix) + lane * v.row;
  steps::row_blocks<0, 1, kW, kN, S>::form(q, memory.right, kStride, memory.right_heads,
                                           memory.right_tau, to, v.column, valid && lane < n, n);
}

// The scale of R is that of a tall A besides its own.
template <class S, bool kTall>
SIMT_FN void store_exponent(const arguments& given, simt::int64 matrix,
                            const bidiagonal<simt::real_of<S>>& t,
                            const steps::group_prepared<simt::real_of<S>>& p) {
  using T = simt::real_of<S>;
  T exponent = p.bad ? simt::not_a_number<T>() : p.exponent;
  if (kTall) exponent = exponent + *tall_exponent<S>(given, matrix);
  *t.exponent = exponent;
}

// kTall: the second problem of a tall A.
template <class S, int kN, int kW, bool kVectors, bool kTall, int kThreads>
SIMT_KERNEL(kThreads)
kernel_bidiagonalise(arguments given) {
  using T = simt::real_of<S>;
  using L = bidiagonal_layout<S, kN, kW>;
  constexpr int kGroups = kThreads / kW, kScratch = 2 * L::kVectors;
  SIMT_SHARED_ARRAY(S, all, kGroups * L::kTotal);
  const int index = simt::thread_index() / kW;
  SIMT_SHARED S* mine = all + index * L::kTotal;
  SIMT_SHARED S* heads = mine + kScratch + 2 * L::kStride;
  const bidiagonal_memory<S> memory = {
      mine,  mine + L::kVectors, mine + kScratch, mine + kScratch + L::kStride,
      heads, heads + kN,         heads + 2 * kN,  heads + 3 * kN};
  const simt::joint_group<kW> group;
  const int lane = group.lane();
  const arguments args = kTall ? second_problem<S>(given) : given;
  const bool wide = args.m < args.n;
  const int n = wide ? args.m : args.n;
  for (simt::int64 first = static_cast<simt::int64>(simt::block_index()) * kGroups;
       first < args.batch; first += static_cast<simt::int64>(simt::block_count()) * kGroups) {
    // a group past the last matrix repeats it and stores nothing
    const bool valid = first + index < args.batch;
    const simt::int64 matrix = valid ? first + index : args.batch - 1;
    S row[kN], column[kN];
    load_both<kN, kW>(args, matrix, wide, mine, row, column);
    const steps::group_prepared<T> p = steps::prepare_column<kW>(column);
    steps::scale_column<kW>(p, row);
    const bidiagonal<T> t = bidiagonal_of<T>(args, n, matrix);
    if (valid && lane == 0) store_exponent<S, kTall>(given, matrix, t, p);
    bidiagonal_blocks<0, kN, kW, S>::run(row, column, memory, t, valid, n);
    group.sync();
    if (kVectors) {
      form_left<kN, kW>(args, matrix, wide, valid, memory);
      form_right<kN, kW>(args, matrix, wide, valid, memory);
    }
    group.sync();
  }
}

}  // namespace svd
