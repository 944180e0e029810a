// SPDX-License-Identifier: Apache-2.0
// eigh on CPU lanes: load, decompose, store, for one scalar type. Included by lanes_eigh_<dtype>.cc.
#if defined(LANEPACK_BACKENDS_CPU_LANES_EIGH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LANEPACK_BACKENDS_CPU_LANES_EIGH_INL_H_
#undef LANEPACK_BACKENDS_CPU_LANES_EIGH_INL_H_
#else
#define LANEPACK_BACKENDS_CPU_LANES_EIGH_INL_H_
#endif

#include "backends/cpu/lanes_driver-inl.h"
#include "operations/problem.h"

HWY_BEFORE_NAMESPACE();
namespace lanepack {
namespace HWY_NAMESPACE {

#include "kernels/steps/prepare_thread.simt.h"
#include "kernels/steps/rayleigh_thread.simt.h"
#include "kernels/steps/rotation_thread.simt.h"
#include "kernels/steps/sort_thread.simt.h"
// after prepare
#include "kernels/steps/householder_thread.simt.h"
// after householder
#include "kernels/eigh/jacobi_thread.simt.h"
#include "kernels/eigh/tridiagonal_ql_thread.simt.h"

// Scratch of one pack, in the order in which it is laid out.
template <class L>
struct EighScratch {
  using T = typename L::real;
  using S = typename L::scalar;
  S *a, *v, *work;
  S* copy;  // of A, by which the values are made to fit the vectors; null: they are not
  T *d, *e;
  int32_t* rank;

  static bool corrected(int n, bool vectors) { return vectors && n >= steps::kRayleighMinN; }

  static size_t bytes(int n, int ld, bool vectors) {
    size_t total = Scratch::rounded(sizeof(S) * n * ld) * (1 + vectors + corrected(n, vectors));
    total += Scratch::rounded(sizeof(S) * 2 * n) + 2 * Scratch::rounded(sizeof(T) * n);
    return total + Scratch::rounded(sizeof(int32_t) * n * L::kWidth);
  }
  EighScratch(void* base, int n, int ld, bool vectors) {
    Scratch scratch(base);
    a = scratch.take<S>(static_cast<size_t>(n) * ld);
    v = vectors ? scratch.take<S>(static_cast<size_t>(n) * ld) : nullptr;
    copy = corrected(n, vectors) ? scratch.take<S>(static_cast<size_t>(n) * ld) : nullptr;
    work = scratch.take<S>(2 * static_cast<size_t>(n));
    d = scratch.take<T>(n);
    e = scratch.take<T>(n);
    rank = scratch.take<int32_t>(static_cast<size_t>(n) * L::kWidth);
  }
};

// The part after the iteration: order (sorted, or ranks), values back to the matrix's scale, zeros
// positive.
template <class L, class N>
HWY_NOINLINE void finish_eigh(N n, int ld, EighScratch<L>& x,
                              const steps::prepared<typename L::real>& p) {
  using T = typename L::real;
  using S = typename L::scalar;
  const simt::pow2_scale<T> scale = simt::make_pow2(p.exponent);
  if (n <= kSortMaxN) {
    S* const none = nullptr;
    steps::sort_columns<false>(n, x.d, x.v, ld, n, none, 0, 0);
    x.rank = nullptr;
  } else {
    rank_values(x.d, n, false, x.rank);
  }
  const T zero = simt::constant<T>(0.0f);
  for (int j = 0; j < n; ++j) x.d[j] = simt::scale_pow2(x.d[j], scale) + zero;
  if (x.v == nullptr) return;
  // -0 + 0 = +0: a lane that waited was turned by the identity, which may flip the sign of a zero
  T* v = reinterpret_cast<T*>(x.v);
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n * L::kParts; ++i)
      v[j * ld * L::kParts + i] = v[j * ld * L::kParts + i] + zero;
  }
}

template <class L, class N>
HWY_NOINLINE void eigh_pack(const EighProblem& problem, N n, int64_t first, int count,
                            void* scratch_base) {
  using F = typename L::F;
  using T = typename L::real;
  constexpr int P = L::kParts, W = L::kWidth, V = L::kStride;
  const bool vectors = problem.v.data != nullptr;
  const int ld = leading_dimension(n);
  EighScratch<L> x(scratch_base, n, ld, vectors);
  RealView<F> a = real_view<F, P>(problem.a);
  if (problem.key.upper) a = transposed(a);
  load_pack<F, P, W, V>(a, first, count, n, n, reinterpret_cast<F*>(x.a), ld);
  const steps::prepared<T> p = steps::prepare<true>(x.a, ld, n, n, problem.key.upper && P == 2);
  simt::mask_of<T> converged;
  {
    const FlushSubnormals flush;
    if (x.copy != nullptr) __builtin_memcpy(x.copy, x.a, sizeof(typename L::scalar) * n * ld);
    converged = eigh::solve(n, x.a, ld, x.v, x.d, x.e, x.work, vectors);
    if (x.copy != nullptr) steps::correct_eigenvalues(n, x.copy, x.v, ld, x.d);
  }
  finish_eigh<L>(n, ld, x, p);
  RealView<F> w = real_view<F, 1>(problem.w);
  store_pack<F, 1, W, V>(transposed(w), first, count, 1, n, reinterpret_cast<F*>(x.d), 1, x.rank);
  const RealView<F> v = real_view<F, P>(problem.v);
  if (vectors) {
    store_pack<F, P, W, V>(v, first, count, n, n, reinterpret_cast<F*>(x.v), ld, x.rank);
  }
  report_pack<L>(p.bad, converged, problem.info, first, count, [&](int64_t index) {
    store_nan<F, 1>(w, index, n, 1);
    if (vectors) store_nan<F, P>(v, index, n, n);
  });
}

template <class L, class N>
Status eigh_at_width(const EighProblem& problem, N n, int threads, double ns) {
  const size_t bytes = EighScratch<L>::bytes(n, leading_dimension(n), problem.v.data != nullptr);
  return for_each_pack(threads, problem.key.batch, L::kWidth, ns, bytes,
                       [&](int64_t first, int count, void* scratch) {
                         eigh_pack<L>(problem, n, first, count, scratch);
                       });
}

// The cost of one matrix on one thread in ns, for the split over threads only.
template <class S>
double eigh_cost_ns(int n, bool vectors, int width) {
  const double flops = (vectors ? 12.0 : 4.0) * n * n * n + 60.0 * n * n;
  const double parts = lane_types<S, 1, 1>::kParts == 2 ? 3.0 : 1.0;
  return 2.0 + flops * parts / (width * 3.0);
}

// Vectors a T that hide each other's latency: four where all of a matrix is in registers (measured
// against two: n = 3 26 -> 22 ns, 4 60 -> 47), two up to this order (against one: n = 8 311 -> 235 ns,
// 16 1180 -> 1040, 32 no gain; four at 16: 1090 -> 1310).
constexpr int kPairMaxN = 16;

template <class S, class N>
Status eigh_sized(const EighProblem& problem, N n) {
  constexpr int kVectors = std::is_same_v<N, int> ? 2 : 4;
  const bool vectors = problem.v.data != nullptr;
  return run_at_best_width<S, kVectors>(
      problem.key.threads, problem.key.batch, n <= kPairMaxN,
      [&](int width) { return eigh_cost_ns<S>(n, vectors, width); },
      [&]<class L>(int threads, double ns) { return eigh_at_width<L>(problem, n, threads, ns); });
}

template <class S>
Status run_eigh(const EighProblem& problem) {
  switch (problem.key.n) {
    case 1:
      return eigh_sized<S>(problem, simt::size_constant<1>());
    case 2:
      return eigh_sized<S>(problem, simt::size_constant<2>());
    case 3:
      return eigh_sized<S>(problem, simt::size_constant<3>());
    case 4:
      return eigh_sized<S>(problem, simt::size_constant<4>());
    default:
      return eigh_sized<S>(problem, static_cast<int>(problem.key.n));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace lanepack
HWY_AFTER_NAMESPACE();

#endif  // LANEPACK_BACKENDS_CPU_LANES_EIGH_INL_H_ (per target)
