// SPDX-License-Identifier: Apache-2.0
// The second kernel of eigh with lanes of a warp to a matrix: implicit QL on the tridiagonal matrix,
// applied to Q. kLanes lanes a matrix, 32 / kLanes matrices a warp, a warp a block. Each lane owns
// kRows real rows of V and copies of its own of d and e (steps/lane_rows_warp.simt.h); few lanes repeat
// the chain of scalars (4096 x 32 on an H200: 8 lanes 107 us, 32 lanes 470 at first).
// Test and rotations are those of tridiagonal_ql_thread.simt.h.

namespace eigh {

// Rows that belong to a lane.
template <class S, int kN, int kLanes>
SIMT_FN constexpr int ql_rows() {
  return kN * (simt::traits<S>::kComplex ? 2 : 1) / kLanes;
}

// The shared memory of a warp, in T.
template <class T, int kN, int kRows, bool kVectors>
struct ql_layout {
  static constexpr int kPairs = 2 * kN * 32;
  static constexpr int kTotal = kPairs + (kVectors ? kN * kRows * 32 : 0);
};

template <class T>
using value_pair = steps::value_pair<T>;

// Far below u^2 and above the root of the smallest number: added to g, it makes a rotation of two zeros
// the identity without a branch (a matrix's largest entry lies in [1, 2)).
template <class T>
SIMT_FN T nudge() {
  const T a = simt::constant<T>(8.6736173798840355e-19f);  // 2^-60
  return simt::is_double<T>() ? a * a * a * a * a * a * a : a;
}

// One sweep of QL over rows first .. last of the lane's matrix. Column i + 1 stays in registers; what
// the next rotation needs is read before the stores of this one. small: bit i where e_i is negligible.
template <bool kVectors, int kN, int kRows, class T>
SIMT_FN unsigned ql_sweep(SIMT_SHARED value_pair<T>* pairs, SIMT_SHARED T* v, int lane, int first,
                          int last, T tol, unsigned small) {
  const T zero = simt::constant<T>(0.0f), one = simt::constant<T>(1.0f);
  const T two = simt::constant<T>(2.0f);
  const value_pair<T> head = pairs[first * 32], next = pairs[(first + 1) * 32];
  value_pair<T> here = pairs[(last - 1) * 32];
  T d_above = pairs[last * 32].x[0];
  // Wilkinson's shift, from the upper end of the block
  const T theta = (next.x[0] - head.x[0]) / (two * head.x[1]);
  const T root = simt::sqrt(simt::fma(theta, theta, one));
  T g = d_above - head.x[0] + head.x[1] / (theta + simt::copysign(root, theta));
  T p = zero, s = one, c = one;
  T carried[kRows], waiting[kRows];
  if (kVectors) {
    steps::read_rows(v + last * kRows * 32, lane, carried);
    steps::read_rows(v + (last - 1) * kRows * 32, lane, waiting);
  }
  small &= ~(((1u << (last - first)) - 1u) << first);
  T r = zero;
  SIMT_NO_UNROLL
  for (int i = last - 1; i >= first; --i) {
    const int below = i > first ? i - 1 : first;
    const value_pair<T> after = pairs[below * 32];
    T column[kRows];
    if (kVectors) {
      SIMT_UNROLL
      for (int k = 0; k < kRows; ++k) column[k] = waiting[k];
      steps::read_rows(v + below * kRows * 32, lane, waiting);
    }
    const T f = s * here.x[1], b = c * here.x[1];
    const T base = d_above - p;
    g = g + simt::copysign(nudge<T>(), g);
    const T h = simt::fma(f, f, g * g);
    const T q = simt::fma(here.x[0] - base, f, g * (b + b));
    const T y = simt::rsqrt(h);
    c = g * y;
    s = f * y;
    r = h * y;
    const T turned = q * y;
    p = s * turned;
    // e_last is no entry of the block: it stays what it was
    value_pair<T> done;
    done.x[0] = base + p;
    done.x[1] = i + 1 < last ? r : pairs[last * 32].x[1];
    pairs[(i + 1) * 32] = done;
    if (i + 1 < last && r <= tol) small |= 1u << (i + 1);
    g = simt::fma(c, turned, -b);
    d_above = here.x[0];
    here = after;
    if (kVectors) {
      T x[kRows];
      SIMT_UNROLL
      for (int k = 0; k < kRows; ++k) {
        x[k] = simt::fma(s, column[k], c * carried[k]);
        carried[k] = simt::fma(c, column[k], -(s * carried[k]));
      }
      steps::write_rows(v + (i + 1) * kRows * 32, lane, x);
    }
  }
  value_pair<T> done;
  done.x[0] = d_above - p;
  done.x[1] = g;
  pairs[first * 32] = done;
  if (simt::abs(g) <= tol) small |= 1u << first;
  if (kVectors) steps::write_rows(v + first * kRows * 32, lane, carried);
  return small;
}

// True where it converged. All lanes of the warp start a sweep together; how long it is, and where, is
// the same for the lanes of a matrix.
template <bool kVectors, int kN, int kRows, class T>
SIMT_FN bool ql_iteration(int n, SIMT_SHARED value_pair<T>* pairs, SIMT_SHARED T* v, int lane) {
  const simt::warp_group<32> warp;
  const T zero = simt::constant<T>(0.0f);
  T norm = zero, before = zero;
  for (int i = 0; i < n; ++i) {
    const value_pair<T> x = pairs[i * 32];
    norm = simt::max(norm, simt::abs(x.x[0]) + (before + simt::abs(x.x[1])));
    before = simt::abs(x.x[1]);
  }
  const T tol = norm * simt::constant<T>(2.0f) * simt::eps<T>();
  // the last bit, e_(n-1) = 0, is always set
  unsigned small = 0u;
  for (int i = 0; i < n; ++i) {
    if (simt::abs(pairs[i * 32].x[1]) <= tol) small |= 1u << i;
  }
  const unsigned all = n == 32 ? 0xffffffffu : (1u << n) - 1u;
  SIMT_NO_UNROLL
  for (int sweep = 0; sweep < 30 * n; ++sweep) {
    const unsigned open = ~small & all;
    if (!warp.any(open != 0u)) break;
    if (open != 0u) {
      const int first = simt::lowest_bit(open);
      const int last = first + simt::lowest_bit(small >> first);
      small = ql_sweep<kVectors, kN, kRows>(pairs, v, lane, first, last, tol, small);
    }
  }
  return (~small & all) == 0u;
}

// kLanes lanes to a matrix of n <= kN; a warp a block.
template <class S, int kN, int kLanes, bool kVectors>
SIMT_KERNEL(32)
kernel_ql(arguments args) {
  using T = simt::real_of<S>;
  constexpr int kRows = kVectors ? ql_rows<S, kN, kLanes>() : 1;
  constexpr int kMatrices = 32 / kLanes;
  using L = ql_layout<T, kN, kRows, kVectors>;
  SIMT_SHARED_ARRAY(T, all, L::kTotal);
  const simt::warp_group<32> warp;
  const simt::warp_group<kLanes> group;
  const int lane = warp.lane(), own = group.lane(), n = args.n, row = own * kRows;
  SIMT_SHARED value_pair<T>* pairs = reinterpret_cast<SIMT_SHARED value_pair<T>*>(all) + lane;
  SIMT_SHARED T* v = all + L::kPairs;
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
      if (kVectors) {
        T y[kRows];
        steps::read_factor(q, i, row, y);
        steps::write_rows(v + i * kRows * 32, lane, y);
      }
    }
    const T exponent = *t.exponent, shift = *t.shift;
    const bool bad = !simt::is_finite(exponent);
    const bool converged = ql_iteration<kVectors, kN, kRows>(n, pairs, v, lane);
    const int info = steps::info_of(bad, converged);
    const simt::pow2_scale<T> scale = simt::make_pow2(bad ? simt::constant<T>(0.0f) : exponent);
    // A group that repeats the last matrix has read its Q ahead of the first write to it.
    warp.sync();
    SIMT_GLOBAL T* w = reinterpret_cast<SIMT_GLOBAL T*>(args.w.data) + matrix * args.w.batch;
    for (int j = 0; j < n; ++j) {
      const int rank = steps::rank_among<false>(n, pairs, j);
      if (valid && j % kLanes == own) {
        const T value = simt::scale_pow2(pairs[j * 32].x[0], scale) + shift;
        w[rank * args.w.row] = info != 0 ? simt::not_a_number<T>() : value;
      }
      if (kVectors) {
        T y[kRows];
        steps::read_rows(v + j * kRows * 32, lane, y);
        SIMT_UNROLL
        for (int k = 0; k < kRows; ++k) y[k] = info != 0 ? simt::not_a_number<T>() : y[k];
        if (valid) steps::write_factor(q, rank, row, y);
      }
    }
    if (args.info != nullptr && valid && own == 0) args.info[matrix] = info;
    warp.sync();
  }
}

}  // namespace eigh
