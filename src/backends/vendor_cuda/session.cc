// SPDX-License-Identifier: Apache-2.0
#include "backends/vendor_cuda/session.h"

#include <cstdint>
#include <mutex>
#include <vector>

#include "backends/cuda/driver.h"
#include "backends/cuda/launch.h"

namespace lanepack::vendor_cuda {
namespace {

struct Handle {
  void* stream = nullptr;
  bool used = false;  // its buffers may be in use on the stream
  SolverHandle solver = nullptr;
  Params params = nullptr;
  BlasHandle blas = nullptr;  // made when it is first wanted
};

// Handles that no call uses, of each device; the last that was given back is taken first. They live
// as long as the process: destroying one waits for the device.
struct Pool {
  std::mutex mutex;
  std::vector<Handle> idle;
};
// Never destroyed: at the end of the process cuSOLVER may be gone before its handles.
Pool* const g_pools = new Pool[cuda::kMaxDevices];

template <class Fits>
bool take_idle(Pool* pool, Fits fits, Handle* handle) {
  const std::lock_guard<std::mutex> lock(pool->mutex);
  for (size_t i = pool->idle.size(); i-- > 0;) {
    if (!fits(pool->idle[i])) continue;
    *handle = pool->idle[i];
    pool->idle[i] = pool->idle.back();
    pool->idle.pop_back();
    return true;
  }
  return false;
}

Status make_handle(const char* caller, const cuda::Driver& driver, const Solver& solver,
                   Handle* handle) {
  const cuda::RelaxedCapture relaxed(driver);
  Status status = check_solver(caller, "cusolverDnCreate", solver.create(&handle->solver));
  if (status != Status::kOk) return status;
  status = check_solver(caller, "cusolverDnCreateParams", solver.create_params(&handle->params));
  if (status != Status::kOk) solver.destroy(handle->solver);
  return status;
}

}  // namespace

struct Session::Place {
  Place(const cuda::Driver& its_driver, const cuda::Device& device)
      : driver(its_driver), guard(its_driver, device), pool(&g_pools[device.ordinal]) {}

  const cuda::Driver& driver;
  cuda::ContextGuard guard;
  Pool* pool;
  Handle handle;
};

Session::Session() = default;

Session::~Session() {
  if (handle_ == nullptr) return;
  const std::lock_guard<std::mutex> lock(place_->pool->mutex);
  place_->pool->idle.push_back(place_->handle);
}

Status Session::enter(const char* caller, const ProblemKey& key) {
  const cuda::Driver* driver = nullptr;
  const cuda::Device* device = nullptr;
  const Status status = cuda::find_target(caller, key, &driver, &device);
  if (status != Status::kOk) return status;
  const char* problem = "";
  solver_ = vendor_cuda::solver(driver->version, &problem);
  if (solver_ == nullptr) return fail(Status::kUnavailable, "%s: %s", caller, problem);
  place_ = std::make_unique<Place>(*driver, *device);
  const cuda::Result result = place_->guard.result();
  return result == 0 ? Status::kOk
                     : cuda::fail_device(caller, *driver, "the device's context", result);
}

Status Session::open(const char* caller, const ProblemKey& key, void* stream) {
  Status status = enter(caller, key);
  if (status != Status::kOk) return status;
  Handle* handle = &place_->handle;
  const auto of_stream = [&](const Handle& h) { return h.used && h.stream == stream; };
  const auto unused = [](const Handle& h) { return !h.used; };
  if (!take_idle(place_->pool, of_stream, handle)) {
    if (!take_idle(place_->pool, unused, handle)) {
      status = make_handle(caller, place_->driver, *solver_, handle);
      if (status != Status::kOk) return status;
    }
    handle->stream = stream;
  }
  // Given back by the destructor from here on.
  handle->used = true;
  handle_ = handle->solver;
  params_ = handle->params;
  return check_solver(caller, "cusolverDnSetStream", solver_->set_stream(handle_, stream));
}

Status Session::open_for_questions(const char* caller, const ProblemKey& key) {
  Status status = enter(caller, key);
  if (status != Status::kOk) return status;
  Handle* handle = &place_->handle;
  if (!take_idle(
          place_->pool, [](const Handle&) { return true; }, handle)) {
    status = make_handle(caller, place_->driver, *solver_, handle);
    if (status != Status::kOk) return status;
  }
  handle_ = handle->solver;
  params_ = handle->params;
  return Status::kOk;
}

Status Session::use_blas(const char* caller, void* workspace, int64_t bytes) {
  const char* problem = "";
  blas_ = vendor_cuda::blas(&problem);
  if (blas_ == nullptr) return fail(Status::kUnavailable, "%s: %s", caller, problem);
  Handle* handle = &place_->handle;
  if (handle->blas == nullptr) {
    const cuda::RelaxedCapture relaxed(place_->driver);
    const Status status = check_blas(caller, "cublasCreate", blas_->create(&handle->blas));
    if (status != Status::kOk) return status;
  }
  blas_handle_ = handle->blas;
  // Setting the stream puts back a workspace of cuBLAS's own.
  const Status status =
      check_blas(caller, "cublasSetStream", blas_->set_stream(blas_handle_, handle->stream));
  if (status != Status::kOk) return status;
  return check_blas(caller, "cublasSetWorkspace",
                    blas_->set_workspace(blas_handle_, workspace, static_cast<size_t>(bytes)));
}

Status Session::clear(const char* caller, void* data, int64_t bytes) {
  const cuda::Driver& driver = place_->driver;
  const cuda::Result result =
      driver.memset_32_async(reinterpret_cast<uintptr_t>(data), 0,
                             static_cast<size_t>((bytes + 3) / 4), place_->handle.stream);
  return result == 0 ? Status::kOk : cuda::fail_device(caller, driver, "a fill", result);
}

}  // namespace lanepack::vendor_cuda
