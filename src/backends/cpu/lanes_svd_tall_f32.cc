// SPDX-License-Identifier: Apache-2.0
// svd and svdvals of tall matrices on CPU lanes, f32, for every instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/lanes_svd_tall_f32.cc"
#include "hwy/foreach_target.h"
// after foreach_target
#include "backends/cpu/lanes_svd_tall-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lanepack {
namespace HWY_NAMESPACE {
Status run_svd_tall_f32(const SvdProblem& problem) {
  return run_svd_tall<float>(problem, lanes_svd_bidiagonal_qr_f32);
}
}  // namespace HWY_NAMESPACE
}  // namespace lanepack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "dialect/targets.h"
namespace lanepack {
HWY_EXPORT(run_svd_tall_f32);
Status lanes_svd_tall_f32(const SvdProblem& problem) {
  return LANEPACK_DISPATCH(run_svd_tall_f32)(problem);
}
}  // namespace lanepack
#endif
