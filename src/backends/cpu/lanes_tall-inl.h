// SPDX-License-Identifier: Apache-2.0
// What the tall routes share on CPU lanes: the rows of one matrix lie across the lanes. A matrix
// that fits in a core's cache is one block; a longer one is cut into blocks of rows, whose R
// factors are stacked (TSQR, Demmel, Grigori, Hoemmen and Langou 2012, one level). Blocks depend on
// (m, n, dtype) alone, and threads only share them out, so the bits depend on neither batch nor
// threads, and are the same for every instruction set that has fused multiply-adds. Included by
// lanes_qr_tall-inl.h and lanes_svd_tall-inl.h.
#if defined(LANEPACK_BACKENDS_CPU_LANES_TALL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LANEPACK_BACKENDS_CPU_LANES_TALL_INL_H_
#undef LANEPACK_BACKENDS_CPU_LANES_TALL_INL_H_
#else
#define LANEPACK_BACKENDS_CPU_LANES_TALL_INL_H_
#endif

#include <cmath>
#include <limits>

#include "backends/cpu/lanes_driver-inl.h"
#include "backends/cpu/tall_blocks.h"
#include "dialect/lanes_group.h"

HWY_BEFORE_NAMESPACE();
namespace lanepack {
namespace HWY_NAMESPACE {

#include "kernels/steps/prepare_thread.simt.h"
// after prepare
#include "kernels/steps/householder_thread.simt.h"
// after householder
#include "kernels/qr/tall_warp.simt.h"

// The types of one group: 64 bytes of rows, in as many vectors as that takes here.
template <class S>
struct TallTypes {
  using F = typename lane_types<S, 1, 1>::F;
  static constexpr int kGroup = static_cast<int>(64 / sizeof(F));
  static constexpr int kVector = std::min(kGroup, full_width<F>());
  static constexpr int kVectors = kGroup / kVector;
  using L = lane_types<S, kVector, kVectors>;
  using T = typename L::real;
  using X = typename L::scalar;
  using Group = simt::lane_group<T>;
  using Lone = typename lane_types<S, 1, 1>::scalar;
  using LoneReal = typename lane_types<S, 1, 1>::real;
  static constexpr int kParts = L::kParts;
  // columns and groups that the registers of this instruction set hold; no bits depend on them
  static constexpr int kColumns = kVectors == 1 && kParts == 1 ? 4 : kVectors * kParts == 2 ? 2 : 1;
  static constexpr int kRows = kVectors == 1 ? 4 / kParts : 2 / std::min(2, kParts);
};

// Rows row0 .. row0 + rows - 1 of one matrix as a batch whose matrices are the lanes of a group.
template <class S>
RealView<typename TallTypes<S>::F> group_view(const MatrixBatch& a, int64_t index, int64_t row0) {
  using Types = TallTypes<S>;
  const RealView<typename Types::F> v = real_view<typename Types::F, Types::kParts>(a);
  return {v.data + index * v.batch + row0 * v.row, v.row * Types::kGroup, v.col, v.row};
}

// rows x cols into groups of rows (ld groups a column); the lanes past the last row are zero.
template <class S>
HWY_NOINLINE void load_rows(RealView<typename TallTypes<S>::F> v, int64_t rows, int cols,
                            typename TallTypes<S>::X* pack, int ld, int groups) {
  using Types = TallTypes<S>;
  using F = typename Types::F;
  constexpr int P = Types::kParts, W = Types::kGroup;
  const int whole = static_cast<int>(rows / W), rest = static_cast<int>(rows % W);
  if (whole > 0) load_pack<F, P, W, W>(v, 0, W, whole, cols, reinterpret_cast<F*>(pack), ld);
  if (rest > 0) {
    v.data += whole * v.row;
    load_pack<F, P, W, W>(v, 0, rest, 1, cols, reinterpret_cast<F*>(pack + whole), ld);
  }
  for (int j = 0; j < cols; ++j) {
    F* column = reinterpret_cast<F*>(pack + static_cast<ptrdiff_t>(j) * ld);
    for (int p = 0; rest > 0 && p < P; ++p) {
      F* last = column + (static_cast<ptrdiff_t>(whole) * P + p) * W;
      std::fill(last + rest, last + W, F(0));
    }
    const ptrdiff_t used = whole + (rest > 0 ? 1 : 0);
    std::fill(column + used * P * W, column + static_cast<ptrdiff_t>(groups) * P * W, F(0));
  }
}

template <class S>
HWY_NOINLINE void store_rows(RealView<typename TallTypes<S>::F> v, int64_t rows, int cols,
                             const typename TallTypes<S>::X* pack, int ld) {
  using Types = TallTypes<S>;
  using F = typename Types::F;
  constexpr int P = Types::kParts, W = Types::kGroup;
  const int whole = static_cast<int>(rows / W), rest = static_cast<int>(rows % W);
  const F* from = reinterpret_cast<const F*>(pack);
  if (whole > 0) store_pack<F, P, W, W>(v, 0, W, whole, cols, from, ld, nullptr);
  if (rest == 0) return;
  v.data += whole * v.row;
  store_pack<F, P, W, W>(v, 0, rest, 1, cols, from + static_cast<ptrdiff_t>(whole) * P * W, ld,
                         nullptr);
}

// A column-major array of n columns as the store functions want it.
template <class S>
RealView<typename TallTypes<S>::F> dense_view(S* data, int64_t rows, int64_t cols) {
  return group_view<S>(MatrixBatch{data, rows, cols, 1, 1, rows, rows * cols}, 0, 0);
}

// A thread's scratch for one block of `rows` rows.
template <class S>
struct TallScratch {
  using X = typename TallTypes<S>::X;
  qr::tall_block<X> block;

  static int group_count(int64_t rows) {
    return static_cast<int>((rows + TallTypes<S>::kGroup - 1) / TallTypes<S>::kGroup);
  }
  static size_t bytes(int64_t rows, int n) {
    const size_t ld = leading_dimension(group_count(rows));
    return Scratch::rounded(sizeof(X) * ld * n) + Scratch::rounded(sizeof(X) * group_count(n) * n) +
           Scratch::rounded(sizeof(X) * qr::kPanel * n);
  }
  TallScratch(void* base, int64_t rows, int n) {
    Scratch scratch(base);
    block.groups = group_count(rows);
    block.ld = leading_dimension(block.groups);
    block.r_ld = group_count(n);
    block.a = scratch.take<X>(static_cast<size_t>(block.ld) * n);
    block.r = scratch.take<X>(static_cast<size_t>(block.r_ld) * n);
    block.t = scratch.take<X>(static_cast<size_t>(qr::kPanel) * n);
  }
};

// What the phases of one matrix hand on. All arrays are column-major.
template <class S>
struct TallMatrix {
  S* stack;       // (blocks * n, n): the R factors of the blocks, each at its own scale
  S* q_stack;     // (blocks * n, n): Q of the stack
  S* q_top;       // (n, n): the first rows of the first block's Q; null: not wanted
  int* exponent;  // per block: its R is to be multiplied by 2^exponent; kZeroBlock: R is zero
  bool* bad;      // per block
  static constexpr int kZeroBlock = std::numeric_limits<int>::min();

  static size_t bytes(int blocks, int n, bool want_top) {
    const size_t stack = Scratch::rounded(sizeof(S) * blocks * n * n);
    return 2 * stack + (want_top ? Scratch::rounded(sizeof(S) * n * n) : 0) +
           Scratch::rounded(sizeof(int) * blocks) + Scratch::rounded(sizeof(bool) * blocks);
  }
  TallMatrix(void* base, int blocks, int n, bool want_top) {
    Scratch scratch(base);
    stack = scratch.take<S>(static_cast<size_t>(blocks) * n * n);
    q_stack = scratch.take<S>(static_cast<size_t>(blocks) * n * n);
    q_top = want_top ? scratch.take<S>(static_cast<size_t>(n) * n) : nullptr;
    exponent = scratch.take<int>(blocks);
    bad = scratch.take<bool>(blocks);
  }
};

// The largest magnitude of a block over all lanes; NaN and Inf beat every number.
template <class S>
HWY_NOINLINE typename TallTypes<S>::F block_magnitude(
    const qr::tall_block<typename TallTypes<S>::X>& b, int n) {
  using F = typename TallTypes<S>::F;
  const typename TallTypes<S>::T largest = steps::largest_magnitude<false>(b.a, b.ld, b.groups, n);
  alignas(64) F values[TallTypes<S>::kGroup];
  __builtin_memcpy(values, &largest, sizeof(values));
  F most = 0;
  for (F value : values) {
    if (!std::isfinite(value)) return value;
    most = std::max(most, value);
  }
  return most;
}

// Loads rows, scales them so that the largest entry lies in [1, 2), and makes R and the reflectors.
// false: not finite. *exponent: the rows were multiplied by 2^-exponent; kZeroBlock: all are zero.
template <class S>
HWY_NOINLINE bool factor_rows(const RealView<typename TallTypes<S>::F>& view, int64_t rows, int n,
                              const qr::tall_block<typename TallTypes<S>::X>& b, int* exponent) {
  using Types = TallTypes<S>;
  using F = typename Types::F;
  using T = typename Types::T;
  load_rows<S>(view, rows, n, b.a, b.ld, b.groups);
  const F largest = block_magnitude<S>(b, n);
  *exponent = TallMatrix<S>::kZeroBlock;
  if (!std::isfinite(largest)) return false;
  if (largest != F(0)) {
    *exponent = std::ilogb(largest);
    const simt::pow2_scale<T> scale =
        simt::make_pow2(simt::traits<T>::set(static_cast<F>(-*exponent)));
    for (int j = 0; j < n; ++j) {
      for (int g = 0; g < b.groups; ++g) {
        b.a[j * b.ld + g] = simt::scale_pow2(b.a[j * b.ld + g], scale);
      }
    }
  }
  const FlushSubnormals flush;
  qr::factor_tall<Types::kColumns>(typename Types::Group(), b, n);
  return true;
}

template <class S>
HWY_NOINLINE void form_rows(const qr::tall_block<typename TallTypes<S>::X>& b, int n) {
  const FlushSubnormals flush;
  qr::form_tall_q<TallTypes<S>::kColumns>(typename TallTypes<S>::Group(), b, n);
}

// One block of rows of A: its R goes to the stack, its Q to the rows of q that are the block's
// (data null: not wanted).
template <class S>
HWY_NOINLINE void factor_block(const MatrixBatch& a, const MatrixBatch& q, int64_t index,
                               const TallBlocks& blocks, int block, const TallMatrix<S>& matrix,
                               void* scratch) {
  const int n = static_cast<int>(a.cols);
  const int64_t row0 = block * blocks.rows;
  const int64_t rows = std::min(blocks.rows, a.rows - row0);
  const qr::tall_block<typename TallTypes<S>::X> b = TallScratch<S>(scratch, blocks.rows, n).block;
  matrix.bad[block] =
      !factor_rows<S>(group_view<S>(a, index, row0), rows, n, b, &matrix.exponent[block]);
  if (matrix.bad[block]) return;
  RealView<typename TallTypes<S>::F> stack =
      dense_view<S>(matrix.stack, static_cast<int64_t>(blocks.count) * n, n);
  stack.data += static_cast<ptrdiff_t>(block) * n * TallTypes<S>::kParts;
  store_rows<S>(stack, n, n, b.r, b.r_ld);
  const bool top = block == 0 && matrix.q_top != nullptr;
  if (q.data == nullptr && !top) return;
  form_rows<S>(b, n);
  if (top) store_rows<S>(dense_view<S>(matrix.q_top, n, n), n, n, b.a, b.ld);
  if (q.data != nullptr) store_rows<S>(group_view<S>(q, index, row0), rows, n, b.a, b.ld);
}

// Brings the R factors of the blocks to one scale; its exponent.
template <class S>
int scale_stack(const TallMatrix<S>& matrix, int blocks, int n) {
  using F = typename TallTypes<S>::F;
  constexpr int P = TallTypes<S>::kParts;
  const int most = *std::max_element(matrix.exponent, matrix.exponent + blocks);
  if (most == TallMatrix<S>::kZeroBlock) return most;
  F* stack = reinterpret_cast<F*>(matrix.stack);
  for (int block = 0; block < blocks; ++block) {
    const int64_t below = int64_t{most} - matrix.exponent[block];
    if (below == 0) continue;
    // what lies that far below the largest block rounds to nothing in R
    const bool nothing = below > -int64_t{std::numeric_limits<F>::min_exponent};
    const F scale = nothing ? F(0) : std::ldexp(F(1), -static_cast<int>(below));
    for (int j = 0; j < n; ++j) {
      F* column = stack + (static_cast<ptrdiff_t>(j) * blocks + block) * n * P;
      for (int i = 0; i < n * P; ++i) column[i] *= scale;
    }
  }
  return most;
}

// QR of the stack: R, dense, takes the place of the stack's first n^2 entries, Q goes to q_stack.
// The result is R's exponent, as factor_rows() gives it.
template <class S>
HWY_NOINLINE int factor_stack(const TallMatrix<S>& matrix, int blocks, int n, bool want_q,
                              void* scratch) {
  const int64_t rows = static_cast<int64_t>(blocks) * n;
  const int scale = scale_stack<S>(matrix, blocks, n);
  const qr::tall_block<typename TallTypes<S>::X> b = TallScratch<S>(scratch, rows, n).block;
  int exponent = 0;
  factor_rows<S>(dense_view<S>(matrix.stack, rows, n), rows, n, b, &exponent);
  store_rows<S>(dense_view<S>(matrix.stack, n, n), n, n, b.r, b.r_ld);
  if (want_q) {
    form_rows<S>(b, n);
    store_rows<S>(dense_view<S>(matrix.q_stack, rows, n), rows, n, b.a, b.ld);
  }
  return exponent == TallMatrix<S>::kZeroBlock ? exponent : exponent + scale;
}

// Rows of a matrix times an n x n matrix, in place, in tiles that stay in L2. Element (i, j) of
// that matrix is c[j * c_ld + i].
constexpr int kTileGroups = 32;
template <class S>
size_t tile_bytes(int n) {
  return 2 * Scratch::rounded(sizeof(typename TallTypes<S>::X) * (kTileGroups + 1) * n);
}
template <class S>
HWY_NOINLINE void multiply_rows(RealView<typename TallTypes<S>::F> view, int64_t row_count, int n,
                                const S* c, int c_ld, void* scratch_base) {
  using Types = TallTypes<S>;
  using X = typename Types::X;
  const int ld = kTileGroups + 1;
  Scratch scratch(scratch_base);
  X* x = scratch.take<X>(static_cast<size_t>(ld) * n);
  X* y = scratch.take<X>(static_cast<size_t>(ld) * n);
  const FlushSubnormals flush;
  for (int64_t row = 0; row < row_count; row += kTileGroups * Types::kGroup) {
    const int64_t rows = std::min<int64_t>(kTileGroups * Types::kGroup, row_count - row);
    const int groups = TallScratch<S>::group_count(rows);
    load_rows<S>(view, rows, n, x, ld, groups);
    qr::multiply<Types::kRows, Types::kColumns>(
        x, y, ld, groups, n, reinterpret_cast<const typename Types::F*>(c), c_ld);
    store_rows<S>(view, rows, n, y, ld);
    view.data += view.row * kTileGroups;
  }
}

// Time of 2 m n^2 operations on one thread in ns, for the split over threads only.
template <class S>
double tall_cost_ns(double rows, int n) {
  return rows * n * n * (sizeof(S) == 4 ? 0.06 : sizeof(S) == 16 ? 0.4 : 0.12);
}

}  // namespace HWY_NAMESPACE
}  // namespace lanepack
HWY_AFTER_NAMESPACE();

#endif  // LANEPACK_BACKENDS_CPU_LANES_TALL_INL_H_ (per target)
