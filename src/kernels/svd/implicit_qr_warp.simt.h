// SPDX-License-Identifier: Apache-2.0
// The second kernel of svd to order 16: implicit QR on the bidiagonal matrix, applied to U and V. kLanes
// lanes a matrix, 32 / kLanes matrices a warp, a warp a block; each lane owns rows of U and V in shared
// memory and copies of its own of d and e (steps/lane_rows_warp.simt.h), so that nothing waits for
// another warp; what that holds of larger matrices leaves too few warps (implicit_qr_block.simt.h).
// Of values alone, to order 32: a matrix to each lane.

namespace svd {

// A column of a lane's rows that a rotation leaves behind, and the next one to be turned.
template <int kRows, class T>
SIMT_FN void turn_rows(SIMT_SHARED T* column, int lane, SIMT_PRIVATE T (&carried)[kRows], T c,
                       T s) {
  T next[kRows], done[kRows];
  steps::read_rows(column + kRows * 32, lane, next);
  SIMT_UNROLL
  for (int k = 0; k < kRows; ++k) {
    done[k] = simt::fma(s, next[k], c * carried[k]);
    carried[k] = simt::fnma(s, carried[k], c * next[k]);
  }
  steps::write_rows(column, lane, done);
}

// A sweep turns the rows that the lane holds; the column that comes next stays in registers.
template <class T, int kRows>
struct held_rows {
  SIMT_SHARED T* u;
  SIMT_SHARED T* v;
  int lane;
  T carried_u[kRows], carried_v[kRows];

  SIMT_FN void start(int first) {
    steps::read_rows(u + first * kRows * 32, lane, carried_u);
    steps::read_rows(v + first * kRows * 32, lane, carried_v);
  }
  SIMT_FN void turn(int i, const qr_turn<T>& turn) {
    const steps::rotation<T> right = steps::normalised(turn.c_right, turn.s_right);
    const steps::rotation<T> left = steps::normalised(turn.c_left, turn.s_left);
    turn_rows<kRows>(v + i * kRows * 32, lane, carried_v, right.c, right.s);
    turn_rows<kRows>(u + i * kRows * 32, lane, carried_u, left.c, left.s);
  }
  SIMT_FN void finish(int last) {
    steps::write_rows(u + last * kRows * 32, lane, carried_u);
    steps::write_rows(v + last * kRows * 32, lane, carried_v);
  }
};

// True where it converged. All lanes of the warp start a sweep together; how long it is, and where, is
// the same for the lanes of a matrix.
template <class T, class F>
SIMT_FN bool qr_iteration(int n, SIMT_SHARED value_pair<T>* pairs, SIMT_PRIVATE F& factors) {
  const simt::warp_group<32> warp;
  const qr_start<T> start = start_iteration<32>(n, pairs);
  small_entries small = start.small;
  const unsigned all = rows_mask(n);
  sweep_patience patience;
  SIMT_NO_UNROLL
  for (int sweep = 0; sweep < most_sweeps(n); ++sweep) {
    const unsigned open = ~small.e & all;
    if (!warp.any(open != 0u)) break;
    if (open != 0u) {
      const int first = simt::lowest_bit(open), last = first + simt::lowest_bit(small.e >> first);
      small.d |= patience.singular_from(open, first);
      small = qr_sweep_pairs<32>(pairs, factors, first, last, start.tol, small);
    }
  }
  return (~small.e & all) == 0u;
}

// A factor between the kernels, and where it belongs.
template <class S, int kRows>
SIMT_FN steps::factor_rows<S> raw_rows(const steps::view& x, simt::int64 matrix, bool transposed,
                                       int rows) {
  const raw_factor raw = raw_factor_of(x, transposed, rows);
  return steps::make_factor_rows<S, kRows>(x, matrix, raw.row, raw.column, rows, raw.packed, false);
}
template <class S, int kRows>
SIMT_FN steps::factor_rows<S> final_rows(const steps::view& x, simt::int64 matrix, bool transposed,
                                         int rows, bool conjugate) {
  const bool packed = x.layout == (transposed ? steps::kPackedRows : steps::kPackedColumns);
  return steps::make_factor_rows<S, kRows>(x, matrix, transposed ? x.column : x.row,
                                           transposed ? x.row : x.column, rows, packed, conjugate);
}

// Column j of a lane's rows to where it belongs, its sign turned or all of it NaN.
template <int kRows, class S>
SIMT_FN void store_factor_column(SIMT_SHARED const simt::real_of<S>* column, int lane, int row,
                                 const steps::factor_rows<S>& to, int rank, simt::real_of<S> sign,
                                 bool bad) {
  using T = simt::real_of<S>;
  T x[kRows];
  steps::read_rows(column, lane, x);
  SIMT_UNROLL
  for (int k = 0; k < kRows; ++k) x[k] = bad ? simt::not_a_number<T>() : sign * x[k];
  steps::write_factor(to, rank, row, x);
}

// kLanes lanes to a matrix of at most kN rows and columns; a warp a block. kTall: the second problem of a
// tall A.
template <class S, int kN, int kLanes, bool kTall>
SIMT_KERNEL(32)
kernel_implicit_qr_warp(arguments given) {
  using T = simt::real_of<S>;
  constexpr int kParts = simt::traits<S>::kComplex ? 2 : 1;
  constexpr int kRows = kN * kParts / kLanes, kMatrices = 32 / kLanes;
  constexpr int kPairs = 2 * kN * 32, kFactor = kN * kRows * 32;
  SIMT_SHARED_ARRAY(T, all, kPairs + 2 * kFactor);
  const simt::warp_group<32> warp;
  const simt::warp_group<kLanes> group;
  const arguments args = kTall ? second_problem<S>(given) : given;
  const bool wide = args.m < args.n;
  const int m = wide ? args.n : args.m, n = wide ? args.m : args.n;
  const int columns = args.full != 0 ? m : n;
  const int lane = warp.lane(), own = group.lane(), row = own * kRows;
  const steps::view view_u = steps::select_view(wide, args.vh, args.u);
  const steps::view view_v = steps::select_view(wide, args.u, args.vh);
  SIMT_SHARED value_pair<T>* pairs = reinterpret_cast<SIMT_SHARED value_pair<T>*>(all) + lane;
  SIMT_SHARED T* u = all + kPairs;
  SIMT_SHARED T* v = u + kFactor;
  for (simt::int64 first = static_cast<simt::int64>(simt::block_index()) * kMatrices;
       first < args.batch; first += static_cast<simt::int64>(simt::block_count()) * kMatrices) {
    // a group past the last matrix repeats it and stores nothing
    const simt::int64 wanted = first + lane / kLanes;
    const bool valid = wanted < args.batch;
    const simt::int64 matrix = valid ? wanted : args.batch - 1;
    const bidiagonal<T> t = bidiagonal_of<T>(args, n, matrix);
    const steps::factor_rows<S> raw_u = raw_rows<S, kRows>(view_u, matrix, wide, m);
    const steps::factor_rows<S> raw_v = raw_rows<S, kRows>(view_v, matrix, !wide, n);
    for (int i = 0; i < columns; ++i) {
      T x[kRows];
      if (i < n) {
        value_pair<T> pair;
        pair.x[0] = t.d[i];
        pair.x[1] = t.e[i];
        pairs[i * 32] = pair;
      }
      steps::read_factor(raw_u, i, row, x);
      steps::write_rows(u + i * kRows * 32, lane, x);
      if (i < n) {
        steps::read_factor(raw_v, i, row, x);
        steps::write_rows(v + i * kRows * 32, lane, x);
      }
    }
    const T exponent = *t.exponent;
    const bool bad = !simt::is_finite(exponent);
    held_rows<T, kRows> held;
    held.u = u;
    held.v = v;
    held.lane = lane;
    const bool converged = qr_iteration(n, pairs, held);
    const int info = steps::info_of(bad, converged);
    const simt::pow2_scale<T> scale = simt::make_pow2(bad ? simt::constant<T>(0.0f) : exponent);
    // All lanes have read the factors, a group that repeats the last matrix too.
    warp.sync();
    SIMT_GLOBAL T* s = reinterpret_cast<SIMT_GLOBAL T*>(args.s.data) + matrix * args.s.batch;
    const steps::factor_rows<S> to_u = final_rows<S, kRows>(view_u, matrix, wide, m, false);
    const steps::factor_rows<S> to_v = final_rows<S, kRows>(view_v, matrix, !wide, n, true);
    for (int j = 0; j < columns; ++j) {
      const int rank = j < n ? steps::rank_among<true, 32>(n, pairs, j) : j;
      const T value = j < n ? pairs[j * 32].x[0] : simt::constant<T>(0.0f);
      if (j < n && valid && j % kLanes == own) {
        const T scaled = simt::scale_pow2(simt::abs(value), scale);
        s[rank * args.s.row] = info != 0 ? simt::not_a_number<T>() : scaled;
      }
      if (valid) {
        const T one = simt::constant<T>(1.0f);
        store_factor_column<kRows>(u + j * kRows * 32, lane, row, to_u, rank, one, info != 0);
        if (j < n) {
          store_factor_column<kRows>(v + j * kRows * 32, lane, row, to_v, rank,
                                     simt::copysign(one, value), info != 0);
        }
      }
    }
    if (args.info != nullptr && valid && own == 0) args.info[matrix] = info;
    warp.sync();
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
  for (simt::int64 first = static_cast<simt::int64>(simt::block_index()) * 32; first < args.batch;
       first += static_cast<simt::int64>(simt::block_count()) * 32) {
    // a lane past the last matrix repeats it and stores nothing
    const bool valid = first + lane < args.batch;
    const simt::int64 matrix = valid ? first + lane : args.batch - 1;
    const bidiagonal<T> t = bidiagonal_of<T>(args, n, matrix);
    steps::load_pairs<32>(t.d, t.e, n, pairs);
    const T exponent = *t.exponent;
    no_factors<T> none;
    const bool converged = qr_iteration(n, pairs, none);
    const bool bad = !simt::is_finite(exponent);
    const int info = steps::info_of(bad, converged);
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
