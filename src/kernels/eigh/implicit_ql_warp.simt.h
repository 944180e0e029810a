// SPDX-License-Identifier: Apache-2.0
// The second kernel of eigh: implicit QL on the tridiagonal matrix, applied to Q. A block has kMatrices
// matrices; its first warp makes the rotations, a lane to a matrix, and a thread to each real row of Q
// applies them (steps/row_rotations_block.simt.h). Test and rotations are those of
// tridiagonal_ql_thread.simt.h. Of values alone: a matrix to each lane of a warp.

namespace eigh {

template <class T>
using value_pair = steps::value_pair<T>;
template <class T>
using rotation_pair = steps::rotation_pair<T>;

// Far below u^2 and above the root of the smallest number: added to g, it makes a rotation of two zeros
// the identity without a branch (a matrix's largest entry lies in [1, 2)).
template <class T>
SIMT_FN T nudge() {
  const T a = simt::constant<T>(8.6736173798840355e-19f);  // 2^-60
  return simt::is_double<T>() ? a * a * a * a * a * a * a : a;
}

// One sweep of QL over rows first .. last of the lane's matrix. What the next rotation needs is read
// before the stores of this one. small: bit i where e_i is negligible. With kKept the rotations go to
// `kept`: of columns i and i + 1 at i, to be applied downwards.
template <bool kKept, int kStride, class T>
SIMT_FN unsigned ql_sweep_pairs(SIMT_SHARED value_pair<T>* pairs,
                                SIMT_SHARED rotation_pair<T>* kept, int first, int last, T tol,
                                unsigned small) {
  const T zero = simt::constant<T>(0.0f), one = simt::constant<T>(1.0f);
  const T two = simt::constant<T>(2.0f);
  const value_pair<T> head = pairs[first * kStride], next = pairs[(first + 1) * kStride];
  const value_pair<T> tail = pairs[last * kStride];
  value_pair<T> here = pairs[(last - 1) * kStride];
  T d_above = tail.x[0];
  // Wilkinson's shift, from the upper end of the block
  const T theta = (next.x[0] - head.x[0]) / (two * head.x[1]);
  const T root = simt::sqrt(simt::fma(theta, theta, one));
  T g = d_above - head.x[0] + head.x[1] / (theta + simt::copysign(root, theta));
  T p = zero, s = one, c = one;
  small &= ~(((1u << (last - first)) - 1u) << first);
  SIMT_NO_UNROLL
  for (int i = last - 1; i >= first; --i) {
    const value_pair<T> after = pairs[(i > first ? i - 1 : first) * kStride];
    const T f = s * here.x[1], b = c * here.x[1];
    const T base = d_above - p;
    g = g + simt::copysign(nudge<T>(), g);
    const T h = simt::fma(f, f, g * g);
    const T q = simt::fma(here.x[0] - base, f, g * (b + b));
    const T y = simt::rsqrt(h);
    c = g * y;
    s = f * y;
    const T r = h * y, turned = q * y;
    p = s * turned;
    // e_last is no entry of the block: it stays what it was
    const bool inner = i + 1 < last;
    value_pair<T> done;
    done.x[0] = base + p;
    done.x[1] = inner ? r : tail.x[1];
    pairs[(i + 1) * kStride] = done;
    if (inner && r <= tol) small |= 1u << (i + 1);
    g = simt::fma(c, turned, -b);
    d_above = here.x[0];
    here = after;
    if (kKept) {
      const steps::rotation<T> turn = steps::normalised(c, -s);
      rotation_pair<T> x;
      x.x[0] = turn.c;
      x.x[1] = turn.s;
      kept[i] = x;
    }
  }
  value_pair<T> done;
  done.x[0] = d_above - p;
  done.x[1] = g;
  pairs[first * kStride] = done;
  if (simt::abs(g) <= tol) small |= 1u << first;
  return small;
}

// What the iteration starts from.
template <class T>
struct ql_start {
  T tol;
  unsigned small;
};
template <int kStride, class T>
SIMT_FN ql_start<T> start_iteration(int n, SIMT_SHARED const value_pair<T>* pairs) {
  T norm = simt::constant<T>(0.0f), before = norm;
  for (int i = 0; i < n; ++i) {
    const value_pair<T> x = pairs[i * kStride];
    norm = simt::max(norm, simt::abs(x.x[0]) + (before + simt::abs(x.x[1])));
    before = simt::abs(x.x[1]);
  }
  ql_start<T> start = {norm * simt::constant<T>(2.0f) * simt::eps<T>(), 0u};
  // the last bit, e_(n-1) = 0, is always set
  for (int i = 0; i < n; ++i) {
    if (simt::abs(pairs[i * kStride].x[1]) <= start.tol) start.small |= 1u << i;
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
      small = ql_sweep_pairs<true, kMatrices>(pairs, kept, first, last, start.tol, small);
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

// Value j where it belongs.
template <class T>
SIMT_FN void store_value(const arguments& args, simt::int64 matrix, int rank, T value, int info,
                         const tridiagonal<T>& t) {
  const simt::pow2_scale<T> scale =
      simt::make_pow2(info != 0 ? simt::constant<T>(0.0f) : *t.exponent);
  SIMT_GLOBAL T* w = reinterpret_cast<SIMT_GLOBAL T*>(args.w.data) + matrix * args.w.batch;
  w[rank * args.w.row] =
      info != 0 ? simt::not_a_number<T>() : simt::scale_pow2(value, scale) + *t.shift;
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

// Of values alone: a matrix to a lane, a warp a block.
template <class S, int kN>
SIMT_KERNEL(32)
kernel_values(arguments args) {
  using T = simt::real_of<S>;
  SIMT_SHARED_ARRAY(T, all, 2 * kN * 32);
  const simt::warp_group<32> warp;
  const int n = args.n, lane = warp.lane();
  SIMT_SHARED value_pair<T>* pairs = reinterpret_cast<SIMT_SHARED value_pair<T>*>(all) + lane;
  SIMT_SHARED rotation_pair<T>* const none = nullptr;
  for (simt::int64 first = static_cast<simt::int64>(simt::block_index()) * 32; first < args.batch;
       first += static_cast<simt::int64>(simt::block_count()) * 32) {
    // a lane past the last matrix repeats it and stores nothing
    const bool valid = first + lane < args.batch;
    const simt::int64 matrix = valid ? first + lane : args.batch - 1;
    const tridiagonal<T> t = tridiagonal_of<T>(args, matrix);
    steps::load_pairs<32>(t.d, t.e, n, pairs);
    const ql_start<T> start = start_iteration<32>(n, pairs);
    unsigned small = start.small;
    const unsigned all_rows = rows_mask(n);
    SIMT_NO_UNROLL
    for (int sweep = 0; sweep < most_sweeps(n); ++sweep) {
      const unsigned open = ~small & all_rows;
      if (!warp.any(open != 0u)) break;
      if (open != 0u) {
        const int from = simt::lowest_bit(open), to = from + simt::lowest_bit(small >> from);
        small = ql_sweep_pairs<false, 32>(pairs, none, from, to, start.tol, small);
      }
    }
    const bool bad = !simt::is_finite(*t.exponent);
    const int info = steps::info_of(bad, (~small & all_rows) == 0u);
    for (int j = 0; j < n && valid; ++j) {
      store_value(args, matrix, steps::rank_among<false, 32>(n, pairs, j), pairs[j * 32].x[0], info,
                  t);
    }
    if (args.info != nullptr && valid) args.info[matrix] = info;
  }
}

}  // namespace eigh
