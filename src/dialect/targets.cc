// SPDX-License-Identifier: Apache-2.0
#include "dialect/targets.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace lanepack {
namespace {

CpuTarget best_target() {
#if HWY_ARCH_X86
  __builtin_cpu_init();
  // Highway's AVX2 asks for F16C too, which no CPU with AVX2 lacks and not every compiler names.
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd");
  return avx512 ? CpuTarget::kAvx512 : avx2 ? CpuTarget::kAvx2 : CpuTarget::kBaseline;
#else
  return CpuTarget::kBaseline;
#endif
}

// LANEPACK_CPU can only lower the choice: what the CPU lacks cannot be forced.
CpuTarget chosen_target() {
  const CpuTarget best = best_target();
  const char* wanted = std::getenv("LANEPACK_CPU");
  if (wanted == nullptr) return best;
  CpuTarget target = best;
  if (std::strcmp(wanted, "baseline") == 0) {
    target = CpuTarget::kBaseline;
  } else if (std::strcmp(wanted, "avx2") == 0) {
    target = CpuTarget::kAvx2;
  } else if (wanted[0] != '\0' && std::strcmp(wanted, "avx512") != 0) {
    std::fprintf(stderr,
                 "lanepack: LANEPACK_CPU is '%.32s'; it must be baseline, avx2 or avx512, and is "
                 "ignored\n",
                 wanted);
  }
  return target < best ? target : best;
}

}  // namespace

CpuTarget cpu_target() {
  static const CpuTarget target = chosen_target();
  return target;
}

// backends/backend.h declares this one: the dialect includes nothing from above it.
const char* cpu_target_name();
const char* cpu_target_name() {
#if HWY_ARCH_X86
  switch (cpu_target()) {
    case CpuTarget::kAvx512:
      return "avx512";
    case CpuTarget::kAvx2:
      return "avx2";
    case CpuTarget::kBaseline:
      return "baseline";
  }
#endif
  return HWY_ARCH_ARM ? "neon" : "baseline";
}

}  // namespace lanepack
