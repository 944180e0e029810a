// SPDX-License-Identifier: Apache-2.0
// svd and svdvals on CPU lanes: load, decompose, store, for one scalar type. Included by
// lanes_svd_<dtype>.cc.
#if defined(LANEPACK_BACKENDS_CPU_LANES_SVD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LANEPACK_BACKENDS_CPU_LANES_SVD_INL_H_
#undef LANEPACK_BACKENDS_CPU_LANES_SVD_INL_H_
#else
#define LANEPACK_BACKENDS_CPU_LANES_SVD_INL_H_
#endif

#include "backends/cpu/lanes_driver-inl.h"
#include "operations/problem.h"

HWY_BEFORE_NAMESPACE();
namespace lanepack {
namespace HWY_NAMESPACE {

#include "kernels/steps/prepare_thread.simt.h"
// after prepare
#include "kernels/steps/householder_thread.simt.h"
// after householder
#include "kernels/qr/householder_thread.simt.h"
// after qr
#include "kernels/svd/bidiagonal_qr_thread.simt.h"

// The sizes of a pack. The texts want at least as many rows as columns: a wide A is loaded as its
// transpose B = A^T = U_b S V_b^H, so that A = conj(V_b) S U_b^T.
struct SvdShape {
  int m, n;   // of what is decomposed: m >= n
  bool wide;  // A has more columns than rows
  bool vectors;
  int columns_u;  // of U_b: n (thin) or m (full)
  int ld, ldv;

  explicit SvdShape(const SvdProblem& problem) {
    const ProblemKey& key = problem.key;
    wide = key.m < key.n;
    m = static_cast<int>(wide ? key.n : key.m);
    n = static_cast<int>(wide ? key.m : key.n);
    vectors = problem.u.data != nullptr;
    columns_u = vectors && key.full ? m : n;
    ld = leading_dimension(m);
    ldv = leading_dimension(n);
  }
};

// Scratch of one pack, in the order in which it is laid out.
template <class L>
struct SvdScratch {
  using T = typename L::real;
  using S = typename L::scalar;
  S *a, *v, *work;
  T *d, *real_work;
  int32_t* rank;

  static size_t bytes(const SvdShape& x) {
    const size_t n = static_cast<size_t>(x.n);
    return Scratch::rounded(sizeof(S) * x.columns_u * x.ld) +
           (x.vectors ? Scratch::rounded(sizeof(S) * n * x.ldv) : 0) +
           Scratch::rounded(sizeof(S) * svd::bidiagonal_qr_work(x.m, x.n)) +
           Scratch::rounded(sizeof(T) * n) +
           Scratch::rounded(sizeof(T) * svd::bidiagonal_qr_real_work(x.n)) +
           Scratch::rounded(sizeof(int32_t) * n * L::kWidth);
  }
  SvdScratch(void* base, const SvdShape& x) {
    Scratch scratch(base);
    const size_t n = static_cast<size_t>(x.n);
    a = scratch.take<S>(static_cast<size_t>(x.columns_u) * x.ld);
    v = x.vectors ? scratch.take<S>(n * x.ldv) : nullptr;
    work = scratch.take<S>(svd::bidiagonal_qr_work(x.m, x.n));
    d = scratch.take<T>(n);
    real_work = scratch.take<T>(svd::bidiagonal_qr_real_work(x.n));
    rank = scratch.take<int32_t>(n * L::kWidth);
  }
};

// The part after the iteration: ranks, values back to the matrix's scale, V conjugated, and zeros
// positive: a lane that waited was turned by the identity, which may flip the sign of a zero, and
// -0 + 0 = +0.
template <class L>
HWY_NOINLINE void finish_svd(const SvdShape& shape, SvdScratch<L>& x,
                             const steps::prepared<typename L::real>& p) {
  using T = typename L::real;
  using S = typename L::scalar;
  const simt::pow2_scale<T> scale = simt::make_pow2(p.exponent);
  rank_values(x.d, shape.n, true, x.rank);
  for (int j = 0; j < shape.n; ++j) x.d[j] = simt::scale_pow2(x.d[j], scale);
  if (!shape.vectors) return;
  for (int j = 0; j < shape.columns_u; ++j) {
    S* u = x.a + static_cast<ptrdiff_t>(j) * shape.ld;
    for (int i = 0; i < shape.m; ++i) u[i] = u[i] + simt::zero<S>();
  }
  for (int j = 0; j < shape.n; ++j) {
    S* v = x.v + static_cast<ptrdiff_t>(j) * shape.ldv;
    for (int i = 0; i < shape.n; ++i) v[i] = simt::conj(v[i]) + simt::zero<S>();
  }
}

// U_b and conj(V_b) to where they belong; the columns that complete U_b are not permuted.
template <class L>
HWY_NOINLINE void store_svd_vectors(const SvdProblem& problem, const SvdShape& shape,
                                    SvdScratch<L>& x, int64_t first, int count) {
  using F = typename L::F;
  constexpr int P = L::kParts, W = L::kWidth, V = L::kStride;
  const RealView<F> u = real_view<F, P>(problem.u);
  const RealView<F> v = transposed(real_view<F, P>(problem.vh));
  const RealView<F> to_u = shape.wide ? v : u;
  const RealView<F> to_v = shape.wide ? u : v;
  F* const a = reinterpret_cast<F*>(x.a);
  store_pack<F, P, W, V>(to_u, first, count, shape.m, shape.n, a, shape.ld, x.rank);
  store_pack<F, P, W, V>(to_v, first, count, shape.n, shape.n, reinterpret_cast<F*>(x.v), shape.ldv,
                         x.rank);
  const int rest = shape.columns_u - shape.n;
  if (rest == 0) return;
  RealView<F> right = to_u;
  right.data += shape.n * right.col;
  F* const from = a + static_cast<ptrdiff_t>(shape.n) * shape.ld * P * V;
  store_pack<F, P, W, V>(right, first, count, shape.m, rest, from, shape.ld, nullptr);
}

// info of every matrix, and NaN for the ones that have no result.
template <class L>
HWY_NOINLINE void report_svd(const SvdProblem& problem, int64_t first, int count,
                             simt::mask_of<typename L::real> not_finite,
                             simt::mask_of<typename L::real> converged) {
  using F = typename L::F;
  using T = typename L::real;
  constexpr int P = L::kParts;
  bool bad[L::kWidth], right[L::kWidth];
  mask_to_bools<T>(not_finite, bad);
  mask_to_bools<T>(converged, right);
  for (int i = 0; i < count; ++i) {
    const int32_t info = bad[i] ? kInfoNotFinite : right[i] ? 0 : kInfoNoConvergence;
    if (problem.info != nullptr) problem.info[first + i] = info;
    if (info == 0) continue;
    store_nan<F, 1>(real_view<F, 1>(problem.s), first + i, static_cast<int>(problem.s.rows), 1);
    if (problem.u.data == nullptr) continue;
    for (const MatrixBatch* x : {&problem.u, &problem.vh}) {
      store_nan<F, P>(real_view<F, P>(*x), first + i, static_cast<int>(x->rows),
                      static_cast<int>(x->cols));
    }
  }
}

template <class L>
HWY_NOINLINE void svd_pack(const SvdProblem& problem, const SvdShape& shape, int64_t first,
                           int count, void* scratch_base) {
  using F = typename L::F;
  using S = typename L::scalar;
  using T = typename L::real;
  constexpr int P = L::kParts, W = L::kWidth, V = L::kStride;
  SvdScratch<L> x(scratch_base, shape);
  RealView<F> a = real_view<F, P>(problem.a);
  if (shape.wide) a = transposed(a);
  load_pack<F, P, W, V>(a, first, count, shape.m, shape.n, reinterpret_cast<F*>(x.a), shape.ld);
  const steps::prepared<T> p = steps::prepare<false>(x.a, shape.ld, shape.m, shape.n, false);
  simt::mask_of<T> converged;
  {
    const FlushSubnormals flush;
    converged = svd::bidiagonal_qr<S>(shape.m, shape.n, x.a, shape.ld, shape.columns_u, x.v,
                                      shape.ldv, x.d, x.work, x.real_work);
  }
  finish_svd<L>(shape, x, p);
  const RealView<F> s = transposed(real_view<F, 1>(problem.s));
  store_pack<F, 1, W, V>(s, first, count, 1, shape.n, reinterpret_cast<F*>(x.d), 1, x.rank);
  if (shape.vectors) store_svd_vectors<L>(problem, shape, x, first, count);
  if (problem.info != nullptr || simt::any(p.bad) || !simt::all(converged)) {
    report_svd<L>(problem, first, count, p.bad, converged);
  }
}

template <class L>
Status svd_at_width(const SvdProblem& problem, const SvdShape& shape, int threads, double ns) {
  return for_each_pack(threads, problem.key.batch, L::kWidth, ns, SvdScratch<L>::bytes(shape),
                       [&](int64_t first, int count, void* scratch) {
                         svd_pack<L>(problem, shape, first, count, scratch);
                       });
}

// The cost of one matrix on one thread in ns, for the split over threads only.
template <class S>
double svd_cost_ns(const SvdShape& shape, int width) {
  const double m = shape.m, n = shape.n;
  const double flops = (shape.vectors ? 12.0 * m + 8.0 * n : 4.0 * m) * n * n + 100.0 * n * n;
  const double parts = lane_types<S, 1, 1>::kParts == 2 ? 3.0 : 1.0;
  return 4.0 + flops * parts / (width * 3.0);
}

// Up to this size two vectors a T: their chains hide each other's latency.
constexpr int kPairMaxN = 16;

template <class S>
Status run_svd(const SvdProblem& problem) {
  using F = typename lane_types<S, 1, 1>::F;
  constexpr int kFull = full_width<F>();
  constexpr int kFour = kFull < 4 ? kFull : 4;
  const SvdShape shape(problem);
  const int64_t batch = problem.key.batch;
  const int threads = worthwhile_threads(problem.key.threads, batch, svd_cost_ns<S>(shape, kFull));
  const int width = choose_width(batch, threads, kFull);
  const double ns = svd_cost_ns<S>(shape, width);
  if (width == 1) return svd_at_width<lane_types<S, 1, 1>>(problem, shape, threads, ns);
  if (width <= 4 && kFull > 4) {
    return svd_at_width<lane_types<S, kFour, 4 / kFour>>(problem, shape, threads, ns);
  }
  if (shape.m <= kPairMaxN && batch >= 2 * kFull * threads) {
    return svd_at_width<lane_types<S, kFull, 2>>(problem, shape, threads, ns);
  }
  return svd_at_width<lane_types<S, kFull, 1>>(problem, shape, threads, ns);
}

}  // namespace HWY_NAMESPACE
}  // namespace lanepack
HWY_AFTER_NAMESPACE();

#endif  // LANEPACK_BACKENDS_CPU_LANES_SVD_INL_H_ (per target)
