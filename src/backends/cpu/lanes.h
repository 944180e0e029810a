// SPDX-License-Identifier: Apache-2.0
// The lane operations, one per dtype: each picks the instruction set and runs the whole batch.
#ifndef LANEPACK_BACKENDS_CPU_LANES_H_
#define LANEPACK_BACKENDS_CPU_LANES_H_

#include "operations/problem.h"

namespace lanepack {

Status lanes_eigh_f32(const EighProblem& problem);
Status lanes_eigh_f64(const EighProblem& problem);
Status lanes_eigh_c64(const EighProblem& problem);
Status lanes_eigh_c128(const EighProblem& problem);

Status lanes_qr_f32(const QrProblem& problem);
Status lanes_qr_f64(const QrProblem& problem);
Status lanes_qr_c64(const QrProblem& problem);
Status lanes_qr_c128(const QrProblem& problem);
Status lanes_qr_tall_f32(const QrProblem& problem);
Status lanes_qr_tall_f64(const QrProblem& problem);
Status lanes_qr_tall_c64(const QrProblem& problem);
Status lanes_qr_tall_c128(const QrProblem& problem);

Status lanes_svd_bidiagonal_qr_f32(const SvdProblem& problem);
Status lanes_svd_bidiagonal_qr_f64(const SvdProblem& problem);
Status lanes_svd_bidiagonal_qr_c64(const SvdProblem& problem);
Status lanes_svd_bidiagonal_qr_c128(const SvdProblem& problem);
Status lanes_svd_jacobi_f32(const SvdProblem& problem);
Status lanes_svd_jacobi_f64(const SvdProblem& problem);
Status lanes_svd_jacobi_c64(const SvdProblem& problem);
Status lanes_svd_jacobi_c128(const SvdProblem& problem);
Status lanes_svd_tall_f32(const SvdProblem& problem);
Status lanes_svd_tall_f64(const SvdProblem& problem);
Status lanes_svd_tall_c64(const SvdProblem& problem);
Status lanes_svd_tall_c128(const SvdProblem& problem);

Status lanes_cholesky_f32(const CholeskyProblem& problem);
Status lanes_cholesky_f64(const CholeskyProblem& problem);
Status lanes_cholesky_c64(const CholeskyProblem& problem);
Status lanes_cholesky_c128(const CholeskyProblem& problem);

Status lanes_solve_f32(const SolveProblem& problem);
Status lanes_solve_f64(const SolveProblem& problem);
Status lanes_solve_c64(const SolveProblem& problem);
Status lanes_solve_c128(const SolveProblem& problem);

}  // namespace lanepack

#endif  // LANEPACK_BACKENDS_CPU_LANES_H_
