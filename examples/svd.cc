// SPDX-License-Identifier: Apache-2.0
//
// Singular values of 1000 small matrices, from C++, without Python or torch, with the algorithm
// that serves them and the error text of a call that is wrong.
//
//   c++ -std=c++20 -Iinclude examples/svd.cc -L<folder of liblanepack.so> -llanepack
#include <cmath>
#include <cstdio>
#include <vector>

#include "lanepack/lanepack.h"

int main() {
  constexpr int64_t kBatch = 1000, kRows = 6, kCols = 4;

  // Matrix b: b + 1 times the first columns of the reflection I - 2 v v^T, v = (1, ..., 1) / sqrt(rows).
  std::vector<float> a(kBatch * kRows * kCols);
  for (int64_t b = 0; b < kBatch; ++b) {
    for (int64_t j = 0; j < kCols; ++j) {
      for (int64_t i = 0; i < kRows; ++i) {
        const float entry = (i == j ? 1.0f : 0.0f) - 2.0f / static_cast<float>(kRows);
        a[static_cast<size_t>((b * kCols + j) * kRows + i)] = static_cast<float>(b + 1) * entry;
      }
    }
  }
  std::vector<float> s(kBatch * kCols);

  lanepack_svd_args args = {};  // u and vh stay null: singular values alone
  args.call.struct_size = sizeof(args);
  args.call.dtype = LANEPACK_DTYPE_F32;
  args.a = {a.data(), kRows, kCols, kBatch, 1, kRows, kRows * kCols};
  args.s = {s.data(), kCols, 1, kBatch, 1, kCols, kCols};
  if (lanepack_svd(&args) != LANEPACK_STATUS_OK) {
    std::fprintf(stderr, "error: %s\n", lanepack_last_error());
    return 1;
  }
  float largest_error = 0.0f;
  for (int64_t i = 0; i < kBatch * kCols; ++i) {
    const auto expected = static_cast<float>(i / kCols + 1);
    largest_error =
        std::fmax(largest_error, std::fabs(s[static_cast<size_t>(i)] - expected) / expected);
  }

  lanepack_problem problem = {};
  problem.struct_size = sizeof(problem);
  problem.operation = LANEPACK_OPERATION_SVDVALS;
  problem.m = kRows;
  problem.n = kCols;
  problem.batch = kBatch;
  char identifier[64];
  if (lanepack_route(&problem, identifier, sizeof(identifier)) != LANEPACK_STATUS_OK) return 1;
  std::printf("%lld matrices of %lld x %lld by %s on %s: largest relative error %.2e\n",
              static_cast<long long>(kBatch), static_cast<long long>(kRows),
              static_cast<long long>(kCols), identifier, lanepack_cpu_target(), largest_error);

  args.s.rows = 3;
  if (lanepack_svd(&args) != LANEPACK_STATUS_INVALID_ARGUMENT) return 1;
  std::printf("a wrong call: %s\n", lanepack_last_error());
  return largest_error < 1e-5f ? 0 : 1;
}
