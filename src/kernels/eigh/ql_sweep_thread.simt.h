// SPDX-License-Identifier: Apache-2.0
// Sweeps of implicit QL on a tridiagonal matrix of a lane's own, d and e as pairs in shared memory: what
// both iterations of eigh share. Test and rotations are those of tridiagonal_ql_thread.simt.h.

namespace eigh {

template <class T>
using value_pair = steps::value_pair<T>;

// Far below u^2 and above the root of the smallest number: added to g, it makes a rotation of two zeros
// the identity without a branch (a matrix's largest entry lies in [1, 2)).
template <class T>
SIMT_FN T nudge() {
  const T a = simt::constant<T>(8.6736173798840355e-19f);  // 2^-60
  return simt::is_double<T>() ? a * a * a * a * a * a * a : a;
}

// Where the rotations of a sweep go: nowhere, of values alone. What else takes them has the same members:
// columns i + 1 and i are turned by c and s, i downwards from last - 1 to first.
template <class T>
struct no_factor {
  SIMT_FN void start(int /*last*/) {}
  SIMT_FN void turn(int /*i*/, int /*first*/, T /*c*/, T /*s*/) {}
  SIMT_FN void finish(int /*first*/) {}
};

// One sweep of QL over rows first .. last of the lane's matrix. What the next rotation needs is read
// before the stores of this one. small: bit i where e_i is negligible.
template <int kStride, class T, class F>
SIMT_FN unsigned ql_sweep_pairs(SIMT_SHARED value_pair<T>* pairs, SIMT_PRIVATE F& factor, int first,
                                int last, T tol, unsigned small) {
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
  factor.start(last);
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
    factor.turn(i, first, c, s);
  }
  value_pair<T> done;
  done.x[0] = d_above - p;
  done.x[1] = g;
  pairs[first * kStride] = done;
  if (simt::abs(g) <= tol) small |= 1u << first;
  factor.finish(first);
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

}  // namespace eigh
