// SPDX-License-Identifier: Apache-2.0
#include "fake_cusolver.h"

#include <dlfcn.h>

#include <atomic>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <vector>

namespace {

FakeSolver make_state() {
  FakeSolver state = {};
  state.version = 12004;
  state.fails_at = -1;
  state.bytes_of_matrix = 1000;
  state.host_bytes = 100;
  return state;
}

FakeSolver g_state = make_state();
std::mutex g_mutex;

struct Handle {
  void* stream = nullptr;
};
struct Params {};
char g_params;

int refuse(const char* what) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  std::snprintf(g_state.problem, sizeof(g_state.problem), "%s", what);
  return 3;  // invalid value
}

// A routine of torch's LAPACK, or of the one that the tests name.
void* lapack_routine(const char* name) {
  static void* const handle = [] {
    void* found = dlopen("libtorch_cpu.so", RTLD_NOLOAD | RTLD_LAZY);
    const char* named = std::getenv("LANEPACK_TEST_LAPACK");
    if (found == nullptr && named != nullptr) found = dlopen(named, RTLD_LAZY);
    return found;
  }();
  return handle == nullptr ? nullptr : dlsym(handle, name);
}

template <class R>
using Real = void(const char*, const char*, const int*, R*, const int*, R*, R*, const int*, int*,
                  const int*, int*, size_t, size_t);
template <class R>
using Complex = void(const char*, const char*, const int*, std::complex<R>*, const int*, R*,
                     std::complex<R>*, const int*, R*, const int*, int*, const int*, int*, size_t,
                     size_t);

template <class R>
bool eigh_of(const char* jobz, const char* uplo, int n, R* a, R* w, int* info) {
  auto* run = reinterpret_cast<Real<R>*>(lapack_routine(sizeof(R) == 4 ? "ssyevd_" : "dsyevd_"));
  if (run == nullptr) return false;
  const int lwork = 1 + 6 * n + 2 * n * n, liwork = 3 + 5 * n;
  std::vector<R> work(static_cast<size_t>(lwork));
  std::vector<int> iwork(static_cast<size_t>(liwork));
  run(jobz, uplo, &n, a, &n, w, work.data(), &lwork, iwork.data(), &liwork, info, 1, 1);
  return true;
}

template <class R>
bool eigh_of(const char* jobz, const char* uplo, int n, std::complex<R>* a, R* w, int* info) {
  auto* run = reinterpret_cast<Complex<R>*>(lapack_routine(sizeof(R) == 4 ? "cheevd_" : "zheevd_"));
  if (run == nullptr) return false;
  const int lwork = 2 * n + n * n, lrwork = 1 + 5 * n + 2 * n * n, liwork = 3 + 5 * n;
  std::vector<std::complex<R>> work(static_cast<size_t>(lwork));
  std::vector<R> rwork(static_cast<size_t>(lrwork));
  std::vector<int> iwork(static_cast<size_t>(liwork));
  run(jobz, uplo, &n, a, &n, w, work.data(), &lwork, rwork.data(), &lrwork, iwork.data(), &liwork,
      info, 1, 1);
  return true;
}

struct Eigh {
  int jobz, uplo;
  int64_t n;
  void *a, *w;
  int* info;
  int64_t batch;
};

template <class S, class R>
int run(const Eigh& x) {
  const auto n = static_cast<size_t>(x.n), batch = static_cast<size_t>(x.batch);
  auto* a = static_cast<S*>(x.a);
  auto* w = static_cast<R*>(x.w);
  if (g_state.reads != nullptr) g_state.reads(a, batch * n * n * sizeof(S));
  if (g_state.writes != nullptr) {
    g_state.writes(a, batch * n * n * sizeof(S));
    g_state.writes(w, batch * n * sizeof(R));
    g_state.writes(x.info, batch * sizeof(int));
  }
  for (size_t i = 0; i < batch; ++i) {
    S* matrix = a + i * n * n;
    if (!eigh_of(x.jobz == 1 ? "V" : "N", x.uplo == 0 ? "L" : "U", static_cast<int>(x.n), matrix,
                 w + i * n, x.info + i)) {
      return refuse("there is no LAPACK in this process, and LANEPACK_TEST_LAPACK names none");
    }
    // Of values alone nothing is left in A that could be taken for vectors.
    if (x.jobz == 0) std::memset(static_cast<void*>(matrix), 0xff, n * n * sizeof(S));
    if (static_cast<int64_t>(i) == g_state.fails_at) x.info[i] = 1;
  }
  return 0;
}

int run(const Eigh& x, int type, int real_type, int compute_type) {
  if (compute_type != type) return refuse("the computing type is not A's");
  if (type == 0 && real_type == 0) return run<float, float>(x);
  if (type == 1 && real_type == 1) return run<double, double>(x);
  if (type == 4 && real_type == 0) return run<std::complex<float>, float>(x);
  if (type == 5 && real_type == 1) return run<std::complex<double>, double>(x);
  return refuse("no such types of A and W");
}

void tell(void (*hear)(const void*, size_t), const void* data, size_t bytes) {
  if (hear != nullptr && bytes > 0) hear(data, bytes);
}

void count(int FakeSolver::*counter) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  ++(g_state.*counter);
}

template <class S>
using Gemm = void(const char*, const char*, const int*, const int*, const int*, const S*, const S*,
                  const int*, const S*, const int*, const S*, S*, const int*, size_t, size_t);
template <class S>
using Geqrf = void(const int*, const int*, S*, const int*, S*, S*, const int*, int*);
template <class S>
using Orgqr = void(const int*, const int*, const int*, S*, const int*, const S*, S*, const int*,
                   int*);

// Columns of `rows` entries, `ld` apart: without what lies between.
template <class S>
void tell_columns(void (*hear)(const void*, size_t), const S* a, int rows, int columns, int ld) {
  for (int j = 0; j < columns; ++j) {
    tell(hear, a + static_cast<size_t>(j) * static_cast<size_t>(ld),
         static_cast<size_t>(rows) * sizeof(S));
  }
}

template <class S>
int gemm_of(const char* name, int a_op, int b_op, int m, int n, int k, const S* alpha, const S* a,
            int lda, long long a_stride, const S* b, int ldb, long long b_stride, const S* beta,
            S* c, int ldc, long long c_stride, int batch) {
  constexpr const char* kOps[] = {"N", "T", "C"};
  auto* run = reinterpret_cast<Gemm<S>*>(lapack_routine(name));
  if (run == nullptr || *beta != S(0) || b_op != 0) return refuse("gemm: not what the fake can do");
  count(&FakeSolver::gemm_calls);
  for (int i = 0; i < batch; ++i, a += a_stride, b += b_stride, c += c_stride) {
    tell_columns(g_state.reads, a, a_op == 0 ? m : k, a_op == 0 ? k : m, lda);
    tell_columns(g_state.reads, b, k, n, ldb);
    tell_columns(g_state.writes, c, m, n, ldc);
    run(kOps[a_op], "N", &m, &n, &k, alpha, a, &lda, b, &ldb, beta, c, &ldc, 1, 1);
  }
  return 0;
}

template <class S>
int geqrf_of(const char* name, int m, int n, S* a, int lda, S* tau, int* info) {
  auto* run = reinterpret_cast<Geqrf<S>*>(lapack_routine(name));
  if (run == nullptr) return refuse("geqrf: no LAPACK");
  tell_columns(g_state.reads, a, m, n, lda);
  tell(g_state.writes, tau, static_cast<size_t>(m < n ? m : n) * sizeof(S));
  tell(g_state.writes, info, sizeof(int));
  std::vector<S> work(static_cast<size_t>(64 * n));
  const int elements = 64 * n;
  run(&m, &n, a, &lda, tau, work.data(), &elements, info);
  return 0;
}

constexpr int kOrgqrElements = 48;

template <class S>
int orgqr_of(const char* name, Handle* handle, int m, int n, int k, S* a, int lda, const S* tau,
             const void* work, int elements, int* info) {
  auto* run = reinterpret_cast<Orgqr<S>*>(lapack_routine(name));
  if (run == nullptr || handle == nullptr) return refuse("orgqr: no LAPACK or no handle");
  if (m < n || n < k || lda < m) return refuse("orgqr: wrong sizes");
  if (work == nullptr || elements < kOrgqrElements) return refuse("orgqr: too little memory");
  count(&FakeSolver::orgqr_calls);
  tell_columns(g_state.reads, a, m, k, lda);
  tell(g_state.reads, tau, static_cast<size_t>(k) * sizeof(S));
  tell_columns(g_state.writes, a, m, n, lda);
  tell(g_state.writes, info, sizeof(int));
  std::vector<S> own(static_cast<size_t>(64 * n));
  const int own_elements = 64 * n;
  run(&m, &n, &k, a, &lda, tau, own.data(), &own_elements, info);
  return 0;
}

// What every routine looks at.
int check(Handle* handle, const void* params, int64_t n, int64_t lda, const void* device,
          size_t device_bytes, size_t wanted, const void* host, size_t host_bytes) {
  if (handle == nullptr || params != &g_params) return refuse("no handle or parameters");
  if (n < 1 || lda != n) return refuse("a matrix is not packed");
  if (device == nullptr || device_bytes < wanted) return refuse("too little device memory");
  if (reinterpret_cast<uintptr_t>(device) % 256 != 0) return refuse("unaligned device memory");
  if (host == nullptr || host_bytes < static_cast<size_t>(g_state.host_bytes)) {
    return refuse("too little host memory");
  }
  const std::lock_guard<std::mutex> lock(g_mutex);
  g_state.stream = handle->stream;
  return g_state.status;
}

size_t bytes_of_batch(int64_t batch) {
  return static_cast<size_t>(g_state.bytes_of_matrix * batch + 512);
}
constexpr size_t kSingleBytes = 768;

}  // namespace

extern "C" {

FakeSolver* fake_cusolver() { return &g_state; }
// For callers that do not know the struct.
int fake_cusolver_batched_calls() { return g_state.batched_calls; }
int fake_cusolver_single_calls() { return g_state.single_calls; }
void* fake_cusolver_stream() { return g_state.stream; }
const char* fake_cusolver_problem() { return g_state.problem; }

int cusolverGetVersion(int* version) {
  *version = g_state.version;
  return 0;
}
int cusolverDnCreate(Handle** handle) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  ++g_state.created;
  *handle = new Handle;
  return 0;
}
int cusolverDnDestroy(Handle* handle) {
  delete handle;
  return 0;
}
int cusolverDnSetStream(Handle* handle, void* stream) {
  handle->stream = stream;
  return 0;
}
int cusolverDnCreateParams(void** params) {
  *params = &g_params;
  return 0;
}

int cusolverDnXsyevd_bufferSize(Handle*, void*, int, int, int64_t, int, const void*, int64_t, int,
                                const void*, int, size_t* device_bytes, size_t* host_bytes) {
  *device_bytes = kSingleBytes;
  *host_bytes = static_cast<size_t>(g_state.host_bytes);
  return 0;
}
int cusolverDnXsyevd(Handle* handle, void* params, int jobz, int uplo, int64_t n, int type, void* a,
                     int64_t lda, int real_type, void* w, int compute_type, void* device,
                     size_t device_bytes, void* host, size_t host_bytes, int* info) {
  const int status =
      check(handle, params, n, lda, device, device_bytes, kSingleBytes, host, host_bytes);
  if (status != 0) return status;
  {
    const std::lock_guard<std::mutex> lock(g_mutex);
    ++g_state.single_calls;
  }
  return run({jobz, uplo, n, a, w, info, 1}, type, real_type, compute_type);
}
int cusolverDnXsyevBatched_bufferSize(Handle*, void*, int, int, int64_t, int, const void*, int64_t,
                                      int, const void*, int, size_t* device_bytes,
                                      size_t* host_bytes, int64_t batch) {
  *device_bytes = bytes_of_batch(batch);
  *host_bytes = static_cast<size_t>(g_state.host_bytes);
  return 0;
}
int cusolverDnXsyevBatched(Handle* handle, void* params, int jobz, int uplo, int64_t n, int type,
                           void* a, int64_t lda, int real_type, void* w, int compute_type,
                           void* device, size_t device_bytes, void* host, size_t host_bytes,
                           int* info, int64_t batch) {
  const int status =
      check(handle, params, n, lda, device, device_bytes, bytes_of_batch(batch), host, host_bytes);
  if (status != 0) return status;
  {
    const std::lock_guard<std::mutex> lock(g_mutex);
    ++g_state.batched_calls;
    if (batch > g_state.largest_batch) g_state.largest_batch = batch;
  }
  return run({jobz, uplo, n, a, w, info, batch}, type, real_type, compute_type);
}

int cusolverDnXgeqrf_bufferSize(Handle*, void*, int64_t, int64_t, int, const void*, int64_t, int,
                                const void*, int, size_t* device_bytes, size_t* host_bytes) {
  *device_bytes = kSingleBytes;
  *host_bytes = static_cast<size_t>(g_state.host_bytes);
  return 0;
}
int cusolverDnXgeqrf(Handle* handle, void* params, int64_t m, int64_t n, int type, void* a,
                     int64_t lda, int tau_type, void* tau, int compute_type, void* device,
                     size_t device_bytes, void* host, size_t host_bytes, int* info) {
  const int status =
      check(handle, params, m, lda, device, device_bytes, kSingleBytes, host, host_bytes);
  if (status != 0) return status;
  if (tau_type != type || compute_type != type) return refuse("geqrf: types differ");
  count(&FakeSolver::geqrf_calls);
  const int rows = static_cast<int>(m), columns = static_cast<int>(n), ld = static_cast<int>(lda);
  if (type == 1) {
    return geqrf_of("dgeqrf_", rows, columns, static_cast<double*>(a), ld,
                    static_cast<double*>(tau), info);
  }
  if (type != 5) return refuse("geqrf: no such type");
  using Complex128 = std::complex<double>;
  return geqrf_of("zgeqrf_", rows, columns, static_cast<Complex128*>(a), ld,
                  static_cast<Complex128*>(tau), info);
}

int cusolverDnDorgqr_bufferSize(Handle*, int, int, int, const double*, int, const double*,
                                int* elements) {
  *elements = kOrgqrElements;
  return 0;
}
int cusolverDnZungqr_bufferSize(Handle*, int, int, int, const void*, int, const void*,
                                int* elements) {
  *elements = kOrgqrElements;
  return 0;
}
int cusolverDnDorgqr(Handle* handle, int m, int n, int k, double* a, int lda, const double* tau,
                     double* work, int elements, int* info) {
  return orgqr_of("dorgqr_", handle, m, n, k, a, lda, tau, work, elements, info);
}
int cusolverDnZungqr(Handle* handle, int m, int n, int k, std::complex<double>* a, int lda,
                     const std::complex<double>* tau, void* work, int elements, int* info) {
  return orgqr_of("zungqr_", handle, m, n, k, a, lda, tau, work, elements, info);
}

int cublasCreate_v2(Handle** handle) {
  *handle = new Handle;
  return 0;
}
int cublasSetStream_v2(Handle* handle, void* stream) {
  handle->stream = stream;
  return 0;
}
int cublasSetWorkspace_v2(Handle*, void* workspace, size_t) {
  if (reinterpret_cast<uintptr_t>(workspace) % 256 != 0) return refuse("unaligned cuBLAS memory");
  return 0;
}
int cublasDgemmStridedBatched(Handle*, int a_op, int b_op, int m, int n, int k, const double* alpha,
                              const double* a, int lda, long long a_stride, const double* b,
                              int ldb, long long b_stride, const double* beta, double* c, int ldc,
                              long long c_stride, int batch) {
  return gemm_of("dgemm_", a_op, b_op, m, n, k, alpha, a, lda, a_stride, b, ldb, b_stride, beta, c,
                 ldc, c_stride, batch);
}
int cublasZgemmStridedBatched(Handle*, int a_op, int b_op, int m, int n, int k,
                              const std::complex<double>* alpha, const std::complex<double>* a,
                              int lda, long long a_stride, const std::complex<double>* b, int ldb,
                              long long b_stride, const std::complex<double>* beta,
                              std::complex<double>* c, int ldc, long long c_stride, int batch) {
  return gemm_of("zgemm_", a_op, b_op, m, n, k, alpha, a, lda, a_stride, b, ldb, b_stride, beta, c,
                 ldc, c_stride, batch);
}

}  // extern "C"
