// SPDX-License-Identifier: Apache-2.0
// The problem of cholesky: checks, flops and bytes.
#ifndef LANEPACK_OPERATIONS_CHOLESKY_H_
#define LANEPACK_OPERATIONS_CHOLESKY_H_

#include "operations/check.h"

namespace lanepack {

Status check_cholesky(const char* function, const lanepack_cholesky_args* args, Data data,
                      CholeskyProblem* problem);
double cholesky_flops(const ProblemKey& key);
double cholesky_bytes(const ProblemKey& key);

}  // namespace lanepack

#endif  // LANEPACK_OPERATIONS_CHOLESKY_H_
