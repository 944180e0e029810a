// SPDX-License-Identifier: Apache-2.0
// Cholesky, A = L L^H, with a lane to each row, which lies whole in its registers.
// Method: right-looking, a column at a time (Golub and Van Loan, 4.2). All lanes divide their entry of
// column k by the root of the pivot and put it into shared memory, where all read the column for their
// own rows: one barrier a column, since the vectors of two steps lie apart. Beside it stands what the
// next pivot was before this step, so that every lane has its root while the rows are still being
// updated. Every entry meets the same subtractions in the same order as in
// left_looking_thread.simt.h: the bits are the same.
// What lies above the diagonal is computed with the rest, for a lane that waits costs as much, and
// dropped at the end.

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

// A row of A's lower triangle, zeros elsewhere; of the diagonal the real part. Returns the largest
// magnitude of the row.
template <int kN, class S>
SIMT_FN simt::real_of<S> load_row(const steps::view& x, simt::int64 matrix, int n, int row,
                                  SIMT_PRIVATE S (&a)[kN]) {
  using T = simt::real_of<S>;
  using P = steps::packet_of<S>;
  constexpr int kWidth = 16 / static_cast<int>(sizeof(S));
  SIMT_GLOBAL const S* from = steps::matrix_of<S>(x, matrix);
  const int end = row < n ? row + 1 : 0;
  SIMT_UNROLL
  for (int c = 0; c < kN; ++c) a[c] = simt::zero<S>();
  if (rows_are_packets<S>(x, n)) {
    SIMT_GLOBAL const P* packets = reinterpret_cast<SIMT_GLOBAL const P*>(from) + row * n / kWidth;
    SIMT_UNROLL
    for (int k = 0; k < kN / kWidth; ++k) {
      if (k * kWidth < end) {
        const P y = packets[k];
        SIMT_UNROLL
        for (int w = 0; w < kWidth; ++w) a[k * kWidth + w] = y.x[w];
      }
    }
  } else {
    from += row * x.row;
    SIMT_UNROLL
    for (int c = 0; c < kN; ++c, from += x.column) {
      if (c < end) a[c] = *from;
    }
  }
  T largest = simt::constant<T>(0.0f);
  SIMT_UNROLL
  for (int c = 0; c < kN; ++c) {
    const S value = simt::select(c < end, a[c], simt::zero<S>());
    a[c] = simt::select(c == row, simt::from_real<S>(simt::real(value)), value);
    largest = simt::max_magnitude(largest, a[c]);
  }
  return largest;
}

template <int kN, class S>
SIMT_FN void scale_row(simt::real_of<S> factor, SIMT_PRIVATE S (&a)[kN]) {
  if (factor == simt::constant<simt::real_of<S>>(1.0f)) return;
  SIMT_UNROLL
  for (int c = 0; c < kN; ++c) a[c] = simt::scale(factor, a[c]);
}

// The row back, zeros above the diagonal.
template <int kN, class S>
SIMT_FN void store_row(const steps::view& x, simt::int64 matrix, int n, int row,
                       SIMT_PRIVATE const S (&a)[kN]) {
  using P = steps::packet_of<S>;
  constexpr int kWidth = 16 / static_cast<int>(sizeof(S));
  if (row >= n) return;
  SIMT_GLOBAL S* to = steps::matrix_of<S>(x, matrix);
  if (rows_are_packets<S>(x, n)) {
    SIMT_GLOBAL P* packets = reinterpret_cast<SIMT_GLOBAL P*>(to) + row * n / kWidth;
    SIMT_UNROLL
    for (int k = 0; k < kN / kWidth; ++k) {
      P y;
      SIMT_UNROLL
      for (int w = 0; w < kWidth; ++w) {
        const int c = k * kWidth + w;
        y.x[w] = simt::select(row >= c, a[c], simt::zero<S>());
      }
      if (k * kWidth < n) packets[k] = y;
    }
  } else {
    to += row * x.row;
    SIMT_UNROLL
    for (int c = 0; c < kN; ++c, to += x.column) {
      if (c < n) *to = simt::select(row >= c, a[c], simt::zero<S>());
    }
  }
}

// A row of A becomes one of L. Returns its diagonal entry, which is not positive, or NaN, in the
// first row whose leading minor is not positive; one in rows from n on.
template <int kN, int kLanes, class S>
SIMT_FN simt::real_of<S> factor_row(int n, int row, SIMT_SHARED S* vectors,
                                    SIMT_SHARED simt::real_of<S>* pivots, SIMT_PRIVATE S (&a)[kN]) {
  using T = simt::real_of<S>;
  using P = steps::packet_of<S>;
  constexpr int kWidth = 16 / static_cast<int>(sizeof(S));
  const int last_of_warp = row | 31;
  T diagonal = simt::constant<T>(1.0f);
  if (row == 0) pivots[0] = simt::real(a[0]);
  team<kLanes>::sync();
  T pivot = pivots[0];
  SIMT_UNROLL
  for (int j = 0; j < kN; ++j) {
    if (j >= n) break;
    SIMT_SHARED S* vector = vectors + j % 2 * kLanes;
    SIMT_SHARED T* next = pivots + (j + 1) % 2;
    const bool working = kLanes <= 32 || j < 32 || last_of_warp >= j;
    S x = simt::zero<S>();
    if (working) {
      const T root = simt::sqrt(pivot), inverse = simt::constant<T>(1.0f) / root;
      x = simt::select(row == j, simt::from_real<S>(root), simt::scale(inverse, a[j]));
      diagonal = simt::select(row == j, root, diagonal);
      a[j] = x;
      vector[row] = x;
      if (j + 1 < kN && row == j + 1) *next = simt::real(a[j + 1 < kN ? j + 1 : j]);
    }
    if (j + 1 == kN) break;
    team<kLanes>::sync();
    if (working) {
      const S below = vector[j + 1];
      pivot = simt::real(simt::fnma_conj(below, below, simt::from_real<S>(*next)));
      SIMT_UNROLL
      for (int k = (j + 1) / kWidth; k < kN / kWidth; ++k) {
        const P y = reinterpret_cast<SIMT_SHARED const P*>(vector)[k];
        SIMT_UNROLL
        for (int w = 0; w < kWidth; ++w) {
          const int c = k * kWidth + w;
          if (c > j) a[c] = simt::fnma_conj(x, y.x[w], a[c]);
        }
      }
    }
  }
  return diagonal;
}

// kLanes rows to a matrix of order n <= kN <= kLanes.
template <class S, int kN, int kLanes, int kThreads>
SIMT_KERNEL(kThreads)
kernel_rows(arguments args) {
  using T = simt::real_of<S>;
  using R = team<kLanes>;
  constexpr int kTeams = kThreads / R::kThreads, kOfBlock = kTeams * R::kMatrices;
  // of two vectors; a packet between those of two matrices, so that they meet in no bank
  constexpr int kVectors = 2 * kLanes + 16 / static_cast<int>(sizeof(S));
  SIMT_SHARED_ARRAY(S, all, kOfBlock * kVectors);
  SIMT_SHARED_ARRAY(T, all_pivots, kOfBlock * 2);
  SIMT_SHARED_ARRAY(T, largest_of, R::kParts);
  SIMT_SHARED_ARRAY(int, rank_of, R::kParts);
  const int index = simt::thread_index() / kLanes, row = simt::thread_index() % kLanes;
  const int of_team = index % R::kMatrices;
  const simt::int64 stride = static_cast<simt::int64>(simt::block_count()) * kOfBlock;
  for (simt::int64 first =
           static_cast<simt::int64>(simt::block_index()) * kOfBlock + (index - of_team);
       first < args.batch; first += stride) {
    // rows past the last matrix repeat it, and their result is not stored
    const bool stored = first + of_team < args.batch;
    const simt::int64 matrix = stored ? first + of_team : args.batch - 1;
    S a[kN];
    const T own = load_row(args.a, matrix, args.n, row, a);
    const bool bad = !simt::is_finite(own);
    const raising<T> raised = raising_of(R::max(bad ? simt::constant<T>(1.0f) : own, largest_of));
    scale_row(raised.up, a);
    const T diagonal =
        factor_row<kN, kLanes>(args.n, row, all + index * kVectors, all_pivots + index * 2, a);
    R::sync();  // the vectors are written anew
    // The largest is that of what is not finite, then of the first minor.
    int rank = diagonal > simt::constant<T>(0.0f) ? 0 : kN - row;
    rank = R::max(bad ? kN + 1 : rank, rank_of);
    if (rank != 0) {
      SIMT_UNROLL
      for (int c = 0; c < kN; ++c) a[c] = steps::nan_entry<S>();
    }
    scale_row(raised.down, a);
    if (!stored) continue;
    store_row(args.l, matrix, args.n, row, a);
    if (args.info != nullptr && row == 0) {
      args.info[matrix] = rank == 0 ? 0 : rank > kN ? steps::kInfoNotFinite : kN + 1 - rank;
    }
  }
}

}  // namespace cholesky
