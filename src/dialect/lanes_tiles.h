// SPDX-License-Identifier: Apache-2.0
// Tiles of 16 bytes turned in registers, several side by side, for load and store.
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

// Order of the square tile that fits in 16 bytes a row; 1 where this instruction set has no
// shuffles.
template <class F>
constexpr int tile_order() {
  return HWY_TARGET == HWY_SCALAR ? 1 : static_cast<int>(16 / sizeof(F));
}

#if HWY_TARGET != HWY_SCALAR
// A vector of W lanes holds W / B blocks of 16 bytes (B = tile_order()). Block b of it is read from
// from[b * B] + k, or written to to[b * B] + k.
template <int W, class F>
HWY_INLINE hn::Vec<hn::CappedTag<F, W>> load_blocks(const F* const* from, ptrdiff_t k) {
  const hn::CappedTag<F, W> d;
  if constexpr (W == tile_order<F>()) {
    return hn::LoadU(d, from[0] + k);
  } else {
    return hn::Combine(d, load_blocks<W / 2>(from + W / 2, k), load_blocks<W / 2>(from, k));
  }
}
template <int W, class F>
HWY_INLINE void store_blocks(hn::Vec<hn::CappedTag<F, W>> v, F* const* to, ptrdiff_t k) {
  if constexpr (W == tile_order<F>()) {
    hn::StoreU(v, hn::CappedTag<F, W>(), to[0] + k);
  } else {
    const hn::CappedTag<F, W / 2> half;
    store_blocks<W / 2, F>(hn::LowerHalf(half, v), to, k);
    store_blocks<W / 2, F>(hn::UpperHalf(half, v), to + W / 2, k);
  }
}

// Transposes the B x B tiles held in the blocks of B vectors.
template <class D>
HWY_INLINE void transpose_tiles(D d, hn::Vec<D> (&t)[4]) {
  const hn::RepartitionToWide<D> dw;
  const auto a = hn::BitCast(dw, hn::InterleaveLower(d, t[0], t[1]));
  const auto b = hn::BitCast(dw, hn::InterleaveUpper(d, t[0], t[1]));
  const auto c = hn::BitCast(dw, hn::InterleaveLower(d, t[2], t[3]));
  const auto e = hn::BitCast(dw, hn::InterleaveUpper(d, t[2], t[3]));
  t[0] = hn::BitCast(d, hn::InterleaveLower(dw, a, c));
  t[1] = hn::BitCast(d, hn::InterleaveUpper(dw, a, c));
  t[2] = hn::BitCast(d, hn::InterleaveLower(dw, b, e));
  t[3] = hn::BitCast(d, hn::InterleaveUpper(dw, b, e));
}
template <class D>
HWY_INLINE void transpose_tiles(D d, hn::Vec<D> (&t)[2]) {
  const auto a = hn::InterleaveLower(d, t[0], t[1]);
  t[1] = hn::InterleaveUpper(d, t[0], t[1]);
  t[0] = a;
}
#else
template <int W, class F>
hn::Vec<hn::CappedTag<F, W>> load_blocks(const F* const*, ptrdiff_t);  // never called: B = 1
template <int W, class F, class V>
void store_blocks(V, F* const*, ptrdiff_t);
template <class D, class V>
void transpose_tiles(D, V&);
#endif

}  // namespace simt
}  // namespace HWY_NAMESPACE
}  // namespace lanepack
HWY_AFTER_NAMESPACE();

#endif  // LANEPACK_DIALECT_LANES_TILES_H_ (per target)
