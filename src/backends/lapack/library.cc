// SPDX-License-Identifier: Apache-2.0
#include "backends/lapack/library.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "backends/backend.h"
#include "core/platform/loaded_images.h"
#include "core/thread_pool.h"
#include "symbol_versions.h"

namespace lanepack::lapack {
namespace {

template <class Function>
void resolve(void* handle, const char* prefix, const char* name, Function** function) {
  char symbol[64];
  std::snprintf(symbol, sizeof(symbol), "%s%s", prefix, name);
  *function = reinterpret_cast<Function*>(dlsym(handle, symbol));
}

template <class S>
bool resolve_routines(void* handle, const char* prefix, char letter, Routines<S>* routines) {
  const char* kind = Routines<S>::kComplex ? "he" : "sy";
  const char* unitary = Routines<S>::kComplex ? "un" : "or";
  char name[16];
  std::snprintf(name, sizeof(name), "%c%sevd_", letter, kind);
  resolve(handle, prefix, name, &routines->heevd);
  std::snprintf(name, sizeof(name), "%cgesdd_", letter);
  resolve(handle, prefix, name, &routines->gesdd);
  std::snprintf(name, sizeof(name), "%cgesvd_", letter);
  resolve(handle, prefix, name, &routines->gesvd);
  std::snprintf(name, sizeof(name), "%cgeqrf_", letter);
  resolve(handle, prefix, name, &routines->geqrf);
  std::snprintf(name, sizeof(name), "%c%sgqr_", letter, unitary);
  resolve(handle, prefix, name, &routines->orgqr);
  std::snprintf(name, sizeof(name), "%cgemm_", letter);
  resolve(handle, prefix, name, &routines->gemm);
  std::snprintf(name, sizeof(name), "%cpotrf_", letter);
  resolve(handle, prefix, name, &routines->potrf);
  std::snprintf(name, sizeof(name), "%ctrsm_", letter);
  resolve(handle, prefix, name, &routines->trsm);
  return routines->heevd != nullptr && routines->gesdd != nullptr && routines->geqrf != nullptr &&
         routines->orgqr != nullptr && routines->gemm != nullptr && routines->potrf != nullptr &&
         routines->trsm != nullptr;
}

// Finds out whose library it is and how its threads are limited. False: its integers have 64 bits.
bool resolve_threads(void* handle, const char* prefix, Library* library, const char** maker) {
  resolve(handle, "", "MKL_Set_Num_Threads_Local", &library->set_threads_local);
  if (library->set_threads_local != nullptr) {
    *maker = "MKL";
    library->control = ThreadControl::kLocal;
    // Only mkl_rt has this switch; it reads the variable when it is loaded.
    if (dlsym(handle, "MKL_Set_Interface_Layer") == nullptr) return true;
    const char* layer = std::getenv("MKL_INTERFACE_LAYER");
    return layer == nullptr || std::strstr(layer, "ILP64") == nullptr;
  }
  char* (*get_config)() = nullptr;
  resolve(handle, prefix, "openblas_get_config", &get_config);
  if (get_config != nullptr) {
    *maker = "OpenBLAS";
    if (std::strstr(get_config(), "USE64BITINT") != nullptr) return false;
    int (*get_parallel)() = nullptr;
    resolve(handle, prefix, "openblas_get_parallel", &get_parallel);
    const int parallel = get_parallel != nullptr ? get_parallel() : 1;
    resolve(handle, prefix, "openblas_set_num_threads_local", &library->set_threads_local);
    resolve(handle, prefix, "openblas_set_num_threads", &library->set_threads);
    resolve(handle, prefix, "openblas_get_num_threads", &library->get_threads);
    // 0: built without threads; 2: on OpenMP, where the local setting is the thread's own. On its
    // own threads (1) OpenBLAS sets the process even under the local name.
    if (parallel == 2 && library->set_threads_local != nullptr) {
      library->control = ThreadControl::kLocal;
    } else if (parallel != 0 && library->set_threads != nullptr &&
               library->get_threads != nullptr) {
      library->control = ThreadControl::kProcess;
    }
    return true;
  }
  resolve(handle, "", "BLASSetThreading", &library->set_accelerate);
  resolve(handle, "", "BLASGetThreading", &library->get_accelerate);
  if (library->set_accelerate != nullptr && library->get_accelerate != nullptr) {
    *maker = "Accelerate";
    library->control = ThreadControl::kAccelerate;
    return true;
  }
  // The reference LAPACK has no threads. Accelerate before macOS 15 cannot be limited: the serial
  // algorithms are right with it, but their bits may depend on its threads.
  *maker = "LAPACK";
  return true;
}

struct Candidate {
  const char* stem;    // of a file that may be loaded already
  const char* file;    // what the system's loader is asked for; null: only where it is loaded
  const char* prefix;  // of its symbols
};

constexpr Candidate kTorch[] = {{"libtorch_cpu.", nullptr, ""}};
constexpr Candidate kOthers[] = {
    {"libmkl_rt.", "libmkl_rt.so.2", ""},
    {"libmkl_rt.", "libmkl_rt.so", ""},
    {"libopenblas.", "libopenblas.so.0", ""},
    {"libopenblas.", "libopenblas.so", ""},
    {"libscipy_openblas-", nullptr, "scipy_"},  // in SciPy's wheels
    {"liblapack.", "liblapack.so.3", ""},
    {"Accelerate", "/System/Library/Frameworks/Accelerate.framework/Accelerate", ""},
};

Library* try_candidate(const Candidate& candidate, bool may_load) {
  // The path, since an object may be loaded under a name that its soname does not answer to.
  char path[4096];
  void* handle = nullptr;
  if (loaded_library_path(candidate.stem, path, sizeof(path))) {
    handle = dlopen(path, RTLD_NOLOAD | RTLD_LAZY | RTLD_LOCAL);
  }
  if (handle == nullptr && may_load && candidate.file != nullptr) {
    std::snprintf(path, sizeof(path), "%s", candidate.file);
    handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  }
  if (handle == nullptr) return nullptr;
  Library* fresh = new (std::nothrow) Library;
  if (fresh == nullptr) return nullptr;
  const char* slash = std::strrchr(path, '/');
  // Handles stay open: the routines are used until the process ends.
  if (fill_library(handle, candidate.prefix, slash != nullptr ? slash + 1 : path, fresh))
    return fresh;
  delete fresh;
  return nullptr;
}

template <size_t kCount>
Library* try_all(const Candidate (&candidates)[kCount], bool may_load) {
  for (const Candidate& candidate : candidates) {
    if (Library* found = try_candidate(candidate, may_load)) return found;
  }
  return nullptr;
}

std::atomic<const Library*> the_library{nullptr};
std::atomic<bool> system_searched{false};

}  // namespace

bool fill_library(void* handle, const char* prefix, const char* file, Library* library) {
  const char* maker = "";
  if (!resolve_routines(handle, prefix, 's', &library->f32) ||
      !resolve_routines(handle, prefix, 'd', &library->f64) ||
      !resolve_routines(handle, prefix, 'c', &library->c64) ||
      !resolve_routines(handle, prefix, 'z', &library->c128) ||
      !resolve_threads(handle, prefix, library, &maker)) {
    return false;
  }
  std::snprintf(library->name, sizeof(library->name), "%.70s (%s)", file, maker);
  return true;
}

const Library* library() {
  const Library* known = the_library.load(std::memory_order_acquire);
  if (known != nullptr) return known;
  // No lock, which a fork could leave held: threads may search at once, and the first one to finish
  // decides for all.
  Library* fresh = try_all(kTorch, false);
  if (fresh == nullptr && !system_searched.load(std::memory_order_acquire)) {
    fresh = try_all(kOthers, false);
    if (fresh == nullptr) fresh = try_all(kOthers, true);
    system_searched.store(true, std::memory_order_release);
  }
  if (fresh == nullptr) return the_library.load(std::memory_order_acquire);
  if (the_library.compare_exchange_strong(known, fresh, std::memory_order_acq_rel)) return fresh;
  delete fresh;
  return known;
}

namespace {

// For libraries with one setting for the process: whoever is inside gets at most what it asked for,
// and the setting of before comes back when the last one has left. A call that asked for more than
// another one that is inside gets fewer threads, never more.
struct ProcessSetting {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  int holders = 0;
  int saved = 0;
  int current = 0;
};
ProcessSetting setting;

void renew_setting_in_child() { setting = ProcessSetting{}; }
const int renewal_registered = pthread_atfork(nullptr, nullptr, &renew_setting_in_child);

void enter(const Library& library, int threads) {
  pthread_mutex_lock(&setting.mutex);
  if (setting.holders == 0) setting.saved = setting.current = library.get_threads();
  if (setting.holders == 0 || threads < setting.current) {
    library.set_threads(threads);
    setting.current = threads;
  }
  ++setting.holders;
  pthread_mutex_unlock(&setting.mutex);
}

void leave(const Library& library) {
  pthread_mutex_lock(&setting.mutex);
  if (setting.holders > 0 && --setting.holders == 0) library.set_threads(setting.saved);
  pthread_mutex_unlock(&setting.mutex);
}

constexpr unsigned kAccelerateMulti = 0, kAccelerateSingle = 1;  // of vecLib's BLAS_THREADING

}  // namespace

ThreadLimit::ThreadLimit(const Library& library, int threads) : library_(library) {
  if (in_forked_child()) threads = 1;
  switch (library.control) {
    case ThreadControl::kLocal:
      saved_ = library.set_threads_local(threads);
      break;
    case ThreadControl::kProcess:
      enter(library, threads);
      break;
    case ThreadControl::kAccelerate:
      saved_ = static_cast<int>(library.get_accelerate());
      library.set_accelerate(threads == 1 ? kAccelerateSingle : kAccelerateMulti);
      break;
    case ThreadControl::kNone:
      break;
  }
}

ThreadLimit::~ThreadLimit() {
  switch (library_.control) {
    case ThreadControl::kLocal:
      library_.set_threads_local(saved_);
      break;
    case ThreadControl::kProcess:
      leave(library_);
      break;
    case ThreadControl::kAccelerate:
      library_.set_accelerate(static_cast<unsigned>(saved_));
      break;
    case ThreadControl::kNone:
      break;
  }
}

}  // namespace lanepack::lapack

namespace lanepack {

const char* lapack_library_name() {
  const lapack::Library* found = lapack::library();
  return found != nullptr ? found->name : "";
}

// A library is taken only if it has the drivers of all four dtypes.
bool lapack_available(Dtype) { return lapack::library() != nullptr; }

}  // namespace lanepack
