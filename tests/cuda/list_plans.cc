// SPDX-License-Identifier: Apache-2.0
// Reads problems, one a line ("operation dtype m n full want_q", the first two as in lanepack.h; of the
// solves m counts the right-hand sides), and
// prints the kernels of every plan that serves them: text, name expression, threads of a block.
#include <cstdio>

#include "backends/cuda/plan.h"

namespace {

using lanepack::ProblemKey;
using lanepack::cuda::LaunchPlan;
using Plan = bool (*)(const ProblemKey&, LaunchPlan*);

void print(Plan plan, const ProblemKey& key) {
  LaunchPlan launch;
  if (!plan(key, &launch)) return;
  for (int i = 0; i < launch.count; ++i) {
    const auto& kernel = launch.kernels[i];
    std::printf("%s\t%s\t%d\n", kernel.text, kernel.name, kernel.threads);
  }
}

}  // namespace

int main() {
  using namespace lanepack::cuda;
  int operation = 0, dtype = 0, m = 0, n = 0, full = 0, want_q = 0;
  while (std::scanf("%d %d %d %d %d %d", &operation, &dtype, &m, &n, &full, &want_q) == 6) {
    ProblemKey key{};
    key.operation = static_cast<lanepack::Operation>(operation);
    key.dtype = static_cast<lanepack::Dtype>(dtype);
    key.m = m;
    key.n = n;
    key.batch = 1;
    key.full = full != 0;
    key.want_q = want_q != 0;
    key.columns = m;
    switch (key.operation) {
      case lanepack::Operation::kCholesky:
        print(plan_cholesky_thread, key);
        print(plan_cholesky_warp, key);
        print(plan_cholesky_block, key);
        break;
      case lanepack::Operation::kSolveTriangular:
      case lanepack::Operation::kCholeskySolve:
        print(plan_solve_thread, key);
        print(plan_solve_warp, key);
        break;
      case lanepack::Operation::kQr:
        print(plan_qr_thread, key);
        print(plan_qr_warp, key);
        break;
      case lanepack::Operation::kEigh:
      case lanepack::Operation::kEigvalsh:
        print(plan_eigh_thread, key);
        print(plan_eigh_warp, key);
        break;
      default:
        print(plan_svd_thread, key);
        print(plan_svd_warp, key);
    }
  }
}
