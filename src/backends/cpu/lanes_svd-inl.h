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
#include "kernels/steps/rayleigh_thread.simt.h"
#include "kernels/steps/rotation_thread.simt.h"
#include "kernels/steps/sort_thread.simt.h"
// after prepare
#include "kernels/steps/householder_thread.simt.h"
// after householder
#include "kernels/qr/householder_thread.simt.h"
// after qr
#include "kernels/svd/bidiagonal_qr_thread.simt.h"
#include "kernels/svd/jacobi_thread.simt.h"
#include "kernels/svd/qr_first_thread.simt.h"
// after jacobi
#include "kernels/svd/jacobi_small_thread.simt.h"

enum class SvdMethod { kBidiagonalQr, kJacobi };

// The sizes of a pack. The texts want at least as many rows as columns: a wide A is loaded as its
// transpose B = A^T = U_b S V_b^H, so that A = conj(V_b) S U_b^T.
struct SvdShape {
  int m, n;   // of what is decomposed: m >= n
  bool wide;  // A has more columns than rows
  bool vectors;
  bool qr_first;   // the iteration works on R
  bool corrected;  // values are made to fit the vectors, which needs a copy of what is iterated on
  bool u_by_rows;  // the columns of a row of U_b's place are adjacent: its store needs spare memory
  int columns_u;   // of U_b: n (thin) or m (full)
  int ld, ldv;

  SvdShape(const SvdProblem& problem, SvdMethod method) {
    const ProblemKey& key = problem.key;
    wide = key.m < key.n;
    m = static_cast<int>(wide ? key.n : key.m);
    n = static_cast<int>(wide ? key.m : key.n);
    vectors = problem.u.data != nullptr;
    // Jacobi needs a square matrix, bidiagonalisation gains from one (measured: from a ratio
    // of 1.6).
    qr_first = method == SvdMethod::kJacobi ? m > n : n > 1 && 5 * static_cast<int64_t>(m) >= 8 * n;
    corrected = method == SvdMethod::kBidiagonalQr && vectors && n >= steps::kRayleighMinN;
    const int64_t across = wide ? problem.vh.row_stride : problem.u.col_stride;
    const int64_t along = wide ? problem.vh.col_stride : problem.u.row_stride;
    u_by_rows = vectors && n > kSortMaxN && across == 1 && along != 1;
    columns_u = vectors && key.full ? m : n;
    ld = leading_dimension(m);
    ldv = leading_dimension(n);
  }
  int core_rows() const { return qr_first ? n : m; }
  int core_ld() const { return qr_first ? ldv : ld; }
  // Entries of S and of its real type that the texts need besides the matrices.
  size_t work() const { return 8 * static_cast<size_t>(n) + static_cast<size_t>(core_rows()); }
  size_t real_work() const { return static_cast<size_t>(svd::bidiagonal_qr_real_work(n)); }
};

// Scratch of one pack, in the order in which it is laid out.
template <class L>
struct SvdScratch {
  using T = typename L::real;
  using S = typename L::scalar;
  S *a, *r, *v, *copy, *work;
  T *d, *real_work;
  int32_t* rank;
  typename L::F* spare;  // for the store of U_b by rows

  static size_t spare_reals(const SvdShape& x) {
    const size_t lanes = std::min(L::kWidth, simt::tile_order<typename L::F>());
    return x.u_by_rows ? lanes * x.m * x.n * L::kParts : 0;
  }
  static size_t bytes(const SvdShape& x) {
    const size_t n = static_cast<size_t>(x.n);
    return Scratch::rounded(sizeof(S) * x.columns_u * x.ld) +
           (x.qr_first ? Scratch::rounded(sizeof(S) * n * x.ldv) : 0) +
           (x.vectors ? Scratch::rounded(sizeof(S) * n * x.ldv) : 0) +
           (x.corrected ? Scratch::rounded(sizeof(S) * n * x.core_ld()) : 0) +
           Scratch::rounded(sizeof(S) * x.work()) + Scratch::rounded(sizeof(T) * n) +
           Scratch::rounded(sizeof(T) * x.real_work()) +
           Scratch::rounded(sizeof(int32_t) * n * L::kWidth) +
           Scratch::rounded(sizeof(typename L::F) * spare_reals(x));
  }
  SvdScratch(void* base, const SvdShape& x) {
    Scratch scratch(base);
    const size_t n = static_cast<size_t>(x.n);
    a = scratch.take<S>(static_cast<size_t>(x.columns_u) * x.ld);
    r = x.qr_first ? scratch.take<S>(n * x.ldv) : nullptr;
    v = x.vectors ? scratch.take<S>(n * x.ldv) : nullptr;
    copy = x.corrected ? scratch.take<S>(n * x.core_ld()) : nullptr;
    work = scratch.take<S>(x.work());
    d = scratch.take<T>(n);
    real_work = scratch.take<T>(x.real_work());
    rank = scratch.take<int32_t>(n * L::kWidth);
    spare = scratch.take<typename L::F>(spare_reals(x));
  }
};

template <class L>
simt::mask_of<typename L::real> svd_any_size(const SvdShape& shape, SvdMethod method,
                                             SvdScratch<L>& x) {
  using S = typename L::scalar;
  const int m = shape.m, n = shape.n;
  S* const tau = x.work + static_cast<ptrdiff_t>(4 * n) + shape.core_rows();
  if (shape.qr_first) {
    // Jacobi owes every column its relative accuracy.
    const bool graded = method == SvdMethod::kJacobi;
    if (graded) svd::scale_columns(m, n, x.a, shape.ld, x.real_work);
    qr::factor(m, n, x.a, shape.ld, tau, x.d);
    svd::copy_triangle(n, x.a, shape.ld, x.d, x.r, shape.ldv);
    if (graded) svd::unscale_triangle(n, x.r, shape.ldv, x.real_work);
  }
  S* const core = shape.qr_first ? x.r : x.a;
  const int rows = shape.core_rows(), ld = shape.core_ld();
  if (shape.corrected) __builtin_memcpy(x.copy, core, sizeof(S) * n * ld);
  simt::mask_of<typename L::real> converged;
  if (method == SvdMethod::kJacobi) {
    converged = svd::jacobi<S>(n, core, ld, x.v, shape.ldv, x.d, x.work, x.real_work);
  } else {
    converged = svd::bidiagonal_qr<S>(rows, n, core, ld, shape.qr_first ? n : shape.columns_u, x.v,
                                      shape.ldv, x.d, x.work, x.real_work);
  }
  if (shape.corrected) {
    steps::correct_singular_values<S>(rows, n, x.copy, ld, core, ld, x.v, shape.ldv, x.d);
  }
  if (shape.qr_first && shape.vectors) {
    qr::form_q(m, n, shape.columns_u, x.a, shape.ld, tau);
    svd::multiply_columns(m, n, x.a, shape.ld, x.r, shape.ldv, x.work);
  }
  return converged;
}

// Between load and store. kOrder: of a square matrix that is held in registers; 0: any size.
template <class L, int kOrder>
HWY_NOINLINE simt::mask_of<typename L::real> svd_decompose(const SvdShape& shape, SvdMethod method,
                                                           SvdScratch<L>& x) {
  if constexpr (kOrder > 0) {
    if (shape.vectors) {
      return svd::jacobi_small<true, kOrder>(x.a, shape.ld, x.v, shape.ldv, x.d, x.work);
    }
    return svd::jacobi_small<false, kOrder>(x.a, shape.ld, x.v, shape.ldv, x.d, x.work);
  } else {
    return svd_any_size<L>(shape, method, x);
  }
}

// The part after the iteration: order (sorted, or ranks), values back to the matrix's scale, V
// conjugated, and zeros positive: a lane that waited was turned by the identity, which may flip the
// sign of a zero, and -0 + 0 = +0.
template <class L>
HWY_NOINLINE void finish_svd(const SvdShape& shape, SvdScratch<L>& x,
                             const steps::prepared<typename L::real>& p) {
  using T = typename L::real;
  using S = typename L::scalar;
  const simt::pow2_scale<T> scale = simt::make_pow2(p.exponent);
  if (shape.n <= kSortMaxN) {
    S* const u = shape.vectors ? x.a : nullptr;
    steps::sort_columns<true>(shape.n, x.d, u, shape.ld, shape.m, x.v, shape.ldv, shape.n);
    x.rank = nullptr;
  } else {
    rank_values(x.d, shape.n, true, x.rank);
  }
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
  const int rest = shape.columns_u - shape.n;
  if (rest > 0) {
    RealView<F> right = to_u;
    right.data += shape.n * right.col;
    F* const from = a + static_cast<ptrdiff_t>(shape.n) * shape.ld * P * V;
    store_pack<F, P, W, V>(right, first, count, shape.m, rest, from, shape.ld, nullptr);
  }
  if (shape.u_by_rows) {
    store_pack_by_rows<F, P, W, V>(to_u, first, count, shape.m, shape.n, a, shape.ld, x.rank,
                                   x.spare);
  } else {
    store_pack<F, P, W, V>(to_u, first, count, shape.m, shape.n, a, shape.ld, x.rank);
  }
  // U_b is stored: its pack is spare memory now.
  F* const b = reinterpret_cast<F*>(x.v);
  if (x.rank != nullptr && to_v.col == P && to_v.row != P) {
    store_pack_by_rows<F, P, W, V>(to_v, first, count, shape.n, shape.n, b, shape.ldv, x.rank, a);
  } else {
    store_pack<F, P, W, V>(to_v, first, count, shape.n, shape.n, b, shape.ldv, x.rank);
  }
}

// NaN into all that one matrix gives.
template <class F, int P>
HWY_NOINLINE void store_svd_nan(const SvdProblem& problem, int64_t index) {
  store_nan<F, 1>(real_view<F, 1>(problem.s), index, static_cast<int>(problem.s.rows), 1);
  if (problem.u.data == nullptr) return;
  for (const MatrixBatch* x : {&problem.u, &problem.vh}) {
    store_nan<F, P>(real_view<F, P>(*x), index, static_cast<int>(x->rows),
                    static_cast<int>(x->cols));
  }
}

template <class L, int kOrder>
HWY_NOINLINE void svd_pack(const SvdProblem& problem, const SvdShape& shape, SvdMethod method,
                           int64_t first, int count, void* scratch_base) {
  using F = typename L::F;
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
    converged = svd_decompose<L, kOrder>(shape, method, x);
  }
  finish_svd<L>(shape, x, p);
  const RealView<F> s = transposed(real_view<F, 1>(problem.s));
  store_pack<F, 1, W, V>(s, first, count, 1, shape.n, reinterpret_cast<F*>(x.d), 1, x.rank);
  if (shape.vectors) store_svd_vectors<L>(problem, shape, x, first, count);
  report_pack<L>(p.bad, converged, problem.info, first, count,
                 [&](int64_t index) { store_svd_nan<F, P>(problem, index); });
}

template <class L, int kOrder>
Status svd_at_width(const SvdProblem& problem, const SvdShape& shape, SvdMethod method, int threads,
                    double ns) {
  return for_each_pack(threads, problem.key.batch, L::kWidth, ns, SvdScratch<L>::bytes(shape),
                       [&](int64_t first, int count, void* scratch) {
                         svd_pack<L, kOrder>(problem, shape, method, first, count, scratch);
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

// Up to this size two vectors a T: their chains hide each other's latency. Four where all of a matrix
// is in registers.
constexpr int kPairMaxN = 16;

template <class S, int kOrder>
Status svd_sized(const SvdProblem& problem, const SvdShape& shape, SvdMethod method) {
  constexpr int kVectors = kOrder == 0 ? 2 : 4;
  return run_at_best_width<S, kVectors>(
      problem.key.threads, problem.key.batch, shape.m <= kPairMaxN,
      [&](int width) { return svd_cost_ns<S>(shape, width); },
      [&]<class L>(int threads, double ns) {
        return svd_at_width<L, kOrder>(problem, shape, method, threads, ns);
      });
}

template <class S>
Status run_svd(const SvdProblem& problem, SvdMethod method) {
  const SvdShape shape(problem, method);
  const int order = shape.m == shape.n ? shape.n : 0;
  if (order == 2) return svd_sized<S, 2>(problem, shape, method);
  if (order == 3) return svd_sized<S, 3>(problem, shape, method);
  // At order 4 rotations in registers beat the bidiagonal iteration in float32 with vectors alone
  // (measured: 80 against 99 ns; float64 325 against 280, complex64 206 against 156).
  const bool four_pays = std::is_same_v<S, float> && shape.vectors;
  if (order == 4 && (four_pays || method == SvdMethod::kJacobi)) {
    return svd_sized<S, 4>(problem, shape, method);
  }
  return svd_sized<S, 0>(problem, shape, method);
}

}  // namespace HWY_NAMESPACE
}  // namespace lanepack
HWY_AFTER_NAMESPACE();

#endif  // LANEPACK_BACKENDS_CPU_LANES_SVD_INL_H_ (per target)
