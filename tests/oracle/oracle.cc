// SPDX-License-Identifier: Apache-2.0
// The oracle's C interface: argument checks, the dtype, and threads over the batch.
#include "oracle.h"

#include <atomic>
#include <thread>
#include <vector>

#include "jacobi.h"
#include "matrix.h"
#include "measure.h"

namespace oracle {
namespace {

// Calls work(index, scratch) for every matrix; false where one of them said false.
template <class D, class Work>
bool for_each_matrix(int64_t batch, int threads, const Work& work) {
  std::atomic<int64_t> next{0};
  std::atomic<bool> good{true};
  const int64_t chunk = std::max<int64_t>(1, std::min<int64_t>(64, batch / (4 * threads)));
  auto run = [&] {
    Scratch<D> scratch;
    for (int64_t first = next.fetch_add(chunk); first < batch; first = next.fetch_add(chunk)) {
      for (int64_t index = first; index < std::min(batch, first + chunk); ++index) {
        if (!work(index, scratch)) good = false;
      }
    }
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads && i < batch; ++i) others.emplace_back(run);
  run();
  for (std::thread& other : others) other.join();
  return good;
}

template <class Body>
int with_dtype(int dtype, const Body& body) {
  switch (dtype) {
    case ORACLE_F32:
      return body(F32{});
    case ORACLE_F64:
      return body(F64{});
    case ORACLE_C64:
      return body(C64{});
    case ORACLE_C128:
      return body(C128{});
    default:
      return 1;
  }
}

bool fits(const oracle_batch* batch, int64_t rows, int64_t cols, int64_t count) {
  return batch != nullptr && batch->rows == rows && batch->cols == cols && batch->batch == count &&
         (batch->data != nullptr || rows * cols * count == 0);
}

bool is_batch(const oracle_batch* a) {
  return a != nullptr && a->rows >= 0 && a->cols >= 0 && a->batch >= 0 &&
         fits(a, a->rows, a->cols, a->batch);
}

bool is_part(int part, const oracle_batch& a) {
  return part == ORACLE_GENERAL ||
         ((part == ORACLE_LOWER || part == ORACLE_UPPER) && a.rows == a.cols);
}

}  // namespace
}  // namespace oracle

using oracle::fits;
using oracle::for_each_matrix;
using oracle::is_batch;
using oracle::is_part;
using oracle::with_dtype;

int oracle_measure_qr(int dtype, int threads, const oracle_batch* a, const oracle_batch* q,
                      const oracle_batch* r, double* measures) {
  if (!is_batch(a) || q == nullptr || r == nullptr || threads < 1) return 1;
  const int64_t k = q->cols;
  if ((k != std::min(a->rows, a->cols) && k != a->rows) || !fits(q, a->rows, k, a->batch) ||
      !fits(r, k, a->cols, a->batch)) {
    return 1;
  }
  return with_dtype(dtype, [&](auto traits) {
    using D = decltype(traits);
    for_each_matrix<D>(a->batch, threads, [&](int64_t index, auto& scratch) {
      oracle::measure_qr<D>(*a, *q, *r, index, scratch, measures + index * ORACLE_QR_MEASURES);
      return true;
    });
    return 0;
  });
}

int oracle_measure_r(int dtype, int threads, const oracle_batch* a, const oracle_batch* r,
                     double* measures) {
  if (!is_batch(a) || threads < 1) return 1;
  if (!fits(r, std::min(a->rows, a->cols), a->cols, a->batch)) return 1;
  return with_dtype(dtype, [&](auto traits) {
    using D = decltype(traits);
    for_each_matrix<D>(a->batch, threads, [&](int64_t index, auto& scratch) {
      oracle::measure_r<D>(*a, *r, index, scratch, measures + index * ORACLE_R_MEASURES);
      return true;
    });
    return 0;
  });
}

int oracle_measure_eigh(int dtype, int threads, int part, const oracle_batch* a,
                        const oracle_batch* w, const oracle_batch* v, double* measures) {
  if (!is_batch(a) || !is_part(part, *a) || part == ORACLE_GENERAL || threads < 1) return 1;
  if (!fits(w, a->rows, 1, a->batch) || !fits(v, a->rows, a->rows, a->batch)) return 1;
  return with_dtype(dtype, [&](auto traits) {
    using D = decltype(traits);
    for_each_matrix<D>(a->batch, threads, [&](int64_t index, auto& scratch) {
      oracle::measure_eigh<D>(part, *a, *w, *v, index, scratch,
                              measures + index * ORACLE_EIGH_MEASURES);
      return true;
    });
    return 0;
  });
}

int oracle_measure_svd(int dtype, int threads, const oracle_batch* a, const oracle_batch* u,
                       const oracle_batch* s, const oracle_batch* vh, double* measures) {
  if (!is_batch(a) || u == nullptr || vh == nullptr || threads < 1) return 1;
  const int64_t k = std::min(a->rows, a->cols);
  const bool full = u->cols == a->rows && vh->rows == a->cols;
  if (!full && (u->cols != k || vh->rows != k)) return 1;
  if (!fits(u, a->rows, u->cols, a->batch) || !fits(s, k, 1, a->batch) ||
      !fits(vh, vh->rows, a->cols, a->batch)) {
    return 1;
  }
  return with_dtype(dtype, [&](auto traits) {
    using D = decltype(traits);
    for_each_matrix<D>(a->batch, threads, [&](int64_t index, auto& scratch) {
      oracle::measure_svd<D>(*a, *u, *s, *vh, index, scratch,
                             measures + index * ORACLE_SVD_MEASURES);
      return true;
    });
    return 0;
  });
}

int oracle_eigenvalues(int dtype, int threads, int part, const oracle_batch* a, void* values) {
  if (!is_batch(a) || !is_part(part, *a) || part == ORACLE_GENERAL || threads < 1) return 1;
  return with_dtype(dtype, [&](auto traits) {
    using D = decltype(traits);
    using W = typename D::Wide;
    return for_each_matrix<D>(a->batch, threads,
                              [&](int64_t index, auto& scratch) {
                                oracle::load_part<typename D::Storage>(*a, index, part, scratch.a);
                                return oracle::jacobi_eigenvalues(
                                    scratch.a, static_cast<W*>(values) + index * a->rows);
                              })
               ? 0
               : 1;
  });
}

int oracle_singular_values(int dtype, int threads, const oracle_batch* a, void* values) {
  if (!is_batch(a) || threads < 1) return 1;
  const int64_t k = std::min(a->rows, a->cols);
  return with_dtype(dtype, [&](auto traits) {
    using D = decltype(traits);
    using W = typename D::Wide;
    return for_each_matrix<D>(a->batch, threads,
                              [&](int64_t index, auto& scratch) {
                                oracle::load<typename D::Storage>(*a, index, scratch.a);
                                if (a->rows < a->cols) {
                                  adjoint(scratch.a, scratch.turned);
                                  std::swap(scratch.a, scratch.turned);
                                }
                                return oracle::jacobi_singular_values(
                                    scratch.a, static_cast<W*>(values) + index * k);
                              })
               ? 0
               : 1;
  });
}

int oracle_measure_values(int dtype, int threads, int part, const oracle_batch* a,
                          const oracle_batch* values, const void* reference, double* measures) {
  if (!is_batch(a) || !is_part(part, *a) || reference == nullptr || threads < 1) return 1;
  if (!fits(values, std::min(a->rows, a->cols), 1, a->batch)) return 1;
  return with_dtype(dtype, [&](auto traits) {
    using D = decltype(traits);
    const auto* wide = static_cast<const typename D::Wide*>(reference);
    for_each_matrix<D>(a->batch, threads, [&](int64_t index, auto& scratch) {
      oracle::measure_values<D>(part, *a, *values, wide, index, scratch,
                                measures + index * ORACLE_VALUE_MEASURES);
      return true;
    });
    return 0;
  });
}
