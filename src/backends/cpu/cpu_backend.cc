// SPDX-License-Identifier: Apache-2.0
// The rows of the CPU lanes in the table of algorithms.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "backends/backend.h"
#include "backends/cpu/lanes.h"
#include "backends/cpu/tall_blocks.h"

namespace lanepack {
namespace {

// A pack counts its elements in int: each fits_... says which sizes stay in range.
bool fits_square(const ProblemKey& key) {
  return key.device == 0 && key.n <= INT32_MAX / (2 * (key.n + 1));
}

// One entry per dtype, in the order of Dtype.
using RunEigh = Status (*)(const EighProblem&);
Status run_eigh(const EighProblem& problem) {
  static constexpr RunEigh kRun[] = {lanes_eigh_f32, lanes_eigh_f64, lanes_eigh_c64,
                                     lanes_eigh_c128};
  return kRun[static_cast<int>(problem.key.dtype)](problem);
}

using RunQr = Status (*)(const QrProblem&);
Status run_qr(const QrProblem& problem) {
  static constexpr RunQr kRun[] = {lanes_qr_f32, lanes_qr_f64, lanes_qr_c64, lanes_qr_c128};
  return kRun[static_cast<int>(problem.key.dtype)](problem);
}
Status run_tall_qr(const QrProblem& problem) {
  static constexpr RunQr kRun[] = {lanes_qr_tall_f32, lanes_qr_tall_f64, lanes_qr_tall_c64,
                                   lanes_qr_tall_c128};
  return kRun[static_cast<int>(problem.key.dtype)](problem);
}
bool fits_householder_qr(const ProblemKey& key) {
  const int64_t columns = key.full ? std::max(key.m, key.n) : key.n;
  return key.device == 0 && columns <= INT32_MAX / (2 * (key.m + 1));
}

using RunSvd = Status (*)(const SvdProblem&);
Status run_bidiagonal_qr(const SvdProblem& problem) {
  static constexpr RunSvd kRun[] = {lanes_svd_bidiagonal_qr_f32, lanes_svd_bidiagonal_qr_f64,
                                    lanes_svd_bidiagonal_qr_c64, lanes_svd_bidiagonal_qr_c128};
  return kRun[static_cast<int>(problem.key.dtype)](problem);
}
Status run_jacobi(const SvdProblem& problem) {
  static constexpr RunSvd kRun[] = {lanes_svd_jacobi_f32, lanes_svd_jacobi_f64,
                                    lanes_svd_jacobi_c64, lanes_svd_jacobi_c128};
  return kRun[static_cast<int>(problem.key.dtype)](problem);
}
Status run_tall_svd(const SvdProblem& problem) {
  static constexpr RunSvd kRun[] = {lanes_svd_tall_f32, lanes_svd_tall_f64, lanes_svd_tall_c64,
                                    lanes_svd_tall_c128};
  return kRun[static_cast<int>(problem.key.dtype)](problem);
}
bool fits_svd(const ProblemKey& key) {
  const int64_t rows = std::max(key.m, key.n);
  const int64_t columns = key.full ? rows : std::min(key.m, key.n);
  return key.device == 0 && columns <= INT32_MAX / (2 * (rows + 1));
}
// Its small singular values are right to the norm only, so the driver jacobi is not its to serve.
bool fits_bidiagonal_qr(const ProblemKey& key) { return !key.jacobi && fits_svd(key); }
// As in QR, of the matrix or its transpose; full matrices are a square U of the longer side, which
// no part of this algorithm makes.
bool fits_tall_svd(const ProblemKey& key) {
  ProblemKey tall = key;
  if (key.m < key.n) std::swap(tall.m, tall.n);
  return !key.jacobi && fits_tall(tall);
}

using RunCholesky = Status (*)(const CholeskyProblem&);
Status run_cholesky(const CholeskyProblem& problem) {
  static constexpr RunCholesky kRun[] = {lanes_cholesky_f32, lanes_cholesky_f64, lanes_cholesky_c64,
                                         lanes_cholesky_c128};
  return kRun[static_cast<int>(problem.key.dtype)](problem);
}
using RunSolve = Status (*)(const SolveProblem&);
Status run_solve(const SolveProblem& problem) {
  static constexpr RunSolve kRun[] = {lanes_solve_f32, lanes_solve_f64, lanes_solve_c64,
                                      lanes_solve_c128};
  return kRun[static_cast<int>(problem.key.dtype)](problem);
}

constexpr Algorithm kAlgorithms[] = {
    {"qr.householder.lanes", Operation::kQr, fits_householder_qr, run_qr, nullptr, nullptr},
    {"qr.tall.lanes", Operation::kQr, fits_tall, run_tall_qr, nullptr, nullptr},
    {"eigh.tridiagonal_ql.lanes", Operation::kEigh, fits_square, nullptr, run_eigh, nullptr},
    {"svd.bidiagonal_qr.lanes", Operation::kSvd, fits_bidiagonal_qr, nullptr, nullptr,
     run_bidiagonal_qr},
    {"svd.jacobi.lanes", Operation::kSvd, fits_svd, nullptr, nullptr, run_jacobi},
    {"svd.tall.lanes", Operation::kSvd, fits_tall_svd, nullptr, nullptr, run_tall_svd},
    {"cholesky.left_looking.lanes", Operation::kCholesky, fits_square, nullptr, nullptr, nullptr,
     nullptr, run_cholesky},
    {"solve_triangular.substitution.lanes", Operation::kSolveTriangular, fits_square, nullptr,
     nullptr, nullptr, nullptr, nullptr, run_solve},
};

}  // namespace

AlgorithmList cpu_algorithms() {
  return {kAlgorithms, sizeof(kAlgorithms) / sizeof(kAlgorithms[0])};
}

}  // namespace lanepack
