// SPDX-License-Identifier: Apache-2.0
// QR by Householder reflectors: LAPACK's geqrf, then orgqr (ungqr) for Q.
#include <algorithm>
#include <cmath>

#include "backends/lapack/operations.h"

namespace lanepack::lapack {
namespace {

template <class S>
struct QrWork {
  int64_t m, n, k, ld;
  int64_t q_cols;  // 0: R alone
  int64_t lwork;
  int64_t a, tau, phases, work;  // offsets
  int64_t bytes;
};

template <class S>
Int call_geqrf(const Library& library, const QrWork<S>& plan, S* a, S* tau, S* work, Int lwork) {
  const Int m = static_cast<Int>(plan.m), n = static_cast<Int>(plan.n);
  const Int lda = static_cast<Int>(plan.ld);
  Int info = 0;
  FlushSubnormals flush;
  library.routines<S>().geqrf(&m, &n, a, &lda, tau, work, &lwork, &info);
  return info;
}

template <class S>
Int call_orgqr(const Library& library, const QrWork<S>& plan, S* a, const S* tau, S* work,
               Int lwork) {
  const Int m = static_cast<Int>(plan.m), cols = static_cast<Int>(plan.q_cols);
  const Int k = static_cast<Int>(plan.k), lda = static_cast<Int>(plan.ld);
  Int info = 0;
  FlushSubnormals flush;
  library.routines<S>().orgqr(&m, &cols, &k, a, &lda, tau, work, &lwork, &info);
  return info;
}

template <class S>
Status plan_qr(const Library& library, const QrProblem& problem, int threads, QrWork<S>* plan) {
  const int64_t m = problem.key.m, n = problem.key.n;
  plan->m = m;
  plan->n = n;
  plan->k = std::min(m, n);
  plan->ld = leading_dimension<S>(m);
  plan->q_cols = problem.q.data == nullptr ? 0 : problem.key.full ? m : plan->k;
  const int64_t minimum = std::max<int64_t>({1, n, plan->q_cols});
  if (Status status = check_size("lanepack_qr", "geqrf", problem.key, std::max(minimum, plan->ld));
      status != Status::kOk) {
    return status;
  }
  S a{}, tau{}, for_geqrf{}, for_orgqr{};
  {
    ThreadLimit limit(library, threads);
    call_geqrf(library, *plan, &a, &tau, &for_geqrf, Int{-1});
    if (plan->q_cols > 0) call_orgqr(library, *plan, &a, &tau, &for_orgqr, Int{-1});
  }
  plan->lwork = std::min(
      std::max(workspace_size(minimum, for_geqrf), workspace_size(minimum, for_orgqr)), kIntMax);
  Layout layout;
  plan->a = layout.add<S>(plan->ld * std::max(n, plan->q_cols));
  plan->tau = layout.add<S>(plan->k);
  plan->phases = layout.add<S>(plan->k);
  plan->work = layout.add<S>(plan->lwork);
  plan->bytes = layout.bytes();
  return Status::kOk;
}

// MKL's blocked geqrf leaves the last diagonal element of a square complex matrix as it is, where
// LAPACK makes it real. Row i of R is turned by phases[i], so that R's diagonal is real and of the
// sign that LAPACK's larfg gives it; column i of Q is turned back later. False: nothing to turn.
template <class S>
bool make_diagonal_real(const QrWork<S>& plan, S* a, S* phases) {
  bool turned = false;
  if constexpr (Routines<S>::kComplex) {
    using R = real_t<S>;
    for (int64_t i = 0; i < plan.k; ++i) {
      S& head = a[i + i * plan.ld];
      phases[i] = S(1);
      if (head.imag() == 0) continue;
      turned = true;
      const R largest = std::max(std::abs(head.real()), std::abs(head.imag()));
      const R re = head.real() / largest, im = head.imag() / largest;
      const R size = std::sqrt(re * re + im * im);
      const R sign = std::signbit(re) ? R(1) : R(-1);
      phases[i] = S(sign * re / size, -sign * im / size);
      head = sign * size * largest;
      for (int64_t j = i + 1; j < plan.n; ++j) a[i + j * plan.ld] *= phases[i];
    }
  }
  return turned;
}

template <class S>
void turn_columns_back(const QrWork<S>& plan, const S* phases, S* q) {
  for (int64_t j = 0; j < plan.k; ++j) {
    if (phases[j] == S(1)) continue;
    for (int64_t i = 0; i < plan.m; ++i) q[i + j * plan.ld] *= conj_of(phases[j]);
  }
}

// The upper triangle of the factored array, exact zeros below it.
template <class S>
void store_r(const QrProblem& problem, int64_t b, const S* a, int64_t ld, int64_t first,
             int64_t last, const PowerOfTwo<real_t<S>>& back) {
  const MatrixBatch& r = problem.r;
  const int64_t k = std::min(problem.key.m, problem.key.n);
  S* out = matrix_at<S>(r, b);
  for (int64_t j = first; j < last; ++j) {
    const int64_t height = std::min(j + 1, k);
    S* column = out + j * r.col_stride;
    const S* from = a + j * ld;
    if (back.is_one() && r.row_stride == 1) {
      std::copy_n(from, height, column);
    } else {
      for (int64_t i = 0; i < height; ++i) column[i * r.row_stride] = back(from[i]);
    }
    for (int64_t i = height; i < r.rows; ++i) column[i * r.row_stride] = S(0);
  }
}

template <class S>
Int qr_matrix(const Library& library, const QrProblem& problem, const QrWork<S>& plan, char* block,
              int64_t b, int threads) {
  using R = real_t<S>;
  const int64_t m = plan.m, n = plan.n, ld = plan.ld;
  S* a = array_at<S>(block, plan.a);
  S* tau = array_at<S>(block, plan.tau);
  S* phases = array_at<S>(block, plan.phases);
  S* work = array_at<S>(block, plan.work);
  const Int lwork = static_cast<Int>(plan.lwork);
  const S* source = matrix_at<const S>(problem.a, b);
  const auto rows = [m](int64_t) { return m; };
  over_columns(threads, n, m, [&](int64_t first, int64_t last) {
    load_columns(source, problem.a.row_stride, problem.a.col_stride, m, first, last, a, ld);
  });
  const Extent<R> extent = scan_columns(a, 0, n, ld, rows);
  Int info = kInfoNotFinite;
  bool turned = false;
  if (extent.finite) {
    const PowerOfTwo<R> factor = guarding_factor(extent.largest);
    scale_columns_flushed(a, 0, n, ld, rows, factor);
    info = call_geqrf(library, plan, a, tau, work, lwork);
    if (info == 0) {
      turned = make_diagonal_real(plan, a, phases);
      over_columns(threads, n, std::min(m, n), [&](int64_t first, int64_t last) {
        store_r(problem, b, a, ld, first, last, factor.inverse());
      });
      if (plan.q_cols > 0) info = call_orgqr(library, plan, a, tau, work, lwork);
      if (plan.q_cols > 0 && turned) turn_columns_back(plan, phases, a);
    }
  }
  if (problem.info != nullptr) problem.info[b] = info;
  if (info != 0) {
    fill_nan<S>(problem.q, b);
    fill_nan<S>(problem.r, b);
    return info;
  }
  if (plan.q_cols == 0) return 0;
  S* q = matrix_at<S>(problem.q, b);
  over_columns(threads, plan.q_cols, m, [&](int64_t first, int64_t last) {
    store_columns(a, ld, m, first, last, q, problem.q.row_stride, problem.q.col_stride);
  });
  return 0;
}

// A matrix without rows or columns has no reflectors: Q is the identity.
template <class S>
Status qr_of_empty(const QrProblem& problem) {
  for (int64_t b = 0; b < problem.key.batch; ++b) {
    fill_matrix<S>(problem.q, b, S(0), S(1));
    fill_matrix<S>(problem.r, b, S(0), S(0));
    if (problem.info != nullptr) problem.info[b] = 0;
  }
  return Status::kOk;
}

template <class S>
Status qr_of(const Library& library, Spread spread, const QrProblem& problem) {
  if (problem.key.m == 0 || problem.key.n == 0) return qr_of_empty<S>(problem);
  const int threads = spread == Spread::kSerial ? 1 : problem.key.threads;
  QrWork<S> plan;
  if (Status status = plan_qr(library, problem, threads, &plan); status != Status::kOk) {
    return status;
  }
  const double m = static_cast<double>(plan.m), n = static_cast<double>(plan.n);
  const BatchPlan batch{"lanepack_qr", "geqrf", problem.key.batch, plan.bytes,
                        1 + m * n * static_cast<double>(plan.k) / 8e3};
  return run_batch(batch, library, spread, problem.key.threads,
                   [&](char* block, int64_t b, int inner) {
                     return qr_matrix(library, problem, plan, block, b, inner);
                   });
}

}  // namespace

Status qr(const Library& library, Spread spread, const QrProblem& problem) {
  return with_scalar(problem.key.dtype,
                     [&]<class S>() { return qr_of<S>(library, spread, problem); });
}

}  // namespace lanepack::lapack
