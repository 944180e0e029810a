// SPDX-License-Identifier: Apache-2.0
// The GPU kernel of the solves with one right-hand side per thread: orders to 8 known at compile time.
// Right-hand sides are counted through the batch, so that a warp is full whatever their number, and
// the matrices that its 32 belong to lie in its shared memory once. A row meets the same operations in
// the same order as in substitution_thread.simt.h: the bits are the same.

namespace solve {

// A triangle in registers as a lower one: element (i, j) at l[j][i].
template <int kN, class S>
struct small_factor {
  S l[kN][kN];
  S inverse[kN];
  bool usable[kN];
  bool all_usable;
};

// From a slot whose entries lie column by column or row by row; kReversed: an upper triangle, whose
// rows and columns are counted from the end.
template <bool kReversed, bool kByRows, int kN, class S>
SIMT_FN void read_triangle(SIMT_SHARED const S* slot, SIMT_PRIVATE S (&l)[kN][kN]) {
  constexpr int kWidth = steps::packet_width<S, kN * kN>();
  using P = simt::packet<S, kWidth>;
  SIMT_SHARED const P* from = reinterpret_cast<SIMT_SHARED const P*>(slot);
  SIMT_UNROLL
  for (int k = 0; k < kN * kN / kWidth; ++k) {
    const P p = from[k];
    SIMT_UNROLL
    for (int w = 0; w < kWidth; ++w) {
      const int outer = (k * kWidth + w) / kN, inner = (k * kWidth + w) % kN;
      const int row = kByRows ? outer : inner, column = kByRows ? inner : outer;
      const int i = kReversed ? kN - 1 - row : row, j = kReversed ? kN - 1 - column : column;
      if (i >= j) l[j][i] = p.x[w];
    }
  }
}

// The factor of a thread, ready to divide by.
template <int kN, class S>
SIMT_FN void make_factor(SIMT_SHARED const S* slot, bool by_rows, const arguments& args,
                         SIMT_PRIVATE small_factor<kN, S>& f) {
  if (args.lower != 0) {
    if (by_rows) {
      read_triangle<false, true>(slot, f.l);
    } else {
      read_triangle<false, false>(slot, f.l);
    }
  } else {
    if (by_rows) {
      read_triangle<true, true>(slot, f.l);
    } else {
      read_triangle<true, false>(slot, f.l);
    }
  }
  f.all_usable = true;
  SIMT_UNROLL
  for (int j = 0; j < kN; ++j) {
    SIMT_UNROLL
    for (int i = j; i < kN; ++i) {
      f.l[j][i] = simt::select(args.conjugate != 0, simt::conj(f.l[j][i]), f.l[j][i]);
    }
    f.inverse[j] = reciprocal(f.l[j][j], f.usable[j]);
    f.all_usable = f.all_usable && (f.usable[j] || args.unit != 0);
  }
}

// x / l(i, i), or x where the diagonal counts as ones. kPlain: every inverse may be used.
template <bool kPlain, int kN, class S>
SIMT_FN S divided(SIMT_PRIVATE const small_factor<kN, S>& f, int i, bool adjoint, bool unit, S x) {
  const S product = (adjoint ? simt::conj(f.inverse[i]) : f.inverse[i]) * x;
  S result = product;
  if (!kPlain) {
    const S diagonal = adjoint ? simt::conj(f.l[i][i]) : f.l[i][i];
    result = simt::select(f.usable[i], product, quotient(x, diagonal));
  }
  return simt::select(unit, x, result);
}

// L x = b, and with kTwice L L^H x = b.
template <bool kPlain, bool kTwice, int kN, class S>
SIMT_FN void substitute_small(SIMT_PRIVATE const small_factor<kN, S>& f, bool unit,
                              SIMT_PRIVATE S (&x)[kN]) {
  SIMT_UNROLL
  for (int i = 0; i < kN; ++i) {
    SIMT_UNROLL
    for (int k = 0; k < i; ++k) x[i] = simt::fnma(f.l[k][i], x[k], x[i]);
    x[i] = divided<kPlain>(f, i, false, unit, x[i]);
  }
  if (!kTwice) return;
  SIMT_UNROLL
  for (int i = kN - 1; i >= 0; --i) {
    SIMT_UNROLL
    for (int k = kN - 1; k > i; --k) x[i] = simt::fnma(simt::conj(f.l[i][k]), x[k], x[i]);
    x[i] = divided<kPlain>(f, i, true, unit, x[i]);
  }
}

// `count` matrices from `first` on into slots.
template <int kN, int kMatrices, class S>
SIMT_FN void stage_factors(const steps::view& x, simt::int64 first, int count,
                           SIMT_SHARED S* slots) {
  const simt::warp_group<32> warp;
  constexpr int kCount = kN * kN;
  using L = steps::slots<S, kCount>;
  using P = steps::wide_packet<S>;
  SIMT_GLOBAL S* data = reinterpret_cast<SIMT_GLOBAL S*>(x.data);
  const int lane = warp.lane();
  if (x.layout == steps::kStrided) {
    for (int k = lane; k < count * kCount; k += 32) {
      const int matrix = k / kCount, entry = k % kCount, i = entry % kN, j = entry / kN;
      slots[matrix * L::kStride + entry] =
          data[(first + matrix) * x.batch + i * x.row + j * x.column];
    }
  } else if (kMatrices == 32 && count == 32) {
    steps::copy_packets<true, S, kCount>(data + first * kCount, slots, lane);
  } else if (L::kWide) {
    constexpr int kPerMatrix = L::kWide ? L::kBytes / 16 : 1;
    SIMT_GLOBAL const P* from = reinterpret_cast<SIMT_GLOBAL const P*>(data + first * kCount);
    for (int k = lane; k < count * kPerMatrix; k += 32) {
      SIMT_SHARED P* to = reinterpret_cast<SIMT_SHARED P*>(slots + k / kPerMatrix * L::kStride);
      to[k % kPerMatrix] = from[k];
    }
  } else {
    for (int k = lane; k < count * kCount; k += 32) slots[k] = data[first * kCount + k];
  }
}

// kMatrices: at least as many as 32 right-hand sides one behind the other belong to. kTwice: A is a
// Cholesky factor.
template <class S, int kN, int kMatrices, bool kTwice>
SIMT_KERNEL(steps::kThreads)
kernel_thread(arguments args) {
  using A = steps::slots<S, kN * kN>;
  using X = steps::slots<S, kN>;
  constexpr int kOfFactors = kMatrices * A::kStride;
  constexpr int kOfWarp =
      (kOfFactors * static_cast<int>(sizeof(S)) + 15) / 16 * 16 / static_cast<int>(sizeof(S)) +
      X::kOfWarp;
  SIMT_SHARED_ARRAY(S, all, kOfWarp * steps::kWarpsPerBlock);
  const simt::warp_group<32> group;
  const int lane = group.lane();
  SIMT_SHARED S* factors = all + simt::thread_index() / 32 * kOfWarp;
  SIMT_SHARED S* vectors = factors + (kOfWarp - X::kOfWarp);
  const int columns = static_cast<int>(args.columns);
  const simt::int64 total = args.batch * args.columns;
  const bool in_packed = args.b.layout == steps::kPackedColumns;
  const bool out_packed = args.x.layout == steps::kPackedColumns;
  SIMT_GLOBAL const S* b = reinterpret_cast<SIMT_GLOBAL const S*>(args.b.data);
  SIMT_GLOBAL S* out = reinterpret_cast<SIMT_GLOBAL S*>(args.x.data);
  // of vectors that lie one behind the other
  const steps::view dense_b = {args.b.data, 1, kN, kN, steps::kPackedColumns};
  const steps::view dense_x = {args.x.data, 1, kN, kN, steps::kPackedColumns};
  for (simt::int64 first = steps::first_of_warp(); first < total;
       first += steps::stride_of_warps()) {
    const int count = steps::count_of_warp(first, total);
    const place start = place_of(first, columns);
    // a thread past the last right-hand side repeats it, and its result is not stored
    const int at = lane < count ? lane : count - 1;
    const int beyond = (start.part + at) / columns;
    const simt::int64 matrix = start.matrix + beyond;
    const int column = start.part + at - beyond * columns;
    const int matrices = (start.part + count - 1) / columns + 1;
    group.sync();
    stage_factors<kN, kMatrices>(args.a, start.matrix, matrices, factors);
    S x[1][kN];
    if (in_packed) {
      steps::stage_in<kN, 1>(dense_b, first, count, vectors);
      steps::read_slot<kN, 1>(vectors + at * X::kStride, false, x);
    } else {
      SIMT_GLOBAL const S* from = b + matrix * args.b.batch + column * args.b.column;
      SIMT_UNROLL
      for (int i = 0; i < kN; ++i) x[0][i] = from[i * args.b.row];
    }
    group.sync();
    small_factor<kN, S> f;
    make_factor(factors + beyond * A::kStride, args.a.layout == steps::kPackedRows, args, f);
    S y[kN];
    SIMT_UNROLL
    for (int i = 0; i < kN; ++i) y[i] = args.lower != 0 ? x[0][i] : x[0][kN - 1 - i];
    if (f.all_usable) {
      substitute_small<true, kTwice>(f, args.unit != 0, y);
    } else {
      substitute_small<false, kTwice>(f, args.unit != 0, y);
    }
    SIMT_UNROLL
    for (int i = 0; i < kN; ++i) x[0][i] = args.lower != 0 ? y[i] : y[kN - 1 - i];
    if (out_packed) {
      steps::write_column<kN, 1>(vectors + lane * X::kStride, false, 0, x[0]);
      steps::stage_out<kN, 1>(dense_x, first, count, vectors);
    } else if (lane < count) {
      SIMT_GLOBAL S* to = out + matrix * args.x.batch + column * args.x.column;
      SIMT_UNROLL
      for (int i = 0; i < kN; ++i) to[i * args.x.row] = x[0][i];
    }
  }
}

}  // namespace solve
