// SPDX-License-Identifier: Apache-2.0
// QR on CPU lanes: load, decompose, store, for one scalar type. Included by lanes_qr_<dtype>.cc.
#if defined(LANEPACK_BACKENDS_CPU_LANES_QR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LANEPACK_BACKENDS_CPU_LANES_QR_INL_H_
#undef LANEPACK_BACKENDS_CPU_LANES_QR_INL_H_
#else
#define LANEPACK_BACKENDS_CPU_LANES_QR_INL_H_
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
#include "kernels/qr/householder_square_thread.simt.h"
#include "kernels/qr/householder_thread.simt.h"

// The sizes of one QR problem.
struct QrShape {
  int m, n;
  int count;   // reflectors: min(m, n)
  int q_cols;  // columns of Q; 0: not wanted
  int r_rows;
  int ld;
  int columns() const { return std::max(n, q_cols); }
};

inline QrShape qr_shape(const QrProblem& problem) {
  QrShape s;
  s.m = static_cast<int>(problem.key.m);
  s.n = static_cast<int>(problem.key.n);
  s.count = std::min(s.m, s.n);
  s.q_cols = problem.q.data == nullptr ? 0 : static_cast<int>(problem.q.cols);
  s.r_rows = static_cast<int>(problem.r.rows);
  s.ld = leading_dimension(s.m);
  return s;
}

// Scratch of one pack, in the order in which it is laid out.
template <class L>
struct QrScratch {
  using T = typename L::real;
  using S = typename L::scalar;
  S *a, *r, *tau;
  T* diagonal;

  static size_t bytes(const QrShape& s) {
    return Scratch::rounded(sizeof(S) * s.ld * s.columns()) +
           Scratch::rounded(sizeof(S) * s.r_rows * s.n) + Scratch::rounded(sizeof(S) * s.count) +
           Scratch::rounded(sizeof(T) * s.count);
  }
  QrScratch(void* base, const QrShape& s) {
    Scratch scratch(base);
    a = scratch.take<S>(static_cast<size_t>(s.ld) * s.columns());
    r = scratch.take<S>(static_cast<size_t>(s.r_rows) * s.n);
    tau = scratch.take<S>(s.count);
    diagonal = scratch.take<T>(s.count);
  }
};

// The decomposition of a loaded pack: x.a becomes Q where it is wanted, x.r becomes R.
template <class L>
HWY_INLINE void decompose_qr(simt::size_constant<0>, const QrShape& s, QrScratch<L>& x,
                             const steps::prepared<typename L::real>& p) {
  {
    const FlushSubnormals flush;
    qr::factor(s.m, s.n, x.a, s.ld, x.tau, x.diagonal);
  }
  qr::copy_r(s.r_rows, s.n, x.a, s.ld, x.diagonal, simt::make_pow2(p.exponent), x.r);
  if (s.q_cols == 0) return;
  const FlushSubnormals flush;
  qr::form_q(s.m, s.count, s.q_cols, x.a, s.ld, x.tau);
}
template <class L, int kN>
HWY_INLINE void decompose_qr(simt::size_constant<kN>, const QrShape& s, QrScratch<L>& x,
                             const steps::prepared<typename L::real>& p) {
  // too little work to pay for two changes of the control register: subnormal operands are slow
  // here, and right
  qr::solve_square<kN>(x.a, x.r, s.q_cols != 0, simt::make_pow2(p.exponent));
}

// kN: the order of a square matrix known at compile time, or 0.
template <class L, int kN>
HWY_NOINLINE void qr_pack(const QrProblem& problem, const QrShape& shape, int64_t first, int count,
                          void* scratch_base) {
  using F = typename L::F;
  using T = typename L::real;
  constexpr int P = L::kParts, W = L::kWidth, V = L::kStride;
  QrShape s = shape;
  if (kN != 0) s.m = s.n = s.count = s.r_rows = s.ld = kN;
  QrScratch<L> x(scratch_base, s);
  load_pack<F, P, W, V>(real_view<F, P>(problem.a), first, count, s.m, s.n,
                        reinterpret_cast<F*>(x.a), s.ld);
  const steps::prepared<T> p = kN != 0 ? steps::prepare<false>(x.a, kN, simt::size_constant<kN>(),
                                                               simt::size_constant<kN>(), false)
                                       : steps::prepare<false>(x.a, s.ld, s.m, s.n, false);
  decompose_qr<L>(simt::size_constant<kN>(), s, x, p);
  store_pack<F, P, W, V>(real_view<F, P>(problem.r), first, count, s.r_rows, s.n,
                         reinterpret_cast<F*>(x.r), s.r_rows, nullptr);
  if (s.q_cols != 0) {
    store_pack<F, P, W, V>(real_view<F, P>(problem.q), first, count, s.m, s.q_cols,
                           reinterpret_cast<F*>(x.a), s.ld, nullptr);
  }
  report_pack<L>(p.bad, simt::mask_all<T>(true), problem.info, first, count, [&](int64_t index) {
    store_nan<F, P>(real_view<F, P>(problem.r), index, s.r_rows, s.n);
    if (s.q_cols != 0) store_nan<F, P>(real_view<F, P>(problem.q), index, s.m, s.q_cols);
  });
}

template <class L, int kN>
Status qr_at_width(const QrProblem& problem, const QrShape& s, int threads, double ns) {
  return for_each_pack(threads, problem.key.batch, L::kWidth, ns, QrScratch<L>::bytes(s),
                       [&](int64_t first, int count, void* scratch) {
                         qr_pack<L, kN>(problem, s, first, count, scratch);
                       });
}

// The cost of one matrix on one thread in ns, for the split over threads only.
template <class S>
double qr_cost_ns(const QrShape& s, int width) {
  const double m = s.m, n = s.n, k = s.count;
  const double flops = 2.0 * k * (m * n - k * (m + n) / 2 + k * k / 3) +
                       2.0 * k * (m - k / 3) * s.q_cols + 12.0 * (m * n + m * s.q_cols);
  const double parts = lane_types<S, 1, 1>::kParts == 2 ? 3.5 : 1.0;
  return 2.0 + flops * parts / (width * 3.0);
}

template <class S, int kN>
Status qr_sized(const QrProblem& problem) {
  const QrShape s = qr_shape(problem);
  return run_at_best_width<S, 1>(
      problem.key.threads, problem.key.batch, false,
      [&](int width) { return qr_cost_ns<S>(s, width); },
      [&]<class L>(int threads, double ns) { return qr_at_width<L, kN>(problem, s, threads, ns); });
}

template <class S>
Status run_qr(const QrProblem& problem) {
  if (problem.key.m == problem.key.n) {
    switch (problem.key.n) {
      case 2:
        return qr_sized<S, 2>(problem);
      case 3:
        return qr_sized<S, 3>(problem);
      case 4:
        return qr_sized<S, 4>(problem);
      default:
        break;
    }
  }
  return qr_sized<S, 0>(problem);
}

}  // namespace HWY_NAMESPACE
}  // namespace lanepack
HWY_AFTER_NAMESPACE();

#endif  // LANEPACK_BACKENDS_CPU_LANES_QR_INL_H_ (per target)
