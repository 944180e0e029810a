// SPDX-License-Identifier: Apache-2.0
#include "backends/vendor_cuda/library.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>

#include "core/platform/loaded_images.h"
#include "symbol_versions.h"

namespace lanepack::vendor_cuda {
namespace {

// cuSOLVER 11.4.2 came with CUDA 12.0, 12.0 with CUDA 13.0.
constexpr int kOldestVersion = 11402;
constexpr int kOfCuda13 = 12000;
// Of the releases that serve, the later first.
constexpr const char* kFiles[] = {"libcusolver.so.12", "libcusolver.so.11"};

template <class Pointer>
bool resolve(void* handle, const char* name, Pointer* function) {
  *function = reinterpret_cast<Pointer>(dlsym(handle, name));
  return *function != nullptr;
}

bool resolve_all(void* handle, Solver* s) {
  if (!resolve(handle, "cusolverDnXsyevBatched_bufferSize", &s->syev_batched_size) ||
      !resolve(handle, "cusolverDnXsyevBatched", &s->syev_batched)) {
    s->syev_batched_size = nullptr;
    s->syev_batched = nullptr;
  }
  return resolve(handle, "cusolverGetVersion", &s->get_version) &&
         resolve(handle, "cusolverDnCreate", &s->create) &&
         resolve(handle, "cusolverDnDestroy", &s->destroy) &&
         resolve(handle, "cusolverDnSetStream", &s->set_stream) &&
         resolve(handle, "cusolverDnCreateParams", &s->create_params) &&
         resolve(handle, "cusolverDnXsyevd_bufferSize", &s->syevd_size) &&
         resolve(handle, "cusolverDnXsyevd", &s->syevd) &&
         resolve(handle, "cusolverDnXgeqrf_bufferSize", &s->geqrf_size) &&
         resolve(handle, "cusolverDnXgeqrf", &s->geqrf) &&
         resolve(handle, "cusolverDnDorgqr_bufferSize", &s->dorgqr_size) &&
         resolve(handle, "cusolverDnDorgqr", &s->dorgqr) &&
         resolve(handle, "cusolverDnZungqr_bufferSize", &s->zungqr_size) &&
         resolve(handle, "cusolverDnZungqr", &s->zungqr);
}

std::unique_ptr<Blas> take_blas(const char* file, int flags) {
  void* handle = dlopen(file, flags | RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) return nullptr;
  auto fresh = std::make_unique<Blas>();
  if (!resolve(handle, "cublasCreate_v2", &fresh->create) ||
      !resolve(handle, "cublasSetStream_v2", &fresh->set_stream) ||
      !resolve(handle, "cublasSetWorkspace_v2", &fresh->set_workspace) ||
      !resolve(handle, "cublasDgemmStridedBatched", &fresh->dgemm_strided_batched) ||
      !resolve(handle, "cublasZgemmStridedBatched", &fresh->zgemm_strided_batched)) {
    return nullptr;
  }
  return fresh;
}

std::unique_ptr<Blas> find_blas() {
  const char* named = std::getenv("LANEPACK_CUBLAS_LIBRARY");
  if (named != nullptr && named[0] != '\0') return take_blas(named, 0);
  char path[4096];
  if (!loaded_library_path("libcublas.", path, sizeof(path))) return nullptr;
  return take_blas(path, RTLD_NOLOAD);
}

// Null if the file is not there or its cuSOLVER does not fit. A handle stays open: others may use
// its library.
std::unique_ptr<Solver> take(const std::string& file, int flags, int driver_version) {
  void* handle = dlopen(file.c_str(), flags | RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) return nullptr;
  auto fresh = std::make_unique<Solver>();
  if (!resolve_all(handle, fresh.get()) || fresh->get_version(&fresh->version) != 0 ||
      fresh->version < kOldestVersion ||
      driver_version < (fresh->version >= kOfCuda13 ? 13000 : 12000)) {
    return nullptr;
  }
  return fresh;
}

std::unique_ptr<Solver> find(int driver_version) {
  const char* named = std::getenv("LANEPACK_CUSOLVER_LIBRARY");
  if (named != nullptr && named[0] != '\0') return take(named, 0, driver_version);
  char path[4096];
  if (loaded_library_path("libcusolver.", path, sizeof(path))) {
    if (auto found = take(path, RTLD_NOLOAD, driver_version)) return found;
  }
  if (loaded_library_path("libcublas.", path, sizeof(path))) {
    std::string folder = path;
    folder.resize(folder.rfind('/') + 1);
    // One folder for all in CUDA 13's packages and in toolkits, one for each library in CUDA 12's.
    for (const char* way : {"", "../../cusolver/lib/"}) {
      for (const char* file : kFiles) {
        if (auto found = take(folder + way + file, 0, driver_version)) return found;
      }
    }
  }
  for (const char* file : kFiles) {
    if (auto found = take(file, 0, driver_version)) return found;
  }
  return nullptr;
}

std::atomic<const Solver*> g_solver{nullptr};
std::atomic<const Blas*> g_blas{nullptr};
std::mutex g_find_mutex;

}  // namespace

const Solver* solver(int driver_version, const char** problem) {
  *problem = "";
  const Solver* known = g_solver.load(std::memory_order_acquire);
  if (known != nullptr) return known;
  const std::lock_guard<std::mutex> lock(g_find_mutex);
  known = g_solver.load(std::memory_order_acquire);
  if (known != nullptr) return known;
  const Solver* fresh = find(driver_version).release();
  if (fresh == nullptr) {
    *problem =
        "no cuSOLVER of CUDA 12 or later that the driver supports was found (name its library in "
        "LANEPACK_CUSOLVER_LIBRARY)";
    return nullptr;
  }
  g_solver.store(fresh, std::memory_order_release);
  return fresh;
}

const Blas* blas(const char** problem) {
  *problem = "";
  const Blas* known = g_blas.load(std::memory_order_acquire);
  if (known != nullptr) return known;
  const std::lock_guard<std::mutex> lock(g_find_mutex);
  known = g_blas.load(std::memory_order_acquire);
  if (known != nullptr) return known;
  const Blas* fresh = find_blas().release();
  if (fresh == nullptr) {
    *problem = "no cuBLAS was found (name its library in LANEPACK_CUBLAS_LIBRARY)";
    return nullptr;
  }
  g_blas.store(fresh, std::memory_order_release);
  return fresh;
}

const Blas* open_blas(const char* file) { return take_blas(file, 0).release(); }

const Solver* open_solver(const char* file, int driver_version) {
  return take(file, 0, driver_version).release();
}

const char* describe_status(SolverStatus status) {
  constexpr const char* kNames[] = {"success",          "not initialized", "allocation failed",
                                    "invalid value",    "arch mismatch",   "mapping error",
                                    "execution failed", "internal error",  "type not supported",
                                    "not supported"};
  const bool named = status >= 0 && status < static_cast<int>(std::size(kNames));
  return named ? kNames[status] : "";
}

}  // namespace lanepack::vendor_cuda
