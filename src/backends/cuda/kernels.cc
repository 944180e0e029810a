// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernels.h"

#include <atomic>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>

#include "backends/cuda/cache.h"
#include "backends/cuda/compiler.h"
#include "backends/cuda/sha256.h"
#include "backends/cuda/texts.h"

namespace lanepack::cuda {
namespace {

constexpr int kMaxDynamicSharedBytes = 8;     // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
constexpr int kPlainSharedBytes = 48 * 1024;  // what every kernel may have without being asked

// One kernel on one device. Never removed, so that readers need no lock.
struct Entry {
  std::string text;
  std::string name;
  Function function = nullptr;  // null: it was not compiled, and `problem` says why
  std::string problem;
  std::atomic<int> shared_bytes{kPlainSharedBytes};
  Entry* next = nullptr;
};

constexpr size_t kBuckets = 256;
std::atomic<Entry*> g_entries[kMaxDevices][kBuckets];
std::mutex g_make_mutex;

std::atomic<Entry*>& bucket_of(const Device& device, const KernelPlan& plan) {
  uint32_t hash = 2166136261u;  // FNV-1a
  for (const char* c = plan.name; *c != '\0'; ++c) {
    hash = (hash ^ static_cast<unsigned char>(*c)) * 16777619u;
  }
  return g_entries[device.ordinal][hash % kBuckets];
}

Entry* find_entry(const std::atomic<Entry*>& bucket, const KernelPlan& plan) {
  for (Entry* entry = bucket.load(std::memory_order_acquire); entry != nullptr;
       entry = entry->next) {
    if (entry->name == plan.name && entry->text == plan.text) return entry;
  }
  return nullptr;
}

std::string source_of(const char* key) {
  std::string source;
  const TextList list = texts();
  for (size_t i = 0; i < list.count; ++i) {
    if (std::strcmp(list.texts[i].key, key) != 0) continue;
    for (const char* const* piece = list.texts[i].pieces; *piece != nullptr; ++piece) {
      source += *piece;
    }
  }
  return source;
}

Result load(const Driver& driver, const Image& image, Function* function) {
  const RelaxedCapture relaxed(driver);
  Module module = nullptr;
  Result result = driver.module_load_data(&module, image.code.data());
  if (result != 0) return result;
  // The module stays loaded: its kernels are used until the process ends.
  result = driver.module_get_function(function, module, image.name.c_str());
  if (result != 0) driver.module_unload(module);
  return result;
}

struct Recipe {
  std::string source;
  std::string target;
};

Digest key_of(const Compiler& compiler, const Recipe& recipe, const KernelPlan& plan) {
  Sha256 hash;
  hash.add_text(recipe.source);
  hash.add_text(plan.name);
  hash.add_text(recipe.target);
  hash.add_text(std::to_string(compiler.version));
  for (const char* option : kCompileOptions) hash.add_text(option);
  return hash.finish();
}

Status fail_kernel(const char* caller, const KernelPlan& plan, const std::string& problem) {
  return fail(Status::kUnavailable, "%s: kernel %s: %s", caller, plan.name, problem.c_str());
}

// Reads or compiles the kernel and loads it. `*refused`: the compiler's text is final.
Status make(const char* caller, const Driver& driver, const Device& device, const KernelPlan& plan,
            Function* function, std::string* refused) {
  const char* missing = "";
  const Compiler* nvrtc = compiler(driver.version, &missing);
  if (nvrtc == nullptr) return fail(Status::kUnavailable, "%s: %s", caller, missing);
  Recipe recipe;
  recipe.source = source_of(plan.text);
  const int architecture = 10 * device.major + device.minor;
  recipe.target = target_for(*nvrtc, architecture);
  if (recipe.target.empty()) {
    return fail(Status::kUnavailable, "%s: NVRTC %d.%d does not know compute capability %d.%d",
                caller, nvrtc->version / 1000, nvrtc->version % 1000 / 10, device.major,
                device.minor);
  }
  const Digest key = key_of(*nvrtc, recipe, plan);
  const std::string folder = cache_folder();
  Image image;
  if (!folder.empty() && read_cached(folder, key, &image) && load(driver, image, function) == 0) {
    return Status::kOk;
  }
  std::string problem;
  if (!compile(*nvrtc, recipe.source, plan.name, recipe.target, kCompileOptions,
               std::size(kCompileOptions), &image, &problem)) {
    *refused = problem;
    return fail_kernel(caller, plan, problem);
  }
  const Result result = load(driver, image, function);
  if (result != 0) {
    char text[160];
    describe_error(driver, result, text, sizeof(text));
    return fail_kernel(caller, plan, std::string("the driver does not load it: ") + text);
  }
  if (!folder.empty()) write_cached(folder, key, image);
  return Status::kOk;
}

Status make_entry(const char* caller, const Driver& driver, const Device& device,
                  const KernelPlan& plan, Entry** entry) {
  std::atomic<Entry*>& bucket = bucket_of(device, plan);
  const std::lock_guard<std::mutex> lock(g_make_mutex);
  *entry = find_entry(bucket, plan);
  if (*entry != nullptr) return Status::kOk;
  auto fresh = std::make_unique<Entry>();
  fresh->text = plan.text;
  fresh->name = plan.name;
  const Status status = make(caller, driver, device, plan, &fresh->function, &fresh->problem);
  if (status != Status::kOk && fresh->problem.empty()) return status;
  fresh->next = bucket.load(std::memory_order_relaxed);
  *entry = fresh.release();
  bucket.store(*entry, std::memory_order_release);
  return Status::kOk;
}

// Above 48 KiB a kernel has to be allowed its dynamic shared memory.
Status allow_shared(const char* caller, const Driver& driver, const KernelPlan& plan,
                    Entry* entry) {
  if (plan.shared_bytes <= entry->shared_bytes.load(std::memory_order_acquire)) {
    return Status::kOk;
  }
  const std::lock_guard<std::mutex> lock(g_make_mutex);
  if (plan.shared_bytes <= entry->shared_bytes.load(std::memory_order_acquire)) {
    return Status::kOk;
  }
  const Result result =
      driver.function_set_attribute(entry->function, kMaxDynamicSharedBytes, plan.shared_bytes);
  if (result != 0) {
    char text[160];
    describe_error(driver, result, text, sizeof(text));
    return fail_kernel(caller, plan,
                       std::to_string(plan.shared_bytes) + " bytes of shared memory: " + text);
  }
  entry->shared_bytes.store(plan.shared_bytes, std::memory_order_release);
  return Status::kOk;
}

}  // namespace

Status find_kernel(const char* caller, const Driver& driver, const Device& device,
                   const KernelPlan& plan, Function* function) {
  Entry* entry = find_entry(bucket_of(device, plan), plan);
  if (entry == nullptr) {
    const Status status = make_entry(caller, driver, device, plan, &entry);
    if (status != Status::kOk) return status;
  }
  if (entry->function == nullptr) return fail_kernel(caller, plan, entry->problem);
  *function = entry->function;
  return allow_shared(caller, driver, plan, entry);
}

}  // namespace lanepack::cuda
