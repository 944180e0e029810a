// SPDX-License-Identifier: Apache-2.0
// The second kernel of svd with lanes of a warp to a matrix: implicit QR on the bidiagonal matrix,
// applied to U and V. kLanes lanes a matrix, 32 / kLanes matrices a warp, a warp a block; each lane
// owns rows of U and V and copies of its own of d and e (steps/lane_rows_warp.simt.h). Test, shift and
// rotations are those of bidiagonal_qr_thread.simt.h; its time does not depend on the data (4096 x 32,
// float32, on an H200: 320 us with the reduction, one-sided Jacobi 407 to 626).

namespace svd {

template <class T>
using value_pair = steps::value_pair<T>;

// The shared memory of a warp, in T.
template <class T, int kN, int kRows, bool kVectors>
struct qr_layout {
  static constexpr int kPairs = 2 * kN * 32;
  static constexpr int kFactor = kVectors ? kN * kRows * 32 : 0;
  static constexpr int kTotal = kPairs + 2 * kFactor;
};

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
  const steps::rotation<T> right = steps::normalised(f * y, g * y), left = steps::normalised(c, s);
  turn.c_right = right.c;
  turn.s_right = right.s;
  turn.c_left = left.c;
  turn.s_left = left.s;
  step.f = left_vanishes ? x * y : e_turned * yz;
  step.d = left_vanishes ? w * y : d_turned * yz;
  step.g = s * e_next;
  step.e = c * e_next;
  return turn;
}

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

// The first rotation of a sweep over rows first .. last.
template <class T>
SIMT_FN qr_step<T> start_sweep(SIMT_SHARED const value_pair<T>* pairs, int first, int last,
                               bool singular) {
  const value_pair<T> head = pairs[first * 32], above = pairs[(last - 1) * 32];
  block<T> b;
  b.first = b.last = simt::constant<T>(0.0f);
  b.d_first = head.x[0];
  b.e_first = head.x[1];
  b.d_above = above.x[0];
  b.e_last = above.x[1];
  b.d_last = pairs[last * 32].x[0];
  b.singular = singular;
  b.busy = true;
  return {first_rotation(b), head.x[1], head.x[0], head.x[1]};
}

template <bool kVectors, int kRows, class T>
SIMT_FN small_entries qr_sweep_rows(SIMT_SHARED value_pair<T>* pairs, SIMT_SHARED T* u,
                                    SIMT_SHARED T* v, int lane, int first, int last, T tol,
                                    small_entries small) {
  const unsigned rows = (2u << (last - first)) - 1u;  // of the block; 2 << 31 wraps to 0
  qr_step<T> step = start_sweep(pairs, first, last, (small.d >> first & rows) != 0u);
  T carried_u[kRows], carried_v[kRows];
  if (kVectors) {
    steps::read_rows(u + first * kRows * 32, lane, carried_u);
    steps::read_rows(v + first * kRows * 32, lane, carried_v);
  }
  small.d &= ~(rows << first);
  small.e &= ~((rows >> 1) << first);
  const T e_last = pairs[last * 32].x[1];  // of the next block, if there is one
  value_pair<T> next = pairs[(first + 1) * 32];
  value_pair<T> done;
  done.x[0] = done.x[1] = simt::constant<T>(0.0f);
  SIMT_NO_UNROLL
  for (int i = first; i < last; ++i) {
    const value_pair<T> after = pairs[(i + 2 <= last ? i + 2 : last) * 32];
    const qr_turn<T> turn = turn_step(step, next.x[0], next.x[1]);
    next = after;
    if (i > first) {
      done.x[1] = turn.r;
      pairs[(i - 1) * 32] = done;
      if (simt::abs(turn.r) <= tol) small.e |= 1u << (i - 1);
    }
    done.x[0] = turn.value;
    if (simt::abs(turn.value) <= tol) small.d |= 1u << i;
    if (kVectors) {
      turn_rows<kRows>(v + i * kRows * 32, lane, carried_v, turn.c_right, turn.s_right);
      turn_rows<kRows>(u + i * kRows * 32, lane, carried_u, turn.c_left, turn.s_left);
    }
  }
  done.x[1] = step.f;
  pairs[(last - 1) * 32] = done;
  if (simt::abs(step.f) <= tol) small.e |= 1u << (last - 1);
  done.x[0] = step.d;
  done.x[1] = e_last;
  pairs[last * 32] = done;
  if (simt::abs(step.d) <= tol) small.d |= 1u << last;
  if (kVectors) {
    steps::write_rows(u + last * kRows * 32, lane, carried_u);
    steps::write_rows(v + last * kRows * 32, lane, carried_v);
  }
  return small;
}

// True where it converged. All lanes of the warp start a sweep together; how long it is, and where, is
// the same for the lanes of a matrix.
template <bool kVectors, int kRows, class T>
SIMT_FN bool qr_iteration(int n, SIMT_SHARED value_pair<T>* pairs, SIMT_SHARED T* u,
                          SIMT_SHARED T* v, int lane) {
  const simt::warp_group<32> warp;
  T norm = simt::constant<T>(0.0f);
  for (int i = 0; i < n; ++i) {
    const value_pair<T> x = pairs[i * 32];
    norm = simt::max(norm, simt::abs(x.x[0]) + simt::abs(x.x[1]));
  }
  const T tol = norm * simt::constant<T>(2.0f) * simt::eps<T>();
  small_entries small = {0u, 0u};
  for (int i = 0; i < n; ++i) {
    if (simt::abs(pairs[i * 32].x[0]) <= tol) small.d |= 1u << i;
    if (simt::abs(pairs[i * 32].x[1]) <= tol) small.e |= 1u << i;  // e_(n-1) = 0 always
  }
  const unsigned all = n == 32 ? 0xffffffffu : (1u << n) - 1u;
  SIMT_NO_UNROLL
  for (int sweep = 0; sweep < 30 * n; ++sweep) {
    const unsigned open = ~small.e & all;
    if (!warp.any(open != 0u)) break;
    if (open != 0u) {
      const int first = simt::lowest_bit(open);
      const int last = first + simt::lowest_bit(small.e >> first);
      small = qr_sweep_rows<kVectors, kRows>(pairs, u, v, lane, first, last, tol, small);
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

// kLanes lanes to a matrix of at most kN rows and columns; a warp a block.
template <class S, int kN, int kLanes, bool kVectors>
SIMT_KERNEL(32)
kernel_implicit_qr(arguments args) {
  using T = simt::real_of<S>;
  constexpr int kParts = simt::traits<S>::kComplex ? 2 : 1;
  constexpr int kRows = kVectors ? kN * kParts / kLanes : 1, kMatrices = 32 / kLanes;
  using L = qr_layout<T, kN, kRows, kVectors>;
  SIMT_SHARED_ARRAY(T, all, L::kTotal);
  const simt::warp_group<32> warp;
  const simt::warp_group<kLanes> group;
  const bool wide = args.m < args.n;
  const int m = wide ? args.n : args.m, n = wide ? args.m : args.n;
  const int columns = kVectors && args.full != 0 ? m : n;
  const int lane = warp.lane(), own = group.lane(), row = own * kRows;
  const steps::view& view_u = wide ? args.vh : args.u;
  const steps::view& view_v = wide ? args.u : args.vh;
  SIMT_SHARED value_pair<T>* pairs = reinterpret_cast<SIMT_SHARED value_pair<T>*>(all) + lane;
  SIMT_SHARED T* u = all + L::kPairs;
  SIMT_SHARED T* v = u + L::kFactor;
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
      if (kVectors) {
        steps::read_factor(raw_u, i, row, x);
        steps::write_rows(u + i * kRows * 32, lane, x);
      }
      if (kVectors && i < n) {
        steps::read_factor(raw_v, i, row, x);
        steps::write_rows(v + i * kRows * 32, lane, x);
      }
    }
    const T exponent = *t.exponent;
    const bool bad = !simt::is_finite(exponent);
    const bool converged = qr_iteration<kVectors, kRows>(n, pairs, u, v, lane);
    const int info = steps::info_of(bad, converged);
    const simt::pow2_scale<T> scale = simt::make_pow2(bad ? simt::constant<T>(0.0f) : exponent);
    // All lanes have read the factors, a group that repeats the last matrix too.
    warp.sync();
    SIMT_GLOBAL T* s = reinterpret_cast<SIMT_GLOBAL T*>(args.s.data) + matrix * args.s.batch;
    const steps::factor_rows<S> to_u = final_rows<S, kRows>(view_u, matrix, wide, m, false);
    const steps::factor_rows<S> to_v = final_rows<S, kRows>(view_v, matrix, !wide, n, true);
    for (int j = 0; j < columns; ++j) {
      const int rank = j < n ? steps::rank_among<true>(n, pairs, j) : j;
      const T value = j < n ? pairs[j * 32].x[0] : simt::constant<T>(0.0f);
      if (j < n && valid && j % kLanes == own) {
        const T scaled = simt::scale_pow2(simt::abs(value), scale);
        s[rank * args.s.row] = info != 0 ? simt::not_a_number<T>() : scaled;
      }
      if (kVectors && valid) {
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

}  // namespace svd
