// SPDX-License-Identifier: Apache-2.0
// What is to be computed: one struct per operation, already checked, and the key the router sees.
#ifndef LANEPACK_OPERATIONS_PROBLEM_H_
#define LANEPACK_OPERATIONS_PROBLEM_H_

#include "core/types.h"

namespace lanepack {

enum class Operation : int32_t {
  kQr = 0,
  kEigh = 1,
  kEigvalsh = 2,
  kSvd = 3,
  kSvdvals = 4,
  kCholesky = 5,
  kSolveTriangular = 6,
  kCholeskySolve = 7,
  kCholeskyInverse = 8
};
enum class Routing : int32_t { kFastest = 0, kInvariant = 1 };

// What the router and a backend's supports() look at.
struct ProblemKey {
  Operation operation;
  Dtype dtype;
  int32_t device = 0;        // lanepack_device
  int32_t device_index = 0;  // which of them
  int32_t threads = 1;       // resolved: at least 1
  Routing routing = Routing::kFastest;
  bool upper = false;   // eigh, cholesky
  bool jacobi = false;  // svd
  bool full = false;    // qr: complete; svd: full matrices
  bool want_q = true;   // qr: false for R alone
  int64_t m = 0, n = 0, batch = 0;
  int64_t columns = 0;  // of the right-hand sides; m = n is the order then
};

// Where a problem runs on a GPU; null and 0 on the CPU.
struct Launch {
  void* stream = nullptr;
  void* workspace = nullptr;
  int64_t workspace_bytes = 0;
};

struct QrProblem {
  ProblemKey key;
  MatrixBatch a;  // (batch, m, n)
  MatrixBatch q;  // (batch, m, k) or (batch, m, m); data null: not wanted
  MatrixBatch r;  // (batch, k, n) or (batch, m, n)
  int32_t* info = nullptr;
  Launch launch;
};

struct EighProblem {
  ProblemKey key;
  MatrixBatch a;  // (batch, n, n)
  MatrixBatch w;  // (batch, n, 1), real
  MatrixBatch v;  // (batch, n, n); data null: not wanted
  int32_t* info = nullptr;
  Launch launch;
};

struct SvdProblem {
  ProblemKey key;
  MatrixBatch a;   // (batch, m, n)
  MatrixBatch u;   // (batch, m, k) or (batch, m, m); data null: not wanted
  MatrixBatch s;   // (batch, k, 1), real
  MatrixBatch vh;  // (batch, k, n) or (batch, n, n)
  int32_t* info = nullptr;
  Launch launch;
};

struct CholeskyProblem {
  ProblemKey key;
  MatrixBatch a;  // (batch, n, n), one triangle is read
  MatrixBatch l;  // (batch, n, n), all of it is written; may be the memory of a
  int32_t* info = nullptr;
  Launch launch;
};

// A triangular factor as it stands in memory, or conjugated. Right sides and transposes have become
// strides: `a` is lower or upper, and stands to the left of X.
struct Factor {
  MatrixBatch a;  // (batch or 1, n, n)
  bool lower = true;
  bool conjugate = false;
  bool unit = false;
};

// kSolveTriangular: op(F) X = B. kCholeskySolve: F F^H X = B, F lower. kCholeskyInverse: the same with
// B = I, and b.data null.
struct SolveProblem {
  ProblemKey key;
  Factor factor;
  MatrixBatch b;  // (batch, n, columns); strides of 0 where it is the same for all
  MatrixBatch x;  // (batch, n, columns); may be the memory of b
  Launch launch;
};

}  // namespace lanepack

#endif  // LANEPACK_OPERATIONS_PROBLEM_H_
