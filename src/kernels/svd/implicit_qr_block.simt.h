// SPDX-License-Identifier: Apache-2.0
// The second kernel of svd above order 16: implicit QR on the bidiagonal matrix, applied to U and V. A
// block has kMatrices matrices; its first warp makes the rotations, a lane to a matrix, and a thread to
// each real row of U and V applies them (steps/row_rotations_block.simt.h). The time does not depend on
// the data.

namespace svd {

template <class T>
using rotation_pair = steps::rotation_pair<T>;

// A maker's sweep leaves its rotations in shared memory.
template <class T>
struct kept_turns {
  SIMT_SHARED rotation_pair<T>* left;
  SIMT_SHARED rotation_pair<T>* right;

  SIMT_FN void start(int /*first*/) {}
  SIMT_FN void turn(int i, const qr_turn<T>& turn) {
    const steps::rotation<T> u = steps::normalised(turn.c_left, turn.s_left);
    const steps::rotation<T> v = steps::normalised(turn.c_right, turn.s_right);
    rotation_pair<T> r;
    r.x[0] = u.c;
    r.x[1] = u.s;
    left[i] = r;
    r.x[0] = v.c;
    r.x[1] = v.s;
    right[i] = r;
  }
  SIMT_FN void finish(int /*last*/) {}
};

// The makers' turns; lanes that have no matrix only meet the others.
template <class L, int kMatrices, class T>
SIMT_FN void make_turns(const steps::turns_memory<T>& memory, int n, bool valid, bool bad) {
  const simt::warp_group<32> warp;
  const int lane = warp.lane(), most = most_sweeps(n);
  SIMT_SHARED value_pair<T>* pairs = memory.pairs + (valid ? lane : 0);
  const qr_start<T> start = start_iteration<kMatrices>(valid ? n : 0, pairs);
  small_entries small = start.small;
  const unsigned all = valid ? rows_mask(n) : 0u;
  SIMT_SHARED T* rotations = memory.rotations + lane * L::kMatrix;
  sweep_patience patience;
  SIMT_NO_UNROLL
  for (int turn = 0; turn <= most; ++turn) {
    const int parity = turn & 1;
    const unsigned open = ~small.e & all;
    const bool more = warp.any(open != 0u) && turn < most;
    int first = 0, last = 0;
    if (more && open != 0u) {
      first = simt::lowest_bit(open);
      last = first + simt::lowest_bit(small.e >> first);
      SIMT_SHARED rotation_pair<T>* left =
          reinterpret_cast<SIMT_SHARED rotation_pair<T>*>(rotations + parity * L::kTurn);
      SIMT_SHARED rotation_pair<T>* right = left + L::kSide / 2;
      steps::fill_parts(left, first, last);
      steps::fill_parts(right, first, last);
      kept_turns<T> kept = {left, right};
      small.d |= patience.singular_from(open, first);
      small = qr_sweep_pairs<kMatrices>(pairs, kept, first, last, start.tol, small);
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

// Which real row of U or of V a thread has.
struct factor_place {
  bool exists;
  int side;     // 0: of U, 1: of V
  int row;      // with its parts
  int rows;     // of the factor, without
  int columns;  // of the factor
  bool of_u;    // whether it is, or its transpose, the output u
  bool transposed;
  bool turned;  // the imaginary part of V, which V^H has with the other sign
};
// `index` counts the rows of the matrix: kN of U, then of V, each with all its parts.
template <class S, int kN>
SIMT_FN factor_place factor_place_of(const arguments& args, bool valid, int index) {
  constexpr int kReals = simt::traits<S>::kComplex ? 2 : 1;
  const bool wide = args.m < args.n;
  const int m = wide ? args.n : args.m, n = wide ? args.m : args.n;
  factor_place x;
  x.side = index < kN * kReals ? 0 : 1;
  x.row = index - x.side * kN * kReals;
  x.rows = x.side == 0 ? m : n;
  x.columns = x.side == 0 && args.full != 0 ? m : n;
  x.exists = valid && x.row / kReals < x.rows;
  x.of_u = wide == (x.side == 1);
  x.transposed = wide == (x.side == 0);
  x.turned = kReals == 2 && x.side == 1 && x.row % 2 != 0;
  return x;
}
// The row between the kernels, and where it belongs.
template <class S>
SIMT_FN steps::real_row<simt::real_of<S>> raw_row(const arguments& args, const factor_place& x,
                                                  simt::int64 matrix) {
  const steps::view view = steps::select_view(x.of_u, args.u, args.vh);
  const raw_factor raw = raw_factor_of(view, x.transposed, x.rows);
  return steps::real_row_of<S>(view, matrix, raw.row, raw.column, x.row);
}
template <class S>
SIMT_FN steps::real_row<simt::real_of<S>> final_row(const arguments& args, const factor_place& x,
                                                    simt::int64 matrix) {
  const steps::view view = steps::select_view(x.of_u, args.u, args.vh);
  return steps::real_row_of<S>(view, matrix, x.transposed ? view.column : view.row,
                               x.transposed ? view.row : view.column, x.row);
}

// The values of a matrix to where they belong: a taker for each, with its rank for the others.
template <int kStride, class T>
SIMT_FN void store_value(const arguments& args, simt::int64 matrix, int n, int j,
                         SIMT_SHARED const value_pair<T>* pairs, SIMT_SHARED int* ranks, int info,
                         T exponent) {
  const int rank = steps::rank_among<true, kStride>(n, pairs, j);
  const T value = pairs[j * kStride].x[0];
  ranks[j] = value < simt::constant<T>(0.0f) ? ~rank : rank;
  const simt::pow2_scale<T> scale = simt::make_pow2(info != 0 ? simt::constant<T>(0.0f) : exponent);
  SIMT_GLOBAL T* s = reinterpret_cast<SIMT_GLOBAL T*>(args.s.data) + matrix * args.s.batch;
  s[rank * args.s.row] =
      info != 0 ? simt::not_a_number<T>() : simt::scale_pow2(simt::abs(value), scale);
}

// kMatrices of at most kN rows and columns a block. kTall: the second problem of a tall A.
template <class S, int kN, int kMatrices, bool kTall, int kThreads, int kBlocks>
SIMT_KERNEL(kThreads, kBlocks)
kernel_implicit_qr(arguments given) {
  using T = simt::real_of<S>;
  using L = steps::turns_layout<T, kN, kMatrices, 2>;
  constexpr int kRows = 2 * kN * (simt::traits<S>::kComplex ? 2 : 1);
  static_assert(kThreads == steps::kMakers + kMatrices * kRows, "a thread to each row");
  SIMT_SHARED_ARRAY(T, all, L::kTotal);
  SIMT_SHARED_ARRAY(int, notes, L::kNotes);
  const steps::turns_memory<T> memory = steps::turns_memory_of<L, kMatrices>(all, notes);
  const arguments args = kTall ? second_problem<S>(given) : given;
  const int n = args.m < args.n ? args.m : args.n;
  const int thread = simt::thread_index();
  const simt::int64 step = static_cast<simt::int64>(simt::block_count()) * kMatrices;
  simt::int64 from = static_cast<simt::int64>(simt::block_index()) * kMatrices;
  if (thread < steps::kMakers) {
    SIMT_NO_UNROLL
    for (; from < args.batch; from += step) {
      const bool valid = thread < kMatrices && from + thread < args.batch;
      const T exponent =
          valid ? *bidiagonal_of<T>(args, n, from + thread).exponent : simt::constant<T>(0.0f);
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
      const bool has_value = matrix < args.batch && row_index < n;
      const bidiagonal<T> t = bidiagonal_of<T>(args, n, matrix < args.batch ? matrix : 0);
      if (has_value) {
        value_pair<T> x;
        x.x[0] = t.d[row_index];
        x.x[1] = t.e[row_index];
        memory.pairs[row_index * kMatrices + index] = x;
      }
      const factor_place x = factor_place_of<S, kN>(args, matrix < args.batch, row_index);
      T row[kN];
      if (x.exists) {
        steps::load_real_row(raw_row<S>(args, x, matrix), x.columns, row);
      } else {
        SIMT_UNROLL
        for (int j = 0; j < kN; ++j) row[j] = simt::constant<T>(0.0f);
      }
      simt::meet_block();
      steps::take_turns<L, false, kMatrices>(memory, most_sweeps(n), index, x.side, row);
      const int info = matrix < args.batch ? memory.info[index] : 0;
      SIMT_SHARED int* ranks = memory.ranks + index * kN;
      if (has_value) {
        store_value<kMatrices>(args, matrix, n, row_index, pairs, ranks, info, *t.exponent);
        if (args.info != nullptr && row_index == 0) args.info[matrix] = info;
      }
      simt::meet_block();
      if (!x.exists) continue;
      const steps::real_row<T> to = final_row<S>(args, x, matrix);
      SIMT_UNROLL
      for (int j = 0; j < kN; ++j) {
        if (j >= x.columns) continue;
        const int rank = j < n ? ranks[j] : j;
        const T value = (x.side == 1 && rank < 0) != x.turned ? -row[j] : row[j];
        to.data[(rank < 0 ? ~rank : rank) * to.column] =
            info != 0 ? simt::not_a_number<T>() : value;
      }
    }
  }
}

}  // namespace svd
