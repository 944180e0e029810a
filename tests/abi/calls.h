// SPDX-License-Identifier: Apache-2.0
// Argument structs over memory of their own, right in every field, for tests to spoil or to run.
#ifndef LANEPACK_TESTS_ABI_CALLS_H_
#define LANEPACK_TESTS_ABI_CALLS_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "lanepack/lanepack.h"

namespace lanepack_test {

// float or double, column-major per matrix, NaN until written.
template <class R>
struct Matrices {
  std::vector<R> values;
  lanepack_batch batch;

  Matrices(int64_t count, int64_t rows, int64_t cols)
      : values(static_cast<size_t>(count * rows * cols), static_cast<R>(__builtin_nan(""))) {
    batch = {values.empty() ? nullptr : values.data(), rows, cols, count, 1, rows, rows * cols};
  }
  R& at(int64_t b, int64_t i, int64_t j) {
    return values[static_cast<size_t>(b * batch.batch_stride + i + j * batch.col_stride)];
  }
};

template <class R>
constexpr int32_t dtype_of() {
  return sizeof(R) == 4 ? LANEPACK_DTYPE_F32 : LANEPACK_DTYPE_F64;
}

template <class R>
lanepack_call make_call(int64_t struct_size, std::vector<int32_t>* info) {
  lanepack_call call = {};
  call.struct_size = struct_size;
  call.dtype = dtype_of<R>();
  call.threads = 1;
  call.info = info->data();
  return call;
}

// Numbers in [-1, 1), the same on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t bits() {  // splitmix64 (Steele, Lea and Flood 2014)
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-52 - 1.0; }

 private:
  uint64_t state_;
};

template <class R>
struct Qr {
  Matrices<R> a, q, r;
  std::vector<int32_t> info;
  lanepack_qr_args args = {};

  Qr(int64_t batch, int64_t m, int64_t n, bool complete = false)
      : a(batch, m, n),
        q(batch, m, complete ? m : std::min(m, n)),
        r(batch, complete ? m : std::min(m, n), n),
        info(static_cast<size_t>(batch), -1) {
    Random random(1);
    for (R& value : a.values) value = static_cast<R>(random.uniform());
    args.call = make_call<R>(sizeof(args), &info);
    args.a = a.batch;
    args.q = q.batch;
    args.r = r.batch;
  }
};

template <class R>
struct Eigh {
  Matrices<R> a, w, v;
  std::vector<int32_t> info;
  lanepack_eigh_args args = {};

  Eigh(int64_t batch, int64_t n)
      : a(batch, n, n), w(batch, n, 1), v(batch, n, n), info(static_cast<size_t>(batch), -1) {
    Random random(2);
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t j = 0; j < n; ++j) {
        for (int64_t i = j; i < n; ++i) {
          a.at(b, i, j) = a.at(b, j, i) = static_cast<R>(random.uniform());
        }
      }
    }
    args.call = make_call<R>(sizeof(args), &info);
    args.a = a.batch;
    args.w = w.batch;
    args.v = v.batch;
  }
};

template <class R>
struct Svd {
  Matrices<R> a, u, s, vh;
  std::vector<int32_t> info;
  lanepack_svd_args args = {};

  Svd(int64_t batch, int64_t m, int64_t n, bool full = false)
      : a(batch, m, n),
        u(batch, m, full ? m : std::min(m, n)),
        s(batch, std::min(m, n), 1),
        vh(batch, full ? n : std::min(m, n), n),
        info(static_cast<size_t>(batch), -1) {
    Random random(3);
    for (R& value : a.values) value = static_cast<R>(random.uniform());
    args.call = make_call<R>(sizeof(args), &info);
    args.a = a.batch;
    args.u = u.batch;
    args.s = s.batch;
    args.vh = vh.batch;
  }
};

inline std::string last_error() { return lanepack_last_error(); }

}  // namespace lanepack_test

#endif  // LANEPACK_TESTS_ABI_CALLS_H_
