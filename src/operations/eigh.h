// SPDX-License-Identifier: Apache-2.0
// Symmetric and Hermitian eigenvalues: arguments to problem, and what a problem costs.
#ifndef LANEPACK_OPERATIONS_EIGH_H_
#define LANEPACK_OPERATIONS_EIGH_H_

#include "operations/check.h"

namespace lanepack {

Status check_eigh(const char* function, const lanepack_eigh_args* args, Data data,
                  EighProblem* problem);

// Floating-point operations of one matrix, in real arithmetic (a complex multiply-add counts as
// four real ones): 4/3 n^3 for the eigenvalues, 9 n^3 with vectors (Golub and Van Loan, 4th
// edition, section 8.3.3, symmetric QR).
double eigh_flops(const ProblemKey& key);
// Bytes of one matrix that any method must read (one triangle) or write.
double eigh_bytes(const ProblemKey& key);

}  // namespace lanepack

#endif  // LANEPACK_OPERATIONS_EIGH_H_
