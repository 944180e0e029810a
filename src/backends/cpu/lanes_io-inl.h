// SPDX-License-Identifier: Apache-2.0
// Load and store between matrices in memory and packs of lanes. Element (i, j) of lane w, part p
// (real, imaginary) lies at pack[((j * ld + i) * P + p) * stride + w] (stride: the
// reals of one T). Lanes adjacent in memory (batch stride of one element) are copied, elements
// adjacent along a column or a row are transposed in registers, in tiles of 16 bytes a row, and any
// strides are served by copy loops (gathers were 2 to 3.5 times slower).
#if defined(LANEPACK_BACKENDS_CPU_LANES_IO_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LANEPACK_BACKENDS_CPU_LANES_IO_INL_H_
#undef LANEPACK_BACKENDS_CPU_LANES_IO_INL_H_
#else
#define LANEPACK_BACKENDS_CPU_LANES_IO_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "core/types.h"
#include "dialect/lanes.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace lanepack {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// A batch with typed data and strides in reals (complex elements are P = 2 of them).
template <class F>
struct RealView {
  F* data;
  ptrdiff_t row, col, batch;
};

template <class F, int P>
RealView<F> real_view(const MatrixBatch& a) {
  return {static_cast<F*>(a.data), static_cast<ptrdiff_t>(a.row_stride * P),
          static_cast<ptrdiff_t>(a.col_stride * P), static_cast<ptrdiff_t>(a.batch_stride * P)};
}
// The same matrices read with rows and columns exchanged.
template <class F>
RealView<F> transposed(RealView<F> a) {
  std::swap(a.row, a.col);
  return a;
}

// Where the k-th real of a run of adjacent elements goes, in vectors of the pack: elements that are
// `step` apart there, or as a table says.
template <int P>
struct RunStep {
  ptrdiff_t step;
  HWY_INLINE ptrdiff_t operator()(int k) const {
    return P == 1 ? k * step : (k / 2) * step * 2 + k % 2;
  }
};
constexpr int kRunTableSize = 64;
struct RunTable {
  int32_t at[kRunTableSize];
  HWY_INLINE ptrdiff_t operator()(int k) const { return at[k]; }
};
// A whole small matrix, its rows one after another in memory.
template <int P>
HWY_INLINE RunTable row_major_table(int rows, int cols, int ld) {
  RunTable table;
  int k = 0;
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < cols; ++j) {
      for (int p = 0; p < P; ++p) table.at[k++] = (j * ld + i) * P + p;
    }
  }
  return table;
}

// Lanes that one vector of a pack holds.
template <class F, int kWidth>
constexpr int vector_width() {
  constexpr int kFull = static_cast<int>(HWY_LANES(F));
  return kWidth < kFull ? kWidth : kFull;
}

// Lanes a multiple of 4 KiB apart lie in the same cache set, which holds fewer of them than a vector
// has: every tile would find its line gone. They are moved in groups of a tile's width then, each
// along the whole run (measured: qr of 32 x 32, float32).
template <class F, int kWidth>
HWY_INLINE bool lanes_collide(const F* const* lane) {
  if constexpr (kWidth <= simt::tile_order<F>()) {
    return false;
  } else {
    const ptrdiff_t bytes = (lane[1] - lane[0]) * static_cast<ptrdiff_t>(sizeof(F));
    return bytes != 0 && bytes % 4096 == 0;
  }
}

// Lanes q .. q + V - 1 of a run of at least a tile.
template <class F, int V, int kStride, class Offset>
HWY_INLINE void load_tiles(const F* const* source, int q, int length, F* pack,
                           const Offset& offset) {
  constexpr int B = simt::tile_order<F>();
  const hn::CappedTag<F, V> d;
  for (int k = 0; k < length; k += B) {
    if (k > length - B) k = length - B;  // the last tile overlaps the one before
    hn::Vec<hn::CappedTag<F, V>> t[B];
    for (int x = 0; x < B; ++x) t[x] = simt::load_blocks<V>(source + q + x, k);
    simt::transpose_tiles(d, t);
    for (int x = 0; x < B; ++x) hn::Store(t[x], d, pack + offset(k + x) * kStride + q);
  }
}

// `length` adjacent reals of each of `width` lanes into the pack; lane pointers in `source`. Whole
// vectors are put together in registers, so that the loads that follow find one store each.
template <class F, int kWidth, int kStride, class Offset>
HWY_INLINE void load_run(const F* const* source, int length, F* pack, const Offset& offset) {
  constexpr int B = simt::tile_order<F>();
  if constexpr (B > 1 && kWidth % B == 0) {
    constexpr int V = vector_width<F, kWidth>();
    if (length >= B) {
      if (V > B && lanes_collide<F, kWidth>(source)) {
        for (int q = 0; q < kWidth; q += B) {
          load_tiles<F, B, kStride>(source, q, length, pack, offset);
        }
      } else {
        for (int q = 0; q < kWidth; q += V) {
          load_tiles<F, V, kStride>(source, q, length, pack, offset);
        }
      }
      return;
    }
  }
  for (int k = 0; k < length; ++k) {
    F* to = pack + offset(k) * kStride;
    for (int w = 0; w < kStride; ++w) to[w] = source[w < kWidth ? w : 0][k];
  }
}

// The reverse, for vectors of V lanes; the lanes done. Tiles need `length` >= B.
template <class F, int V, int kStride, class Offset>
HWY_INLINE int store_tiles(F* const* target, int done, int lanes, int length, const F* pack,
                           const Offset& offset) {
  constexpr int B = simt::tile_order<F>();
  const hn::CappedTag<F, V> d;
  for (; done + V <= lanes; done += V) {
    for (int k = 0; k < length; k += B) {
      if (k > length - B) k = length - B;
      hn::Vec<hn::CappedTag<F, V>> t[B];
      for (int x = 0; x < B; ++x) t[x] = hn::Load(d, pack + offset(k + x) * kStride + done);
      simt::transpose_tiles(d, t);
      for (int x = 0; x < B; ++x) simt::store_blocks<V, F>(t[x], target + done + x, k);
    }
  }
  return done;
}
template <class F, int kWidth, int kStride, class Offset>
HWY_INLINE void store_run(F* const* target, int lanes, int length, const F* pack,
                          const Offset& offset) {
  constexpr int B = simt::tile_order<F>();
  int done = 0;  // lanes stored so far
  if constexpr (B > 1 && kWidth % B == 0) {
    if (length >= B) {
      constexpr int V = vector_width<F, kWidth>();
      if (V == B || lanes < 2 || !lanes_collide<F, kWidth>(target)) {
        done = store_tiles<F, V, kStride>(target, 0, lanes, length, pack, offset);
      }
      if (V > B) done = store_tiles<F, B, kStride>(target, done, lanes, length, pack, offset);
    }
  }
  for (int w = done; w < lanes; ++w) {
    for (int k = 0; k < length; ++k) target[w][k] = pack[offset(k) * kStride + w];
  }
}

// rows x cols of the matrices first .. first + count - 1 into a pack. Lanes past the last matrix
// repeat it: they cost nothing and cannot fail where it does not.
template <class F, int P, int kWidth, int kStride>
HWY_NOINLINE void load_pack(const RealView<F>& a, int64_t first, int count, int rows, int cols,
                            F* pack, int ld) {
  const F* base = a.data + first * a.batch;
  const F* lane[kWidth];
  for (int w = 0; w < kWidth; ++w) lane[w] = base + (w < count ? w : count - 1) * a.batch;
  if (a.batch == P && count == kWidth && kWidth > 1) {  // lanes adjacent
    for (int j = 0; j < cols; ++j) {
      for (int i = 0; i < rows; ++i) {
        const F* from = base + i * a.row + j * a.col;
        F* to = pack + static_cast<ptrdiff_t>(j * ld + i) * P * kStride;
        for (int w = 0; w < kWidth; ++w) {
          for (int p = 0; p < P; ++p) to[p * kStride + w] = from[w * P + p];
        }
      }
    }
    return;
  }
  if (a.row == P) {
    if (a.col == static_cast<ptrdiff_t>(rows) * P && ld == rows) {
      load_run<F, kWidth, kStride>(lane, rows * cols * P, pack, RunStep<P>{1});
      return;
    }
    for (int j = 0; j < cols; ++j) {
      F* column = pack + static_cast<ptrdiff_t>(j) * ld * P * kStride;
      load_run<F, kWidth, kStride>(lane, rows * P, column, RunStep<P>{1});
      for (int w = 0; w < kWidth; ++w) lane[w] += a.col;
    }
    return;
  }
  if (a.col == P) {
    if (a.row == static_cast<ptrdiff_t>(cols) * P && int64_t{rows} * cols <= kRunTableSize / P) {
      load_run<F, kWidth, kStride>(lane, rows * cols * P, pack, row_major_table<P>(rows, cols, ld));
      return;
    }
    for (int i = 0; i < rows; ++i) {
      F* row = pack + static_cast<ptrdiff_t>(i) * P * kStride;
      load_run<F, kWidth, kStride>(lane, cols * P, row, RunStep<P>{ld});
      for (int w = 0; w < kWidth; ++w) lane[w] += a.row;
    }
    return;
  }
  for (int j = 0; j < cols; ++j) {
    for (int i = 0; i < rows; ++i) {
      F* to = pack + static_cast<ptrdiff_t>(j * ld + i) * P * kStride;
      const ptrdiff_t at = i * a.row + j * a.col;
      for (int w = 0; w < kStride; ++w) {
        for (int p = 0; p < P; ++p) to[p * kStride + w] = lane[w < kWidth ? w : 0][at + p];
      }
    }
  }
}

// rows x cols of a pack into the matrices first ..; rank, if given, sends column j of lane w to
// column rank[j * kWidth + w]; columns whose rank is not below out_cols are dropped.
template <class F, int P, int kWidth, int kStride>
HWY_NOINLINE void store_pack(const RealView<F>& a, int64_t first, int count, int rows, int cols,
                             const F* pack, int ld, const int32_t* rank) {
  F* base = a.data + first * a.batch;
  F* lane[kWidth] = {};
  for (int w = 0; w < count; ++w) lane[w] = base + w * a.batch;
  const bool column_runs = a.row == P;
  if (!rank && column_runs && a.col == static_cast<ptrdiff_t>(rows) * P && ld == rows) {
    store_run<F, kWidth, kStride>(lane, count, rows * cols * P, pack, RunStep<P>{1});
    return;
  }
  if (!rank && a.batch == P && kWidth > 1) {  // lanes adjacent
    for (int j = 0; j < cols; ++j) {
      for (int i = 0; i < rows; ++i) {
        const F* from = pack + static_cast<ptrdiff_t>(j * ld + i) * P * kStride;
        F* to = base + i * a.row + j * a.col;
        if (count == kWidth) {  // a length that the compiler knows
          for (int w = 0; w < kWidth; ++w) {
            for (int p = 0; p < P; ++p) to[w * P + p] = from[p * kStride + w];
          }
          continue;
        }
        for (int w = 0; w < count; ++w) {
          for (int p = 0; p < P; ++p) to[w * P + p] = from[p * kStride + w];
        }
      }
    }
    return;
  }
  if (!rank && !column_runs && a.col == P) {
    if ((rows == 1 || a.row == static_cast<ptrdiff_t>(cols) * P) &&
        int64_t{rows} * cols <= kRunTableSize / P) {
      store_run<F, kWidth, kStride>(lane, count, rows * cols * P, pack,
                                    row_major_table<P>(rows, cols, ld));
      return;
    }
    for (int i = 0; i < rows; ++i) {
      const F* row = pack + static_cast<ptrdiff_t>(i) * P * kStride;
      store_run<F, kWidth, kStride>(lane, count, cols * P, row, RunStep<P>{ld});
      for (int w = 0; w < count; ++w) lane[w] += a.row;
    }
    return;
  }
  for (int j = 0; j < cols; ++j) {
    const F* column = pack + static_cast<ptrdiff_t>(j) * ld * P * kStride;
    for (int w = 0; w < count; ++w) {
      lane[w] = base + w * a.batch + (rank ? rank[j * kWidth + w] : j) * a.col;
    }
    if (column_runs) {
      store_run<F, kWidth, kStride>(lane, count, rows * P, column, RunStep<P>{1});
      continue;
    }
    for (int i = 0; i < rows; ++i) {
      const F* from = column + static_cast<ptrdiff_t>(i) * P * kStride;
      for (int w = 0; w < count; ++w) {
        for (int p = 0; p < P; ++p) lane[w][i * a.row + p] = from[p * kStride + w];
      }
    }
  }
}

// An element of P reals as one whole, to be moved.
template <class F, int P>
using Bits = std::conditional_t<sizeof(F) * P == 4, uint32_t, uint64_t>;

// rows x cols, column after column without gaps, to rows that are `to_row` reals apart.
template <class F, int P>
HWY_INLINE void transpose_matrix(const F* from, int rows, int cols, F* to, ptrdiff_t to_row) {
  using E = Bits<F, P>;
  constexpr int B = simt::tile_order<E>();
  if constexpr (B > 1 && sizeof(F) * P <= 8) {
    if (rows >= B && cols >= B) {
      const hn::CappedTag<E, B> d;
      const hn::Repartition<F, hn::CappedTag<E, B>> df;  // memory is of F, and aligned for it alone
      for (int r = 0; r < cols; r += B) {
        if (r > cols - B) r = cols - B;  // the last tile overlaps the one before
        for (int i = 0; i < rows; i += B) {
          if (i > rows - B) i = rows - B;
          hn::Vec<hn::CappedTag<E, B>> t[B];
          for (int x = 0; x < B; ++x) {
            const F* const at = from + (static_cast<ptrdiff_t>(r + x) * rows + i) * P;
            t[x] = hn::BitCast(d, hn::LoadU(df, at));
          }
          simt::transpose_tiles(d, t);
          for (int x = 0; x < B; ++x) {
            hn::StoreU(hn::BitCast(df, t[x]), df, to + (i + x) * to_row + r * P);
          }
        }
      }
      return;
    }
  }
  for (int i = 0; i < rows; ++i) {
    for (int r = 0; r < cols; ++r) {
      for (int p = 0; p < P; ++p) {
        to[i * to_row + r * P + p] = from[(static_cast<ptrdiff_t>(r) * rows + i) * P + p];
      }
    }
  }
}

// store_pack where ranks are given and the columns of a row are adjacent in memory: every lane's
// columns go to `spare` in their order first, so that memory is written row by row (measured: svd of
// 32 x 32, 15.5 -> 12 us). spare: B rows cols P reals, B = tile_order().
template <class F, int P, int kWidth, int kStride>
HWY_NOINLINE void store_pack_by_rows(const RealView<F>& a, int64_t first, int count, int rows,
                                     int cols, const F* pack, int ld, const int32_t* rank,
                                     F* spare) {
  constexpr int B = simt::tile_order<F>();
  constexpr int kGroup = kWidth % B == 0 ? B : 1;
  const ptrdiff_t column = static_cast<ptrdiff_t>(rows) * P;
  for (int w = 0; w < count; w += kGroup) {
    const int lanes = count - w < kGroup ? count - w : kGroup;
    F* lane[kWidth] = {};
    for (int j = 0; j < cols; ++j) {
      for (int x = 0; x < lanes; ++x) {
        lane[x] = spare + (static_cast<ptrdiff_t>(x) * cols + rank[j * kWidth + w + x]) * column;
      }
      const F* from = pack + static_cast<ptrdiff_t>(j) * ld * P * kStride + w;
      store_run<F, kWidth, kStride>(lane, lanes, rows * P, from, RunStep<P>{1});
    }
    for (int x = 0; x < lanes; ++x) {
      transpose_matrix<F, P>(spare + x * cols * column, rows, cols,
                             a.data + (first + w + x) * a.batch, a.row);
    }
  }
}

// NaN into every entry of one matrix.
template <class F, int P>
HWY_INLINE void store_nan(const RealView<F>& a, int64_t index, int rows, int cols) {
  const F nan = static_cast<F>(__builtin_nan(""));
  for (int j = 0; j < cols; ++j) {
    for (int i = 0; i < rows; ++i) {
      F* to = a.data + index * a.batch + i * a.row + j * a.col;
      for (int p = 0; p < P; ++p) to[p] = nan;
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace lanepack
HWY_AFTER_NAMESPACE();

#endif  // LANEPACK_BACKENDS_CPU_LANES_IO_INL_H_ (per target)
