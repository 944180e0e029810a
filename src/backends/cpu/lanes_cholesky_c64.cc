// SPDX-License-Identifier: Apache-2.0
// cholesky on CPU lanes, c64, for every instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/lanes_cholesky_c64.cc"
#include "hwy/foreach_target.h"
// after foreach_target
#include "backends/cpu/lanes_cholesky-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lanepack {
namespace HWY_NAMESPACE {
Status run_cholesky_c64(const CholeskyProblem& problem) {
  return run_cholesky<std::complex<float>>(problem);
}
}  // namespace HWY_NAMESPACE
}  // namespace lanepack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "dialect/targets.h"
namespace lanepack {
HWY_EXPORT(run_cholesky_c64);
Status lanes_cholesky_c64(const CholeskyProblem& problem) {
  return LANEPACK_DISPATCH(run_cholesky_c64)(problem);
}
}  // namespace lanepack
#endif
