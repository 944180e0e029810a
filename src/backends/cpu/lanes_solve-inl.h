// SPDX-License-Identifier: Apache-2.0
// Triangular systems on CPU lanes: load, substitute, store, for one scalar type. Included by
// lanes_solve_<dtype>.cc.
#if defined(LANEPACK_BACKENDS_CPU_LANES_SOLVE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LANEPACK_BACKENDS_CPU_LANES_SOLVE_INL_H_
#undef LANEPACK_BACKENDS_CPU_LANES_SOLVE_INL_H_
#else
#define LANEPACK_BACKENDS_CPU_LANES_SOLVE_INL_H_
#endif

#include "backends/cpu/lanes_driver-inl.h"
#include "backends/cpu/lanes_triangle-inl.h"
#include "operations/problem.h"

HWY_BEFORE_NAMESPACE();
namespace lanepack {
namespace HWY_NAMESPACE {

#include "kernels/solve_triangular/substitution_thread.simt.h"

// Right-hand sides are taken through a pack in blocks of columns, about this many bytes each.
constexpr int64_t kSideBytes = 24 << 10;

// The sizes of one problem, the same for every pack.
template <class L>
struct SolveShape {
  using S = typename L::scalar;
  int n, ld;
  int64_t columns;
  int block;  // columns of one block

  explicit SolveShape(const SolveProblem& problem) {
    n = static_cast<int>(problem.key.n);
    ld = leading_dimension(n);
    columns = problem.key.columns;
    const int64_t fit = kSideBytes / (static_cast<int64_t>(sizeof(S)) * ld) / 4 * 4;
    block = static_cast<int>(std::min<int64_t>(columns, std::max<int64_t>(fit, 8)));
    // An inverse is held whole: its triangles are made to agree.
    if (problem.key.operation == Operation::kCholeskyInverse) block = n;
  }
  size_t factor_bytes() const { return Scratch::rounded(sizeof(S) * static_cast<size_t>(n) * ld); }
  size_t bytes() const {
    return factor_bytes() + Scratch::rounded(sizeof(S) * static_cast<size_t>(block) * ld);
  }
};

// X = I in the pack.
template <class S>
void load_identity(int n, S* x, int ld) {
  const S one = simt::from_real<S>(simt::constant<simt::real_of<S>>(1.0f));
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) x[j * ld + i] = i == j ? one : simt::zero<S>();
  }
}

// The lower triangle of a Hermitian matrix onto its upper one.
template <class S>
void mirror_lower(int n, S* x, int ld) {
  for (int j = 0; j < n; ++j) {
    x[j * ld + j] = simt::from_real<S>(simt::real(x[j * ld + j]));
    for (int i = j + 1; i < n; ++i) x[i * ld + j] = simt::conj(x[j * ld + i]);
  }
}

// The factor is in the pack as its lower triangle, or as the lower triangle of its transpose.
template <class L>
HWY_NOINLINE void substitute_block(const SolveProblem& problem, const SolveShape<L>& shape,
                                   int columns, const typename L::scalar* factor,
                                   typename L::scalar* x) {
  using S = typename L::scalar;
  const Factor& f = problem.factor;
  const int n = shape.n, ld = shape.ld;
  const solve::triangle<S> lower = {factor, 1, ld, f.unit};
  const solve::triangle<S> upper = {factor, ld, 1, f.unit};
  const solve::sides<S> sides = {x, 1, ld};
  solve::solve_triangular(n, columns, f.lower ? lower : upper, f.lower, f.conjugate, sides);
  if (problem.key.operation == Operation::kSolveTriangular) return;
  // F F^H: a Cholesky factor is lower
  solve::solve_triangular(n, columns, upper, false, !f.conjugate, sides);
}

template <class L>
HWY_NOINLINE void solve_pack(const SolveProblem& problem, const SolveShape<L>& shape, int64_t first,
                             int count, void* scratch) {
  using F = typename L::F;
  using S = typename L::scalar;
  constexpr int P = L::kParts, W = L::kWidth, V = L::kStride;
  const int n = shape.n, ld = shape.ld;
  S* const factor = static_cast<S*>(scratch);
  S* const x = reinterpret_cast<S*>(static_cast<char*>(scratch) + shape.factor_bytes());
  RealView<F> a = real_view<F, P>(problem.factor.a);
  if (!problem.factor.lower) a = transposed(a);
  load_lower<F, P, W, V>(a, first, count, n, reinterpret_cast<F*>(factor), ld);
  const RealView<F> from = real_view<F, P>(problem.b), to = real_view<F, P>(problem.x);
  for (int64_t c = 0; c < shape.columns; c += shape.block) {
    const int columns = static_cast<int>(std::min<int64_t>(shape.block, shape.columns - c));
    if (problem.key.operation == Operation::kCholeskyInverse) {
      load_identity(n, x, ld);
    } else {
      load_pack<F, P, W, V>(moved(from, 0, c), first, count, n, columns, reinterpret_cast<F*>(x),
                            ld);
    }
    substitute_block<L>(problem, shape, columns, factor, x);
    if (problem.key.operation == Operation::kCholeskyInverse) mirror_lower(n, x, ld);
    store_pack<F, P, W, V>(moved(to, 0, c), first, count, n, columns, reinterpret_cast<F*>(x), ld,
                           nullptr);
  }
}

// The cost of one matrix on one thread in ns, for the split over threads only.
template <class S>
double solve_cost_ns(const ProblemKey& key, int width) {
  const auto n = static_cast<double>(key.n);
  const auto k = static_cast<double>(key.columns);
  const double passes = key.operation == Operation::kSolveTriangular ? 1.0 : 2.0;
  const double flops = passes * n * n * k + 4.0 * n * n + 8.0 * n * k;
  const double parts = lane_types<S, 1, 1>::kParts == 2 ? 3.0 : 1.0;
  return 1.0 + flops * parts / (width * 3.0);
}

// One matrix with many right-hand sides: every column is a system of its own, so that the lanes are
// full. The bits of a column do not depend on its neighbours.
inline SolveProblem columns_as_batch(const SolveProblem& problem) {
  SolveProblem each = problem;
  each.key.batch = each.factor.a.batch = each.b.batch = each.x.batch = problem.key.columns;
  each.key.columns = each.b.cols = each.x.cols = 1;
  each.factor.a.batch_stride = 0;
  each.b.batch_stride = problem.b.col_stride;
  each.x.batch_stride = problem.x.col_stride;
  return each;
}

template <class S>
Status run_solve(const SolveProblem& given) {
  const bool spread = given.key.batch == 1 && given.key.columns > 4 &&
                      given.key.operation != Operation::kCholeskyInverse;
  const SolveProblem problem = spread ? columns_as_batch(given) : given;
  return run_at_best_width<S, 1>(
      problem.key.threads, problem.key.batch, false,
      [&](int width) { return solve_cost_ns<S>(problem.key, width); },
      [&]<class L>(int threads, double ns) {
        const SolveShape<L> shape(problem);
        return for_each_pack(threads, problem.key.batch, L::kWidth, ns, shape.bytes(),
                             [&](int64_t first, int count, void* scratch) {
                               solve_pack<L>(problem, shape, first, count, scratch);
                             });
      });
}

}  // namespace HWY_NAMESPACE
}  // namespace lanepack
HWY_AFTER_NAMESPACE();

#endif  // LANEPACK_BACKENDS_CPU_LANES_SOLVE_INL_H_ (per target)
