// SPDX-License-Identifier: Apache-2.0
// svd and svdvals on CPU lanes, c128, for every instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/lanes_svd_c128.cc"
#include "hwy/foreach_target.h"
// after foreach_target
#include "backends/cpu/lanes_svd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lanepack {
namespace HWY_NAMESPACE {
Status run_bidiagonal_qr_c128(const SvdProblem& problem) {
  return run_svd<std::complex<double>>(problem, SvdMethod::kBidiagonalQr);
}
Status run_jacobi_c128(const SvdProblem& problem) {
  return run_svd<std::complex<double>>(problem, SvdMethod::kJacobi);
}
}  // namespace HWY_NAMESPACE
}  // namespace lanepack
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "dialect/targets.h"
namespace lanepack {
HWY_EXPORT(run_bidiagonal_qr_c128);
HWY_EXPORT(run_jacobi_c128);
Status lanes_svd_bidiagonal_qr_c128(const SvdProblem& problem) {
  return LANEPACK_DISPATCH(run_bidiagonal_qr_c128)(problem);
}
Status lanes_svd_jacobi_c128(const SvdProblem& problem) {
  return LANEPACK_DISPATCH(run_jacobi_c128)(problem);
}
}  // namespace lanepack
#endif
