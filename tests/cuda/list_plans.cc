// SPDX-License-Identifier: Apache-2.0
// Reads problems, one a line ("operation dtype m n full want_q", the first two as in lanepack.h; of the
// solves m counts the right-hand sides), and prints the kernels of every plan that serves them: text,
// name expression, threads of a block. Ahead of them the kernels around the vendor's routines, which no
// size changes.
#include <cstdio>

#include "backends/cuda/plan.h"
#include "backends/vendor_cuda/plan.h"

namespace {

using lanepack::ProblemKey;
using lanepack::cuda::LaunchPlan;
using Plan = bool (*)(const ProblemKey&, LaunchPlan*);

void print(const LaunchPlan& launch) {
  for (int i = 0; i < launch.count; ++i) {
    const auto& kernel = launch.kernels[i];
    std::printf("%s\t%s\t%d\n", kernel.text, kernel.name, kernel.threads);
  }
}

void print(Plan plan, const ProblemKey& key) {
  LaunchPlan launch;
  if (plan(key, &launch)) print(launch);
}

void print_vendor() {
  using lanepack::Dtype;
  using lanepack::vendor_cuda::Step;
  for (const Dtype dtype : {Dtype::kF32, Dtype::kF64, Dtype::kC64, Dtype::kC128}) {
    lanepack::vendor_cuda::each_kernel(dtype, [](Step step, Dtype its, Dtype packed) {
      print(lanepack::vendor_cuda::plan_step(step, its, packed));
    });
  }
}

}  // namespace

int main() {
  using namespace lanepack::cuda;
  print_vendor();
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
        print(plan_cholesky_rows, key);
        print(plan_cholesky_panels, key);
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
