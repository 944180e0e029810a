// SPDX-License-Identifier: Apache-2.0
// solve on CPU lanes, c128, for every instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/lanes_solve_c128.cc"
#include "hwy/foreach_target.h"
// after foreach_target
#include "backends/cpu/lanes_solve-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lanepack {
namespace HWY_NAMESPACE {
Status run_solve_c128(const SolveProblem& problem) {
  return run_solve<std::complex<double>>(problem);
}
}  // namespace HWY_NAMESPACE
}  // namespace lanepack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "dialect/targets.h"
namespace lanepack {
HWY_EXPORT(run_solve_c128);
Status lanes_solve_c128(const SolveProblem& problem) {
  return LANEPACK_DISPATCH(run_solve_c128)(problem);
}
}  // namespace lanepack
#endif
