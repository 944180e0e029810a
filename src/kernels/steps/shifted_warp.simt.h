// SPDX-License-Identifier: Apache-2.0
// Rows and columns in the registers of lanes, against vectors in shared memory. Registers are shifted:
// entry j stands for row or column k + j at step k, so that k is a loop's index and not a register's.
// Steps come in blocks of kBlock, with the static length kL of what may be left in the first of them.

namespace steps {

SIMT_CONSTANT int kBlock = 8;

SIMT_FN int clipped(int x, int most) { return x < most ? x : most; }

// Where row i >= k of n <= kN stands at step k in a vector of kN entries; the rows above fill what
// would be left unwritten.
template <int kN>
SIMT_FN int place_at(int i, int k) {
  return i >= k ? i - k : i - k + kN;
}

template <class S>
SIMT_FN S multiply_add_(simt::size_constant<0>, S y, S x, S sum) {
  return simt::fma(x, y, sum);
}
template <class S>
SIMT_FN S multiply_add_(simt::size_constant<1>, S y, S x, S sum) {
  return simt::fma_conj(y, x, sum);
}

// sum of x_j y_j, or with kConj of x_j conj(y_j), over from <= j < kL, y in shared memory; four
// partial sums in a fixed order.
template <int kL, bool kConj, int kX, class S>
SIMT_FN S product_with(SIMT_SHARED const S* y, SIMT_PRIVATE const S (&x)[kX], int from) {
  using P = packet_of<S>;
  constexpr int kWidth = 16 / static_cast<int>(sizeof(S));
  SIMT_SHARED const P* packets = reinterpret_cast<SIMT_SHARED const P*>(y);
  S s[4] = {simt::zero<S>(), simt::zero<S>(), simt::zero<S>(), simt::zero<S>()};
  SIMT_UNROLL
  for (int k = 0; k < kL / kWidth; ++k) {
    const P p = packets[k];
    SIMT_UNROLL
    for (int w = 0; w < kWidth; ++w) {
      const int j = k * kWidth + w;
      if (j < from) continue;
      s[j % 4] = multiply_add_(simt::size_constant < kConj ? 1 : 0 > (), p.x[w], x[j], s[j % 4]);
    }
  }
  return (s[0] + s[1]) + (s[2] + s[3]);
}

// Orthogonal factors row by row: q is row `lane` of H_0 .. H_(k-1), from its column k on. Reflector k
// stands at vectors + k * stride from its row k on; its head is entry kHead (0, or 1 where it leaves
// row k alone) and stands in heads. Column k is done at step k and goes to to[k * to_stride].
template <int kL, int kHead, int kW, int kN, class S>
SIMT_FN void form_row_block(SIMT_PRIVATE S (&q)[kN], SIMT_SHARED const S* vectors, int stride,
                            SIMT_SHARED const S* heads, SIMT_SHARED const S* tau, SIMT_GLOBAL S* to,
                            simt::int64 to_stride, bool stores, int k0, int k1) {
  using P = packet_of<S>;
  constexpr int kWidth = 16 / static_cast<int>(sizeof(S));
  const simt::joint_group<kW> group;
  SIMT_NO_UNROLL
  for (int k = k0; k < k1; ++k) {
    SIMT_SHARED const S* column = vectors + k * stride;
    const S head = heads[k];
    const S f = tau[k] * simt::fma(q[kHead], head, product_with<kL, false>(column, q, kHead + 1));
    const S done = kHead == 0 ? simt::fnma_conj(f, head, q[0]) : q[0];
    if (stores) to[k * to_stride] = done;
    // A long column is read again: it and the row would not both fit in registers.
    if (kL * static_cast<int>(sizeof(S)) > 256) group.sync();
    SIMT_SHARED const P* packets = reinterpret_cast<SIMT_SHARED const P*>(column);
    SIMT_UNROLL
    for (int y = 0; y < kL / kWidth; ++y) {
      const P p = packets[y];
      SIMT_UNROLL
      for (int w = 0; w < kWidth; ++w) {
        const int j = y * kWidth + w;
        if (j == 0) continue;
        q[j - 1] = simt::fnma_conj(f, j == kHead ? head : p.x[w], q[j]);
      }
    }
    q[kL - 1] = simt::zero<S>();
  }
}

// All blocks from the one that starts at kFrom.
template <int kFrom, int kHead, int kW, int kN, class S>
struct row_blocks {
  using Next = row_blocks<(kFrom + kBlock < kN) ? kFrom + kBlock : -1, kHead, kW, kN, S>;
  static SIMT_FN void form(SIMT_PRIVATE S (&q)[kN], SIMT_SHARED const S* vectors, int stride,
                           SIMT_SHARED const S* heads, SIMT_SHARED const S* tau, SIMT_GLOBAL S* to,
                           simt::int64 to_stride, bool stores, int count) {
    form_row_block<kN - kFrom, kHead, kW>(q, vectors, stride, heads, tau, to, to_stride, stores,
                                          kFrom, clipped(count, kFrom + kBlock));
    Next::form(q, vectors, stride, heads, tau, to, to_stride, stores, count);
  }
};
template <int kHead, int kW, int kN, class S>
struct row_blocks<-1, kHead, kW, kN, S> {
  static SIMT_FN void form(SIMT_PRIVATE S (&)[kN], SIMT_SHARED const S*, int, SIMT_SHARED const S*,
                           SIMT_SHARED const S*, SIMT_GLOBAL S*, simt::int64, bool, int) {}
};

}  // namespace steps
