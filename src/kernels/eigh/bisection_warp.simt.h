// SPDX-License-Identifier: Apache-2.0
// The second kernel of eigvalsh in float32: bisection by Sturm counts (Givens 1954; LAPACK stebz), with
// kLanes lanes to a matrix and kN / kLanes values to a lane, the tridiagonal matrix in registers.
// No value waits for another and no question of convergence arises; counts use an approximate
// reciprocal (4096 x 32 on an H200: 56 us with the reduction, QL with a matrix per thread 107). In
// float64 QL is faster.

namespace eigh {

// Enough for (hi - lo) / 2^kHalvings below u times the norm.
SIMT_CONSTANT int kHalvings = 24;

// The tridiagonal matrix in registers: d, -e^2 ahead of each row, and Gershgorin's bounds. Rows past
// the last have a value far above them, which no count meets.
template <class T, int kN>
struct sturm_matrix {
  T d[kN];
  T minus_square[kN];
  T low, high;
};
template <int kN, class T>
SIMT_FN void load_sturm(const tridiagonal<T>& t, int n, SIMT_PRIVATE sturm_matrix<T, kN>& x) {
  const T zero = simt::constant<T>(0.0f);
  // instead of a test for p = 0 in the count: far below u^2, as entries lie below 2
  const T least = simt::constant<T>(7.5231638452626401e-37f);  // 2^-120
  const T far = simt::constant<T>(1152921504606846976.0f);     // 2^60
  T before = zero;
  SIMT_UNROLL
  for (int i = 0; i < kN; ++i) {
    const T d = i < n ? t.d[i] : far, e = i < n ? simt::abs(t.e[i]) : zero;
    const T low = d - (before + e), high = d + (before + e);
    x.low = i == 0 || (i < n && low < x.low) ? low : x.low;
    x.high = i == 0 || (i < n && high > x.high) ? high : x.high;
    x.d[i] = d;
    x.minus_square[i] = -simt::max(before * before, least);
    before = e;
  }
  // rounding of the counts; a matrix of zeros keeps its zeros
  const T pad =
      simt::max(simt::abs(x.low), simt::abs(x.high)) * simt::constant<T>(2.0f) * simt::eps<T>();
  x.low = x.low - pad;
  x.high = x.high + pad;
}

// kValues values from the one at `own` on, kLanes apart.
template <int kValues, int kLanes, int kN, class T>
SIMT_FN void bisect(SIMT_PRIVATE const sturm_matrix<T, kN>& x, int own,
                    SIMT_PRIVATE T (&value)[kValues]) {
  const T half = simt::constant<T>(0.5f), zero = simt::constant<T>(0.0f);
  T low[kValues], high[kValues];
  SIMT_UNROLL
  for (int r = 0; r < kValues; ++r) {
    low[r] = x.low;
    high[r] = x.high;
  }
  SIMT_NO_UNROLL
  for (int step = 0; step < kHalvings; ++step) {
    T middle[kValues], p[kValues];
    int below[kValues];
    SIMT_UNROLL
    for (int r = 0; r < kValues; ++r) {
      middle[r] = half * (low[r] + high[r]);
      p[r] = x.d[0] - middle[r];
      below[r] = p[r] < zero ? 1 : 0;
    }
    SIMT_UNROLL
    for (int i = 1; i < kN; ++i) {
      SIMT_UNROLL
      for (int r = 0; r < kValues; ++r) {
        p[r] = simt::fma(x.minus_square[i], simt::reciprocal(p[r]), x.d[i] - middle[r]);
        below[r] += p[r] < zero ? 1 : 0;
      }
    }
    SIMT_UNROLL
    for (int r = 0; r < kValues; ++r) {
      const bool left = below[r] > r * kLanes + own;
      high[r] = left ? middle[r] : high[r];
      low[r] = left ? low[r] : middle[r];
    }
  }
  SIMT_UNROLL
  for (int r = 0; r < kValues; ++r) value[r] = half * (low[r] + high[r]);
}

template <class S, int kN, int kLanes>
SIMT_KERNEL(64)
kernel_bisection(arguments args) {
  using T = simt::real_of<S>;
  constexpr int kGroups = 64 / kLanes, kValues = kN / kLanes;
  const int own = simt::thread_index() % kLanes, n = args.n;
  for (simt::int64 matrix =
           static_cast<simt::int64>(simt::block_index()) * kGroups + simt::thread_index() / kLanes;
       matrix < args.batch; matrix += static_cast<simt::int64>(simt::block_count()) * kGroups) {
    const tridiagonal<T> t = tridiagonal_of<T>(args, matrix);
    sturm_matrix<T, kN> x;
    load_sturm(t, n, x);
    T value[kValues];
    bisect<kValues, kLanes>(x, own, value);
    const T exponent = *t.exponent, shift = *t.shift;
    const bool bad = !simt::is_finite(exponent);
    const simt::pow2_scale<T> scale = simt::make_pow2(bad ? simt::constant<T>(0.0f) : exponent);
    SIMT_GLOBAL T* w = reinterpret_cast<SIMT_GLOBAL T*>(args.w.data) + matrix * args.w.batch;
    SIMT_UNROLL
    for (int r = 0; r < kValues; ++r) {
      const int k = r * kLanes + own;
      const T scaled = simt::scale_pow2(value[r], scale) + shift;
      if (k < n) w[k * args.w.row] = bad ? simt::not_a_number<T>() : scaled;
    }
    if (args.info != nullptr && own == 0) args.info[matrix] = steps::info_of(bad, true);
  }
}

}  // namespace eigh
