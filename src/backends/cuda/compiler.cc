// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/compiler.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <mutex>

#include "core/platform/loaded_images.h"
#include "symbol_versions.h"

namespace lanepack::cuda {
namespace {

constexpr int kOldestMajor = 12;

template <class Pointer>
bool resolve(void* handle, const char* name, Pointer* function) {
  *function = reinterpret_cast<Pointer>(dlsym(handle, name));
  return *function != nullptr;
}

bool resolve_all(void* handle, Compiler* c) {
  return resolve(handle, "nvrtcVersion", &c->get_version) &&
         resolve(handle, "nvrtcGetErrorString", &c->get_error_string) &&
         resolve(handle, "nvrtcCreateProgram", &c->create_program) &&
         resolve(handle, "nvrtcAddNameExpression", &c->add_name_expression) &&
         resolve(handle, "nvrtcCompileProgram", &c->compile_program) &&
         resolve(handle, "nvrtcGetLoweredName", &c->get_lowered_name) &&
         resolve(handle, "nvrtcGetProgramLogSize", &c->get_log_size) &&
         resolve(handle, "nvrtcGetProgramLog", &c->get_log) &&
         resolve(handle, "nvrtcGetCUBINSize", &c->get_cubin_size) &&
         resolve(handle, "nvrtcGetCUBIN", &c->get_cubin) &&
         resolve(handle, "nvrtcGetPTXSize", &c->get_ptx_size) &&
         resolve(handle, "nvrtcGetPTX", &c->get_ptx) &&
         resolve(handle, "nvrtcDestroyProgram", &c->destroy_program) &&
         resolve(handle, "nvrtcGetNumSupportedArchs", &c->get_architecture_count) &&
         resolve(handle, "nvrtcGetSupportedArchs", &c->get_architectures);
}

// Null if the handle's NVRTC does not fit. A handle stays open: others may use its library.
std::unique_ptr<Compiler> take(void* handle, const char* path, int driver_version) {
  auto fresh = std::make_unique<Compiler>();
  int major = 0;
  int minor = 0;
  if (!resolve_all(handle, fresh.get()) || fresh->get_version(&major, &minor) != 0 ||
      major < kOldestMajor || major > driver_version / 1000) {
    return nullptr;
  }
  int count = 0;
  if (fresh->get_architecture_count(&count) != 0 || count <= 0 ||
      count > static_cast<int>(std::size(fresh->architectures)) ||
      fresh->get_architectures(fresh->architectures) != 0) {
    return nullptr;
  }
  fresh->architecture_count = count;
  fresh->version = major * 1000 + minor * 10;
  fresh->path = path;
  return fresh;
}

std::unique_ptr<Compiler> find(int driver_version) {
  const char* named = std::getenv("LANEPACK_NVRTC_LIBRARY");
  if (named != nullptr && named[0] != '\0') {
    void* handle = dlopen(named, RTLD_LAZY | RTLD_LOCAL);
    return handle != nullptr ? take(handle, named, driver_version) : nullptr;
  }
  char path[4096];
  // torch's wheels before CUDA 12 wrote libnvrtc-<hash>.so; the builtins have the same start.
  if (loaded_library_path("libnvrtc.", path, sizeof(path))) {
    void* handle = dlopen(path, RTLD_NOLOAD | RTLD_LAZY | RTLD_LOCAL);
    if (handle != nullptr) {
      if (auto found = take(handle, path, driver_version)) return found;
    }
  }
  for (const char* file : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}) {
    void* handle = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
    if (handle == nullptr) continue;
    if (auto found = take(handle, file, driver_version)) return found;
  }
  return nullptr;
}

std::atomic<const Compiler*> g_compiler{nullptr};
std::mutex g_find_mutex;

std::string log_of(const Compiler& c, Program program) {
  size_t bytes = 0;
  if (c.get_log_size(program, &bytes) != 0 || bytes <= 1) return "";
  std::string log(bytes, '\0');
  if (c.get_log(program, log.data()) != 0) return "";
  log.resize(bytes - 1);
  return log;
}

// The steps of a compilation, in their order; the first that fails names itself.
bool run(const Compiler& c, Program program, const char* expression, const char* const* options,
         int option_count, bool portable, Image* image, std::string* problem) {
  const auto succeeded = [&](int result, const char* step) {
    if (result == 0) return true;
    *problem = std::string(step) + ": " + c.get_error_string(result);
    return false;
  };
  if (!succeeded(c.add_name_expression(program, expression), "nvrtcAddNameExpression")) {
    return false;
  }
  if (!succeeded(c.compile_program(program, option_count, options), "nvrtcCompileProgram")) {
    *problem += "\n";
    *problem += log_of(c, program);
    return false;
  }
  const char* name = nullptr;
  if (!succeeded(c.get_lowered_name(program, expression, &name), "nvrtcGetLoweredName")) {
    return false;
  }
  image->name = name;
  size_t bytes = 0;
  if (!succeeded(portable ? c.get_ptx_size(program, &bytes) : c.get_cubin_size(program, &bytes),
                 "size of the code")) {
    return false;
  }
  image->code.assign(bytes, '\0');
  return succeeded(
      portable ? c.get_ptx(program, image->code.data()) : c.get_cubin(program, image->code.data()),
      "the code");
}

}  // namespace

const Compiler* compiler(int driver_version, const char** problem) {
  *problem = "";
  const Compiler* known = g_compiler.load(std::memory_order_acquire);
  if (known != nullptr) return known;
  const std::lock_guard<std::mutex> lock(g_find_mutex);
  known = g_compiler.load(std::memory_order_acquire);
  if (known != nullptr) return known;
  const Compiler* fresh = find(driver_version).release();
  if (fresh == nullptr) {
    *problem =
        "no NVRTC of CUDA 12 or later that the driver supports was found (pip install "
        "nvidia-cuda-nvrtc, or name its library in LANEPACK_NVRTC_LIBRARY)";
    return nullptr;
  }
  g_compiler.store(fresh, std::memory_order_release);
  return fresh;
}

std::string target_for(const Compiler& compiler, int architecture) {
  int latest = 0;
  for (int i = 0; i < compiler.architecture_count; ++i) {
    const int known = compiler.architectures[i];
    if (known <= architecture) latest = std::max(latest, known);
  }
  if (latest == 0) return "";
  return (latest == architecture ? "sm_" : "compute_") + std::to_string(latest);
}

bool compile(const Compiler& compiler, const std::string& source, const char* expression,
             const std::string& target, const char* const* options, int option_count, Image* image,
             std::string* problem) {
  const char* all[16];
  if (option_count >= static_cast<int>(std::size(all))) {
    *problem = "too many options";
    return false;
  }
  const std::string architecture = "--gpu-architecture=" + target;
  std::copy(options, options + option_count, all);
  all[option_count] = architecture.c_str();
  Program program = nullptr;
  const int created =
      compiler.create_program(&program, source.c_str(), "lanepack.cu", 0, nullptr, nullptr);
  if (created != 0) {
    *problem = std::string("nvrtcCreateProgram: ") + compiler.get_error_string(created);
    return false;
  }
  const bool portable = target.compare(0, 3, "sm_") != 0;
  const bool right =
      run(compiler, program, expression, all, option_count + 1, portable, image, problem);
  compiler.destroy_program(&program);
  return right;
}

}  // namespace lanepack::cuda
