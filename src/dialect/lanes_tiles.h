// SPDX-License-Identifier: Apache-2.0
// Tiles of 16 bytes turned in registers, for load and store.
#if defined(LANEPACK_DIALECT_LANES_TILES_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LANEPACK_DIALECT_LANES_TILES_H_
#undef LANEPACK_DIALECT_LANES_TILES_H_
#else
#define LANEPACK_DIALECT_LANES_TILES_H_
#endif

#include "dialect/lanes_types.h"

HWY_BEFORE_NAMESPACE();
namespace lanepack {
namespace HWY_NAMESPACE {
namespace simt {

// Order of the tile that transpose_tile() turns; 1 where this instruction set has no shuffles.
template <class F>
constexpr int tile_order() {
  return HWY_TARGET == HWY_SCALAR ? 1 : static_cast<int>(16 / sizeof(F));
}
// Transposes a B x B tile held in B vectors of 16 bytes.
#if HWY_TARGET != HWY_SCALAR
HWY_INLINE void transpose_tile(hn::CappedTag<float, 4> d,
                               hn::Vec<hn::CappedTag<float, 4>> (&t)[4]) {
  const hn::RepartitionToWide<decltype(d)> dw;
  const auto a = hn::InterleaveLower(d, t[0], t[1]);
  const auto b = hn::InterleaveUpper(d, t[0], t[1]);
  const auto c = hn::InterleaveLower(d, t[2], t[3]);
  const auto e = hn::InterleaveUpper(d, t[2], t[3]);
  t[0] = hn::BitCast(d, hn::InterleaveLower(dw, hn::BitCast(dw, a), hn::BitCast(dw, c)));
  t[1] = hn::BitCast(d, hn::InterleaveUpper(dw, hn::BitCast(dw, a), hn::BitCast(dw, c)));
  t[2] = hn::BitCast(d, hn::InterleaveLower(dw, hn::BitCast(dw, b), hn::BitCast(dw, e)));
  t[3] = hn::BitCast(d, hn::InterleaveUpper(dw, hn::BitCast(dw, b), hn::BitCast(dw, e)));
}
HWY_INLINE void transpose_tile(hn::CappedTag<double, 2> d,
                               hn::Vec<hn::CappedTag<double, 2>> (&t)[2]) {
  const auto a = hn::InterleaveLower(d, t[0], t[1]);
  t[1] = hn::InterleaveUpper(d, t[0], t[1]);
  t[0] = a;
}
#else
template <class D, class V>
void transpose_tile(D, V&);  // never called: the tile is one element
#endif

}  // namespace simt
}  // namespace HWY_NAMESPACE
}  // namespace lanepack
HWY_AFTER_NAMESPACE();

#endif  // LANEPACK_DIALECT_LANES_TILES_H_ (per target)
