// SPDX-License-Identifier: Apache-2.0
// Flush-to-zero for the time of a decomposition: subnormal operands make it several times slower,
// and beside a largest entry of about one they are below rounding. Scaled data can hold some all the
// same. Code that does arithmetic alone sees zeros; a foreign routine may look at their bits, so
// that it must be given zeros.
#ifndef LANEPACK_DIALECT_SUBNORMALS_H_
#define LANEPACK_DIALECT_SUBNORMALS_H_

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace lanepack {

#if defined(__x86_64__)
class FlushSubnormals {
 public:
  FlushSubnormals() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | 0x8040u); }  // FTZ | DAZ
  ~FlushSubnormals() { _mm_setcsr(saved_); }

 private:
  uint32_t saved_;
};
#elif defined(__aarch64__)
class FlushSubnormals {
 public:
  FlushSubnormals() {
    asm volatile("mrs %0, fpcr" : "=r"(saved_));
    asm volatile("msr fpcr, %0" : : "r"(saved_ | (uint64_t{1} << 24)));  // FZ
  }
  ~FlushSubnormals() { asm volatile("msr fpcr, %0" : : "r"(saved_)); }

 private:
  uint64_t saved_;
};
#else
class FlushSubnormals {
 public:
  FlushSubnormals() {}
};
#endif

// The opposite, for load and store: a caller may have flushing on, and scaling must see subnormals.
#if defined(__x86_64__)
class KeepSubnormals {
 public:
  KeepSubnormals() : saved_(_mm_getcsr()) { _mm_setcsr(0x1F80u); }  // the default of a process
  ~KeepSubnormals() { _mm_setcsr(saved_); }

 private:
  uint32_t saved_;
};
#elif defined(__aarch64__)
class KeepSubnormals {
 public:
  KeepSubnormals() {
    asm volatile("mrs %0, fpcr" : "=r"(saved_));
    asm volatile("msr fpcr, %0" : : "r"(uint64_t{0}));
  }
  ~KeepSubnormals() { asm volatile("msr fpcr, %0" : : "r"(saved_)); }

 private:
  uint64_t saved_;
};
#else
class KeepSubnormals {
 public:
  KeepSubnormals() {}
};
#endif

}  // namespace lanepack

#endif  // LANEPACK_DIALECT_SUBNORMALS_H_
