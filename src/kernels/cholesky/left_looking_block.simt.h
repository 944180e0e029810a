// SPDX-License-Identifier: Apache-2.0
// The GPU kernel of cholesky with a block to a matrix, A = L L^H, that its registers do not hold: it
// keeps kW columns at a time there, and what is finished in L itself, in device memory.
// Method: left-looking by panels of kW columns (Golub and Van Loan, 4.2; LAPACK potrf). A thread has a
// row of each tile of kThreads rows. What lies to the left of a panel is subtracted from it column by
// column, the rows of the panel's own square passing through shared memory; then the panel is factored
// as in right_looking_warp.simt.h. Every entry meets the same subtractions in the same order as in
// left_looking_thread.simt.h: the bits are the same.
// A is read twice, for its largest entry first.

namespace cholesky {

// The order kN by panels of kW columns, a row of each tile of kThreads rows to a thread.
template <class S, int kN, int kThreads, int kW>
struct panel_deal {
  static constexpr int kTiles = kN / kThreads, kWarps = kThreads / 32;
  static constexpr int kWidth = 16 / static_cast<int>(sizeof(S));
  static constexpr int kChunk = 8;             // columns to the left that are under way at a time
  static constexpr int kSquare = kChunk * kW;  // their entries in the rows of a panel
  static constexpr int kShared = 2 * kSquare + 2 * kW;
  static_assert(kN % kThreads == 0 && kThreads % kW == 0 && kW % kChunk == 0, "whole tiles");
};

// What the threads of a block share of a matrix.
template <class S>
struct panel_matrix {
  SIMT_GLOBAL const S* from;
  simt::int64 from_row, from_column;
  SIMT_GLOBAL S* to;
  simt::int64 row, column;
  SIMT_SHARED S* shared;
  SIMT_SHARED simt::real_of<S>* pivots;  // of two steps
  simt::real_of<S> up;
  int n;
};

// The largest magnitude of the thread's share of the lower triangle.
template <int kThreads, class S>
SIMT_FN simt::real_of<S> largest_of_share(const panel_matrix<S>& m) {
  using T = simt::real_of<S>;
  constexpr int kLoads = 8;
  const int lane = simt::thread_index() % 32;
  const bool along = m.from_row == 1;
  T largest = simt::constant<T>(0.0f);
  SIMT_NO_UNROLL
  for (int first = simt::thread_index() / 32; first < m.n; first += kThreads / 32 * kLoads) {
    SIMT_NO_UNROLL
    for (int inner = lane; inner < m.n; inner += 32) {
      S x[kLoads];
      SIMT_UNROLL
      for (int y = 0; y < kLoads; ++y) {
        const int outer = first + y * (kThreads / 32);
        const int i = along ? inner : outer, j = along ? outer : inner;
        x[y] = simt::zero<S>();
        if (j <= i && i < m.n) x[y] = m.from[i * m.from_row + j * m.from_column];
        if (i == j) x[y] = simt::from_real<S>(simt::real(x[y]));
      }
      SIMT_UNROLL
      for (int y = 0; y < kLoads; ++y) largest = simt::max_magnitude(largest, x[y]);
    }
  }
  return largest;
}

// Panels of which tile kTile is the first with rows that are left, and those after them.
template <class S, int kN, int kThreads, int kW, int kTile>
struct panels {
  using T = simt::real_of<S>;
  using D = panel_deal<S, kN, kThreads, kW>;
  using P = steps::packet_of<S>;
  using Next = panels<S, kN, kThreads, kW, (kTile + 1 < D::kTiles ? kTile + 1 : -1)>;

  static SIMT_FN void load(const panel_matrix<S>& m, int first,
                           SIMT_PRIVATE S (&acc)[D::kTiles][kW]) {
    SIMT_UNROLL
    for (int q = kTile; q < D::kTiles; ++q) {
      const int row = q * kThreads + simt::thread_index();
      SIMT_GLOBAL const S* from = m.from + row * m.from_row + first * m.from_column;
      SIMT_UNROLL
      for (int c = 0; c < kW; ++c, from += m.from_column) {
        acc[q][c] = simt::zero<S>();
        if (row < m.n && first + c <= row) acc[q][c] = *from;
        if (first + c == row) acc[q][c] = simt::from_real<S>(simt::real(acc[q][c]));
        acc[q][c] = simt::scale(m.up, acc[q][c]);
      }
    }
  }

  // Columns k .. k + kChunk - 1 of the rows of the panel to `square`, kW entries of each.
  static SIMT_FN void share_square(const panel_matrix<S>& m, int first, int k,
                                   SIMT_SHARED S* square) {
    SIMT_NO_UNROLL
    for (int e = simt::thread_index(); e < D::kSquare; e += kThreads) {
      const int row = first + e % kW;
      S value = simt::zero<S>();
      if (row < m.n) value = m.to[row * m.row + (k + e / kW) * m.column];
      square[e] = value;
    }
  }

  static SIMT_FN void subtract_left(const panel_matrix<S>& m, int first, bool working,
                                    SIMT_PRIVATE S (&acc)[D::kTiles][kW]) {
    SIMT_NO_UNROLL
    for (int k = 0; k < first; k += D::kChunk) {
      SIMT_SHARED S* square = m.shared + k / D::kChunk % 2 * D::kSquare;
      share_square(m, first, k, square);
      S own[D::kTiles][D::kChunk];
      SIMT_UNROLL
      for (int q = kTile; q < D::kTiles; ++q) {
        const int row = q * kThreads + simt::thread_index();
        SIMT_UNROLL
        for (int y = 0; y < D::kChunk; ++y) {
          own[q][y] = simt::zero<S>();
          if (row >= first && row < m.n) own[q][y] = m.to[row * m.row + (k + y) * m.column];
        }
      }
      simt::sync_block();
      if (!working) continue;
      SIMT_UNROLL
      for (int y = 0; y < D::kChunk; ++y) {
        SIMT_UNROLL
        for (int p = 0; p < kW / D::kWidth; ++p) {
          const P right = reinterpret_cast<SIMT_SHARED const P*>(square)[y * (kW / D::kWidth) + p];
          SIMT_UNROLL
          for (int q = kTile; q < D::kTiles; ++q) {
            SIMT_UNROLL
            for (int w = 0; w < D::kWidth; ++w) {
              const int c = p * D::kWidth + w;
              acc[q][c] = simt::fnma_conj(own[q][y], right.x[w], acc[q][c]);
            }
          }
        }
      }
    }
  }

  // Column k of L; zeros above the diagonal.
  static SIMT_FN void store_column(const panel_matrix<S>& m, int k,
                                   SIMT_PRIVATE const S (&x)[D::kTiles]) {
    SIMT_UNROLL
    for (int q = 0; q < D::kTiles; ++q) {
      const int row = q * kThreads + simt::thread_index();
      const S value = q < kTile ? simt::zero<S>() : simt::select(row >= k, x[q], simt::zero<S>());
      if (row < m.n) m.to[row * m.row + k * m.column] = value;
    }
  }

  static SIMT_FN void factor_panel(const panel_matrix<S>& m, int first, bool working,
                                   SIMT_PRIVATE S (&acc)[D::kTiles][kW], SIMT_PRIVATE int& rank) {
    SIMT_SHARED S* vectors = m.shared + 2 * D::kSquare;
    const int row = kTile * kThreads + simt::thread_index();  // of the panel's square
    if (row == first) m.pivots[0] = simt::real(acc[kTile][0]);
    simt::sync_block();
    T pivot = m.pivots[0];
    SIMT_UNROLL
    for (int c = 0; c < kW; ++c) {
      const int k = first + c;
      if (k >= m.n) break;
      SIMT_SHARED S* vector = vectors + c % 2 * kW;
      SIMT_SHARED T* next = m.pivots + (c + 1) % 2;
      S x[D::kTiles];
      SIMT_UNROLL
      for (int q = 0; q < D::kTiles; ++q) x[q] = simt::zero<S>();
      if (working) {
        if (!(pivot > simt::constant<T>(0.0f)) && rank == 0) rank = kN - k;
        const T root = simt::sqrt(pivot), inverse = simt::constant<T>(1.0f) / root;
        SIMT_UNROLL
        for (int q = kTile; q < D::kTiles; ++q) x[q] = simt::scale(inverse, acc[q][c]);
        x[kTile] = simt::select(row == k, simt::from_real<S>(root), x[kTile]);
        if (row >= first && row < first + kW) vector[row - first] = x[kTile];
        if (c + 1 < kW && row == k + 1) *next = simt::real(acc[kTile][(c + 1) % kW]);
      }
      store_column(m, k, x);
      if (c + 1 == kW) break;
      simt::sync_block();
      if (working) {
        const S below = vector[c + 1];
        pivot = simt::real(simt::fnma_conj(below, below, simt::from_real<S>(*next)));
        SIMT_UNROLL
        for (int p = (c + 1) / D::kWidth; p < kW / D::kWidth; ++p) {
          const P y = reinterpret_cast<SIMT_SHARED const P*>(vector)[p];
          SIMT_UNROLL
          for (int q = kTile; q < D::kTiles; ++q) {
            SIMT_UNROLL
            for (int w = 0; w < D::kWidth; ++w) {
              const int d = p * D::kWidth + w;
              if (d > c) acc[q][d] = simt::fnma_conj(x[q], y.x[w], acc[q][d]);
            }
          }
        }
      }
    }
  }

  static SIMT_FN void factor(const panel_matrix<S>& m, SIMT_PRIVATE int& rank) {
    const int end = m.n < (kTile + 1) * kThreads ? m.n : (kTile + 1) * kThreads;
    const int last_of_warp = (D::kTiles - 1) * kThreads + (simt::thread_index() | 31);
    SIMT_NO_UNROLL
    for (int first = kTile * kThreads; first < end; first += kW) {
      const bool working = last_of_warp >= first;
      S acc[D::kTiles][kW];
      load(m, first, acc);
      subtract_left(m, first, working, acc);
      factor_panel(m, first, working, acc, rank);
      simt::sync_block();  // L is read by others, and what is shared is written anew
    }
    Next::factor(m, rank);
  }
};
template <class S, int kN, int kThreads, int kW>
struct panels<S, kN, kThreads, kW, -1> {
  static SIMT_FN void factor(const panel_matrix<S>&, SIMT_PRIVATE int&) {}
};

template <class S, int kN, int kThreads, int kW>
SIMT_KERNEL(kThreads)
kernel_panels(arguments args) {
  using T = simt::real_of<S>;
  using D = panel_deal<S, kN, kThreads, kW>;
  using R = team<kThreads, false>;
  SIMT_SHARED_ARRAY(S, shared, D::kShared);
  SIMT_SHARED_ARRAY(T, pivots, 2);
  SIMT_SHARED_ARRAY(T, largest_of, D::kWarps);
  SIMT_SHARED_ARRAY(int, rank_of, D::kWarps);
  for (simt::int64 matrix = simt::block_index(); matrix < args.batch;
       matrix += simt::block_count()) {
    panel_matrix<S> m = {steps::matrix_of<S>(args.a, matrix),
                         args.a.row,
                         args.a.column,
                         steps::matrix_of<S>(args.l, matrix),
                         args.l.row,
                         args.l.column,
                         shared,
                         pivots,
                         simt::constant<T>(1.0f),
                         args.n};
    const T own = largest_of_share<kThreads>(m);
    const bool own_bad = !simt::is_finite(own);
    const raising<T> raised =
        raising_of(R::max(own_bad ? simt::constant<T>(1.0f) : own, largest_of));
    m.up = raised.up;
    int rank = 0;
    panels<S, kN, kThreads, kW, 0>::factor(m, rank);
    // The largest is that of what is not finite, then of the first minor.
    rank = R::max(own_bad ? kN + 1 : rank, rank_of);
    if (rank != 0 || raised.down != simt::constant<T>(1.0f)) {
      SIMT_NO_UNROLL
      for (int row = simt::thread_index(); row < m.n; row += kThreads) {
        SIMT_NO_UNROLL
        for (int c = 0; c <= row; ++c) {
          SIMT_GLOBAL S* at = m.to + row * m.row + c * m.column;
          *at = finished(*at, raised.down, rank != 0);
        }
      }
    }
    simt::sync_block();  // what is shared is written anew
    if (args.info != nullptr && simt::thread_index() == 0) {
      args.info[matrix] = rank == 0 ? 0 : rank > kN ? steps::kInfoNotFinite : kN + 1 - rank;
    }
  }
}

}  // namespace cholesky
