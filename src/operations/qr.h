// SPDX-License-Identifier: Apache-2.0
// QR: arguments to problem, and what a problem costs.
#ifndef LANEPACK_OPERATIONS_QR_H_
#define LANEPACK_OPERATIONS_QR_H_

#include "operations/check.h"

namespace lanepack {

Status check_qr(const char* function, const lanepack_qr_args* args, Data data, QrProblem* problem);

// Floating-point operations of one matrix, in real arithmetic of its dtype (a complex multiply-add
// counts as four real ones), by LAPACK Working Note 41, table 3.
double qr_flops(const ProblemKey& key);
// Bytes of one matrix that any method must read or write.
double qr_bytes(const ProblemKey& key);

}  // namespace lanepack

#endif  // LANEPACK_OPERATIONS_QR_H_
