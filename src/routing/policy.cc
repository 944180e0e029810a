// SPDX-License-Identifier: Apache-2.0
#include "routing/policy.h"

#include <atomic>
#include <cinttypes>
#include <cstring>
#include <string>

namespace lanepack {
namespace {

constexpr int kDtypes = 4;
constexpr const char* kSuffixes[kDtypes] = {"", "_f64", "_c64", "_c128"};
constexpr const char* kFamilies[] = {"qr", "eigh", "svd", "cholesky", "solve"};
constexpr int kFamilyCount = 5;
constexpr int kThresholdCount = static_cast<int>(Threshold::kCount);
constexpr int64_t kMaxOrder = 2147483647;
constexpr int kDeviceCount = 2;

struct Definition {
  int32_t device;
  Family family;
  Threshold threshold;
  const char* name;
  int64_t built_in[kDtypes];  // float32, float64, complex64, complex128
  int64_t minimum;
};

constexpr Definition kDefinitions[] = {
    {kDeviceCpu, Family::kQr, Threshold::kLanesMaxN, "lanes_max_n", {160, 160, 144, 144}, 0},
    {kDeviceCpu, Family::kQr, Threshold::kLoneLanesMaxN, "lone_lanes_max_n", {48, 24, 24, 16}, 0},
    {kDeviceCpu, Family::kQr, Threshold::kTallMinRatio, "tall_min_ratio", {16, 16, 16, 16}, 2},
    {kDeviceCpu, Family::kQr, Threshold::kTallMaxN, "tall_max_n", {128, 128, 128, 128}, 0},
    {kDeviceCpu,
     Family::kQr,
     Threshold::kLapackParallelMinN,
     "lapack_parallel_min_n",
     {256, 256, 192, 192},
     0},
    {kDeviceCpu, Family::kEigh, Threshold::kLanesMaxN, "lanes_max_n", {150, 128, 128, 96}, 0},
    {kDeviceCpu, Family::kEigh, Threshold::kLoneLanesMaxN, "lone_lanes_max_n", {48, 24, 24, 16}, 0},
    {kDeviceCpu,
     Family::kEigh,
     Threshold::kLapackParallelMinN,
     "lapack_parallel_min_n",
     {256, 256, 192, 192},
     0},
    {kDeviceCpu, Family::kSvd, Threshold::kLanesMaxN, "lanes_max_n", {128, 128, 96, 96}, 0},
    {kDeviceCpu, Family::kSvd, Threshold::kLoneLanesMaxN, "lone_lanes_max_n", {48, 40, 32, 24}, 0},
    {kDeviceCpu, Family::kSvd, Threshold::kTallMinRatio, "tall_min_ratio", {16, 16, 16, 16}, 2},
    {kDeviceCpu, Family::kSvd, Threshold::kTallMaxN, "tall_max_n", {128, 128, 96, 128}, 0},
    {kDeviceCpu,
     Family::kSvd,
     Threshold::kLapackParallelMinN,
     "lapack_parallel_min_n",
     {256, 256, 192, 192},
     0},
    {kDeviceCpu, Family::kCholesky, Threshold::kLanesMaxN, "lanes_max_n", {96, 64, 64, 48}, 0},
    {kDeviceCpu,
     Family::kCholesky,
     Threshold::kLoneLanesMaxN,
     "lone_lanes_max_n",
     {16, 16, 16, 16},
     0},
    {kDeviceCpu,
     Family::kCholesky,
     Threshold::kLapackParallelMinN,
     "lapack_parallel_min_n",
     {256, 256, 192, 192},
     0},
    {kDeviceCpu, Family::kSolve, Threshold::kLanesMaxN, "lanes_max_n", {64, 48, 48, 32}, 0},
    {kDeviceCpu,
     Family::kSolve,
     Threshold::kLoneLanesMaxN,
     "lone_lanes_max_n",
     {16, 16, 16, 16},
     0},
    {kDeviceCpu,
     Family::kSolve,
     Threshold::kLapackParallelMinN,
     "lapack_parallel_min_n",
     {256, 256, 192, 192},
     0},
    {kDeviceCuda, Family::kQr, Threshold::kThreadMaxN, "thread_max_n", {8, 8, 8, 8}, 0},
    {kDeviceCuda, Family::kQr, Threshold::kWarpMaxN, "warp_max_n", {32, 32, 32, 32}, 0},
    {kDeviceCuda, Family::kQr, Threshold::kGpuMinBatch, "gpu_min_batch", {1, 1, 1, 1}, 0},
    {kDeviceCuda, Family::kEigh, Threshold::kThreadMaxN, "thread_max_n", {8, 8, 8, 8}, 0},
    {kDeviceCuda, Family::kEigh, Threshold::kWarpMaxN, "warp_max_n", {32, 32, 32, 32}, 0},
    {kDeviceCuda, Family::kEigh, Threshold::kGpuMinBatch, "gpu_min_batch", {1, 1, 1, 1}, 0},
    {kDeviceCuda, Family::kSvd, Threshold::kThreadMaxN, "thread_max_n", {8, 8, 8, 8}, 0},
    {kDeviceCuda, Family::kSvd, Threshold::kWarpMaxN, "warp_max_n", {32, 32, 32, 32}, 0},
    {kDeviceCuda, Family::kSvd, Threshold::kGpuMinBatch, "gpu_min_batch", {1, 1, 1, 1}, 0},
    {kDeviceCuda, Family::kCholesky, Threshold::kThreadMaxN, "thread_max_n", {8, 8, 8, 8}, 0},
    {kDeviceCuda, Family::kCholesky, Threshold::kWarpMaxN, "warp_max_n", {32, 32, 32, 32}, 0},
    {kDeviceCuda, Family::kCholesky, Threshold::kBlockMaxN, "block_max_n", {128, 128, 128, 128}, 0},
    {kDeviceCuda, Family::kCholesky, Threshold::kGpuMinBatch, "gpu_min_batch", {1, 1, 1, 1}, 0},
    {kDeviceCuda, Family::kSolve, Threshold::kThreadMaxN, "thread_max_n", {8, 8, 8, 8}, 0},
    {kDeviceCuda, Family::kSolve, Threshold::kWarpMaxN, "warp_max_n", {128, 128, 128, 64}, 0},
    {kDeviceCuda, Family::kSolve, Threshold::kGpuMinBatch, "gpu_min_batch", {1, 1, 1, 1}, 0},
};

// A value set by a caller, plus one; 0: the built-in value is in force. All bounds are >= 0.
std::atomic<int64_t> g_set[kFamilyCount][kThresholdCount][kDtypes];

std::atomic<int64_t>& slot(Family family, Threshold threshold, int dtype) {
  return g_set[static_cast<int>(family)][static_cast<int>(threshold)][dtype];
}

int64_t value_of(const Definition& definition, int dtype) {
  const int64_t set =
      slot(definition.family, definition.threshold, dtype).load(std::memory_order_relaxed);
  return set == 0 ? definition.built_in[dtype] : set - 1;
}

Status find_family(const char* function, const char* name, Family* family) {
  for (int i = 0; i < kFamilyCount; ++i) {
    if (name != nullptr && std::strcmp(name, kFamilies[i]) == 0) {
      *family = static_cast<Family>(i);
      return Status::kOk;
    }
  }
  return fail(Status::kInvalidArgument,
              "%s: family is '%.64s'; it must be one of: qr eigh svd cholesky solve", function,
              name == nullptr ? "(null)" : name);
}

Status check_device(const char* function, int32_t device) {
  if (device == kDeviceCpu || device == kDeviceCuda) return Status::kOk;
  return fail(device == 2 ? Status::kUnsupported : Status::kInvalidArgument,
              "%s: device is %d; this library has policies for 0 (CPU) and 1 (CUDA)", function,
              device);
}

std::string join_names(Family family, int32_t device) {
  std::string names;
  for (const Definition& definition : kDefinitions) {
    if (definition.family != family || definition.device != device) continue;
    for (const char* suffix : kSuffixes) {
      if (!names.empty()) names += ' ';
      names += definition.name;
      names += suffix;
    }
  }
  return names;
}

struct Names {
  std::string texts[kFamilyCount][kDeviceCount];
  Names() {
    for (int family = 0; family < kFamilyCount; ++family) {
      for (int32_t device = 0; device < kDeviceCount; ++device) {
        texts[family][device] = join_names(static_cast<Family>(family), device);
      }
    }
  }
};

const char* names_of(Family family, int32_t device) {
  static const Names names;
  return names.texts[static_cast<int>(family)][device].c_str();
}

Status find_threshold(const char* function, const char* family_name, int32_t device,
                      const char* name, const Definition** definition, int* dtype) {
  Family family = Family::kQr;
  Status status = find_family(function, family_name, &family);
  if (status == Status::kOk) status = check_device(function, device);
  if (status != Status::kOk) return status;
  for (const Definition& candidate : kDefinitions) {
    const size_t length = std::strlen(candidate.name);
    if (name == nullptr || candidate.family != family || candidate.device != device ||
        std::strncmp(name, candidate.name, length) != 0) {
      continue;
    }
    for (int i = 0; i < kDtypes; ++i) {
      if (std::strcmp(name + length, kSuffixes[i]) == 0) {
        *definition = &candidate;
        *dtype = i;
        return Status::kOk;
      }
    }
  }
  return fail(Status::kInvalidArgument, "%s: %s has no threshold '%.64s'; it must be one of: %s",
              function, family_name, name == nullptr ? "(null)" : name, names_of(family, device));
}

}  // namespace

int64_t threshold(Family family, Threshold threshold, Dtype dtype) {
  for (const Definition& definition : kDefinitions) {
    if (definition.family == family && definition.threshold == threshold) {
      return value_of(definition, static_cast<int>(dtype));
    }
  }
  __builtin_trap();  // a rule of router.cc asks for a threshold that its family lacks
}

Status set_policy(const char* function, const char* family, int32_t device, const char* name,
                  int64_t value) {
  const Definition* definition = nullptr;
  int dtype = 0;
  const Status status = find_threshold(function, family, device, name, &definition, &dtype);
  if (status != Status::kOk) return status;
  if (value < definition->minimum || value > kMaxOrder) {
    return fail(Status::kInvalidArgument,
                "%s: %s of %s is %" PRId64 "; it must be from %" PRId64 " to %" PRId64, function,
                name, family, value, definition->minimum, kMaxOrder);
  }
  slot(definition->family, definition->threshold, dtype)
      .store(value + 1, std::memory_order_relaxed);
  return Status::kOk;
}

Status get_policy(const char* function, const char* family, int32_t device, const char* name,
                  int64_t* value) {
  const Definition* definition = nullptr;
  int dtype = 0;
  const Status status = find_threshold(function, family, device, name, &definition, &dtype);
  if (status != Status::kOk) return status;
  if (value == nullptr) {
    return fail(Status::kInvalidArgument, "%s: value is null; it must point to an int64_t",
                function);
  }
  *value = value_of(*definition, dtype);
  return Status::kOk;
}

Status reset_policy(const char* function, const char* family_name, int32_t device) {
  Family family = Family::kQr;
  Status status = find_family(function, family_name, &family);
  if (status == Status::kOk) status = check_device(function, device);
  if (status != Status::kOk) return status;
  for (const Definition& definition : kDefinitions) {
    if (definition.family != family || definition.device != device) continue;
    for (int dtype = 0; dtype < kDtypes; ++dtype) {
      slot(family, definition.threshold, dtype).store(0, std::memory_order_relaxed);
    }
  }
  return Status::kOk;
}

const char* policy_names(const char* function, const char* family_name, int32_t device) {
  Family family = Family::kQr;
  if (find_family(function, family_name, &family) != Status::kOk) return nullptr;
  if (check_device(function, device) != Status::kOk) return nullptr;
  return names_of(family, device);
}

}  // namespace lanepack
