// SPDX-License-Identifier: Apache-2.0
// Triangular systems by BLAS's trsm: in place on X wherever its columns or its rows are dense, with
// the factor where it stands. Under `invariant` both are aligned copies: trsm's bits depend on where
// its arguments lie.
#include <algorithm>
#include <utility>

#include "backends/lapack/operations.h"

namespace lanepack::lapack {
namespace {

// A matrix as BLAS sees it: columns `ld` apart, of the view or of its transpose.
struct Place {
  bool direct = false;      // it is used where it stands
  bool transposed = false;  // what stands there is the view's transpose
  int64_t ld = 0;
};

Place place_of(const MatrixBatch& x) {
  Place place;
  if (x.row_stride == 1 && x.col_stride >= std::max<int64_t>(x.rows, 1)) {
    place = {true, false, x.col_stride};
  } else if (x.col_stride == 1 && x.row_stride >= std::max<int64_t>(x.cols, 1)) {
    place = {true, true, x.row_stride};
  }
  if (place.ld > kIntMax) place = Place();
  return place;
}

template <class S>
struct SolveWork {
  Place factor, sides;
  bool conjugate_copy;  // the copy of the factor is its conjugate
  int64_t factor_at, sides_at, bytes;
};

// Whether trsm has what a complex factor needs, as it stands in memory: it can transpose, and
// conjugate what it transposes, but not conjugate alone; where X is its transpose, so is the operator.
// Of F and then F^H one is the plain matrix.
bool has_operator(const Factor& factor, const Place& place, bool sides_transposed, bool twice) {
  if (twice) return place.transposed == factor.conjugate;
  return !factor.conjugate || (place.transposed && !sides_transposed);
}

template <class S>
SolveWork<S> plan_solve(const SolveProblem& problem) {
  constexpr bool kComplex = Routines<S>::kComplex;
  const bool twice = problem.key.operation != Operation::kSolveTriangular;
  SolveWork<S> plan;
  plan.factor = place_of(problem.factor.a);
  plan.sides = place_of(problem.x);
  if (problem.key.routing == Routing::kInvariant) plan.factor = plan.sides = Place();
  // F^H is a conjugate transpose, of which trsm has no transpose
  if (kComplex && twice && plan.sides.transposed) plan.sides = Place();
  if (plan.factor.direct && kComplex &&
      !has_operator(problem.factor, plan.factor, plan.sides.transposed, twice)) {
    plan.factor = Place();
  }
  if (problem.x.data == problem.factor.a.data) plan.factor = Place();  // an inverse in place
  plan.conjugate_copy = !plan.factor.direct && problem.factor.conjugate && kComplex;
  Layout layout;
  const int64_t n = problem.key.n;
  if (!plan.factor.direct) plan.factor.ld = leading_dimension<S>(n);
  if (!plan.sides.direct) plan.sides.ld = leading_dimension<S>(n);
  plan.factor_at = layout.add<S>(plan.factor.direct ? 0 : plan.factor.ld * n);
  plan.sides_at = layout.add<S>(plan.sides.direct ? 0 : plan.sides.ld * problem.key.columns);
  plan.bytes = layout.bytes();
  return plan;
}

// One pass: M X = X, M the view of the factor or its conjugate transpose.
template <class S>
void call_trsm(const Library& library, const SolveProblem& problem, const SolveWork<S>& plan,
               const S* factor, S* x, bool adjoint) {
  const bool conjugate = problem.factor.conjugate && !plan.conjugate_copy;
  // op as trsm counts it, from the columns that stand in memory
  const bool turned = plan.factor.transposed != adjoint;
  char op = 'N';
  if (turned) op = conjugate != adjoint ? 'C' : 'T';
  const bool lower = problem.factor.lower != plan.factor.transposed;
  char side = 'L';
  Int rows = static_cast<Int>(problem.key.n), cols = static_cast<Int>(problem.key.columns);
  if (plan.sides.transposed) {
    side = 'R';
    std::swap(rows, cols);
    op = op == 'N' ? 'T' : 'N';
  }
  const char uplo = lower ? 'L' : 'U', diagonal = problem.factor.unit ? 'U' : 'N';
  const Int lda = static_cast<Int>(plan.factor.ld), ldb = static_cast<Int>(plan.sides.ld);
  const S one(1);
  library.routines<S>().trsm(&side, &uplo, &op, &diagonal, &rows, &cols, &one, factor, &lda, x,
                             &ldb, 1, 1, 1, 1);
}

template <class S>
void load_sides(const SolveProblem& problem, const SolveWork<S>& plan, S* x, int64_t b,
                int threads) {
  MatrixBatch from = problem.b;
  int64_t rows = problem.key.n, cols = problem.key.columns;
  if (plan.sides.transposed) {
    std::swap(from.row_stride, from.col_stride);
    std::swap(rows, cols);
  }
  if (problem.key.operation == Operation::kCholeskyInverse) {
    over_columns(threads, cols, rows, [&](int64_t first, int64_t last) {
      for (int64_t j = first; j < last; ++j) {
        std::fill_n(x + j * plan.sides.ld, rows, S(0));
        x[j * plan.sides.ld + j] = S(1);
      }
    });
    return;
  }
  const S* const source = matrix_at<const S>(from, b);
  if (source == x) return;  // it stands there already
  over_columns(threads, cols, rows, [&](int64_t first, int64_t last) {
    load_columns(source, from.row_stride, from.col_stride, rows, first, last, x, plan.sides.ld);
  });
}

// An inverse is Hermitian to the last bit.
template <class S>
void mirror_lower(int64_t n, S* x, int64_t ld) {
  for (int64_t j = 0; j < n; ++j) {
    x[j * ld + j] = std::real(x[j * ld + j]);
    for (int64_t i = j + 1; i < n; ++i) x[i * ld + j] = conj_of(x[j * ld + i]);
  }
}

template <class S>
Int solve_matrix(const Library& library, const SolveProblem& problem, const SolveWork<S>& plan,
                 char* block, int64_t b, int threads) {
  const int64_t n = problem.key.n;
  const MatrixBatch& view = problem.factor.a;
  const S* factor = matrix_at<const S>(view, b);
  if (!plan.factor.direct) {
    S* const copy = array_at<S>(block, plan.factor_at);
    over_columns(threads, n, n, [&](int64_t first, int64_t last) {
      load_columns(factor, view.row_stride, view.col_stride, n, first, last, copy, plan.factor.ld);
      if (plan.conjugate_copy) conjugate_columns(copy, n, first, last, plan.factor.ld);
    });
    factor = copy;
  }
  S* const output = matrix_at<S>(problem.x, b);
  S* const x = plan.sides.direct ? output : array_at<S>(block, plan.sides_at);
  load_sides(problem, plan, x, b, threads);
  call_trsm(library, problem, plan, factor, x, false);
  if (problem.key.operation != Operation::kSolveTriangular) {
    call_trsm(library, problem, plan, factor, x, true);
  }
  if (problem.key.operation == Operation::kCholeskyInverse) mirror_lower(n, x, plan.sides.ld);
  if (plan.sides.direct) return 0;
  over_columns(threads, problem.key.columns, n, [&](int64_t first, int64_t last) {
    store_columns(x, plan.sides.ld, n, first, last, output, problem.x.row_stride,
                  problem.x.col_stride);
  });
  return 0;
}

template <class S>
Status solve_of(const Library& library, Spread spread, const SolveProblem& problem) {
  const char* const function =
      problem.key.operation == Operation::kCholeskySolve     ? "lanepack_cholesky_solve"
      : problem.key.operation == Operation::kCholeskyInverse ? "lanepack_cholesky_inverse"
                                                             : "lanepack_solve_triangular";
  if (Status status = check_size(function, "trsm", problem.key, problem.key.columns);
      status != Status::kOk) {
    return status;
  }
  const SolveWork<S> plan = plan_solve<S>(problem);
  const double n = static_cast<double>(problem.key.n);
  const BatchPlan batch{function, "trsm", problem.key.batch, plan.bytes,
                        1 + n * n * static_cast<double>(problem.key.columns) / 2e4};
  return run_batch(batch, library, spread, problem.key.threads,
                   [&](char* block, int64_t b, int inner) {
                     return solve_matrix(library, problem, plan, block, b, inner);
                   });
}

}  // namespace

Status solve(const Library& library, Spread spread, const SolveProblem& problem) {
  return with_scalar(problem.key.dtype,
                     [&]<class S>() { return solve_of<S>(library, spread, problem); });
}

}  // namespace lanepack::lapack
