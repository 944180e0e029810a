// SPDX-License-Identifier: Apache-2.0
// The first kernel of eigh with lanes of a warp to a matrix: A = Q T Q^H by Householder reflectors, a
// row in the registers of each of kW lanes, n <= kN <= kW. Q goes to the output v, T to the workspace.
// Registers are shifted (steps/shifted_warp.simt.h). The rank two update takes the product p = tau A v as it is:
// A - v w^H - w v^H = A - v p^H - (p + 2 Re(f) v) v^H for w = p + f v, so that w is never shared.
// Q is formed afterwards, row by row, from the reflectors in shared memory: forward, since a row of Q
// meets H_0 first; in the same pass it would double the registers.

namespace eigh {

// What the first kernel leaves of a matrix in the workspace: d (n), e (n), the exponent of its scale
// (NaN where the matrix is not finite), and what the eigenvalues lack besides.
template <class T>
struct tridiagonal {
  SIMT_GLOBAL T* d;
  SIMT_GLOBAL T* e;
  SIMT_GLOBAL T* exponent;
  SIMT_GLOBAL T* shift;
};
template <class T>
SIMT_FN tridiagonal<T> tridiagonal_of(const arguments& args, simt::int64 matrix) {
  SIMT_GLOBAL T* base =
      reinterpret_cast<SIMT_GLOBAL T*>(args.workspace) + matrix * (2 * args.n + 2);
  return {base, base + args.n, base + 2 * args.n, base + 2 * args.n + 1};
}

// The shared memory of a matrix.
template <class S, int kN, int kW>
struct reduce_layout {
  static constexpr int kStride = steps::tile_stride<S, kN>();
  static constexpr int kVectors = kN * kStride;  // reflector k at k * kStride, from row k on
  static constexpr int kUsed = kVectors + kStride + 2 * kN;
  static constexpr int kTotal =
      (kUsed * static_cast<int>(sizeof(S)) + 15) / 16 * 16 / static_cast<int>(sizeof(S));
};
template <class S>
struct reduce_memory {
  SIMT_SHARED S* vectors;
  SIMT_SHARED S* product;
  SIMT_SHARED S* heads;
  SIMT_SHARED S* tau;
};

// Row `lane` of the Hermitian matrix of which one triangle is read. Through the tile, whichever of
// rows and columns lies contiguous: an entry and its mirror are both there.
template <int kN, int kW, class S>
SIMT_FN void load_row(const arguments& args, simt::int64 matrix, SIMT_SHARED S* tile,
                      SIMT_PRIVATE S (&a)[kN]) {
  const simt::joint_group<kW> group;
  constexpr int kStride = steps::tile_stride<S, kN>();
  const int n = args.n, lane = group.lane();
  steps::view x = args.a;
  const bool exchanged = x.row != 1;
  if (exchanged) {
    x.row = args.a.column;
    x.column = args.a.row;
    x.layout = x.layout == steps::kPackedRows ? steps::kPackedColumns : steps::kStrided;
  }
  group.sync();
  steps::load_tile<kN, kW>(x, matrix, n, n, tile);
  group.sync();
  // The tile's (i, j), or its (j, i), is entry (i, j) of the lower triangle: of A, or of its conjugate
  // transpose where the upper one is read.
  const bool upper = args.upper != 0, direct = exchanged == upper;
  const int row = lane < n ? lane : 0;
  steps::read_packets<kN>(tile + row * kStride, a);
  SIMT_UNROLL
  for (int j = 0; j < kN; ++j) {
    const int column = j < n ? j : 0;
    const S across = tile[column * kStride + row];
    const bool lower = j <= lane;
    S y = lower == direct ? across : a[j];
    if (lower == upper) y = simt::conj(y);
    if (j == lane) y = simt::from_real<S>(simt::real(y));
    a[j] = lane < n && j < n ? y : simt::zero<S>();
  }
  group.sync();
}

// Steps k0 <= k < k1, where at most kL columns are left.
template <int kL, int kN, int kW, class S>
SIMT_FN void reduce_block(SIMT_PRIVATE S (&a)[kN], const reduce_memory<S>& memory,
                          const tridiagonal<simt::real_of<S>>& t, bool valid, int k0, int k1) {
  using T = simt::real_of<S>;
  using P = steps::packet_of<S>;
  constexpr int kWidth = 16 / static_cast<int>(sizeof(S));
  constexpr int kStride = reduce_layout<S, kN, kW>::kStride;
  const simt::joint_group<kW> group;
  const int lane = group.lane();
  const S none = simt::zero<S>();
  SIMT_NO_UNROLL
  for (int k = k0; k < k1; ++k) {
    SIMT_SHARED S* column = memory.vectors + k * kStride;
    const S x = lane > k ? a[0] : none;
    if (lane < kN) column[steps::place_at<kN>(lane, k)] = x;
    const T own = lane > k + 1 ? simt::norm2(x, simt::constant<T>(0.0f)) : simt::constant<T>(0.0f);
    group.sync();
    const T sigma = group.sum(own);
    const steps::reflector<S> h = steps::make_reflector(column[1], sigma);
    const S v = lane == k + 1 ? h.head : x;
    S p = h.tau * simt::fma(a[1], h.head, steps::product_with<kL, false>(column, a, 2));
    p = lane > k ? p : none;
    if (lane < kN) memory.product[steps::place_at<kN>(lane, k)] = p;
    if (lane == k) {
      memory.heads[k] = h.head;
      memory.tau[k] = h.tau;
      if (valid) {
        t.d[k] = simt::real(a[0]);
        t.e[k] = h.beta;
      }
    }
    const S dot = h.tau * group.sum(simt::fma_conj(p, v, none));
    // 2 Re(f), f = -tau p^H v / 2
    const S u = simt::fnma_real(simt::real(dot), v, p);
    group.sync();
    SIMT_SHARED const P* columns = reinterpret_cast<SIMT_SHARED const P*>(column);
    SIMT_SHARED const P* products = reinterpret_cast<SIMT_SHARED const P*>(memory.product);
    SIMT_UNROLL
    for (int y = 0; y < kL / kWidth; ++y) {
      const P c = columns[y], q = products[y];
      SIMT_UNROLL
      for (int w = 0; w < kWidth; ++w) {
        const int j = y * kWidth + w;
        if (j == 0) continue;
        const S vj = j == 1 ? h.head : c.x[w];
        a[j - 1] = simt::fnma_conj(v, q.x[w], simt::fnma_conj(u, vj, a[j]));
      }
    }
    a[kL - 1] = none;
  }
}

// All steps; the block that starts at kFrom and what follows.
template <int kFrom, int kN, int kW, class S>
struct reduce_blocks {
  static constexpr int kL = kN - kFrom;
  using Next = reduce_blocks<(kFrom + steps::kBlock < kN) ? kFrom + steps::kBlock : -1, kN, kW, S>;
  static SIMT_FN void reduce(SIMT_PRIVATE S (&a)[kN], const reduce_memory<S>& memory,
                             const tridiagonal<simt::real_of<S>>& t, bool valid, int count) {
    reduce_block<kL, kN, kW>(a, memory, t, valid, kFrom,
                             steps::clipped(count, kFrom + steps::kBlock));
    Next::reduce(a, memory, t, valid, count);
  }
};
template <int kN, int kW, class S>
struct reduce_blocks<-1, kN, kW, S> {
  static SIMT_FN void reduce(SIMT_PRIVATE S (&)[kN], const reduce_memory<S>&,
                             const tridiagonal<simt::real_of<S>>&, bool, int) {}
};

// take_shift() of small_thread.simt.h, for row `lane` of a matrix of order n. exponent: of the matrix's
// scale.
template <int kN, int kW, class S>
SIMT_FN simt::real_of<S> take_shift(int n, SIMT_PRIVATE S (&a)[kN],
                                    SIMT_PRIVATE simt::real_of<S>& exponent) {
  using T = simt::real_of<S>;
  const T zero = simt::constant<T>(0.0f);
  const simt::joint_group<kW> group;
  const int lane = group.lane();
  T diagonal = zero;
  SIMT_UNROLL
  for (int j = 0; j < kN; ++j) diagonal = j == lane ? simt::real(a[j]) : diagonal;
  const T first = group.broadcast(diagonal, 0), size = simt::abs(first);
  const T x = first < zero ? -diagonal : diagonal;
  const bool near = x >= simt::constant<T>(0.5f) * size && x <= size + size;
  const T shift = group.all(near || lane >= n) ? first : zero;
  T largest = zero;
  SIMT_UNROLL
  for (int j = 0; j < kN; ++j) {
    if (j == lane && lane < n) a[j] = simt::from_real<S>(diagonal - shift);
    largest = simt::max_magnitude(largest, a[j]);
  }
  const T further = simt::exponent(group.max(largest));
  const simt::pow2_scale<T> s = simt::make_pow2(-further);
  SIMT_UNROLL
  for (int j = 0; j < kN; ++j) a[j] = simt::scale_pow2(a[j], s);
  const T unscaled = simt::scale_pow2(shift, simt::make_pow2(exponent));
  exponent = exponent + further;
  return unscaled;
}

template <class S, int kN, int kW, bool kVectors, int kThreads>
SIMT_KERNEL(kThreads)
kernel_reduce(arguments args) {
  using T = simt::real_of<S>;
  using L = reduce_layout<S, kN, kW>;
  constexpr int kGroups = kThreads / kW;
  SIMT_SHARED_ARRAY(S, all, kGroups * L::kTotal);
  const int index = simt::thread_index() / kW;
  SIMT_SHARED S* mine = all + index * L::kTotal;
  const reduce_memory<S> memory = {mine, mine + L::kVectors, mine + L::kVectors + L::kStride,
                                   mine + L::kVectors + L::kStride + kN};
  const simt::joint_group<kW> group;
  const int lane = group.lane(), n = args.n;
  for (simt::int64 first = static_cast<simt::int64>(simt::block_index()) * kGroups;
       first < args.batch; first += static_cast<simt::int64>(simt::block_count()) * kGroups) {
    // a group past the last matrix repeats it and stores nothing
    const bool valid = first + index < args.batch;
    const simt::int64 matrix = valid ? first + index : args.batch - 1;
    S a[kN];
    load_row<kN, kW>(args, matrix, memory.vectors, a);
    steps::group_prepared<T> p = steps::prepare_column<kW>(a);
    const T shift = take_shift<kN, kW>(n, a, p.exponent);
    const tridiagonal<T> t = tridiagonal_of<T>(args, matrix);
    reduce_blocks<0, kN, kW, S>::reduce(a, memory, t, valid, n - 1);
    // after n - 1 steps entry 0 of the last row is what is left of the matrix
    if (valid && lane == n - 1) {
      t.d[n - 1] = simt::real(a[0]);
      t.e[n - 1] = simt::constant<T>(0.0f);
      *t.exponent = p.bad ? simt::not_a_number<T>() : p.exponent;
      *t.shift = shift;
    }
    if (kVectors) {
      SIMT_UNROLL
      for (int j = 0; j < kN; ++j) {
        a[j] = simt::from_real<S>(simt::constant<T>(j == lane ? 1.0f : 0.0f));
      }
      const bool stores = valid && lane < n;
      SIMT_GLOBAL S* v = steps::matrix_of<S>(args.v, matrix) + lane * args.v.row;
      group.sync();
      steps::row_blocks<0, 1, kW, kN, S>::form(a, memory.vectors, L::kStride, memory.heads,
                                               memory.tau, v, args.v.column, stores, n - 1);
      if (stores) v[(n - 1) * args.v.column] = a[0];
    }
    group.sync();
  }
}

}  // namespace eigh
