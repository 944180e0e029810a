// SPDX-License-Identifier: Apache-2.0
// A LAPACK that is already in the process, or that the system has, reached by its Fortran symbols
// with 32-bit integers (LP64).
#ifndef LANEPACK_BACKENDS_LAPACK_LIBRARY_H_
#define LANEPACK_BACKENDS_LAPACK_LIBRARY_H_

#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/types.h"

namespace lanepack::lapack {

using Int = int32_t;

// The trailing size_t arguments are the lengths of the character arguments, which gfortran's
// calling convention adds; a library that does not read them is not disturbed.
template <class S>
struct Routines {
  using R = real_t<S>;
  // syevd for real S
  using RealEigh = void(const char* jobz, const char* uplo, const Int* n, S* a, const Int* lda,
                        R* w, S* work, const Int* lwork, Int* iwork, const Int* liwork, Int* info,
                        size_t, size_t);
  // heevd for complex S
  using ComplexEigh = void(const char* jobz, const char* uplo, const Int* n, S* a, const Int* lda,
                           R* w, S* work, const Int* lwork, R* rwork, const Int* lrwork, Int* iwork,
                           const Int* liwork, Int* info, size_t, size_t);
  using RealSvd = void(const char* jobz, const Int* m, const Int* n, S* a, const Int* lda, R* s,
                       S* u, const Int* ldu, S* vt, const Int* ldvt, S* work, const Int* lwork,
                       Int* iwork, Int* info, size_t);
  using ComplexSvd = void(const char* jobz, const Int* m, const Int* n, S* a, const Int* lda, R* s,
                          S* u, const Int* ldu, S* vt, const Int* ldvt, S* work, const Int* lwork,
                          R* rwork, Int* iwork, Int* info, size_t);
  using RealQrSvd = void(const char* jobu, const char* jobvt, const Int* m, const Int* n, S* a,
                         const Int* lda, R* s, S* u, const Int* ldu, S* vt, const Int* ldvt,
                         S* work, const Int* lwork, Int* info, size_t, size_t);
  using ComplexQrSvd = void(const char* jobu, const char* jobvt, const Int* m, const Int* n, S* a,
                            const Int* lda, R* s, S* u, const Int* ldu, S* vt, const Int* ldvt,
                            S* work, const Int* lwork, R* rwork, Int* info, size_t, size_t);
  using Geqrf = void(const Int* m, const Int* n, S* a, const Int* lda, S* tau, S* work,
                     const Int* lwork, Int* info);
  using Orgqr = void(const Int* m, const Int* n, const Int* k, S* a, const Int* lda, const S* tau,
                     S* work, const Int* lwork, Int* info);
  using Gemm = void(const char* transa, const char* transb, const Int* m, const Int* n,
                    const Int* k, const S* alpha, const S* a, const Int* lda, const S* b,
                    const Int* ldb, const S* beta, S* c, const Int* ldc, size_t, size_t);

  using Potrf = void(const char* uplo, const Int* n, S* a, const Int* lda, Int* info, size_t);
  using Trsm = void(const char* side, const char* uplo, const char* transa, const char* diag,
                    const Int* m, const Int* n, const S* alpha, const S* a, const Int* lda, S* b,
                    const Int* ldb, size_t, size_t, size_t, size_t);

  static constexpr bool kComplex = !std::is_same_v<S, R>;
  std::conditional_t<kComplex, ComplexEigh, RealEigh>* heevd = nullptr;
  std::conditional_t<kComplex, ComplexSvd, RealSvd>* gesdd = nullptr;
  std::conditional_t<kComplex, ComplexQrSvd, RealQrSvd>* gesvd = nullptr;  // may stay null
  Geqrf* geqrf = nullptr;
  Orgqr* orgqr = nullptr;  // ungqr
  Gemm* gemm = nullptr;
  Potrf* potrf = nullptr;
  Trsm* trsm = nullptr;
};

// How the library's own threads are held back.
enum class ThreadControl {
  kNone,       // it has none, or offers no way to limit them
  kLocal,      // a setting of the calling thread: MKL, OpenBLAS on OpenMP
  kProcess,    // one setting for the process: OpenBLAS on its own threads
  kAccelerate  // one or all, for the calling thread
};

struct Library {
  char name[96] = "";  // "libtorch_cpu.so (MKL)"
  Routines<float> f32;
  Routines<double> f64;
  Routines<std::complex<float>> c64;
  Routines<std::complex<double>> c128;
  ThreadControl control = ThreadControl::kNone;
  int (*set_threads_local)(int threads) = nullptr;  // returns the setting before
  void (*set_threads)(int threads) = nullptr;
  int (*get_threads)() = nullptr;
  int (*set_accelerate)(unsigned mode) = nullptr;
  unsigned (*get_accelerate)() = nullptr;

  template <class S>
  const Routines<S>& routines() const {
    if constexpr (std::is_same_v<S, float>)
      return f32;
    else if constexpr (std::is_same_v<S, double>)
      return f64;
    else if constexpr (std::is_same_v<S, std::complex<float>>)
      return c64;
    else
      return c128;
  }
};

// The library of this process, or null. Looked for once, in this order: torch's own; then MKL's
// mkl_rt, OpenBLAS, SciPy's OpenBLAS, liblapack and Accelerate where one is loaded already; then
// the first of them that the system can load. Where nothing was found, torch is looked for again at
// each call, since it may be loaded later. Safe from several threads and in forked children.
const Library* library();

// Fills `library` from an open handle whose symbols are `prefix` + Fortran name + "_". False if a
// driver is missing or integers have 64 bits.
bool fill_library(void* handle, const char* prefix, const char* file, Library* library);

// Holds the library to `threads` threads while it lives; to one in a forked child, where the
// parent's threads do not exist and MKL waits for them for ever.
class ThreadLimit {
 public:
  ThreadLimit(const Library& library, int threads);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  const Library& library_;
  int saved_ = 0;
};

}  // namespace lanepack::lapack

#endif  // LANEPACK_BACKENDS_LAPACK_LIBRARY_H_
