// SPDX-License-Identifier: Apache-2.0
// Sweeps of implicit QR on a bidiagonal matrix of a lane's own, d and e as pairs in shared memory: what
// both iterations of svd share. Test, shift and rotations are those of bidiagonal_qr_thread.simt.h.

namespace svd {

template <class T>
using value_pair = steps::value_pair<T>;

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
  const lift<T> up = lift_of(h);
  const T f = right_vanishes ? one : step.f * up.factor;
  const T g = right_vanishes ? zero : step.g * up.factor;
  const T root = simt::rsqrt(h);
  const T y = root * up.inverse;
  qr_turn<T> turn;
  turn.r = right_vanishes ? kept : h * root;
  const T p = simt::fma(g, step.e, f * step.d);
  const T x = simt::fnma(g, step.d, f * step.e);
  const T q = g * next;
  const T w = f * next;
  T k = simt::fma(p, p, q * q);
  const bool left_vanishes = !(k >= steps::negligible_square<T>());
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

// Where the rotations of a sweep go: nowhere, of values alone. What else takes them has the same members:
// those of columns i and i + 1 of V and of U, i upwards from first to last - 1.
template <class T>
struct no_factors {
  SIMT_FN void start(int /*first*/) {}
  SIMT_FN void turn(int /*i*/, const qr_turn<T>& /*rotations*/) {}
  SIMT_FN void finish(int /*last*/) {}
};

// Counts sweeps that found the same entries negligible. Every tenth has no shift, as in
// bidiagonal_qr_thread.simt.h: a value that counts as negligible makes the block singular.
struct sweep_patience {
  unsigned open;
  int count;

  SIMT_FN sweep_patience() : open(0u), count(0) {}
  SIMT_FN unsigned singular_from(unsigned now, int first) {
    count = now == open ? count + 1 : 0;
    open = now;
    if (count < 9) return 0u;
    count = 0;
    return 1u << first;
  }
};

// One sweep over rows first .. last of the lane's matrix.
template <int kStride, class T, class F>
SIMT_FN small_entries qr_sweep_pairs(SIMT_SHARED value_pair<T>* pairs, SIMT_PRIVATE F& factors,
                                     int first, int last, T tol, small_entries small) {
  const unsigned rows = (2u << (last - first)) - 1u;  // of the block; 2 << 31 wraps to 0
  qr_step<T> step = start_sweep<kStride>(pairs, first, last, (small.d >> first & rows) != 0u);
  factors.start(first);
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
    factors.turn(i, turn);
  }
  done.x[1] = step.f;
  pairs[(last - 1) * kStride] = done;
  if (simt::abs(step.f) <= tol) small.e |= 1u << (last - 1);
  done.x[0] = step.d;
  done.x[1] = e_last;
  pairs[last * kStride] = done;
  if (simt::abs(step.d) <= tol) small.d |= 1u << last;
  factors.finish(last);
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

}  // namespace svd
