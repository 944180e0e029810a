// SPDX-License-Identifier: Apache-2.0
// SVD: arguments to problem, and what a problem costs.
#ifndef LANEPACK_OPERATIONS_SVD_H_
#define LANEPACK_OPERATIONS_SVD_H_

#include "operations/check.h"

namespace lanepack {

Status check_svd(const char* function, const lanepack_svd_args* args, Data data,
                 SvdProblem* problem);

// Floating-point operations of one matrix, in real arithmetic (a complex multiply-add counts as
// four real ones), by Golub and Van Loan, 4th edition, figure 8.6.1, Golub-Reinsch.
double svd_flops(const ProblemKey& key);
// Bytes of one matrix that any method must read or write.
double svd_bytes(const ProblemKey& key);

}  // namespace lanepack

#endif  // LANEPACK_OPERATIONS_SVD_H_
