// SPDX-License-Identifier: Apache-2.0
// The SIMT dialect for a C++ compiler on a CPU, where every thread of a block is a fibre that stops at
// each word that other threads must meet; docs/dialect.md lists the words, docs/emulator.md says what is
// checked. What is declared in simt::emulator is defined by tests/emulator.
#ifndef LANEPACK_DIALECT_EMULATOR_H_
#define LANEPACK_DIALECT_EMULATOR_H_

#define SIMT_FN inline
#define SIMT_STEP inline
#define SIMT_GLOBAL
#define SIMT_SHARED
#define SIMT_PRIVATE
#define SIMT_CONSTANT static constexpr
#define SIMT_UNROLL
#define SIMT_NO_UNROLL
#define SIMT_KERNEL(...) void
#define SIMT_SHARED_ARRAY(X, name, count)                       \
  X* const name = static_cast<X*>(simt::emulator::shared_array( \
      #name, sizeof(X), simt::emulator::least_access<X>, count, __FILE__, __LINE__))

#include "dialect/scalar.h"

namespace simt {
namespace emulator {

// The bytes of X that an access takes at least.
template <class X>
constexpr int least_access = alignof(X) < 4 ? 1 : 4;
template <>
constexpr int least_access<double> = 8;
template <>
constexpr int least_access<complex<double>> = 8;

// Where a word stands in a text. The words take it as a default argument, which the compiler fills in
// at the place of the call.
struct site {
  const char* file;
  int line;
};

// Acts on the values of all lanes of a group, which stand at `values`, once all of them have come.
using finish_word = void (*)(void* const* values, int width, int argument);

int thread_index();
int block_index();
int block_count();
void sync_block(site where);
void meet_block(site where);
// Stops the calling lane until all `width` lanes of its group stand at this word with this argument.
void meet_group(const char* word, int width, int argument, void* value, finish_word finish,
                site where);
void* shared_array(const char* name, int element_bytes, int least_bytes, int count,
                   const char* file, int line);

template <class X>
void finish_sum(void* const* values, int width, int) {
  for (int m = width / 2; m > 0; m /= 2) {
    X next[32];
    for (int l = 0; l < width; ++l) {
      next[l] = *static_cast<X*>(values[l]) + *static_cast<X*>(values[l ^ m]);
    }
    for (int l = 0; l < width; ++l) *static_cast<X*>(values[l]) = next[l];
  }
}
template <class X>
void finish_max(void* const* values, int width, int) {
  for (int m = width / 2; m > 0; m /= 2) {
    X next[32];
    for (int l = 0; l < width; ++l) {
      const X own = *static_cast<X*>(values[l]), other = *static_cast<X*>(values[l ^ m]);
      next[l] = other > own ? other : own;
    }
    for (int l = 0; l < width; ++l) *static_cast<X*>(values[l]) = next[l];
  }
}
template <class X>
void finish_shuffle_xor(void* const* values, int width, int argument) {
  X next[32];
  for (int l = 0; l < width; ++l) next[l] = *static_cast<X*>(values[l ^ argument]);
  for (int l = 0; l < width; ++l) *static_cast<X*>(values[l]) = next[l];
}
template <class X>
void finish_broadcast(void* const* values, int width, int argument) {
  const X x = *static_cast<X*>(values[argument]);
  for (int l = 0; l < width; ++l) *static_cast<X*>(values[l]) = x;
}
inline void finish_any(void* const* values, int width, int) {
  bool found = false;
  for (int l = 0; l < width; ++l) found = found || *static_cast<bool*>(values[l]);
  for (int l = 0; l < width; ++l) *static_cast<bool*>(values[l]) = found;
}
inline void finish_all(void* const* values, int width, int) {
  bool all = true;
  for (int l = 0; l < width; ++l) all = all && *static_cast<bool*>(values[l]);
  for (int l = 0; l < width; ++l) *static_cast<bool*>(values[l]) = all;
}

// The same for each W of the lanes that have come.
template <int W, finish_word kFinish>
void finish_parts(void* const* values, int width, int argument) {
  for (int at = 0; at < width; at += W) kFinish(values + at, W, argument);
}

}  // namespace emulator

#define SIMT_SITE_ const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline int thread_index() { return emulator::thread_index(); }
inline int block_index() { return emulator::block_index(); }
inline int block_count() { return emulator::block_count(); }
inline void sync_block(SIMT_SITE_) { emulator::sync_block({file, line}); }
inline void meet_block(SIMT_SITE_) { emulator::meet_block({file, line}); }

// kJoint: all lanes of the warp meet each word, and each W of them exchange.
template <int W, bool kJoint>
struct lanes_of_warp {
  static_assert(W == 1 || W == 2 || W == 4 || W == 8 || W == 16 || W == 32, "parts of a warp");

  static constexpr int kMeeting_ = kJoint ? 32 : W;

  constexpr int width() const { return W; }
  int lane() const { return thread_index() & (W - 1); }
  void sync(SIMT_SITE_) const {
    emulator::meet_group("sync", kMeeting_, 0, nullptr, nullptr, {file, line});
  }
  template <class X>
  X sum(X x, SIMT_SITE_) const {
    emulator::meet_group("sum", kMeeting_, 0, &x,
                         emulator::finish_parts<W, emulator::finish_sum<X>>, {file, line});
    return x;
  }
  template <class X>
  X max(X x, SIMT_SITE_) const {
    emulator::meet_group("max", kMeeting_, 0, &x,
                         emulator::finish_parts<W, emulator::finish_max<X>>, {file, line});
    return x;
  }
  template <class X>
  X shuffle_xor(X x, int mask, SIMT_SITE_) const {
    emulator::meet_group("shuffle_xor", kMeeting_, mask, &x,
                         emulator::finish_parts<W, emulator::finish_shuffle_xor<X>>, {file, line});
    return x;
  }
  template <class X>
  X broadcast(X x, int lane, SIMT_SITE_) const {
    emulator::meet_group("broadcast", kMeeting_, lane, &x,
                         emulator::finish_parts<W, emulator::finish_broadcast<X>>, {file, line});
    return x;
  }
  bool any(bool p, SIMT_SITE_) const {
    emulator::meet_group("any", kMeeting_, 0, &p, emulator::finish_parts<W, emulator::finish_any>,
                         {file, line});
    return p;
  }
  bool all(bool p, SIMT_SITE_) const {
    emulator::meet_group("all", kMeeting_, 0, &p, emulator::finish_parts<W, emulator::finish_all>,
                         {file, line});
    return p;
  }
};
template <int W>
using warp_group = lanes_of_warp<W, false>;
template <int W>
using joint_group = lanes_of_warp<W, true>;

#undef SIMT_SITE_

}  // namespace simt

#endif  // LANEPACK_DIALECT_EMULATOR_H_
