// SPDX-License-Identifier: Apache-2.0
// The table that a backend fills: one row per algorithm.
#ifndef LANEPACK_BACKENDS_BACKEND_H_
#define LANEPACK_BACKENDS_BACKEND_H_

#include <cstddef>
#include <cstdint>

#include "operations/problem.h"

namespace lanepack {

// One algorithm of one operation. `run_*` of the operations it does not serve are null. An algorithm
// of eigh also serves eigvalsh (v.data null), one of svd also svdvals, one of solve_triangular also
// cholesky_solve and cholesky_inverse.
struct Algorithm {
  const char* identifier;  // "<operation>.<method>.<level>", as in policies, logs and tests
  Operation operation;     // kQr, kEigh, kSvd, kCholesky or kSolveTriangular
  bool (*supports)(const ProblemKey& key);
  Status (*run_qr)(const QrProblem& problem);
  Status (*run_eigh)(const EighProblem& problem);
  Status (*run_svd)(const SvdProblem& problem);
  // Bytes of device memory that a call needs beside its arguments; null: none.
  int64_t (*workspace)(const ProblemKey& key) = nullptr;
  Status (*run_cholesky)(const CholeskyProblem& problem) = nullptr;
  Status (*run_solve)(const SolveProblem& problem) = nullptr;
};

struct AlgorithmList {
  const Algorithm* algorithms;
  size_t count;
};

// Filled by the backends (src/backends/*), gathered by registry.cc.
AlgorithmList cpu_algorithms();
AlgorithmList lapack_algorithms();
AlgorithmList cuda_algorithms();
AlgorithmList vendor_cuda_algorithms();

// All algorithms, backend after backend.
const Algorithm* find_algorithm(const char* identifier);  // null if there is none
size_t algorithm_count();
const Algorithm& algorithm_at(size_t index);

// What the backends tell about this machine.
const char* cpu_target_name();      // "avx512", "avx2", "baseline", "neon"
const char* lapack_library_name();  // "" if none was found
bool lapack_available(Dtype dtype);

// What a call without elements leaves on a CUDA device, written there on `launch.stream`: zeros in
// info, and the identity into every matrix of an output without data of its own.
Status cuda_clear_info(const char* function, const ProblemKey& key, const Launch& launch,
                       int32_t* info);
Status cuda_fill_identity(const char* function, const ProblemKey& key, const Launch& launch,
                          const MatrixBatch& output);

// What CUDA calls would find on this machine; it starts the driver, but no device.
struct CudaState {
  int32_t device_count = 0;
  int32_t driver_version = 0;    // 13000 is 13.0; 0: no driver
  int32_t compiler_version = 0;  // 13020 is 13.2; 0: no NVRTC
  char compiler[512] = "";       // the file that was opened
  char cache[512] = "";          // the folder of compiled kernels; "": none can be used
  char problem[256] = "";        // why CUDA tensors cannot be served; "": they can
};
void cuda_describe(CudaState* state);

}  // namespace lanepack

#endif  // LANEPACK_BACKENDS_BACKEND_H_
