// SPDX-License-Identifier: Apache-2.0
// Eigenvalues and vectors of symmetric and Hermitian matrices: LAPACK's syevd and heevd
// (tridiagonal form, then divide and conquer with vectors, square-root-free QL without; values of
// the two forms may differ in their last bits).
//
// LAPACK is always given the upper triangle, so that both triangles of one matrix give the same
// bits; it is also the faster one in MKL above n = 256.
#include <algorithm>

#include "backends/lapack/operations.h"

namespace lanepack::lapack {
namespace {

template <class S>
struct EighWork {
  using R = real_t<S>;
  int64_t n, ld;
  char job;
  int64_t lwork, lrwork, liwork;
  int64_t a, w, work, rwork, iwork;  // offsets
  int64_t bytes;
};

template <class S>
Int call_heevd(const Library& library, const EighWork<S>& plan, S* a, real_t<S>* w, S* work,
               Int lwork, real_t<S>* rwork, Int* iwork) {
  const Int n = static_cast<Int>(plan.n), lda = static_cast<Int>(plan.ld);
  const Int lrwork = static_cast<Int>(plan.lrwork), liwork = static_cast<Int>(plan.liwork);
  const char uplo = 'U';
  Int info = 0;
  FlushSubnormals flush;
  if constexpr (Routines<S>::kComplex) {
    library.routines<S>().heevd(&plan.job, &uplo, &n, a, &lda, w, work, &lwork, rwork, &lrwork,
                                iwork, &liwork, &info, 1, 1);
  } else {
    (void)lrwork;
    (void)rwork;
    library.routines<S>().heevd(&plan.job, &uplo, &n, a, &lda, w, work, &lwork, iwork, &liwork,
                                &info, 1, 1);
  }
  return info;
}

// Workspace minima as syevd and heevd document them.
template <class S>
Status plan_eigh(const Library& library, const EighProblem& problem, int threads,
                 EighWork<S>* plan) {
  using R = real_t<S>;
  const int64_t n = problem.key.n;
  const bool vectors = problem.v.data != nullptr;
  if (Status status = check_size("lanepack_eigh", "syevd", problem.key, n); status != Status::kOk) {
    return status;
  }
  plan->n = n;
  plan->ld = leading_dimension<S>(n);
  plan->job = vectors ? 'V' : 'N';
  if constexpr (Routines<S>::kComplex) {
    plan->lwork = vectors ? n * (n + 2) : n + 1;
    plan->lrwork = vectors ? 1 + n * (5 + 2 * n) : n;
  } else {
    plan->lwork = vectors ? 1 + n * (6 + 2 * n) : 2 * n + 1;
    plan->lrwork = 0;
  }
  plan->liwork = vectors ? 3 + 5 * n : 1;
  const int64_t largest = std::max({plan->lwork, plan->lrwork, plan->liwork});
  const char* driver = Routines<S>::kComplex ? "heevd" : "syevd";
  if (Status status = check_size("lanepack_eigh", driver, problem.key, largest);
      status != Status::kOk) {
    return status;
  }
  S answer{};
  R real_answer{};
  Int int_answer = 0, info;
  S a{};
  R w{};
  {
    // A query for all three sizes. The answer may depend on the threads.
    ThreadLimit limit(library, threads);
    EighWork<S> query = *plan;
    query.lrwork = query.liwork = -1;
    info = call_heevd(library, query, &a, &w, &answer, Int{-1}, &real_answer, &int_answer);
  }
  if (info == 0) plan->lwork = std::min(workspace_size(plan->lwork, answer), kIntMax);
  Layout layout;
  plan->a = layout.add<S>(plan->ld * n);
  plan->w = layout.add<R>(n);
  plan->work = layout.add<S>(plan->lwork);
  plan->rwork = layout.add<R>(plan->lrwork);
  plan->iwork = layout.add<Int>(plan->liwork);
  plan->bytes = layout.bytes();
  return Status::kOk;
}

template <class S>
Int eigh_matrix(const Library& library, const EighProblem& problem, const EighWork<S>& plan,
                char* block, int64_t b, int threads) {
  using R = real_t<S>;
  const int64_t n = plan.n, ld = plan.ld;
  S* a = array_at<S>(block, plan.a);
  R* w = array_at<R>(block, plan.w);
  const S* source = matrix_at<const S>(problem.a, b);
  const auto rows = [](int64_t j) { return j + 1; };
  over_columns(threads, n, n, [&](int64_t first, int64_t last) {
    load_upper(source, problem.a.row_stride, problem.a.col_stride, problem.key.upper, first, last,
               a, ld);
  });
  const Extent<R> extent = scan_columns(a, 0, n, ld, rows);
  Int info = kInfoNotFinite;
  if (extent.finite) {
    const PowerOfTwo<R> factor = normalizing_factor(extent.largest);
    scale_columns_flushed(a, 0, n, ld, rows, factor);
    info =
        call_heevd(library, plan, a, w, array_at<S>(block, plan.work), static_cast<Int>(plan.lwork),
                   array_at<R>(block, plan.rwork), array_at<Int>(block, plan.iwork));
    if (info == 0 && has_nan(w, n)) info = kInfoNoConvergence;
    factor.inverse().apply(w, n);
  }
  if (problem.info != nullptr) problem.info[b] = info;
  if (info != 0) {
    fill_nan<R>(problem.w, b);
    fill_nan<S>(problem.v, b);
    return info;
  }
  R* values = matrix_at<R>(problem.w, b);
  for (int64_t i = 0; i < n; ++i) values[i * problem.w.row_stride] = w[i];
  if (problem.v.data == nullptr) return 0;
  S* vectors = matrix_at<S>(problem.v, b);
  over_columns(threads, n, n, [&](int64_t first, int64_t last) {
    store_columns(a, ld, n, first, last, vectors, problem.v.row_stride, problem.v.col_stride);
  });
  return 0;
}

template <class S>
Status eigh_of(const Library& library, Spread spread, const EighProblem& problem) {
  const int64_t n = problem.key.n;
  if (n == 0) return Status::kOk;
  const int threads = spread == Spread::kSerial ? 1 : problem.key.threads;
  EighWork<S> plan;
  if (Status status = plan_eigh(library, problem, threads, &plan); status != Status::kOk) {
    return status;
  }
  const double size = static_cast<double>(n);
  const BatchPlan batch{"lanepack_eigh", Routines<S>::kComplex ? "heevd" : "syevd",
                        problem.key.batch, plan.bytes, 1 + size * size * size / 4e3};
  return run_batch(batch, library, spread, problem.key.threads,
                   [&](char* block, int64_t b, int inner) {
                     return eigh_matrix(library, problem, plan, block, b, inner);
                   });
}

}  // namespace

Status eigh(const Library& library, Spread spread, const EighProblem& problem) {
  return with_scalar(problem.key.dtype,
                     [&]<class S>() { return eigh_of<S>(library, spread, problem); });
}

}  // namespace lanepack::lapack
