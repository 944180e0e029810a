// SPDX-License-Identifier: Apache-2.0
// Cholesky, A = L L^H, in the registers of kLanes lanes. A lane has the rows lane, lane + kLanes, ...: of
// each tile of kLanes rows one, as far as the tile's last diagonal entry.
// Method: right-looking, a column at a time (Golub and Van Loan, 4.2). All lanes divide their entries of
// column k by the root of the pivot and put them into shared memory, where all read the column for
// their own rows: one barrier a column, since the vectors of two steps lie apart. Beside it stands what
// the next pivot was before this step, so that every lane has its root while the rows are still being
// updated. Every entry meets the same subtractions in the same order as in
// left_looking_thread.simt.h: the bits are the same.
// Registers are shifted: entry c of a row stands for column k + c at step k, so that k is a loop's index
// and not a register's. Steps come in blocks, with the static lengths of what is left in the first of
// them.
// A root, its inverse and a column that is read serve all matrices of a warp and all rows of a lane at
// once: several rows to a lane cost fewer instructions a matrix, as long as there are warps enough.
// What lies above the diagonal within a tile is computed with the rest, for a lane that waits costs as
// much, and dropped; tiles that are finished are left alone.

namespace cholesky {

// kLanes rows: a part of a warp, or several warps, which are the block. A warp stays together whatever
// the rows of a matrix are: of a part that the compiler does not know by its lanes it would first have
// to find out who is there, at every barrier.
template <int kLanes, bool kWarp = (kLanes <= 32)>
struct team {
  static constexpr int kThreads = 32, kMatrices = 32 / kLanes;
  static SIMT_FN void sync() {
    const simt::warp_group<32> warp;
    warp.sync();
  }
  // Over all rows; `parts` is of kParts entries.
  static constexpr int kParts = 1;
  template <class X>
  static SIMT_FN X max(X x, SIMT_SHARED X*) {
    const simt::warp_group<32> warp;
    SIMT_UNROLL
    for (int m = kLanes / 2; m > 0; m /= 2) {
      const X other = warp.shuffle_xor(x, m);
      x = other > x ? other : x;
    }
    return x;
  }
};
template <int kLanes>
struct team<kLanes, false> {
  static constexpr int kThreads = kLanes, kMatrices = 1;
  static SIMT_FN void sync() { simt::sync_block(); }
  static constexpr int kParts = kLanes / 32;
  template <class X>
  static SIMT_FN X max(X x, SIMT_SHARED X* parts) {
    const simt::warp_group<32> warp;
    const X own = warp.max(x);
    if (warp.lane() == 0) parts[simt::thread_index() / 32] = own;
    simt::sync_block();
    X largest = parts[0];
    SIMT_UNROLL
    for (int k = 1; k < kParts; ++k) largest = parts[k] > largest ? parts[k] : largest;
    return largest;
  }
};

// Whether the packets of a row do not reach into the next one.
template <class S>
SIMT_FN bool rows_are_packets(const steps::view& x, int columns) {
  return x.layout == steps::kPackedRows && columns * static_cast<int>(sizeof(S)) % 16 == 0;
}

// The first kColumns entries of a row of A's lower triangle, zeros elsewhere; of the diagonal the real
// part. Returns the largest magnitude of the row.
template <int kColumns, int kN, class S>
SIMT_FN simt::real_of<S> load_row(const steps::view& x, simt::int64 matrix, int n, int row,
                                  SIMT_PRIVATE S (&a)[kN]) {
  using T = simt::real_of<S>;
  using P = steps::packet_of<S>;
  constexpr int kWidth = 16 / static_cast<int>(sizeof(S));
  SIMT_GLOBAL const S* from = steps::matrix_of<S>(x, matrix);
  const int end = row < n ? row + 1 : 0;
  SIMT_UNROLL
  for (int c = 0; c < kColumns; ++c) a[c] = simt::zero<S>();
  if (rows_are_packets<S>(x, n)) {
    SIMT_GLOBAL const P* packets = reinterpret_cast<SIMT_GLOBAL const P*>(from) + row * n / kWidth;
    SIMT_UNROLL
    for (int k = 0; k < kColumns / kWidth; ++k) {
      if (k * kWidth < end) {
        const P y = packets[k];
        SIMT_UNROLL
        for (int w = 0; w < kWidth; ++w) a[k * kWidth + w] = y.x[w];
      }
    }
  } else {
    from += row * x.row;
    SIMT_UNROLL
    for (int c = 0; c < kColumns; ++c, from += x.column) {
      if (c < end) a[c] = *from;
    }
  }
  T largest = simt::constant<T>(0.0f);
  SIMT_UNROLL
  for (int c = 0; c < kColumns; ++c) {
    const S value = simt::select(c < end, a[c], simt::zero<S>());
    a[c] = simt::select(c == row, simt::from_real<S>(simt::real(value)), value);
    largest = simt::max_magnitude(largest, a[c]);
  }
  return largest;
}

// The order kN dealt to kLanes lanes.
template <int kN, int kLanes>
struct deal {
  static constexpr int kTiles = kN / kLanes;
  static constexpr int kSteps = 8;  // of a block
  static_assert(kN % kLanes == 0 && kLanes % kSteps == 0, "whole tiles");
  // Entries of a row of tile q that are left at step k.
  static SIMT_FN constexpr int left(int q, int k) { return (q + 1) * kLanes - k; }
};

// Rows lane, lane + kLanes, ... of tiles to kTile. Returns their largest magnitude.
template <int kN, int kLanes, int kTile = kN / kLanes - 1>
struct rows_of_lane {
  static constexpr int kTiles = kN / kLanes;
  template <class S>
  static SIMT_FN simt::real_of<S> load(const steps::view& x, simt::int64 matrix, int n, int lane,
                                       SIMT_PRIVATE S (&a)[kTiles][kN]) {
    const simt::real_of<S> before =
        rows_of_lane<kN, kLanes, kTile - 1>::load(x, matrix, n, lane, a);
    const simt::real_of<S> own =
        load_row<deal<kN, kLanes>::left(kTile, 0)>(x, matrix, n, kTile * kLanes + lane, a[kTile]);
    return simt::max_magnitude(before, own);
  }
};
template <int kN, int kLanes>
struct rows_of_lane<kN, kLanes, -1> {
  template <class S>
  static SIMT_FN simt::real_of<S> load(const steps::view&, simt::int64, int, int,
                                       SIMT_PRIVATE S (&)[kN / kLanes][kN]) {
    return simt::constant<simt::real_of<S>>(0.0f);
  }
};

// What a lane needs to know of its matrix.
template <class S>
struct factoring {
  SIMT_SHARED S* vectors;                // of two steps
  SIMT_SHARED simt::real_of<S>* pivots;  // of two steps
  SIMT_GLOBAL S* to;                     // L
  simt::int64 row, column;               // its strides
  int n, lane;
  bool stored;
  simt::real_of<S> down;  // what entries are multiplied by as they are stored
};

// Steps kFrom <= k < kFrom + kSteps, and those after them. `pivot`: of step kFrom; `rank`: kN - k of
// the first step whose pivot is not positive, or 0.
template <class S, int kN, int kLanes, int kFrom>
struct row_steps {
  using T = simt::real_of<S>;
  using D = deal<kN, kLanes>;
  static constexpr int kTile = kFrom / kLanes;
  static constexpr int kWidth = 16 / static_cast<int>(sizeof(S));
  static constexpr bool kMore = kFrom + D::kSteps < kN;
  using Next = row_steps<S, kN, kLanes, kMore ? kFrom + D::kSteps : -1>;

  static SIMT_FN void store_column(const factoring<S>& f, int k,
                                   SIMT_PRIVATE const S (&x)[D::kTiles]) {
    SIMT_GLOBAL S* to = f.to + k * f.column;
    SIMT_UNROLL
    for (int q = 0; q < D::kTiles; ++q) {
      const int row = q * kLanes + f.lane;
      S value = simt::zero<S>();
      if (q >= kTile) value = simt::select(row >= k, simt::scale(f.down, x[q]), value);
      if (f.stored && row < f.n) to[row * f.row] = value;
    }
  }

  static SIMT_FN void factor(const factoring<S>& f, SIMT_PRIVATE S (&a)[D::kTiles][kN],
                             SIMT_PRIVATE T& pivot, SIMT_PRIVATE int& rank) {
    using P = steps::packet_of<S>;
    const int end = f.n < kFrom + D::kSteps ? f.n : kFrom + D::kSteps;
    const int last_of_warp = (D::kTiles - 1) * kLanes + (f.lane | 31);
    SIMT_NO_UNROLL
    for (int k = kFrom; k < end; ++k) {
      SIMT_SHARED S* vector = f.vectors + k % 2 * kN;
      SIMT_SHARED T* next = f.pivots + (k + 1) % 2;
      const bool working = kLanes <= 32 || last_of_warp >= k;
      S x[D::kTiles];
      SIMT_UNROLL
      for (int q = 0; q < D::kTiles; ++q) x[q] = simt::zero<S>();
      if (working) {
        if (!(pivot > simt::constant<T>(0.0f)) && rank == 0) rank = kN - k;
        const T root = simt::sqrt(pivot), inverse = simt::constant<T>(1.0f) / root;
        SIMT_UNROLL
        for (int q = kTile; q < D::kTiles; ++q) {
          const int row = q * kLanes + f.lane;
          x[q] = simt::scale(inverse, a[q][0]);
          if (q == kTile) x[q] = simt::select(row == k, simt::from_real<S>(root), x[q]);
          vector[q == kTile && row < k ? row - k + kN : row - k] = x[q];
          // the next row may be the first of a tile
          if (q <= kTile + 1 && D::left(q, kFrom) > 1 && row == k + 1) *next = simt::real(a[q][1]);
        }
      }
      team<kLanes>::sync();
      if (working) {
        const S below = vector[1];
        pivot = simt::real(simt::fnma_conj(below, below, simt::from_real<S>(*next)));
        SIMT_UNROLL
        for (int p = 0; p < D::left(D::kTiles - 1, kFrom) / kWidth; ++p) {
          const P y = reinterpret_cast<SIMT_SHARED const P*>(vector)[p];
          SIMT_UNROLL
          for (int q = kTile; q < D::kTiles; ++q) {
            SIMT_UNROLL
            for (int w = 0; w < kWidth; ++w) {
              const int c = p * kWidth + w;
              if (c > 0 && c < D::left(q, kFrom)) {
                a[q][c - 1] = simt::fnma_conj(x[q], y.x[w], a[q][c]);
              }
            }
          }
        }
      }
      store_column(f, k, x);
    }
    Next::factor(f, a, pivot, rank);
  }
};
template <class S, int kN, int kLanes>
struct row_steps<S, kN, kLanes, -1> {
  static SIMT_FN void factor(const factoring<S>&, SIMT_PRIVATE S (&)[kN / kLanes][kN],
                             SIMT_PRIVATE simt::real_of<S>&, SIMT_PRIVATE int&) {}
};

// kLanes lanes to a matrix of order n <= kN.
template <class S, int kN, int kLanes, int kThreads>
SIMT_KERNEL(kThreads)
kernel_rows(arguments args) {
  using T = simt::real_of<S>;
  using R = team<kLanes>;
  using D = deal<kN, kLanes>;
  constexpr int kTeams = kThreads / R::kThreads, kOfBlock = kTeams * R::kMatrices;
  // of two vectors; a packet between those of two matrices, so that they meet in no bank
  constexpr int kVectors = 2 * kN + 16 / static_cast<int>(sizeof(S));
  SIMT_SHARED_ARRAY(S, all, kOfBlock * kVectors);
  SIMT_SHARED_ARRAY(T, all_pivots, kOfBlock * 2);
  SIMT_SHARED_ARRAY(T, largest_of, R::kParts);
  SIMT_SHARED_ARRAY(int, rank_of, R::kParts);
  const int index = simt::thread_index() / kLanes, lane = simt::thread_index() % kLanes;
  const int of_team = index % R::kMatrices;
  const simt::int64 stride = static_cast<simt::int64>(simt::block_count()) * kOfBlock;
  for (simt::int64 first =
           static_cast<simt::int64>(simt::block_index()) * kOfBlock + (index - of_team);
       first < args.batch; first += stride) {
    // lanes past the last matrix repeat it, and their result is not stored
    const bool stored = first + of_team < args.batch;
    const simt::int64 matrix = stored ? first + of_team : args.batch - 1;
    S a[D::kTiles][kN];
    const T own = rows_of_lane<kN, kLanes>::load(args.a, matrix, args.n, lane, a);
    const bool bad = !simt::is_finite(own);
    const raising<T> raised = raising_of(R::max(bad ? simt::constant<T>(1.0f) : own, largest_of));
    if (raised.up != simt::constant<T>(1.0f)) {
      SIMT_UNROLL
      for (int q = 0; q < D::kTiles; ++q) {
        SIMT_UNROLL
        for (int c = 0; c < D::left(q, 0); ++c) a[q][c] = simt::scale(raised.up, a[q][c]);
      }
    }
    const factoring<S> f = {all + index * kVectors,
                            all_pivots + index * 2,
                            steps::matrix_of<S>(args.l, matrix),
                            args.l.row,
                            args.l.column,
                            args.n,
                            lane,
                            stored,
                            raised.down};
    if (lane == 0) f.pivots[0] = simt::real(a[0][0]);
    R::sync();
    T pivot = f.pivots[0];
    int rank = 0;
    row_steps<S, kN, kLanes, 0>::factor(f, a, pivot, rank);
    R::sync();  // the vectors are written anew
    // The largest is that of what is not finite, then of the first minor.
    rank = R::max(bad ? kN + 1 : rank, rank_of);
    if (!stored) continue;
    if (rank != 0) {
      SIMT_NO_UNROLL
      for (int row = lane; row < args.n; row += kLanes) {
        SIMT_NO_UNROLL
        for (int c = 0; c <= row; ++c) f.to[row * f.row + c * f.column] = steps::nan_entry<S>();
      }
    }
    if (args.info != nullptr && lane == 0) {
      args.info[matrix] = rank == 0 ? 0 : rank > kN ? steps::kInfoNotFinite : kN + 1 - rank;
    }
  }
}

}  // namespace cholesky
