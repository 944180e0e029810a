// SPDX-License-Identifier: Apache-2.0
// The second kernel of svd: implicit QR on the bidiagonal matrix, applied to U and V. A block has
// kMatrices matrices; its first warp makes the rotations, a lane to a matrix, and a thread to each real
// row of U and V applies them (steps/row_rotations_block.simt.h). Test, shift and rotations are those
// of bidiagonal_qr_thread.simt.h; the time does not depend on the data. Of values alone: a matrix to
// each lane of a warp.

namespace svd {

template <class T>
using value_pair = steps::value_pair<T>;
template <class T>
using rotation_pair = steps::rotation_pair<T>;

// Which off-diagonal entries are negligible (bit i: e_i), and which values.
struct small_entries {
  unsigned e, d;
};

// What the last step of a sweep and the next one share.
template <class T>
struct qr_step {
  T f, g, d, e;  // the column to be turned, and d_i, e_i as they are now
};

// One step: (f, g) is turned to (r, 0) from the right, what that makes of column i from the left. All
// that the left rotation needs is known up to the factor y, so that both reciprocal roots are found
// at once. r gets the new e_(i-1), `value` the new d_i.
template <class T>
struct qr_turn {
  T c_left, s_left, c_right, s_right, r, value;
};
template <class T>
SIMT_FN qr_turn<T> turn_step(SIMT_PRIVATE qr_step<T>& step, T next, T e_next) {
  const T zero = simt::constant<T>(0.0f), one = simt::constant<T>(1.0f);
  T h = simt::fma(step.f, step.f, step.g * step.g);
  const bool right_vanishes = !(h >= negligible_square<T>());
  const T kept = step.f;
  h = right_vanishes ? one : h;
  const T f = right_vanishes ? one : step.f;
  const T g = right_vanishes ? zero : step.g;
  const T y = simt::rsqrt(h);
  qr_turn<T> turn;
  turn.r = right_vanishes ? kept : h * y;
  const T p = simt::fma(g, step.e, f * step.d);
  const T x = simt::fnma(g, step.d, f * step.e);
  const T q = g * next;
  const T w = f * next;
  T k = simt::fma(p, p, q * q);
  const bool left_vanishes = !(k >= simt::tiny<T>());
  k = left_vanishes ? one : k;
  const T z = simt::rsqrt(k);
  const T c = left_vanishes ? one : p * z;
  const T s = left_vanishes ? zero : q * z;
  turn.value = (left_vanishes ? p : k * z) * y;
  const T yz = y * z;
  const T e_turned = simt::fma(q, w, p * x);
  const T d_turned = simt::fnma(q, x, p * w);
  turn.c_right = f * y;
  turn.s_right = g * y;
  turn.c_left = c;
  turn.s_left = s;
  step.f = left_vanishes ? x * y : e_turned * yz;
  step.d = left_vanishes ? w * y : d_turned * yz;
  step.g = s * e_next;
  step.e = c * e_next;
  return turn;
}

// The first rotation of a sweep over rows first .. last.
template <int kStride, class T>
SIMT_FN qr_step<T> start_sweep(SIMT_SHARED const value_pair<T>* pairs, int first, int last,
                               bool singular) {
  const value_pair<T> head = pairs[first * kStride], above = pairs[(last - 1) * kStride];
  block<T> b;
  b.first = b.last = simt::constant<T>(0.0f);
  b.d_first = head.x[0];
  b.e_first = head.x[1];
  b.d_above = above.x[0];
  b.e_last = above.x[1];
  b.d_last = pairs[last * kStride].x[0];
  b.singular = singular;
  b.busy = true;
  return {first_rotation(b), head.x[1], head.x[0], head.x[1]};
}

// One sweep over rows first .. last of the lane's matrix; with kKept its rotations for columns i and
// i + 1 of U and V go to left and right.
template <bool kKept, int kStride, class T>
SIMT_FN small_entries qr_sweep_pairs(SIMT_SHARED value_pair<T>* pairs,
                                     SIMT_SHARED rotation_pair<T>* left,
                                     SIMT_SHARED rotation_pair<T>* right, int first, int last,
                                     T tol, small_entries small) {
  const unsigned rows = (2u << (last - first)) - 1u;  // of the block; 2 << 31 wraps to 0
  qr_step<T> step = start_sweep<kStride>(pairs, first, last, (small.d >> first & rows) != 0u);
  small.d &= ~(rows << first);
  small.e &= ~((rows >> 1) << first);
  const T e_last = pairs[last * kStride].x[1];  // of the next block, if there is one
  value_pair<T> next = pairs[(first + 1) * kStride];
  value_pair<T> done;
  done.x[0] = done.x[1] = simt::constant<T>(0.0f);
  SIMT_NO_UNROLL
  for (int i = first; i < last; ++i) {
    const value_pair<T> after = pairs[(i + 2 <= last ? i + 2 : last) * kStride];
    const qr_turn<T> turn = turn_step(step, next.x[0], next.x[1]);
    next = after;
    if (i > first) {
      done.x[1] = turn.r;
      pairs[(i - 1) * kStride] = done;
      if (simt::abs(turn.r) <= tol) small.e |= 1u << (i - 1);
    }
    done.x[0] = turn.value;
    if (simt::abs(turn.value) <= tol) small.d |= 1u << i;
    if (kKept) {
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
  }
  done.x[1] = step.f;
  pairs[(last - 1) * kStride] = done;
  if (simt::abs(step.f) <= tol) small.e |= 1u << (last - 1);
  done.x[0] = step.d;
  done.x[1] = e_last;
  pairs[last * kStride] = done;
  if (simt::abs(step.d) <= tol) small.d |= 1u << last;
  return small;
}

// What the iteration starts from.
template <class T>
struct qr_start {
  T tol;
  small_entries small;
};
template <int kStride, class T>
SIMT_FN qr_start<T> start_iteration(int n, SIMT_SHARED const value_pair<T>* pairs) {
  T norm = simt::constant<T>(0.0f);
  for (int i = 0; i < n; ++i) {
    const value_pair<T> x = pairs[i * kStride];
    norm = simt::max(norm, simt::abs(x.x[0]) + simt::abs(x.x[1]));
  }
  qr_start<T> start;
  start.tol = norm * simt::constant<T>(2.0f) * simt::eps<T>();
  start.small.d = start.small.e = 0u;
  for (int i = 0; i < n; ++i) {
    const value_pair<T> x = pairs[i * kStride];
    if (simt::abs(x.x[0]) <= start.tol) start.small.d |= 1u << i;
    if (simt::abs(x.x[1]) <= start.tol) start.small.e |= 1u << i;  // e_(n-1) = 0 always
  }
  return start;
}
// Bits of n rows.
SIMT_FN unsigned rows_mask(int n) { return n == 32 ? 0xffffffffu : (1u << n) - 1u; }
SIMT_FN int most_sweeps(int n) { return 30 * n; }

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
      small = qr_sweep_pairs<true, kMatrices>(pairs, left, right, first, last, start.tol, small);
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

// Of values alone: a matrix to a lane, a warp a block.
template <class S, int kN, bool kTall>
SIMT_KERNEL(32)
kernel_values(arguments given) {
  using T = simt::real_of<S>;
  SIMT_SHARED_ARRAY(T, all, 2 * kN * 32);
  const simt::warp_group<32> warp;
  const arguments args = kTall ? second_problem<S>(given) : given;
  const int n = args.m < args.n ? args.m : args.n, lane = warp.lane();
  SIMT_SHARED value_pair<T>* pairs = reinterpret_cast<SIMT_SHARED value_pair<T>*>(all) + lane;
  SIMT_SHARED rotation_pair<T>* const none = nullptr;
  for (simt::int64 first = static_cast<simt::int64>(simt::block_index()) * 32; first < args.batch;
       first += static_cast<simt::int64>(simt::block_count()) * 32) {
    // a lane past the last matrix repeats it and stores nothing
    const bool valid = first + lane < args.batch;
    const simt::int64 matrix = valid ? first + lane : args.batch - 1;
    const bidiagonal<T> t = bidiagonal_of<T>(args, n, matrix);
    steps::load_pairs<32>(t.d, t.e, n, pairs);
    const T exponent = *t.exponent;
    const qr_start<T> start = start_iteration<32>(n, pairs);
    small_entries small = start.small;
    const unsigned all_rows = rows_mask(n);
    SIMT_NO_UNROLL
    for (int sweep = 0; sweep < most_sweeps(n); ++sweep) {
      const unsigned open = ~small.e & all_rows;
      if (!warp.any(open != 0u)) break;
      if (open != 0u) {
        const int from = simt::lowest_bit(open), to = from + simt::lowest_bit(small.e >> from);
        small = qr_sweep_pairs<false, 32>(pairs, none, none, from, to, start.tol, small);
      }
    }
    const bool bad = !simt::is_finite(exponent);
    const int info = steps::info_of(bad, (~small.e & all_rows) == 0u);
    const simt::pow2_scale<T> scale =
        simt::make_pow2(info != 0 ? simt::constant<T>(0.0f) : exponent);
    SIMT_GLOBAL T* s = reinterpret_cast<SIMT_GLOBAL T*>(args.s.data) + matrix * args.s.batch;
    for (int j = 0; j < n && valid; ++j) {
      const T value = simt::scale_pow2(simt::abs(pairs[j * 32].x[0]), scale);
      s[steps::rank_among<true, 32>(n, pairs, j) * args.s.row] =
          info != 0 ? simt::not_a_number<T>() : value;
    }
    if (args.info != nullptr && valid) args.info[matrix] = info;
  }
}

}  // namespace svd
