// SPDX-License-Identifier: Apache-2.0
// The GPU kernel of svd and svdvals with one matrix per thread: sizes to 8 x 8 known at compile time,
// by one-sided Jacobi in registers. What is decomposed is B = A, or A's transpose where A is wide:
// A^T = U_b S V_b^H, so that A = conj(V_b) S U_b^T.

namespace svd {

// a[j][i]: row i of column j of B, then U_b; z: V_b; d in no order. True where it converged.
// incomplete: some column of U_b is zero, its value being none.
template <bool kVectors, int n, int m, class S>
SIMT_FN bool solve_small(SIMT_PRIVATE S (&a)[n][m], SIMT_PRIVATE S (&z)[n][n],
                         SIMT_PRIVATE simt::real_of<S> (&d)[n], SIMT_PRIVATE bool& incomplete) {
  using T = simt::real_of<S>;
  const T zero = simt::constant<T>(0.0f), one = simt::constant<T>(1.0f);
  SIMT_UNROLL
  for (int j = 0; j < n; ++j) {
    SIMT_UNROLL
    for (int i = 0; i < n; ++i) z[j][i] = simt::from_real<S>(i == j ? one : zero);
  }
  bool turned = true;
  SIMT_NO_UNROLL
  for (int sweep = 0; sweep < 40 && turned; ++sweep) turned = small_sweep<kVectors>(a, z);
  incomplete = false;
  SIMT_UNROLL
  for (int j = 0; j < n; ++j) {
    T square = zero;
    SIMT_UNROLL
    for (int i = 0; i < m; ++i) square = simt::norm2(a[j][i], square);
    const bool empty = !(square >= smallest_square<T>());
    d[j] = simt::sqrt(square);
    incomplete = incomplete || empty;
    const T factor = empty ? zero : one / (empty ? one : d[j]);
    SIMT_UNROLL
    for (int i = 0; i < (kVectors ? m : 0); ++i) a[j][i] = simt::scale(factor, a[j][i]);
  }
  return !turned;
}

// Where the columns of a thread go: into slots of matrices of kRows x kColumns, or of its transpose.
template <int n>
struct small_order {
  int rank[n];
};

// Values in descending order. To order 4 they and their columns are exchanged in registers, which
// costs less than addresses that differ from thread to thread.
template <bool kVectors, int n, int m, class S>
SIMT_FN small_order<n> order_small(SIMT_PRIVATE S (&a)[n][m], SIMT_PRIVATE S (&z)[n][n],
                                   SIMT_PRIVATE simt::real_of<S> (&d)[n]) {
  constexpr bool kExchange = n <= 4;
  small_order<n> order;
  SIMT_UNROLL
  for (int last = kExchange ? n - 1 : 0; last > 0; --last) {
    SIMT_UNROLL
    for (int j = 0; j < last; ++j) {
      const bool wrong = d[j] < d[j + 1];
      steps::exchange(d[j], d[j + 1], wrong);
      SIMT_UNROLL
      for (int i = 0; i < (kVectors ? m : 0); ++i) steps::exchange(a[j][i], a[j + 1][i], wrong);
      SIMT_UNROLL
      for (int i = 0; i < (kVectors ? n : 0); ++i) steps::exchange(z[j][i], z[j + 1][i], wrong);
    }
  }
  SIMT_UNROLL
  for (int j = 0; j < n; ++j) order.rank[j] = kExchange ? j : steps::rank_small<true>(d, j);
  return order;
}

// conj(V_b) to its slot.
template <int n, class S>
SIMT_FN void store_v_small(SIMT_PRIVATE const S (&z)[n][n], const small_order<n>& order,
                           SIMT_SHARED S* slot, bool by_rows) {
  SIMT_UNROLL
  for (int j = 0; j < n; ++j) {
    S column[n];
    SIMT_UNROLL
    for (int i = 0; i < n; ++i) column[i] = simt::conj(z[j][i]);
    steps::write_column<n, n>(slot, by_rows, order.rank[j], column);
  }
}

// U_b, its first n of kU columns known, to its slot. Where some thread of the warp lacks a column, the
// missing ones are found in the slots, which all lie column by column then. x: m entries of scratch.
template <int kU, int n, int m, class S>
SIMT_FN void store_u_small(SIMT_PRIVATE const S (&a)[n][m], const small_order<n>& order,
                           bool complete, SIMT_SHARED S* slot, bool by_rows, SIMT_SHARED S* x) {
  SIMT_UNROLL
  for (int j = 0; j < n; ++j) {
    steps::write_column<m, kU>(slot, by_rows && !complete, order.rank[j], a[j]);
  }
  if (!complete) return;
  for (int i = n * m; i < kU * m; ++i) slot[i] = simt::zero<S>();
  complete_columns(m, kU, slot, m, x);
}

// The shared memory of a kernel, in entries of a warp.
template <class S, int m, int n, int kU>
struct small_layout {
  static constexpr int kB = steps::slots<S, m * n>::kOfWarp;
  static constexpr int kV = steps::slots<S, n * n>::kOfWarp;
  static constexpr int kUWarp = steps::slots<S, m * kU>::kOfWarp;
  static constexpr int kBV = kB > kV ? kB : kV;
  static constexpr int kMatrix = kBV > kUWarp ? kBV : kUWarp;
  static constexpr int kOfWarp = kMatrix + 32 * m;  // and scratch of m entries for each thread
};

// A is kRows x kColumns. kFull: U and V are square.
template <class S, int kRows, int kColumns, bool kVectors, bool kFull>
SIMT_KERNEL(steps::kThreads)
kernel_thread(arguments args) {
  using T = simt::real_of<S>;
  constexpr bool kWide = kRows < kColumns;
  constexpr int m = kWide ? kColumns : kRows, n = kWide ? kRows : kColumns, kU = kFull ? m : n;
  using Layout = small_layout<S, m, n, kVectors ? kU : 1>;
  using Values = steps::slots<T, n>;
  SIMT_SHARED_ARRAY(S, all, Layout::kOfWarp * steps::kWarpsPerBlock);
  SIMT_SHARED_ARRAY(T, all_values, Values::kOfBlock);
  const int warp = simt::thread_index() / 32, lane = simt::thread_index() % 32;
  SIMT_SHARED S* mine = all + warp * Layout::kOfWarp;
  SIMT_SHARED S* scratch = mine + Layout::kMatrix + lane * m;
  SIMT_SHARED T* values = all_values + warp * Values::kOfWarp;
  const steps::view& view_u = kWide ? args.vh : args.u;
  const steps::view& view_v = kWide ? args.u : args.vh;
  const simt::warp_group<32> group;
  for (simt::int64 first = steps::first_of_warp(); first < args.batch;
       first += steps::stride_of_warps()) {
    const int count = steps::count_of_warp(first, args.batch);
    steps::stage_in<kRows, kColumns>(args.a, first, count, mine);
    // a thread past the last matrix repeats it, and its result is not stored
    const int at = lane < count ? lane : count - 1;
    S a[n][m], z[n][n];
    T d[n];
    bool incomplete;
    steps::read_slot<m, n>(mine + at * steps::slots<S, m * n>::kStride,
                           (args.a.layout == steps::kPackedRows) != kWide, a);
    const steps::prepared<T> p = steps::prepare_small<false, m, n>(a, false);
    const bool converged = solve_small<kVectors>(a, z, d, incomplete);
    const small_order<n> order = order_small<kVectors>(a, z, d);
    const int info = steps::info_of(p.bad, converged);
    group.sync();  // every thread has read its slot
    SIMT_SHARED T* value = values + lane * Values::kStride;
    const simt::pow2_scale<T> scale = simt::make_pow2(p.exponent);
    SIMT_UNROLL
    for (int j = 0; j < n; ++j) value[order.rank[j]] = simt::scale_pow2(d[j], scale);
    if (info != 0) steps::fill_slot(value, n, simt::not_a_number<T>());
    if (args.info != nullptr && lane < count) args.info[first + lane] = info;
    steps::stage_out<n, 1>(args.s, first, count, values);
    if (kVectors) {
      SIMT_SHARED S* v = mine + lane * steps::slots<S, n * n>::kStride;
      store_v_small(z, order, v, (view_v.layout == steps::kPackedRows) == kWide);
      if (info != 0) steps::fill_slot(v, n * n, steps::nan_entry<S>());
      steps::stage_out<n, n>(view_v, first, count, mine);
      SIMT_SHARED S* u = mine + lane * steps::slots<S, m * kU>::kStride;
      const bool by_rows = (view_u.layout == steps::kPackedRows) != kWide;
      const bool complete = group.any(kU > n || incomplete);
      store_u_small<kU>(a, order, complete, u, by_rows, scratch);
      if (info != 0) steps::fill_slot(u, m * kU, steps::nan_entry<S>());
      constexpr int kURows = kWide ? kU : m, kUColumns = kWide ? m : kU;
      if (by_rows && complete) {
        steps::stage_out_transposed<kURows, kUColumns>(view_u, first, count, mine);
      } else {
        steps::stage_out<kURows, kUColumns>(view_u, first, count, mine);
      }
    }
  }
}

}  // namespace svd
