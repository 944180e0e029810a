// SPDX-License-Identifier: Apache-2.0
// The LAPACK backend's rows. `serial`: one matrix per thread, LAPACK's own threads off, so that the
// bits of a matrix depend on nothing but itself. `parallel`: one matrix after the other, LAPACK on
// all threads, for few large ones.
#include "backends/backend.h"
#include "backends/lapack/operations.h"

namespace lanepack {
namespace {

using lapack::Spread;

bool supports(const ProblemKey& key) { return key.device == 0 && lapack_available(key.dtype); }

bool supports_svd(const ProblemKey& key) { return supports(key) && !key.jacobi; }

Status no_library(const char* function) {
  return fail(Status::kUnsupported, "%s: no LAPACK was found in this process or on this system",
              function);
}

template <Spread kSpread>
Status run_qr(const QrProblem& problem) {
  const lapack::Library* library = lapack::library();
  return library != nullptr ? lapack::qr(*library, kSpread, problem) : no_library("lanepack_qr");
}

template <Spread kSpread>
Status run_eigh(const EighProblem& problem) {
  const lapack::Library* library = lapack::library();
  return library != nullptr ? lapack::eigh(*library, kSpread, problem)
                            : no_library("lanepack_eigh");
}

template <Spread kSpread>
Status run_svd(const SvdProblem& problem) {
  const lapack::Library* library = lapack::library();
  return library != nullptr ? lapack::svd(*library, kSpread, problem) : no_library("lanepack_svd");
}

template <Spread kSpread>
Status run_cholesky(const CholeskyProblem& problem) {
  const lapack::Library* library = lapack::library();
  return library != nullptr ? lapack::cholesky(*library, kSpread, problem)
                            : no_library("lanepack_cholesky");
}

template <Spread kSpread>
Status run_solve(const SolveProblem& problem) {
  const lapack::Library* library = lapack::library();
  return library != nullptr ? lapack::solve(*library, kSpread, problem)
                            : no_library("lanepack_solve_triangular");
}

constexpr Algorithm kAlgorithms[] = {
    {"qr.lapack.serial", Operation::kQr, supports, run_qr<Spread::kSerial>, nullptr, nullptr},
    {"qr.lapack.parallel", Operation::kQr, supports, run_qr<Spread::kParallel>, nullptr, nullptr},
    {"eigh.lapack.serial", Operation::kEigh, supports, nullptr, run_eigh<Spread::kSerial>, nullptr},
    {"eigh.lapack.parallel", Operation::kEigh, supports, nullptr, run_eigh<Spread::kParallel>,
     nullptr},
    {"svd.lapack.serial", Operation::kSvd, supports_svd, nullptr, nullptr,
     run_svd<Spread::kSerial>},
    {"svd.lapack.parallel", Operation::kSvd, supports_svd, nullptr, nullptr,
     run_svd<Spread::kParallel>},
    {"cholesky.lapack.serial", Operation::kCholesky, supports, nullptr, nullptr, nullptr, nullptr,
     run_cholesky<Spread::kSerial>},
    {"cholesky.lapack.parallel", Operation::kCholesky, supports, nullptr, nullptr, nullptr, nullptr,
     run_cholesky<Spread::kParallel>},
    {"solve_triangular.lapack.serial", Operation::kSolveTriangular, supports, nullptr, nullptr,
     nullptr, nullptr, nullptr, run_solve<Spread::kSerial>},
    {"solve_triangular.lapack.parallel", Operation::kSolveTriangular, supports, nullptr, nullptr,
     nullptr, nullptr, nullptr, run_solve<Spread::kParallel>},
};

}  // namespace

AlgorithmList lapack_algorithms() {
  return {kAlgorithms, sizeof(kAlgorithms) / sizeof(kAlgorithms[0])};
}

}  // namespace lanepack
