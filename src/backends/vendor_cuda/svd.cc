// SPDX-License-Identifier: Apache-2.0
// svd and svdvals of float32 and complex64, through the eigenvalues of A^H A in float64.
//
// With B = A, or A^H where A is wide, in float64: B^H B = V D V^H, B V = Q R, U = Q, and R is diagonal
// but for rounding: its other entries are inner products of B's singular directions, below
// sqrt(2^-53) = 1e-8 of B's norm, a fifth of float32's unit roundoff. So are the errors of the roots
// of D. Q is orthogonal whatever the rank. Of cuSOLVER's own routines gesvdj takes a batch above
// order 32 one matrix at a time (1024 x 64: 1 s on an H200), with vectors that are orthogonal to
// 66 sqrt(n) u; here the QR alone is not batched.
#include <algorithm>
#include <utility>

#include "backends/vendor_cuda/eigen.h"
#include "backends/vendor_cuda/operations.h"
#include "backends/vendor_cuda/steps.h"

namespace lanepack::vendor_cuda {
namespace {

struct SvdPlan {
  EigenCall eigen;
  bool wide = false;          // B = A^H
  int64_t m = 0, n = 0;       // of B; m >= n
  int64_t u_columns = 0;      // of B's U: n or m
  Dtype dtype = Dtype::kF64;  // of B
  int64_t matrices = 1;       // of a part
  size_t geqrf_bytes = 0, geqrf_host = 0;
  int orgqr_elements = 0;
  // Arrays beside the packed B: B^H B, which becomes the eigenvectors; those in descending order of
  // their values, V; B V, which becomes Q.
  Common common;
  int64_t gram = 0, v = 0, q = 0, values = 0, tau = 0, routine = 0, blas = 0;
  int64_t workspace_bytes = 0;
};

Status ask_qr(const char* caller, const Session& session, SvdPlan* plan) {
  const Solver& s = session.solver();
  const DataType type = data_type(plan->dtype);
  const int64_t m = plan->m, n = plan->n;
  const Status status =
      check_solver(caller, "cusolverDnXgeqrf_bufferSize",
                   s.geqrf_size(session.handle(), session.params(), m, n, type, nullptr, m, type,
                                nullptr, type, &plan->geqrf_bytes, &plan->geqrf_host));
  if (status != Status::kOk) return status;
  OrgqrSize* const orgqr_size = is_complex(plan->dtype) ? s.zungqr_size : s.dorgqr_size;
  return check_solver(caller, "cusolverDnDorgqr_bufferSize",
                      orgqr_size(session.handle(), static_cast<int>(m),
                                 static_cast<int>(plan->u_columns), static_cast<int>(n), nullptr,
                                 static_cast<int>(m), nullptr, &plan->orgqr_elements));
}

Status lay_out(const char* caller, const Session& session, const ProblemKey& key, SvdPlan* plan) {
  Status status = ask_eigen(caller, session, plan->matrices, &plan->eigen);
  if (status == Status::kOk && plan->eigen.vectors) status = ask_qr(caller, session, plan);
  if (status != Status::kOk) return status;
  const int64_t bytes = size_bytes(plan->dtype), c = plan->matrices, n = plan->n;
  Arena arena;
  plan->common = Common(&arena, key.dtype, plan->dtype, c, key.m, key.n);
  plan->gram = arena.add(c * n * n * bytes);
  plan->values = arena.add(c * n * size_bytes(Dtype::kF64));
  if (plan->eigen.vectors) {
    plan->v = arena.add(c * n * n * bytes);
    plan->q = arena.add(c * plan->m * plan->u_columns * bytes);
    plan->tau = arena.add(c * n * bytes);
  }
  plan->routine =
      arena.add(std::max({static_cast<int64_t>(plan->eigen.device_bytes),
                          static_cast<int64_t>(plan->geqrf_bytes), plan->orgqr_elements * bytes}));
  plan->blas = arena.add(session.limits().blas_bytes);
  plan->workspace_bytes = arena.total();
  return Status::kOk;
}

Status make_plan(const char* caller, const Session& session, const ProblemKey& key, SvdPlan* plan) {
  *plan = {};
  plan->wide = key.m < key.n;
  plan->m = std::max(key.m, key.n);
  plan->n = std::min(key.m, key.n);
  plan->u_columns = key.full ? plan->m : plan->n;
  plan->dtype = is_complex(key.dtype) ? Dtype::kC128 : Dtype::kF64;
  plan->eigen.batched = takes_batches(session, key);
  plan->eigen.vectors = key.operation == Operation::kSvd;
  plan->eigen.n = plan->n;
  plan->eigen.dtype = plan->dtype;
  return fit_parts(session.limits(), key.batch, plan,
                   [&] { return lay_out(caller, session, key, plan); });
}

// The steps of one part of the batch.
class Part {
 public:
  Part(const char* caller, Session* session, const SvdPlan& plan, const Steps& steps, int64_t count)
      : caller_(caller), session_(session), plan_(plan), steps_(steps), count_(count) {}

  Status values() const {
    const int64_t m = plan_.m, n = plan_.n, packed = plan_.common.packed;
    const Status status =
        multiply(kAdjoint, n, m, {packed, m * n}, {packed, m * n}, {plan_.gram, n * n});
    if (status != Status::kOk) return status;
    return run_eigen(caller_, session_, plan_.eigen, kLower, count_, at(plan_.gram),
                     at(plan_.values), at(plan_.routine), steps_.routine_info());
  }

  // V, and Q from B V.
  Status vectors() const {
    const int64_t m = plan_.m, n = plan_.n, of_q = m * plan_.u_columns;
    Result reversed = {entry(plan_.gram, (n - 1) * n), plan_.dtype, -n, 1, n * n};
    reversed.plain = true;
    Status status = steps_.finish({at(plan_.v), n, n, count_, 1, n, n * n}, plan_.dtype, reversed);
    if (status != Status::kOk) return status;
    status = multiply(kAsIs, m, n, {plan_.common.packed, m * n}, {plan_.v, n * n}, {plan_.q, of_q});
    if (status == Status::kOk) status = reflectors();
    if (status != Status::kOk) return status;
    status = steps_.turn({at(plan_.q), n, n, count_, 1, m, of_q}, plan_.dtype, at(plan_.v), n);
    return status == Status::kOk ? product() : status;
  }

  Status store(const SvdProblem& problem, int64_t first) const {
    const ProblemKey& key = problem.key;
    const Dtype real = real_dtype(key.dtype);
    const int64_t m = plan_.m, n = plan_.n;
    Status status = steps_.roots(part_of(problem.s, real, first, count_), real, at(plan_.values));
    if (status != Status::kOk || problem.u.data == nullptr) return status;
    // A = Q S V^H, or V S Q^H.
    const Result q = {at(plan_.q), plan_.dtype, m, 1, m * plan_.u_columns};
    const Result v = {at(plan_.v), plan_.dtype, n, 1, n * n};
    const Result& left = plan_.wide ? v : q;
    Result right = plan_.wide ? q : v;
    std::swap(right.line, right.entry);
    right.conjugate = true;
    status = steps_.finish(part_of(problem.u, key.dtype, first, count_), key.dtype, left);
    if (status != Status::kOk) return status;
    return steps_.finish(part_of(problem.vh, key.dtype, first, count_), key.dtype, right);
  }

 private:
  struct Array {
    int64_t offset, stride;
  };

  // C = op(A) B, where op(A) has `rows` rows, B `inner` rows and n columns; nothing is padded.
  Status multiply(Transposed op, int64_t rows, int64_t inner, Array a, Array b, Array c) const {
    constexpr double kOne[] = {1.0, 0.0}, kZero[] = {0.0, 0.0};  // real, or real and imaginary
    const Blas& blas = session_->blas();
    GemmStridedBatched* const gemm =
        is_complex(plan_.dtype) ? blas.zgemm_strided_batched : blas.dgemm_strided_batched;
    const int of_call = plan_.eigen.batched ? static_cast<int>(count_) : 1;
    const int lda = static_cast<int>(op == kAsIs ? rows : inner);
    BlasStatus status = 0;
    for (int64_t i = 0; i < count_ && status == 0; i += of_call) {
      status = gemm(session_->blas_handle(), op, kAsIs, static_cast<int>(rows),
                    static_cast<int>(plan_.n), static_cast<int>(inner), kOne,
                    entry(a.offset, i * a.stride), lda, a.stride, entry(b.offset, i * b.stride),
                    static_cast<int>(inner), b.stride, kZero, entry(c.offset, i * c.stride),
                    static_cast<int>(rows), c.stride, of_call);
    }
    return check_blas(caller_, "cublasDgemmStridedBatched", status);
  }

  // B V becomes the R and reflectors of its QR.
  Status reflectors() const {
    const Solver& s = session_->solver();
    const DataType type = data_type(plan_.dtype);
    const int64_t m = plan_.m, n = plan_.n;
    void* host = nullptr;
    Status status = host_workspace(caller_, plan_.geqrf_host, &host);
    for (int64_t i = 0; i < count_ && status == Status::kOk; ++i) {
      status =
          check_solver(caller_, "cusolverDnXgeqrf",
                       s.geqrf(session_->handle(), session_->params(), m, n, type,
                               entry(plan_.q, i * m * plan_.u_columns), m, type,
                               entry(plan_.tau, i * n), type, at(plan_.routine), plan_.geqrf_bytes,
                               host, plan_.geqrf_host, steps_.routine_info() + i));
    }
    return status;
  }

  // The reflectors become Q.
  Status product() const {
    const Solver& s = session_->solver();
    Orgqr* const orgqr = is_complex(plan_.dtype) ? s.zungqr : s.dorgqr;
    const int m = static_cast<int>(plan_.m), n = static_cast<int>(plan_.n);
    SolverStatus status = 0;
    for (int64_t i = 0; i < count_ && status == 0; ++i) {
      status = orgqr(session_->handle(), m, static_cast<int>(plan_.u_columns), n,
                     entry(plan_.q, i * m * plan_.u_columns), m, entry(plan_.tau, i * n),
                     at(plan_.routine), plan_.orgqr_elements, steps_.routine_info() + i);
    }
    return check_solver(caller_, "cusolverDnDorgqr", status);
  }

  void* at(int64_t array) const { return steps_.at(array); }
  void* entry(int64_t array, int64_t entries) const {
    return steps_.at(array) + entries * size_bytes(plan_.dtype);
  }

  const char* caller_;
  Session* session_;
  const SvdPlan& plan_;
  const Steps& steps_;
  int64_t count_;
};

Status run_part(const char* caller, Session* session, const SvdProblem& problem,
                const SvdPlan& plan, const Steps& steps, int64_t first, int64_t count) {
  const Dtype dtype = problem.key.dtype;
  Reading reading;
  reading.by_rows = lies_by_rows(problem.a);
  reading.adjoint = plan.wide;
  Status status = steps.prepare(part_of(problem.a, dtype, first, count), reading, plan.dtype);
  if (status != Status::kOk) return status;
  const Part part(caller, session, plan, steps, count);
  status = part.values();
  if (status != Status::kOk) return status;
  int32_t* info = problem.info == nullptr ? nullptr : problem.info + first;
  status = steps.report(count, steps.at(plan.values), Dtype::kF64, plan.n, info);
  if (status == Status::kOk && plan.eigen.vectors) status = part.vectors();
  return status == Status::kOk ? part.store(problem, first) : status;
}

}  // namespace

int64_t svd_workspace(const ProblemKey& key) {
  constexpr const char* kCaller = "lanepack_svd_workspace";
  Session session;
  SvdPlan plan;
  if (session.open_for_questions(kCaller, key) != Status::kOk) return 0;
  return make_plan(kCaller, session, key, &plan) == Status::kOk ? plan.workspace_bytes : 0;
}

Status run_svd(const SvdProblem& problem) {
  constexpr const char* kCaller = "lanepack_svd";
  const ProblemKey& key = problem.key;
  Session session;
  Status status = session.open(kCaller, key, problem.launch.stream);
  if (status != Status::kOk) return status;
  SvdPlan plan;
  status = make_plan(kCaller, session, key, &plan);
  if (status == Status::kOk) {
    status = check_workspace(kCaller, problem.launch, plan.workspace_bytes);
  }
  if (status != Status::kOk) return status;
  const Steps steps(kCaller, key, problem.launch, plan.common);
  status = session.use_blas(kCaller, steps.at(plan.blas), session.limits().blas_bytes);
  for (int64_t first = 0; first < key.batch && status == Status::kOk; first += plan.matrices) {
    const int64_t count = std::min(plan.matrices, key.batch - first);
    status = run_part(kCaller, &session, problem, plan, steps, first, count);
  }
  return status;
}

}  // namespace lanepack::vendor_cuda
