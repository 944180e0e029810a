// SPDX-License-Identifier: Apache-2.0
// The problems of solve_triangular, cholesky_solve and cholesky_inverse: checks, flops and bytes.
#ifndef LANEPACK_OPERATIONS_SOLVE_H_
#define LANEPACK_OPERATIONS_SOLVE_H_

#include "operations/check.h"

namespace lanepack {

Status check_solve_triangular(const char* function, const lanepack_solve_args* args, Data data,
                              SolveProblem* problem);
Status check_cholesky_solve(const char* function, const lanepack_solve_args* args, Data data,
                            SolveProblem* problem);
Status check_cholesky_inverse(const char* function, const lanepack_cholesky_inverse_args* args,
                              Data data, SolveProblem* problem);
double solve_flops(const ProblemKey& key);
double solve_bytes(const ProblemKey& key);

}  // namespace lanepack

#endif  // LANEPACK_OPERATIONS_SOLVE_H_
