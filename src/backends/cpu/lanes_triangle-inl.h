// SPDX-License-Identifier: Apache-2.0
// Load of one triangle of each matrix into a pack, for the operations that never read the other.
#if defined(LANEPACK_BACKENDS_CPU_LANES_TRIANGLE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LANEPACK_BACKENDS_CPU_LANES_TRIANGLE_INL_H_
#undef LANEPACK_BACKENDS_CPU_LANES_TRIANGLE_INL_H_
#else
#define LANEPACK_BACKENDS_CPU_LANES_TRIANGLE_INL_H_
#endif

#include "backends/cpu/lanes_io-inl.h"

HWY_BEFORE_NAMESPACE();
namespace lanepack {
namespace HWY_NAMESPACE {

// Up to this order all of a matrix is loaded in one go.
constexpr int kWholeMaxN = 8;

template <class F>
RealView<F> moved(RealView<F> a, ptrdiff_t rows, ptrdiff_t cols) {
  a.data += rows * a.row + cols * a.col;
  return a;
}

// The lower triangle (of an upper one: `a` transposed) of order n, along whichever direction is dense
// in memory. Runs are lengthened to whole tiles: what they bring of the other triangle lies inside the
// matrix and is not used.
template <class F, int P, int kWidth, int kStride>
HWY_NOINLINE void load_lower(const RealView<F>& a, int64_t first, int count, int n, F* pack,
                             int ld) {
  constexpr int kTile = simt::tile_order<F>() > 1 ? simt::tile_order<F>() : 1;
  if (n <= kWholeMaxN) {
    load_pack<F, P, kWidth, kStride>(a, first, count, n, n, pack, ld);
    return;
  }
  if (a.col == P && a.row != P) {
    for (int i = 0; i < n; ++i) {
      const int length = std::min(n, (i + kTile) / kTile * kTile);
      load_pack<F, P, kWidth, kStride>(moved(a, i, 0), first, count, 1, length,
                                       pack + static_cast<ptrdiff_t>(i) * P * kStride, ld);
    }
    return;
  }
  for (int j = 0; j < n; ++j) {
    const int top = j / kTile * kTile;
    load_pack<F, P, kWidth, kStride>(moved(a, top, j), first, count, n - top, 1,
                                     pack + (static_cast<ptrdiff_t>(j) * ld + top) * P * kStride,
                                     ld);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace lanepack
HWY_AFTER_NAMESPACE();

#endif  // LANEPACK_BACKENDS_CPU_LANES_TRIANGLE_INL_H_ (per target)
