// SPDX-License-Identifier: Apache-2.0
// Cholesky on CPU lanes: load, factor, store, for one scalar type. Included by
// lanes_cholesky_<dtype>.cc.
#if defined(LANEPACK_BACKENDS_CPU_LANES_CHOLESKY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LANEPACK_BACKENDS_CPU_LANES_CHOLESKY_INL_H_
#undef LANEPACK_BACKENDS_CPU_LANES_CHOLESKY_INL_H_
#else
#define LANEPACK_BACKENDS_CPU_LANES_CHOLESKY_INL_H_
#endif

#include "backends/cpu/lanes_driver-inl.h"
#include "backends/cpu/lanes_triangle-inl.h"
#include "operations/problem.h"

HWY_BEFORE_NAMESPACE();
namespace lanepack {
namespace HWY_NAMESPACE {

#include "kernels/steps/prepare_thread.simt.h"
// after prepare
#include "kernels/cholesky/left_looking_thread.simt.h"

// The order of a matrix held in registers whole, or 0: any order.
template <class L, int kOrder>
HWY_INLINE typename L::real factor_pack(int n, typename L::scalar* a, int ld) {
  if constexpr (kOrder > 0) {
    return cholesky::factor_small<kOrder>(a, ld);
  } else {
    return cholesky::factor(n, a, ld);
  }
}

// info: the order of the minor that failed, or that the input was not finite. What is lost becomes NaN
// in its own lane.
template <class L>
HWY_NOINLINE void report_minors(int n, typename L::scalar* a, int ld,
                                simt::mask_of<typename L::real> bad, typename L::real order,
                                int32_t* info, int64_t first, int count) {
  using T = typename L::real;
  using S = typename L::scalar;
  using F = typename L::F;
  const simt::mask_of<T> lost = simt::mask_or(bad, order > simt::constant<T>(0.0f));
  if (simt::any(lost)) {
    const T nan = simt::constant<T>(__builtin_nanf(""));
    const S all_nan = simt::from_parts<S>(nan, nan);
    for (int j = 0; j < n; ++j) {
      for (int i = j; i < n; ++i) a[j * ld + i] = simt::select(lost, all_nan, a[j * ld + i]);
    }
  }
  if (info == nullptr) return;
  bool not_finite[L::kWidth];
  mask_to_bools<T>(bad, not_finite);
  alignas(64) F orders[L::kWidth];
  __builtin_memcpy(orders, &order, sizeof(orders));
  for (int i = 0; i < count; ++i) {
    info[first + i] = not_finite[i] ? kInfoNotFinite : static_cast<int32_t>(orders[i]);
  }
}

// An upper triangle is read and written transposed: A^T = conj(A) = conj(L) conj(L)^H, and conj(L)^T
// is the U of A = U^H U.
template <class L, int kOrder>
HWY_NOINLINE void cholesky_pack(const CholeskyProblem& problem, int order, int64_t first, int count,
                                void* scratch) {
  using F = typename L::F;
  using T = typename L::real;
  using S = typename L::scalar;
  constexpr int P = L::kParts, W = L::kWidth, V = L::kStride;
  const int n = kOrder > 0 ? kOrder : order;
  const int ld = kOrder > 0 ? kOrder : leading_dimension(n);
  RealView<F> from = real_view<F, P>(problem.a), to = real_view<F, P>(problem.l);
  if (problem.key.upper) {
    from = transposed(from);
    to = transposed(to);
  }
  S* const a = static_cast<S*>(scratch);
  load_lower<F, P, W, V>(from, first, count, n, reinterpret_cast<F*>(a), ld);
  const T largest = steps::largest_magnitude<true>(a, ld, n, n);
  const T back = cholesky::raise_small(n, a, ld, largest);
  const T minor = factor_pack<L, kOrder>(n, a, ld);
  cholesky::lower_factor(n, a, ld, back);
  report_minors<L>(n, a, ld, simt::mask_not(simt::is_finite(largest)), minor, problem.info, first,
                   count);
  cholesky::clear_above_diagonal(n, a, ld);
  store_pack<F, P, W, V>(to, first, count, n, n, reinterpret_cast<F*>(a), ld, nullptr);
}

// The cost of one matrix on one thread in ns, for the split over threads only.
template <class S>
double cholesky_cost_ns(int n, int width) {
  const double flops = 1.0 * n * n * n / 3.0 + 8.0 * n * n;
  const double parts = lane_types<S, 1, 1>::kParts == 2 ? 3.0 : 1.0;
  return 1.0 + flops * parts / (width * 3.0);
}

// Up to this order two vectors a T hide the latency of roots and quotients.
constexpr int kPairMaxN = 8;

template <class S, int kOrder>
Status cholesky_sized(const CholeskyProblem& problem) {
  const int n = static_cast<int>(problem.key.n);
  return run_at_best_width<S, 2>(
      problem.key.threads, problem.key.batch, n <= kPairMaxN,
      [&](int width) { return cholesky_cost_ns<S>(n, width); },
      [&]<class L>(int threads, double ns) {
        const size_t bytes = sizeof(typename L::scalar) * n * leading_dimension(n);
        return for_each_pack(threads, problem.key.batch, L::kWidth, ns, bytes,
                             [&](int64_t first, int count, void* scratch) {
                               cholesky_pack<L, kOrder>(problem, n, first, count, scratch);
                             });
      });
}

template <class S>
Status run_cholesky(const CholeskyProblem& problem) {
  switch (problem.key.n) {
    case 1:
      return cholesky_sized<S, 1>(problem);
    case 2:
      return cholesky_sized<S, 2>(problem);
    case 3:
      return cholesky_sized<S, 3>(problem);
    case 4:
      return cholesky_sized<S, 4>(problem);
    default:
      return cholesky_sized<S, 0>(problem);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace lanepack
HWY_AFTER_NAMESPACE();

#endif  // LANEPACK_BACKENDS_CPU_LANES_CHOLESKY_INL_H_ (per target)
