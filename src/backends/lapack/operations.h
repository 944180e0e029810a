// SPDX-License-Identifier: Apache-2.0
// The operations on a given library. The registered algorithms pass the one of this process.
#ifndef LANEPACK_BACKENDS_LAPACK_OPERATIONS_H_
#define LANEPACK_BACKENDS_LAPACK_OPERATIONS_H_

#include "backends/lapack/batch.h"
#include "backends/lapack/library.h"
#include "operations/problem.h"

namespace lanepack::lapack {

Status eigh(const Library& library, Spread spread, const EighProblem& problem);
Status svd(const Library& library, Spread spread, const SvdProblem& problem);
Status qr(const Library& library, Spread spread, const QrProblem& problem);
Status cholesky(const Library& library, Spread spread, const CholeskyProblem& problem);
Status solve(const Library& library, Spread spread, const SolveProblem& problem);

// Calls function.operator()<S>() for the scalar type of a dtype.
template <class Function>
Status with_scalar(Dtype dtype, Function&& function) {
  switch (dtype) {
    case Dtype::kF32:
      return function.template operator()<float>();
    case Dtype::kF64:
      return function.template operator()<double>();
    case Dtype::kC64:
      return function.template operator()<std::complex<float>>();
    case Dtype::kC128:
      return function.template operator()<std::complex<double>>();
  }
  return fail(Status::kInternal, "lanepack: dtype %d is unknown", static_cast<int>(dtype));
}

}  // namespace lanepack::lapack

#endif  // LANEPACK_BACKENDS_LAPACK_OPERATIONS_H_
