// SPDX-License-Identifier: Apache-2.0
// The table that a backend fills: one row per algorithm.
#ifndef LANEPACK_BACKENDS_BACKEND_H_
#define LANEPACK_BACKENDS_BACKEND_H_

#include <cstddef>
#include <cstdint>

#include "operations/problem.h"

namespace lanepack {

// One algorithm of one operation. `run_*` of the operations it does not serve are null. An algorithm
// of eigh also serves eigvalsh (v.data null), one of svd also svdvals.
struct Algorithm {
  const char* identifier;  // "<operation>.<method>.<level>", as in policies, logs and tests
  Operation operation;     // kQr, kEigh or kSvd
  bool (*supports)(const ProblemKey& key);
  Status (*run_qr)(const QrProblem& problem);
  Status (*run_eigh)(const EighProblem& problem);
  Status (*run_svd)(const SvdProblem& problem);
};

struct AlgorithmList {
  const Algorithm* algorithms;
  size_t count;
};

// Filled by the backends (src/backends/*), gathered by registry.cc.
AlgorithmList cpu_algorithms();
AlgorithmList lapack_algorithms();

// All algorithms, backend after backend.
const Algorithm* find_algorithm(const char* identifier);  // null if there is none
size_t algorithm_count();
const Algorithm& algorithm_at(size_t index);

// What the backends tell about this machine.
const char* cpu_target_name();      // "avx512", "avx2", "baseline", "neon"
const char* lapack_library_name();  // "" if none was found
bool lapack_available(Dtype dtype);

}  // namespace lanepack

#endif  // LANEPACK_BACKENDS_BACKEND_H_
