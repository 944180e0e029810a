// SPDX-License-Identifier: Apache-2.0
// Writes the sources that compile the GPU's kernels for the emulator:
//   list_kernels FOLDER TEXT...   writes FOLDER/TEXT_{f32,f64,c64,c128}.cc
// What the library's own rows and plans launch for the shapes below is what is compiled; a shape of
// tests/conformance that is missing here fails its test by the name of the kernel.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "backends/backend.h"
#include "backends/cuda/launch.h"
#include "backends/vendor_cuda/plan.h"

namespace {

constexpr int kShapes[][2] = {{1, 1},   {2, 2},   {3, 3},   {4, 4},   {5, 5},  {8, 8},  {9, 9},
                              {16, 16}, {17, 17}, {3, 2},   {2, 3},   {6, 4},  {4, 6},  {12, 8},
                              {8, 12},  {20, 8},  {32, 32}, {33, 33}, {1, 64}, {64, 1}, {36, 9},
                              {9, 36},  {64, 32}, {32, 64}, {100, 32}};
// Of cholesky and the solves: orders, and numbers of right-hand sides.
constexpr int kOrders[] = {1, 2, 3, 4, 5, 8, 9, 16, 17, 20, 32, 33, 65, 100};
constexpr int kColumns[] = {1, 2, 3, 4, 7, 9, 20};
constexpr const char* kScalars[] = {"f32", "f64", "c64", "c128"};

// Kernels by text and scalar.
std::map<std::pair<std::string, int>, std::set<std::string>> kernels;

void list(const lanepack::Algorithm& algorithm, const lanepack::ProblemKey& key) {
  using lanepack::Operation;
  if (!algorithm.supports(key)) return;
  switch (algorithm.operation) {
    case Operation::kQr: {
      lanepack::QrProblem problem;
      problem.key = key;
      algorithm.run_qr(problem);
      break;
    }
    case Operation::kEigh: {
      lanepack::EighProblem problem;
      problem.key = key;
      algorithm.run_eigh(problem);
      break;
    }
    case Operation::kCholesky: {
      lanepack::CholeskyProblem problem;
      problem.key = key;
      algorithm.run_cholesky(problem);
      break;
    }
    case Operation::kSolveTriangular: {
      lanepack::SolveProblem problem;
      problem.key = key;
      algorithm.run_solve(problem);
      break;
    }
    default: {
      lanepack::SvdProblem problem;
      problem.key = key;
      algorithm.run_svd(problem);
    }
  }
}

// Cholesky, or both solves with every number of right-hand sides.
void list_orders(const lanepack::Algorithm& algorithm) {
  using lanepack::Operation;
  const bool solves = algorithm.operation == Operation::kSolveTriangular;
  for (const int order : kOrders) {
    for (const int columns : kColumns) {
      for (int i = 0; i < 2 * 4; ++i) {
        lanepack::ProblemKey key = {};
        key.operation = solves && i % 2 != 0 ? Operation::kCholeskySolve : algorithm.operation;
        key.dtype = static_cast<lanepack::Dtype>(i / 2);
        key.device = lanepack::kDeviceCuda;
        key.m = key.n = order;
        key.columns = columns;
        key.batch = 1;
        list(algorithm, key);
      }
    }
  }
}

// Every problem of the shapes.
void list_all(const lanepack::Algorithm& algorithm) {
  using lanepack::Operation;
  const Operation first = algorithm.operation;
  if (first == Operation::kCholesky || first == Operation::kSolveTriangular) {
    list_orders(algorithm);
    return;
  }
  const Operation last = first == Operation::kEigh  ? Operation::kEigvalsh
                         : first == Operation::kSvd ? Operation::kSvdvals
                                                    : first;
  for (const auto& shape : kShapes) {
    if (first == Operation::kEigh && shape[0] != shape[1]) continue;
    for (int i = 0; i < 2 * 4 * 8; ++i) {
      lanepack::ProblemKey key = {};
      key.operation = i % 2 == 0 ? first : last;
      key.dtype = static_cast<lanepack::Dtype>(i / 2 % 4);
      key.full = (i / 8 & 1) != 0;
      key.want_q = (i / 8 & 2) == 0;
      key.jacobi = (i / 8 & 4) != 0;
      key.device = lanepack::kDeviceCuda;
      key.m = shape[0];
      key.n = shape[1];
      key.batch = 1;
      if (key.full && !key.want_q) continue;
      list(algorithm, key);
    }
  }
}

// The kernels around the vendor's routines, which no size changes.
void list_vendor() {
  using lanepack::Dtype;
  using lanepack::vendor_cuda::Step;
  for (int i = 0; i < 4; ++i) {
    const auto add = [i](Step step, Dtype dtype, Dtype packed) {
      const auto plan = lanepack::vendor_cuda::plan_step(step, dtype, packed);
      kernels[{plan.kernels[0].text, i}].insert(plan.kernels[0].name);
    };
    lanepack::vendor_cuda::each_kernel(static_cast<Dtype>(i), add);
  }
}

std::string source_of(const std::string& text, int scalar) {
  const std::string operation = text.substr(0, text.find('_'));
  std::string source =
      "#include \"dialect/emulator.h\"\n\n#include \"backends/cuda/texts/" + text +
      ".h\"\n\n#include \"kernel_tables.h\"\n\n"
      "namespace lanepack::emulator {\nnamespace {\n\nconst Entry kEntries[] = {\n";
  for (const std::string& name : kernels[{text, scalar}]) {
    source += "    LANEPACK_KERNEL(" + operation + "::arguments, " + name + "),\n";
  }
  source +=
      "    {nullptr, nullptr}};\n"
      "const KernelTable kTable(kEntries, sizeof(kEntries) / sizeof(kEntries[0]) - 1);\n\n"
      "}  // namespace\n}  // namespace lanepack::emulator\n";
  return source;
}

// A file that is right is left alone, so that nothing is compiled again.
bool write(const std::string& path, const std::string& source) {
  std::stringstream before;
  before << std::ifstream(path).rdbuf();
  if (before.str() == source) return true;
  std::ofstream file(path);
  file << source;
  return file.good();
}

}  // namespace

namespace lanepack::cuda {

// In the place of src/backends/cuda/launch.cc: says what would be launched.
Status launch(const char*, const ProblemKey& key, const lanepack::Launch&, const LaunchPlan& plan,
              void*) {
  for (int i = 0; i < plan.count; ++i) {
    kernels[{plan.kernels[i].text, static_cast<int>(key.dtype)}].insert(plan.kernels[i].name);
  }
  return Status::kOk;
}

}  // namespace lanepack::cuda

int main(int argc, char** argv) {
  const lanepack::AlgorithmList algorithms = lanepack::cuda_algorithms();
  for (size_t i = 0; i < algorithms.count; ++i) list_all(algorithms.algorithms[i]);
  list_vendor();
  for (int i = 2; i < argc; ++i) {
    for (int scalar = 0; scalar < 4; ++scalar) {
      const std::string path =
          std::string(argv[1]) + "/" + argv[i] + "_" + kScalars[scalar] + ".cc";
      if (!write(path, source_of(argv[i], scalar))) {
        std::fprintf(stderr, "list_kernels: cannot write %s\n", path.c_str());
        return 1;
      }
    }
  }
  return 0;
}
