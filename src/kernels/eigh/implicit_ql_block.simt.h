// SPDX-License-Identifier: Apache-2.0
// The second kernel of eigh above order 8: implicit QL on the tridiagonal matrix, applied to Q. A block
// has kMatrices matrices; its first warp makes the rotations, a lane to a matrix, and a thread to each
// real row of Q applies them (steps/row_rotations_block.simt.h).

namespace eigh {

template <class T>
using rotation_pair = steps::rotation_pair<T>;

// A maker's sweep leaves its rotations in shared memory: of columns i and i + 1 at i, to be applied
// downwards.
template <class T>
struct kept_turns {
  SIMT_SHARED rotation_pair<T>* kept;

  SIMT_FN void start(int /*last*/) {}
  SIMT_FN void turn(int i, int /*first*/, T c, T s) {
    const steps::rotation<T> turn = steps::normalised(c, -s);
    rotation_pair<T> x;
    x.x[0] = turn.c;
    x.x[1] = turn.s;
    kept[i] = x;
  }
  SIMT_FN void finish(int /*first*/) {}
};

// The makers' turns; lanes that have no matrix only meet the others.
template <class L, int kMatrices, class T>
SIMT_FN void make_turns(const steps::turns_memory<T>& memory, int n, bool valid, bool bad) {
  const simt::warp_group<32> warp;
  const int lane = warp.lane(), most = most_sweeps(n);
  SIMT_SHARED value_pair<T>* pairs = memory.pairs + (valid ? lane : 0);
  const ql_start<T> start = start_iteration<kMatrices>(valid ? n : 0, pairs);
  unsigned small = start.small;
  const unsigned all = valid ? rows_mask(n) : 0u;
  SIMT_SHARED T* rotations = memory.rotations + lane * L::kMatrix;
  SIMT_NO_UNROLL
  for (int turn = 0; turn <= most; ++turn) {
    const int parity = turn & 1;
    const unsigned open = ~small & all;
    const bool more = warp.any(open != 0u) && turn < most;
    int first = 0, last = 0;
    if (more && open != 0u) {
      first = simt::lowest_bit(open);
      last = first + simt::lowest_bit(small >> first);
      SIMT_SHARED rotation_pair<T>* kept =
          reinterpret_cast<SIMT_SHARED rotation_pair<T>*>(rotations + parity * L::kTurn);
      steps::fill_parts(kept, first, last);
      kept_turns<T> turns = {kept};
      small = ql_sweep_pairs<kMatrices>(pairs, turns, first, last, start.tol, small);
    }
    if (lane < kMatrices) {
      SIMT_SHARED int* range = memory.ranges + 2 * (parity * kMatrices + lane);
      range[0] = first;
      range[1] = last;
      if (!more) memory.info[lane] = steps::info_of(bad, open == 0u);
    }
    if (lane == 0) memory.open[parity] = more ? 1 : 0;
    simt::meet_block();
    if (!more) break;
  }
}

// kMatrices of order n <= kN a block.
template <class S, int kN, int kMatrices, int kThreads, int kBlocks>
SIMT_KERNEL(kThreads, kBlocks)
kernel_ql(arguments args) {
  using T = simt::real_of<S>;
  using L = steps::turns_layout<T, kN, kMatrices, 1>;
  constexpr int kReals = simt::traits<S>::kComplex ? 2 : 1, kRows = kN * kReals;
  static_assert(kThreads == steps::kMakers + kMatrices * kRows, "a thread to each row");
  SIMT_SHARED_ARRAY(T, all, L::kTotal);
  SIMT_SHARED_ARRAY(int, notes, L::kNotes);
  const steps::turns_memory<T> memory = steps::turns_memory_of<L, kMatrices>(all, notes);
  const int n = args.n, thread = simt::thread_index();
  const simt::int64 step = static_cast<simt::int64>(simt::block_count()) * kMatrices;
  simt::int64 from = static_cast<simt::int64>(simt::block_index()) * kMatrices;
  if (thread < steps::kMakers) {
    SIMT_NO_UNROLL
    for (; from < args.batch; from += step) {
      const bool valid = thread < kMatrices && from + thread < args.batch;
      const T exponent =
          valid ? *tridiagonal_of<T>(args, from + thread).exponent : simt::constant<T>(0.0f);
      simt::meet_block();
      make_turns<L, kMatrices>(memory, n, valid, !simt::is_finite(exponent));
      simt::meet_block();
    }
  } else {
    const int own = thread - steps::kMakers, index = own / kRows, row_index = own % kRows;
    SIMT_SHARED const value_pair<T>* pairs = memory.pairs + index;
    SIMT_NO_UNROLL
    for (; from < args.batch; from += step) {
      const simt::int64 matrix = from + index;
      const bool exists = matrix < args.batch && row_index / kReals < n;
      const bool has_value = matrix < args.batch && row_index < n;
      const tridiagonal<T> t = tridiagonal_of<T>(args, matrix < args.batch ? matrix : 0);
      if (has_value) {
        value_pair<T> x;
        x.x[0] = t.d[row_index];
        x.x[1] = t.e[row_index];
        memory.pairs[row_index * kMatrices + index] = x;
      }
      const steps::real_row<T> v = steps::real_row_of<S>(args.v, exists ? matrix : 0, args.v.row,
                                                         args.v.column, exists ? row_index : 0);
      T row[kN];
      steps::load_real_row(v, exists ? n : 0, row);
      simt::meet_block();
      steps::take_turns<L, true, kMatrices>(memory, most_sweeps(n), index, 0, row);
      const int info = matrix < args.batch ? memory.info[index] : 0;
      SIMT_SHARED int* ranks = memory.ranks + index * kN;
      if (has_value) {
        const int rank = steps::rank_among<false, kMatrices>(n, pairs, row_index);
        ranks[row_index] = rank;
        store_value(args, matrix, rank, pairs[row_index * kMatrices].x[0], info, t);
        if (args.info != nullptr && row_index == 0) args.info[matrix] = info;
      }
      simt::meet_block();
      if (!exists) continue;
      SIMT_UNROLL
      for (int j = 0; j < kN; ++j) {
        if (j < n) v.data[ranks[j] * v.column] = info != 0 ? simt::not_a_number<T>() : row[j];
      }
    }
  }
}

}  // namespace eigh
