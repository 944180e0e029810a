// SPDX-License-Identifier: Apache-2.0
// Singular values and vectors: LAPACK's gesdd (bidiagonal form, then divide and conquer with
// vectors, dqds without; values of the two forms may differ in their last bits). It takes a QR
// factorisation first where rows are many. A matrix for which it does not converge is tried again
// with gesvd (QR iteration) where the library has that.
//
// A wide matrix is decomposed as its adjoint: MKL's gesdd of 64 x 128 takes 1.4 times as long as
// that of 128 x 64 for values alone, 1.07 times with vectors.
#include <algorithm>

#include "backends/lapack/operations.h"

namespace lanepack::lapack {
namespace {

template <class S>
struct SvdWork {
  int64_t m, n;  // m >= n
  bool adjoint;  // of the user's matrix
  char job;
  int64_t ld, ldu, ldvt;
  int64_t lwork;
  int64_t a, s, u, vt, work, rwork, iwork;  // offsets
  int64_t bytes;
};

template <class S>
struct SvdArrays {
  using R = real_t<S>;
  S* a = nullptr;
  R* s = nullptr;
  S* u = nullptr;
  S* vt = nullptr;
  S* work = nullptr;
  R* rwork = nullptr;
  Int* iwork = nullptr;
};

template <class S>
Int call_gesdd(const Library& library, const SvdWork<S>& plan, const SvdArrays<S>& x, Int lwork) {
  const Int m = static_cast<Int>(plan.m), n = static_cast<Int>(plan.n);
  const Int lda = static_cast<Int>(plan.ld), ldu = static_cast<Int>(plan.ldu);
  const Int ldvt = static_cast<Int>(plan.ldvt);
  Int info = 0;
  FlushSubnormals flush;
  if constexpr (Routines<S>::kComplex) {
    library.routines<S>().gesdd(&plan.job, &m, &n, x.a, &lda, x.s, x.u, &ldu, x.vt, &ldvt, x.work,
                                &lwork, x.rwork, x.iwork, &info, 1);
  } else {
    library.routines<S>().gesdd(&plan.job, &m, &n, x.a, &lda, x.s, x.u, &ldu, x.vt, &ldvt, x.work,
                                &lwork, x.iwork, &info, 1);
  }
  return info;
}

template <class S>
Int call_gesvd(const Library& library, const SvdWork<S>& plan, const SvdArrays<S>& x) {
  const Int m = static_cast<Int>(plan.m), n = static_cast<Int>(plan.n);
  const Int lda = static_cast<Int>(plan.ld), ldu = static_cast<Int>(plan.ldu);
  const Int ldvt = static_cast<Int>(plan.ldvt), lwork = static_cast<Int>(plan.lwork);
  Int info = 0;
  FlushSubnormals flush;
  if constexpr (Routines<S>::kComplex) {
    library.routines<S>().gesvd(&plan.job, &plan.job, &m, &n, x.a, &lda, x.s, x.u, &ldu, x.vt,
                                &ldvt, x.work, &lwork, x.rwork, &info, 1, 1);
  } else {
    library.routines<S>().gesvd(&plan.job, &plan.job, &m, &n, x.a, &lda, x.s, x.u, &ldu, x.vt,
                                &ldvt, x.work, &lwork, &info, 1, 1);
  }
  return info;
}

// The larger of what gesdd and gesvd document, over LAPACK's versions, for m >= n.
template <class S>
void minimal_workspace(int64_t m, int64_t n, bool vectors, int64_t* lwork, int64_t* lrwork) {
  if constexpr (Routines<S>::kComplex) {
    *lwork = (vectors ? n * n : 0) + 2 * n + m;
    *lrwork = vectors ? n * std::max(5 * n + 7, 2 * m + 2 * n + 1) : 7 * n;
  } else {
    *lwork = vectors ? 4 * n * n + 6 * n + m : 3 * n + std::max(m, 7 * n);
    *lrwork = 0;
  }
}

template <class S>
Status plan_svd(const Library& library, const SvdProblem& problem, int threads, SvdWork<S>* plan) {
  using R = real_t<S>;
  if (Status status = check_size("lanepack_svd", "gesdd", problem.key, 0); status != Status::kOk) {
    return status;
  }
  const int64_t m = std::max(problem.key.m, problem.key.n);
  const int64_t n = std::min(problem.key.m, problem.key.n);
  const bool vectors = problem.u.data != nullptr;
  const int64_t u_cols = !vectors ? 0 : problem.key.full ? m : n;
  plan->m = m;
  plan->n = n;
  plan->adjoint = problem.key.m < problem.key.n;
  plan->job = !vectors ? 'N' : u_cols > n ? 'A' : 'S';
  plan->ld = leading_dimension<S>(m);
  plan->ldu = vectors ? plan->ld : 1;
  plan->ldvt = vectors ? leading_dimension<S>(n) : 1;
  int64_t lrwork;
  minimal_workspace<S>(m, n, vectors, &plan->lwork, &lrwork);
  const int64_t largest = std::max({plan->lwork, lrwork, plan->ld, 8 * n});
  if (Status status = check_size("lanepack_svd", "gesdd", problem.key, largest);
      status != Status::kOk) {
    return status;
  }
  S a{}, u{}, vt{}, answer{};
  R s{}, real_answer{};
  Int int_answer{};
  const SvdArrays<S> query{&a, &s, &u, &vt, &answer, &real_answer, &int_answer};
  {
    ThreadLimit limit(library, threads);
    if (call_gesdd(library, *plan, query, Int{-1}) == 0) {
      plan->lwork = std::min(workspace_size(plan->lwork, answer), kIntMax);
    }
  }
  Layout layout;
  plan->a = layout.add<S>(plan->ld * n);
  plan->s = layout.add<R>(n);
  plan->u = layout.add<S>(plan->ldu * u_cols);
  plan->vt = layout.add<S>(vectors ? plan->ldvt * n : 0);
  plan->work = layout.add<S>(plan->lwork);
  plan->rwork = layout.add<R>(lrwork);
  plan->iwork = layout.add<Int>(8 * n);
  plan->bytes = layout.bytes();
  return Status::kOk;
}

// Loads the matrix or its adjoint, scaled; false if it holds a number that is not finite.
template <class S>
bool load_scaled(const SvdProblem& problem, const SvdWork<S>& plan, S* a, int64_t b, int threads,
                 PowerOfTwo<real_t<S>>* back) {
  const int64_t m = plan.m, n = plan.n, ld = plan.ld;
  const MatrixBatch& source = problem.a;
  const S* from = matrix_at<const S>(source, b);
  const int64_t row_stride = plan.adjoint ? source.col_stride : source.row_stride;
  const int64_t col_stride = plan.adjoint ? source.row_stride : source.col_stride;
  over_columns(threads, n, m, [&](int64_t first, int64_t last) {
    load_columns(from, row_stride, col_stride, m, first, last, a, ld);
    if (plan.adjoint) conjugate_columns(a, m, first, last, ld);
  });
  const auto rows = [m](int64_t) { return m; };
  const Extent<real_t<S>> extent = scan_columns(a, 0, n, ld, rows);
  if (!extent.finite) return false;
  const PowerOfTwo<real_t<S>> factor = normalizing_factor(extent.largest);
  scale_columns_flushed(a, 0, n, ld, rows, factor);
  *back = factor.inverse();
  return true;
}

// x is one of gesdd's arrays: out = x, or its adjoint.
template <class S>
void store_vectors(S* x, int64_t ld, bool adjoint, const MatrixBatch& out, int64_t b, int threads) {
  const int64_t m = adjoint ? out.cols : out.rows, n = adjoint ? out.rows : out.cols;
  const int64_t row_stride = adjoint ? out.col_stride : out.row_stride;
  const int64_t col_stride = adjoint ? out.row_stride : out.col_stride;
  S* target = matrix_at<S>(out, b);
  over_columns(threads, n, m, [&](int64_t first, int64_t last) {
    if (adjoint) conjugate_columns(x, m, first, last, ld);
    store_columns(x, ld, m, first, last, target, row_stride, col_stride);
  });
}

template <class S>
Int svd_matrix(const Library& library, const SvdProblem& problem, const SvdWork<S>& plan,
               char* block, int64_t b, int threads) {
  using R = real_t<S>;
  const SvdArrays<S> x{array_at<S>(block, plan.a),      array_at<R>(block, plan.s),
                       array_at<S>(block, plan.u),      array_at<S>(block, plan.vt),
                       array_at<S>(block, plan.work),   array_at<R>(block, plan.rwork),
                       array_at<Int>(block, plan.iwork)};
  PowerOfTwo<R> back(0);
  Int info = kInfoNotFinite;
  if (load_scaled(problem, plan, x.a, b, threads, &back)) {
    info = call_gesdd(library, plan, x, static_cast<Int>(plan.lwork));
    if (info == 0 && has_nan(x.s, plan.n)) info = kInfoNoConvergence;
    if (info > 0 && library.routines<S>().gesvd != nullptr) {
      load_scaled(problem, plan, x.a, b, threads, &back);
      info = call_gesvd(library, plan, x);
      if (info == 0 && has_nan(x.s, plan.n)) info = kInfoNoConvergence;
    }
  }
  if (problem.info != nullptr) problem.info[b] = info;
  if (info != 0) {
    fill_nan<S>(problem.u, b);
    fill_nan<R>(problem.s, b);
    fill_nan<S>(problem.vh, b);
    return info;
  }
  back.apply(x.s, plan.n);
  R* values = matrix_at<R>(problem.s, b);
  for (int64_t i = 0; i < plan.n; ++i) values[i * problem.s.row_stride] = x.s[i];
  if (problem.u.data == nullptr) return 0;
  // A^H = U S V^H, so A = V S U^H.
  const MatrixBatch& for_u = plan.adjoint ? problem.vh : problem.u;
  const MatrixBatch& for_vt = plan.adjoint ? problem.u : problem.vh;
  store_vectors(x.u, plan.ldu, plan.adjoint, for_u, b, threads);
  store_vectors(x.vt, plan.ldvt, plan.adjoint, for_vt, b, threads);
  return 0;
}

// A matrix without rows or columns has no singular values; full vectors are the identity.
template <class S>
Status svd_of_empty(const SvdProblem& problem) {
  for (int64_t b = 0; b < problem.key.batch; ++b) {
    fill_matrix<S>(problem.u, b, S(0), S(1));
    fill_matrix<S>(problem.vh, b, S(0), S(1));
    if (problem.info != nullptr) problem.info[b] = 0;
  }
  return Status::kOk;
}

template <class S>
Status svd_of(const Library& library, Spread spread, const SvdProblem& problem) {
  if (problem.key.m == 0 || problem.key.n == 0) return svd_of_empty<S>(problem);
  const int threads = spread == Spread::kSerial ? 1 : problem.key.threads;
  SvdWork<S> plan;
  if (Status status = plan_svd(library, problem, threads, &plan); status != Status::kOk) {
    return status;
  }
  const double m = static_cast<double>(plan.m), n = static_cast<double>(plan.n);
  const BatchPlan batch{"lanepack_svd", "gesdd", problem.key.batch, plan.bytes,
                        2 + m * n * n / 2e3};
  return run_batch(batch, library, spread, problem.key.threads,
                   [&](char* block, int64_t b, int inner) {
                     return svd_matrix(library, problem, plan, block, b, inner);
                   });
}

}  // namespace

Status svd(const Library& library, Spread spread, const SvdProblem& problem) {
  return with_scalar(problem.key.dtype,
                     [&]<class S>() { return svd_of<S>(library, spread, problem); });
}

}  // namespace lanepack::lapack
