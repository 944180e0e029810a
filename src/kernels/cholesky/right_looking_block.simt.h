// SPDX-License-Identifier: Apache-2.0
// The GPU kernel of cholesky with a block to a matrix, A = L L^H, in whose registers it lies whole: kP
// threads down the rows and kG across the columns.
// Method: that of right_looking_warp.simt.h, but the owners of column k alone divide it.
// Steps come in blocks in which neither the first rows nor the first columns that are left change, so
// that what is finished costs nothing; nor do tiles that lie above the diagonal.

namespace cholesky {

// The order kN, padded, on kP threads down the rows and kG across the columns. Thread (p, g) has the
// columns g, g + kG, ... and of each the packets p, p + kP, ... of rows.
template <class S, int kN, int kP, int kG>
struct tiles {
  static constexpr int kThreads = kP * kG, kAcross = kG;
  static constexpr int kWidth = 16 / static_cast<int>(sizeof(S));
  static constexpr int kRowBlock = kP * kWidth;  // rows of one packet of each thread
  static constexpr int kPackets = kN / kRowBlock;
  static constexpr int kRows = kPackets * kWidth;
  static constexpr int kColumns = kN / kG;
  static constexpr int kSteps = kRowBlock < kG ? kRowBlock : kG;  // of a block
  static constexpr int kVectors = 2 * kN;                         // in shared memory
  static_assert(kN % kRowBlock == 0 && kN % kG == 0 && kN % kSteps == 0, "whole tiles");
};

template <class L>
SIMT_FN int row_of(int p, int packet, int w) {
  return packet * L::kRowBlock + p * L::kWidth + w;
}

// A's lower triangle, zeros elsewhere; of the diagonal the real part. Returns the largest magnitude of
// the thread's own entries.
template <class L, class S>
SIMT_FN simt::real_of<S> load_tiles(const steps::view& x, simt::int64 matrix, int n, int p, int g,
                                    SIMT_PRIVATE S (&a)[L::kColumns][L::kRows]) {
  using T = simt::real_of<S>;
  using P = steps::packet_of<S>;
  SIMT_GLOBAL const S* from = steps::matrix_of<S>(x, matrix);
  const bool packets = steps::columns_are_packets<S>(x, n);
  T largest = simt::constant<T>(0.0f);
  SIMT_UNROLL
  for (int cc = 0; cc < L::kColumns; ++cc) {
    const int c = cc * L::kAcross + g;
    SIMT_UNROLL
    for (int i = 0; i < L::kPackets; ++i) {
      const int r0 = row_of<L>(p, i, 0);
      P y;
      SIMT_UNROLL
      for (int w = 0; w < L::kWidth; ++w) y.x[w] = simt::zero<S>();
      if (packets) {
        if (r0 + L::kWidth > c && r0 < n && c < n) {
          y = reinterpret_cast<SIMT_GLOBAL const P*>(from)[(c * n + r0) / L::kWidth];
        }
      } else {
        SIMT_UNROLL
        for (int w = 0; w < L::kWidth; ++w) {
          if (r0 + w >= c && r0 + w < n) y.x[w] = from[(r0 + w) * x.row + c * x.column];
        }
      }
      SIMT_UNROLL
      for (int w = 0; w < L::kWidth; ++w) {
        S value = simt::select(r0 + w >= c, y.x[w], simt::zero<S>());
        if (r0 + w == c) value = simt::from_real<S>(simt::real(value));
        a[cc][i * L::kWidth + w] = value;
        largest = simt::max_magnitude(largest, value);
      }
    }
  }
  return largest;
}

template <class L, class S>
SIMT_FN void raise_tiles(simt::real_of<S> up, SIMT_PRIVATE S (&a)[L::kColumns][L::kRows]) {
  if (up == simt::constant<simt::real_of<S>>(1.0f)) return;
  SIMT_UNROLL
  for (int cc = 0; cc < L::kColumns; ++cc) {
    SIMT_UNROLL
    for (int i = 0; i < L::kRows; ++i) a[cc][i] = simt::scale(up, a[cc][i]);
  }
}

// L back, NaN where the matrix is lost, zeros above the diagonal.
template <class L, class S>
SIMT_FN void store_tiles(const steps::view& x, simt::int64 matrix, int n, int p, int g, bool lost,
                         simt::real_of<S> down, SIMT_PRIVATE const S (&a)[L::kColumns][L::kRows]) {
  using P = steps::packet_of<S>;
  SIMT_GLOBAL S* to = steps::matrix_of<S>(x, matrix);
  const bool packets = steps::columns_are_packets<S>(x, n);
  SIMT_UNROLL
  for (int cc = 0; cc < L::kColumns; ++cc) {
    const int c = cc * L::kAcross + g;
    SIMT_UNROLL
    for (int i = 0; i < L::kPackets; ++i) {
      const int r0 = row_of<L>(p, i, 0);
      P y;
      SIMT_UNROLL
      for (int w = 0; w < L::kWidth; ++w) {
        const S value = finished(a[cc][i * L::kWidth + w], down, lost);
        y.x[w] = simt::select(r0 + w >= c, value, simt::zero<S>());
      }
      if (packets) {
        if (r0 < n && c < n) {
          reinterpret_cast<SIMT_GLOBAL P*>(to)[(c * n + r0) / L::kWidth] = y;
        }
      } else {
        SIMT_UNROLL
        for (int w = 0; w < L::kWidth; ++w) {
          if (r0 + w < n && c < n) to[(r0 + w) * x.row + c * x.column] = y.x[w];
        }
      }
    }
  }
}

// The owners of column j, the first that is left of theirs, divide it; where the pivot is not positive
// the order of its minor is noted, and what follows of the matrix is lost.
template <class L, int kP, int kFirst, int kColumn, class S>
SIMT_FN void divide_column(SIMT_PRIVATE S (&a)[L::kColumns][L::kRows], SIMT_SHARED S* vector, int j,
                           int p, SIMT_PRIVATE int& order) {
  using T = simt::real_of<S>;
  using P = steps::packet_of<S>;
  const simt::warp_group<kP> group;
  T pivot = simt::constant<T>(0.0f);
  SIMT_UNROLL
  for (int w = 0; w < L::kWidth; ++w) {
    if (row_of<L>(p, kFirst, w) == j) pivot = simt::real(a[kColumn][kFirst * L::kWidth + w]);
  }
  pivot = group.broadcast(pivot, j / L::kWidth % kP);
  if (!(pivot > simt::constant<T>(0.0f)) && order == 0) order = j + 1;
  const T root = simt::sqrt(pivot), inverse = simt::constant<T>(1.0f) / root;
  SIMT_UNROLL
  for (int i = kFirst; i < L::kPackets; ++i) {
    P y;
    SIMT_UNROLL
    for (int w = 0; w < L::kWidth; ++w) {
      S x = simt::scale(inverse, a[kColumn][i * L::kWidth + w]);
      if (i == kFirst) {
        const int r = row_of<L>(p, i, w);
        x = r == j ? simt::from_real<S>(root) : simt::select(r < j, simt::zero<S>(), x);
      }
      a[kColumn][i * L::kWidth + w] = x;
      y.x[w] = x;
    }
    reinterpret_cast<SIMT_SHARED P*>(vector)[i * kP + p] = y;
  }
}

// Steps kFrom <= j < kFrom + kSteps, and those after them.
template <class S, int kN, int kP, int kG, int kFrom>
struct step_blocks {
  using L = tiles<S, kN, kP, kG>;
  static constexpr int kFirst = kFrom / L::kRowBlock, kColumn = kFrom / kG;
  static constexpr bool kMore = kFrom + L::kSteps < kN;
  using Next = step_blocks<S, kN, kP, kG, kMore ? kFrom + L::kSteps : -1>;

  static SIMT_FN void factor(SIMT_PRIVATE S (&a)[L::kColumns][L::kRows], SIMT_SHARED S* vectors,
                             int n, int p, int g, SIMT_PRIVATE int& order) {
    using P = steps::packet_of<S>;
    const int end = n < kFrom + L::kSteps ? n : kFrom + L::kSteps;
    SIMT_NO_UNROLL
    for (int j = kFrom; j < end; ++j) {
      SIMT_SHARED S* vector = vectors + j % 2 * kN;
      if (g == j % kG) divide_column<L, kP, kFirst, kColumn>(a, vector, j, p, order);
      simt::sync_block();
      S rows[L::kRows];
      SIMT_UNROLL
      for (int i = kFirst; i < L::kPackets; ++i) {
        const P y = reinterpret_cast<SIMT_SHARED const P*>(vector)[i * kP + p];
        SIMT_UNROLL
        for (int w = 0; w < L::kWidth; ++w) rows[i * L::kWidth + w] = y.x[w];
      }
      SIMT_UNROLL
      for (int cc = kColumn; cc < L::kColumns; ++cc) {
        const int c = cc * kG + g;
        const S factor = vector[c];
        const bool left = cc > kColumn || c > j;  // else finished
        SIMT_UNROLL
        for (int i = kFirst; i < L::kPackets; ++i) {
          if ((i + 1) * L::kRowBlock <= cc * kG) continue;
          SIMT_UNROLL
          for (int w = 0; w < L::kWidth; ++w) {
            const int r = i * L::kWidth + w;
            if (left) a[cc][r] = simt::fnma_conj(rows[r], factor, a[cc][r]);
          }
        }
      }
    }
    Next::factor(a, vectors, n, p, g, order);
  }
};
template <class S, int kN, int kP, int kG>
struct step_blocks<S, kN, kP, kG, -1> {
  using L = tiles<S, kN, kP, kG>;
  static SIMT_FN void factor(SIMT_PRIVATE S (&)[L::kColumns][L::kRows], SIMT_SHARED S*, int, int,
                             int, SIMT_PRIVATE int&) {}
};

// `order` as one number of which the largest is the first minor's.
template <int kN>
SIMT_FN int rank_of_order(int order) {
  return order == 0 ? 0 : kN + 1 - order;
}
template <int kN>
SIMT_FN int order_of_rank(int rank) {
  return rank == 0 ? 0 : kN + 1 - rank;
}

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
