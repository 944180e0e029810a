// SPDX-License-Identifier: Apache-2.0
// Which instruction set the lanes use: by CPU at load, or what LANEPACK_CPU names. The lane files
// are compiled once for each (Highway's foreach_target); this picks among the copies.
#ifndef LANEPACK_DIALECT_TARGETS_H_
#define LANEPACK_DIALECT_TARGETS_H_

#include "hwy/highway.h"

namespace lanepack {

enum class CpuTarget { kBaseline = 0, kAvx2 = 1, kAvx512 = 2 };

CpuTarget cpu_target();

}  // namespace lanepack

#if HWY_ARCH_X86
#define LANEPACK_DISPATCH(function)                                               \
  (::lanepack::cpu_target() == ::lanepack::CpuTarget::kAvx512 ? &N_AVX3::function \
   : ::lanepack::cpu_target() == ::lanepack::CpuTarget::kAvx2 ? &N_AVX2::function \
                                                              : &HWY_STATIC_DISPATCH(function))
#else
#define LANEPACK_DISPATCH(function) (&HWY_STATIC_DISPATCH(function))
#endif

#endif  // LANEPACK_DIALECT_TARGETS_H_
