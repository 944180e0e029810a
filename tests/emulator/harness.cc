// SPDX-License-Identifier: Apache-2.0
// Runs the rows of cuda_algorithms() and vendor_cuda_algorithms() as they are, with a launch() that
// goes to the emulator instead of a driver: the arguments, plans and names of kernels are those of the
// library. cuSOLVER is tests/cuda/fake_cusolver.cc.
#include "harness.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "backends/backend.h"
#include "backends/cuda/launch.h"
#include "backends/vendor_cuda/session.h"
#include "buffers.h"
#include "fake_cusolver.h"
#include "kernel_tables.h"
#include "launch.h"

namespace lanepack::emulator {
namespace {

// The call that runs, for launch().
struct Running {
  const lanepack_emulator_call* call;
  Memory* memory;
  Reports* reports;
  std::string missing_kernel;
  bool read_unwritten = false;  // by a routine of the vendor's
};
thread_local Running* running = nullptr;

// A batch's copy in device memory. Elements of a view may lie apart: what is between them is no
// element's.
struct DeviceBatch {
  const lanepack_emulator_batch* host;
  Array* array;
  int64_t element_bytes;
  MatrixBatch view;

  template <class Act>
  void each(Act act) const {
    const lanepack_emulator_batch& x = *host;
    for (int64_t b = 0; b < x.batch; ++b) {
      for (int64_t j = 0; j < x.cols; ++j) {
        for (int64_t i = 0; i < x.rows; ++i) {
          act((b * x.batch_stride + i * x.row_stride + j * x.col_stride) * element_bytes);
        }
      }
    }
  }
};

int64_t extent(const lanepack_emulator_batch& x) {
  if (x.rows == 0 || x.cols == 0 || x.batch == 0) return 0;
  return (x.batch - 1) * x.batch_stride + (x.rows - 1) * x.row_stride +
         (x.cols - 1) * x.col_stride + 1;
}

DeviceBatch to_device(Buffers* buffers, const char* name, Use use,
                      const lanepack_emulator_batch& host, Dtype dtype) {
  const int64_t element_bytes = size_bytes(dtype);
  DeviceBatch device = {&host, nullptr, element_bytes, {}};
  if (host.data == nullptr) return device;
  const int misalignment = static_cast<int>(reinterpret_cast<uintptr_t>(host.data) % 256);
  device.array = buffers->add(name, use, host.data, extent(host) * element_bytes,
                              static_cast<int>(element_bytes), misalignment,
                              static_cast<int>(size_bytes(real_dtype(dtype))));
  for (Cell& cell : device.array->cells) cell.usable = false;
  device.each([&](int64_t offset) {
    for (int64_t byte = 0; byte < element_bytes; byte += 4) {
      device.array->cell_at(offset + byte)->usable = true;
    }
  });
  device.view = {device.array->base, host.rows,       host.cols,        host.batch,
                 host.row_stride,    host.col_stride, host.batch_stride};
  return device;
}

void to_host(const DeviceBatch& device) {
  if (device.array == nullptr) return;
  auto* host = static_cast<unsigned char*>(device.host->data);
  device.each([&](int64_t offset) {
    std::memcpy(host + offset, device.array->base + offset,
                static_cast<size_t>(device.element_bytes));
  });
}

ProblemKey key_of(const lanepack_emulator_call& call) {
  ProblemKey key = {};
  key.operation = static_cast<Operation>(call.operation);
  key.dtype = static_cast<Dtype>(call.dtype);
  key.device = kDeviceCuda;
  key.upper = call.upper != 0;
  key.jacobi = call.jacobi != 0;
  key.full = call.full != 0;
  key.want_q = call.want_q != 0;
  key.m = call.m;
  key.n = call.n;
  key.batch = call.batch;
  key.columns = call.b.cols;
  return key;
}

// Null past the last.
const Algorithm* algorithm_at(size_t index) {
  for (const AlgorithmList list : {cuda_algorithms(), vendor_cuda_algorithms()}) {
    if (index < list.count) return &list.algorithms[index];
    index -= list.count;
  }
  return nullptr;
}

const Algorithm* find(const char* identifier) {
  for (size_t i = 0;; ++i) {
    const Algorithm* algorithm = algorithm_at(i);
    if (algorithm == nullptr || std::strcmp(algorithm->identifier, identifier) == 0) {
      return algorithm;
    }
  }
}

// What a routine of the vendor's reads some lane must have written; what it writes is initialised.
void each_cell(const void* data, size_t bytes, void (*act)(Cell* cell)) {
  Array* array = running->memory->find(reinterpret_cast<uintptr_t>(data));
  const int64_t first = static_cast<const unsigned char*>(data) - array->base;
  const int64_t step = int64_t{1} << array->cell_shift;
  for (int64_t i = 0; i < static_cast<int64_t>(bytes); i += step) act(array->cell_at(first + i));
}
void routine_reads(const void* data, size_t bytes) {
  each_cell(data, bytes, [](Cell* cell) {
    if (kChecked && !cell->initialised) running->read_unwritten = true;
  });
}
void routine_writes(const void* data, size_t bytes) {
  each_cell(data, bytes, [](Cell* cell) { cell->initialised = true; });
}

const vendor_cuda::Solver* solver() {
  static const vendor_cuda::Solver* const found = [] {
    const auto* opened = vendor_cuda::open_solver(LANEPACK_FAKE_CUSOLVER, 13000);
    void* handle = dlopen(LANEPACK_FAKE_CUSOLVER, RTLD_LAZY);
    if (handle != nullptr) {
      auto* state = reinterpret_cast<FakeSolver* (*)()>(dlsym(handle, "fake_cusolver"))();
      state->reads = routine_reads;
      state->writes = routine_writes;
    }
    return opened;
  }();
  return found;
}

Status run_algorithm(const Algorithm& algorithm, const lanepack_emulator_call& call,
                     const ProblemKey& key, const MatrixBatch& a, const MatrixBatch& b,
                     const DeviceBatch (&out)[3], int32_t* info, const lanepack::Launch& launch) {
  switch (algorithm.operation) {
    case Operation::kCholesky:
      return algorithm.run_cholesky({key, a, out[0].view, info, launch});
    case Operation::kSolveTriangular:
      return algorithm.run_solve(
          {key, {a, call.lower != 0, call.conjugate != 0, call.unit != 0}, b, out[0].view, launch});
    case Operation::kQr:
      return algorithm.run_qr({key, a, out[0].view, out[1].view, info, launch});
    case Operation::kEigh:
      return algorithm.run_eigh({key, a, out[0].view, out[1].view, info, launch});
    default:
      return algorithm.run_svd({key, a, out[0].view, out[1].view, out[2].view, info, launch});
  }
}

int row_of(Operation operation) {
  switch (operation) {
    case Operation::kQr:
      return 0;
    case Operation::kEigh:
      return 1;
    case Operation::kSvd:
      return 2;
    case Operation::kCholesky:
      return 3;
    default:
      return 4;
  }
}

// Which outputs are real, whatever A is.
bool is_real(Operation operation, int output) {
  return operation == Operation::kEigh ? output == 0 : operation == Operation::kSvd && output == 1;
}

int run(const lanepack_emulator_call& call, std::string* text) {
  const Algorithm* algorithm = find(call.algorithm);
  if (algorithm == nullptr) {
    *text = std::string("no algorithm ") + call.algorithm;
    return LANEPACK_EMULATOR_BAD_CALL;
  }
  const ProblemKey key = key_of(call);
  if (!algorithm->supports(key)) return LANEPACK_EMULATOR_NOT_SERVED;
  if (call.a.data == nullptr) return LANEPACK_EMULATOR_OK;
  Reports reports;
  Memory memory(&reports);
  Buffers buffers(&memory);
  const auto use_of = [&](const lanepack_emulator_batch& input) {
    return input.data == call.outputs[0].data ? Use::kInPlace : Use::kInput;
  };
  const DeviceBatch a = to_device(&buffers, "a", use_of(call.a), call.a, key.dtype);
  const DeviceBatch b = to_device(&buffers, "b", use_of(call.b), call.b, key.dtype);
  static const char* const kNames[][3] = {
      {"q", "r", ""}, {"w", "v", ""}, {"u", "s", "vh"}, {"l", "", ""}, {"x", "", ""}};
  const int row = row_of(algorithm->operation);
  DeviceBatch out[3];
  for (int i = 0; i < 3; ++i) {
    if (i == 0 && call.outputs[0].data != nullptr) {
      out[0] = use_of(call.a) == Use::kInPlace ? a : b;
      if (call.outputs[0].data == out[0].host->data) continue;
    }
    const Dtype dtype = is_real(algorithm->operation, i) ? real_dtype(key.dtype) : key.dtype;
    out[i] = to_device(&buffers, kNames[row][i], Use::kOutput, call.outputs[i], dtype);
  }
  Array* info = call.info == nullptr
                    ? nullptr
                    : buffers.add("info", Use::kOutput, nullptr, call.batch * 4, 4);
  lanepack::Launch where;
  where.workspace_bytes = algorithm->workspace == nullptr ? 0 : algorithm->workspace(key);
  if (where.workspace_bytes > 0) {
    const int element = static_cast<int>(size_bytes(real_dtype(key.dtype)));
    where.workspace =
        buffers.add("workspace", Use::kScratch, nullptr, where.workspace_bytes, element)->base;
  }
  Running now = {&call, &memory, &reports, "", false};
  running = &now;
  const Status status =
      run_algorithm(*algorithm, call, key, a.view, b.view, out,
                    info == nullptr ? nullptr : reinterpret_cast<int32_t*>(info->base), where);
  running = nullptr;
  if (!now.missing_kernel.empty()) {
    *text = now.missing_kernel;
    return LANEPACK_EMULATOR_NO_KERNEL;
  }
  if (now.read_unwritten) {
    *text = "a routine of the vendor's reads what no lane has written";
    return LANEPACK_EMULATOR_BAD_CALL;
  }
  if (status != Status::kOk && reports.all().empty()) {
    *text = last_error();
    return LANEPACK_EMULATOR_BAD_CALL;
  }
  if (kChecked && reports.all().empty()) memory.report_unwritten();
  for (const DeviceBatch& each : out) to_host(each);
  if (info != nullptr) {
    std::memcpy(call.info, info->base, static_cast<size_t>(call.batch) * 4);
  }
  *text = reports.describe();
  return reports.all().empty() ? LANEPACK_EMULATOR_OK : LANEPACK_EMULATOR_FAULTS;
}

// Names are compared without spaces.
bool same_name(const char* a, const char* b) {
  while (true) {
    while (*a == ' ') ++a;
    while (*b == ' ') ++b;
    if (*a != *b) return false;
    if (*a == '\0') return true;
    ++a, ++b;
  }
}

void (*find_kernel(const char* name))(const void*) {
  for (const KernelTable* table = KernelTable::first(); table != nullptr; table = table->next) {
    for (int i = 0; i < table->count; ++i) {
      if (same_name(table->entries[i].name, name)) return table->entries[i].run;
    }
  }
  return nullptr;
}

bool launch_one(const cuda::KernelPlan& kernel, int64_t parts, const ProblemKey& key,
                const void* arguments) {
  const lanepack_emulator_call& call = *running->call;
  Launch launch;
  launch.kernel = kernel.name;
  launch.kernel_entry = find_kernel(kernel.name);
  if (launch.kernel_entry == nullptr) {
    running->missing_kernel = kernel.name;
    return false;
  }
  const int64_t blocks =
      (key.batch * parts + kernel.matrices_per_block - 1) / kernel.matrices_per_block;
  launch.blocks =
      static_cast<int>(call.most_blocks > 0 ? std::min(blocks, call.most_blocks) : blocks);
  launch.threads = kernel.threads;
  launch.order = static_cast<Order>(call.order);
  launch.seed = call.seed;
  launch.flush_subnormals = call.flush_subnormals != 0;
  launch.arguments = arguments;
  run_launch(launch, running->memory, running->reports);
  return running->reports->all().empty();
}

}  // namespace
}  // namespace lanepack::emulator

namespace lanepack::cuda {

// In the place of src/backends/cuda/launch.cc.
Status launch(const char*, const ProblemKey& key, const lanepack::Launch&, const LaunchPlan& plan,
              void* arguments) {
  for (int i = 0; i < plan.count; ++i) {
    if (!emulator::launch_one(plan.kernels[i], plan.parts, key, arguments)) {
      return fail(Status::kInternal, "stopped by the emulator");
    }
  }
  return Status::kOk;
}

}  // namespace lanepack::cuda

namespace lanepack::vendor_cuda {

// In the place of src/backends/vendor_cuda/session.cc: no device and one handle.
struct Session::Place {};
Session::Session() = default;
Session::~Session() {
  if (handle_ != nullptr) solver_->destroy(handle_);
}

Status Session::enter(const char* caller, const ProblemKey&) {
  solver_ = emulator::solver();
  if (solver_ == nullptr) return fail(Status::kUnavailable, "%s: no fake cuSOLVER", caller);
  limits_.matrices = 3;  // so that a batch goes in parts
  limits_.blas_bytes = 256;
  if (solver_->create(&handle_) != 0 || solver_->create_params(&params_) != 0) {
    return fail(Status::kInternal, "%s: no handle", caller);
  }
  return Status::kOk;
}

Status Session::open(const char* caller, const ProblemKey& key, void* stream) {
  const Status status = enter(caller, key);
  if (status == Status::kOk) solver_->set_stream(handle_, stream);
  return status;
}

Status Session::open_for_questions(const char* caller, const ProblemKey& key) {
  return enter(caller, key);
}

Status Session::use_blas(const char* caller, void*, int64_t) {
  static const Blas* const found = open_blas(LANEPACK_FAKE_CUSOLVER);
  blas_ = found;
  if (blas_ == nullptr) return fail(Status::kUnavailable, "%s: no fake cuBLAS", caller);
  blas_handle_ = reinterpret_cast<BlasHandle>(handle_);
  return Status::kOk;
}

Status Session::clear(const char*, void* data, int64_t bytes) {
  std::memset(data, 0, static_cast<size_t>(bytes));
  return Status::kOk;
}

}  // namespace lanepack::vendor_cuda

extern "C" {

__attribute__((visibility("default"))) int lanepack_emulator_run(
    const lanepack_emulator_call* call) {
  std::string text;
  const int result = lanepack::emulator::run(*call, &text);
  if (call->text != nullptr && call->text_bytes > 0) {
    std::snprintf(call->text, static_cast<size_t>(call->text_bytes), "%s", text.c_str());
  }
  return result;
}

__attribute__((visibility("default"))) const char* lanepack_emulator_algorithm(int32_t index) {
  const lanepack::Algorithm* algorithm =
      index < 0 ? nullptr : lanepack::emulator::algorithm_at(static_cast<size_t>(index));
  return algorithm == nullptr ? nullptr : algorithm->identifier;
}

__attribute__((visibility("default"))) int lanepack_emulator_checked(void) {
  return lanepack::emulator::kChecked ? 1 : 0;
}

}  // extern "C"
