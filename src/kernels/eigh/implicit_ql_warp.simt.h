// SPDX-License-Identifier: Apache-2.0
// The second kernel of eigh to order 8: implicit QL on the tridiagonal matrix, applied to Q. kLanes lanes
// a matrix, 32 / kLanes matrices a warp, a warp a block; each lane owns kRows real rows of Q in shared
// memory and copies of its own of d and e (steps/lane_rows_warp.simt.h), so that nothing waits for
// another warp. Of values alone, to order 32: a matrix to each lane.

namespace eigh {

// A sweep turns the rows that the lane holds. Column i + 1 stays in registers, and column i - 1 is read
// ahead of its rotation.
template <class T, int kRows>
struct held_rows {
  SIMT_SHARED T* v;
  int lane;
  T carried[kRows], waiting[kRows];

  SIMT_FN void start(int last) {
    steps::read_rows(v + last * kRows * 32, lane, carried);
    steps::read_rows(v + (last - 1) * kRows * 32, lane, waiting);
  }
  SIMT_FN void turn(int i, int first, T c, T s) {
    T x[kRows];
    SIMT_UNROLL
    for (int k = 0; k < kRows; ++k) {
      const T column = waiting[k];
      x[k] = simt::fma(s, column, c * carried[k]);
      carried[k] = simt::fma(c, column, -(s * carried[k]));
    }
    steps::read_rows(v + (i > first ? i - 1 : first) * kRows * 32, lane, waiting);
    steps::write_rows(v + (i + 1) * kRows * 32, lane, x);
  }
  SIMT_FN void finish(int first) { steps::write_rows(v + first * kRows * 32, lane, carried); }
};

// True where it converged. All lanes of the warp start a sweep together; how long it is, and where, is
// the same for the lanes of a matrix.
template <class T, class F>
SIMT_FN bool ql_iteration(int n, SIMT_SHARED value_pair<T>* pairs, SIMT_PRIVATE F& factor) {
  const simt::warp_group<32> warp;
  const ql_start<T> start = start_iteration<32>(n, pairs);
  unsigned small = start.small;
  const unsigned all = rows_mask(n);
  SIMT_NO_UNROLL
  for (int sweep = 0; sweep < most_sweeps(n); ++sweep) {
    const unsigned open = ~small & all;
    if (!warp.any(open != 0u)) break;
    if (open != 0u) {
      const int first = simt::lowest_bit(open), last = first + simt::lowest_bit(small >> first);
      small = ql_sweep_pairs<32>(pairs, factor, first, last, start.tol, small);
    }
  }
  return (~small & all) == 0u;
}

// kLanes lanes to a matrix of n <= kN; a warp a block.
template <class S, int kN, int kLanes>
SIMT_KERNEL(32)
kernel_ql_warp(arguments args) {
  using T = simt::real_of<S>;
  constexpr int kRows = kN * (simt::traits<S>::kComplex ? 2 : 1) / kLanes;
  constexpr int kMatrices = 32 / kLanes, kPairs = 2 * kN * 32;
  SIMT_SHARED_ARRAY(T, all, kPairs + kN * kRows * 32);
  const simt::warp_group<32> warp;
  const simt::warp_group<kLanes> group;
  const int lane = warp.lane(), own = group.lane(), n = args.n, row = own * kRows;
  SIMT_SHARED value_pair<T>* pairs = reinterpret_cast<SIMT_SHARED value_pair<T>*>(all) + lane;
  held_rows<T, kRows> held;
  held.v = all + kPairs;
  held.lane = lane;
  for (simt::int64 first = static_cast<simt::int64>(simt::block_index()) * kMatrices;
       first < args.batch; first += static_cast<simt::int64>(simt::block_count()) * kMatrices) {
    // a group past the last matrix repeats it and stores nothing
    const simt::int64 wanted = first + lane / kLanes;
    const bool valid = wanted < args.batch;
    const simt::int64 matrix = valid ? wanted : args.batch - 1;
    const tridiagonal<T> t = tridiagonal_of<T>(args, matrix);
    const steps::factor_rows<S> q =
        steps::make_factor_rows<S, kRows>(args.v, matrix, args.v.row, args.v.column, n,
                                          args.v.layout == steps::kPackedColumns, false);
    for (int i = 0; i < n; ++i) {
      value_pair<T> x;
      x.x[0] = t.d[i];
      x.x[1] = t.e[i];
      pairs[i * 32] = x;
      T y[kRows];
      steps::read_factor(q, i, row, y);
      steps::write_rows(held.v + i * kRows * 32, lane, y);
    }
    const bool converged = ql_iteration(n, pairs, held);
    const int info = steps::info_of(!simt::is_finite(*t.exponent), converged);
    // A group that repeats the last matrix has read its Q ahead of the first write to it.
    warp.sync();
    for (int j = 0; j < n && valid; ++j) {
      const int rank = steps::rank_among<false, 32>(n, pairs, j);
      if (j % kLanes == own) store_value(args, matrix, rank, pairs[j * 32].x[0], info, t);
      T y[kRows];
      steps::read_rows(held.v + j * kRows * 32, lane, y);
      SIMT_UNROLL
      for (int k = 0; k < kRows; ++k) y[k] = info != 0 ? simt::not_a_number<T>() : y[k];
      steps::write_factor(q, rank, row, y);
    }
    if (args.info != nullptr && valid && own == 0) args.info[matrix] = info;
    warp.sync();
  }
}

// Of values alone: a matrix to a lane, a warp a block.
template <class S, int kN>
SIMT_KERNEL(32)
kernel_values(arguments args) {
  using T = simt::real_of<S>;
  SIMT_SHARED_ARRAY(T, all, 2 * kN * 32);
  const simt::warp_group<32> warp;
  const int n = args.n, lane = warp.lane();
  SIMT_SHARED value_pair<T>* pairs = reinterpret_cast<SIMT_SHARED value_pair<T>*>(all) + lane;
  for (simt::int64 first = static_cast<simt::int64>(simt::block_index()) * 32; first < args.batch;
       first += static_cast<simt::int64>(simt::block_count()) * 32) {
    // a lane past the last matrix repeats it and stores nothing
    const bool valid = first + lane < args.batch;
    const simt::int64 matrix = valid ? first + lane : args.batch - 1;
    const tridiagonal<T> t = tridiagonal_of<T>(args, matrix);
    steps::load_pairs<32>(t.d, t.e, n, pairs);
    no_factor<T> none;
    const bool converged = ql_iteration(n, pairs, none);
    const bool bad = !simt::is_finite(*t.exponent);
    const int info = steps::info_of(bad, converged);
    for (int j = 0; j < n && valid; ++j) {
      store_value(args, matrix, steps::rank_among<false, 32>(n, pairs, j), pairs[j * 32].x[0], info,
                  t);
    }
    if (args.info != nullptr && valid) args.info[matrix] = info;
  }
}

}  // namespace eigh
