// SPDX-License-Identifier: Apache-2.0
// The SIMT dialect for NVRTC and nvcc; docs/dialect.md lists the words.
#ifndef LANEPACK_DIALECT_CUDA_H_
#define LANEPACK_DIALECT_CUDA_H_

#define SIMT_FN __device__ __forceinline__
// A call would send what lies in registers through memory.
#define SIMT_STEP __device__ __forceinline__
#define SIMT_GLOBAL
#define SIMT_SHARED
#define SIMT_PRIVATE
#define SIMT_CONSTANT static constexpr
#define SIMT_UNROLL _Pragma("unroll")
#define SIMT_NO_UNROLL _Pragma("unroll 1")
#define SIMT_KERNEL(...) __global__ void __launch_bounds__(__VA_ARGS__)
// Bytes, since X may have a constructor that __shared__ does not allow.
#define SIMT_SHARED_ARRAY(X, name, count)                                    \
  __shared__ __align__(16) unsigned char name##_bytes_[(count) * sizeof(X)]; \
  X* const name = reinterpret_cast<X*>(name##_bytes_)

#include "dialect/scalar.h"

namespace simt {

SIMT_FN int thread_index() { return static_cast<int>(threadIdx.x); }
SIMT_FN int block_index() { return static_cast<int>(blockIdx.x); }
SIMT_FN int block_count() { return static_cast<int>(gridDim.x); }
SIMT_FN void sync_block() { __syncthreads(); }
// By name, so that no compiler takes it for the sync of all: a warp counts as a whole, wherever it
// stands. Not the aligned form: of that, synccheck wants one instruction for the whole block.
SIMT_FN void meet_block() { asm volatile("barrier.sync 0;" : : : "memory"); }

// W consecutive threads of a warp. kJoint: all groups of the warp meet each word, which names all lanes;
// otherwise several may stand at different words, and each names its own lanes alone, a mask that the
// hardware must be asked for.
template <int W, bool kJoint>
struct lanes_of_warp {
  static_assert(W == 1 || W == 2 || W == 4 || W == 8 || W == 16 || W == 32, "parts of a warp");

  SIMT_FN constexpr int width() const { return W; }
  SIMT_FN int lane() const { return thread_index() & (W - 1); }
  SIMT_FN unsigned mask_() const { return kJoint ? 0xffffffffu : own_(); }
  SIMT_FN unsigned own_() const {
    if (W == 32) return 0xffffffffu;
    return ((1u << (W & 31)) - 1u) << (thread_index() & 31 & ~(W - 1));
  }
  SIMT_FN void sync() const { __syncwarp(mask_()); }

  SIMT_FN int shuffle_xor(int x, int m) const { return __shfl_xor_sync(mask_(), x, m, W); }
  SIMT_FN float shuffle_xor(float x, int m) const { return __shfl_xor_sync(mask_(), x, m, W); }
  SIMT_FN double shuffle_xor(double x, int m) const { return __shfl_xor_sync(mask_(), x, m, W); }
  template <class T>
  SIMT_FN complex<T> shuffle_xor(complex<T> x, int m) const {
    return {shuffle_xor(x.re, m), shuffle_xor(x.im, m)};
  }
  SIMT_FN int broadcast(int x, int lane) const { return __shfl_sync(mask_(), x, lane, W); }
  SIMT_FN float broadcast(float x, int lane) const { return __shfl_sync(mask_(), x, lane, W); }
  SIMT_FN double broadcast(double x, int lane) const { return __shfl_sync(mask_(), x, lane, W); }
  template <class T>
  SIMT_FN complex<T> broadcast(complex<T> x, int lane) const {
    return {broadcast(x.re, lane), broadcast(x.im, lane)};
  }
  template <class X>
  SIMT_FN X sum(X x) const {
    SIMT_UNROLL
    for (int m = W / 2; m > 0; m /= 2) x = x + shuffle_xor(x, m);
    return x;
  }
  template <class X>
  SIMT_FN X max(X x) const {
    SIMT_UNROLL
    for (int m = W / 2; m > 0; m /= 2) {
      const X other = shuffle_xor(x, m);
      x = other > x ? other : x;
    }
    return x;
  }
  SIMT_FN bool any(bool p) const { return (__ballot_sync(mask_(), p) & own_()) != 0; }
  SIMT_FN bool all(bool p) const { return !any(!p); }
};

template <int W>
using warp_group = lanes_of_warp<W, false>;
template <int W>
using joint_group = lanes_of_warp<W, true>;

}  // namespace simt

#endif  // LANEPACK_DIALECT_CUDA_H_
