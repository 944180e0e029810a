// SPDX-License-Identifier: Apache-2.0
// The GPU kernels of the solves for orders to 8, known at compile time:
// - kernel_matrix, for few right-hand sides: a thread has a matrix and all of them.
// - kernel_thread, for more: a thread has a right-hand side. They are counted through the batch, so that
//   a warp is full whatever their number, and the matrices that its 32 belong to lie in its shared
//   memory once. A factor is then in the registers of each thread, or stays where it is.
// A row meets the same operations in the same order as in substitution_thread.simt.h: the bits are the
// same.

namespace solve {

// A triangle in registers as a lower one: element (i, j) at l[j][i].
template <int kN, class S>
struct small_factor {
  S l[kN][kN];
  S inverse[kN];
  bool usable[kN];
  bool all_usable;

  SIMT_FN S entry(int i, int k) const { return l[k][i]; }
  SIMT_FN S inverse_of(int i) const { return inverse[i]; }
  SIMT_FN bool is_usable(int i) const { return usable[i]; }
  SIMT_FN void read_anew() const {}
};

// The same in shared memory: element (i, k) at data[k * (kN + 1) + i], and behind the columns the
// inverses of the diagonal. An odd number of entries between two matrices, so that the threads of
// several read from banks of their own.
template <int kN, class S>
struct shared_factor {
  static constexpr int kInverses = kN * (kN + 1), kStride = (kInverses + kN) | 1;
  SIMT_SHARED const S* data;
  bool all_usable;

  SIMT_FN S entry(int i, int k) const { return data[k * (kN + 1) + i]; }
  SIMT_FN S inverse_of(int i) const { return data[kInverses + i]; }
  SIMT_FN bool is_usable(int i) const {
    bool usable;
    reciprocal(entry(i, i), usable);
    return usable;
  }
  // Else the compiler keeps in registers what the first pass read, which they do not hold.
  SIMT_FN void read_anew() const {
    const simt::warp_group<32> warp;
    warp.sync();
  }
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
template <bool kPlain, class F, class S>
SIMT_FN S divided(const F& f, int i, bool adjoint, bool unit, S x) {
  const S inverse = f.inverse_of(i);
  const S product = (adjoint ? simt::conj(inverse) : inverse) * x;
  S result = product;
  if (!kPlain) {
    const S diagonal = f.entry(i, i);
    result = simt::select(f.is_usable(i), product,
                          quotient(x, adjoint ? simt::conj(diagonal) : diagonal));
  }
  return simt::select(unit, x, result);
}

// L x = b, and with kTwice L L^H x = b.
template <bool kPlain, bool kTwice, int kN, class F, class S>
SIMT_FN void substitute_small(const F& f, bool unit, SIMT_PRIVATE S (&x)[kN]) {
  SIMT_UNROLL
  for (int i = 0; i < kN; ++i) {
    SIMT_UNROLL
    for (int k = 0; k < i; ++k) x[i] = simt::fnma(f.entry(i, k), x[k], x[i]);
    x[i] = divided<kPlain>(f, i, false, unit, x[i]);
  }
  if (!kTwice) return;
  f.read_anew();
  SIMT_UNROLL
  for (int i = kN - 1; i >= 0; --i) {
    SIMT_UNROLL
    for (int k = kN - 1; k > i; --k) x[i] = simt::fnma(simt::conj(f.entry(k, i)), x[k], x[i]);
    x[i] = divided<kPlain>(f, i, true, unit, x[i]);
  }
}

// The same for kColumns sides as they lie in memory, of an upper triangle counted from the end.
template <bool kTwice, int kColumns, int kN, class F, class S>
SIMT_FN void solve_small(const F& f, const arguments& args, SIMT_PRIVATE S (&x)[kColumns][kN]) {
  const bool lower = args.lower != 0, unit = args.unit != 0;
  SIMT_UNROLL
  for (int c = 0; c < kColumns; ++c) {
    S y[kN];
    SIMT_UNROLL
    for (int i = 0; i < kN; ++i) y[i] = lower ? x[c][i] : x[c][kN - 1 - i];
    if (f.all_usable) {
      substitute_small<true, kTwice>(f, unit, y);
    } else {
      substitute_small<false, kTwice>(f, unit, y);
    }
    SIMT_UNROLL
    for (int i = 0; i < kN; ++i) x[c][i] = lower ? y[i] : y[kN - 1 - i];
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

// The same as shared_factor: triangles with their inverses. Whether all inverses may be used.
template <int kN, class S>
SIMT_FN bool stage_triangles(const arguments& args, simt::int64 first, int count,
                             SIMT_SHARED S* factors) {
  const simt::warp_group<32> warp;
  constexpr int kCount = kN * kN;
  using F = shared_factor<kN, S>;
  const steps::view& x = args.a;
  SIMT_GLOBAL const S* data = reinterpret_cast<SIMT_GLOBAL const S*>(x.data) + first * x.batch;
  const int lane = warp.lane();
  const bool by_rows = x.column == 1;
  for (int k = lane; k < count * kCount; k += 32) {
    const int matrix = k / kCount, entry = k % kCount, inner = entry % kN, outer = entry / kN;
    const int row = by_rows ? outer : inner, column = by_rows ? inner : outer;
    const int i = args.lower != 0 ? row : kN - 1 - row;
    const int j = args.lower != 0 ? column : kN - 1 - column;
    if (i >= j) {
      const S value = data[matrix * x.batch + row * x.row + column * x.column];
      factors[matrix * F::kStride + j * (kN + 1) + i] =
          simt::select(args.conjugate != 0, simt::conj(value), value);
    }
  }
  warp.sync();
  bool usable = true;
  for (int k = lane; k < count * kN; k += 32) {
    SIMT_SHARED S* factor = factors + k / kN * F::kStride;
    const int i = k % kN;
    bool this_usable;
    factor[F::kInverses + i] = reciprocal(factor[i * (kN + 1) + i], this_usable);
    usable = usable && this_usable;
  }
  return warp.all(usable || args.unit != 0);
}

// Where a warp has the factors of kernel_thread.
template <class S, int kN, int kMatrices, bool kShared>
struct factors_layout {
  static constexpr int kStride =
      kShared ? shared_factor<kN, S>::kStride : steps::slots<S, kN * kN>::kStride;
  static constexpr int kBytes = kMatrices * kStride * static_cast<int>(sizeof(S));
  static constexpr int kTotal = (kBytes + 15) / 16 * 16 / static_cast<int>(sizeof(S));
};

// How the sides of kernel_thread are solved for by the factor in front of each thread.
template <class S, int kN, int kMatrices, bool kTwice>
SIMT_FN void solve_side(simt::size_constant<0>, const arguments& args, simt::int64 first, int count,
                        int of_thread, SIMT_SHARED S* factors, SIMT_PRIVATE S (&x)[1][kN]) {
  const simt::warp_group<32> group;
  stage_factors<kN, kMatrices>(args.a, first, count, factors);
  group.sync();
  small_factor<kN, S> f;
  make_factor(factors + of_thread * steps::slots<S, kN * kN>::kStride,
              args.a.layout == steps::kPackedRows, args, f);
  solve_small<kTwice>(f, args, x);
}
template <class S, int kN, int kMatrices, bool kTwice>
SIMT_FN void solve_side(simt::size_constant<1>, const arguments& args, simt::int64 first, int count,
                        int of_thread, SIMT_SHARED S* factors, SIMT_PRIVATE S (&x)[1][kN]) {
  const simt::warp_group<32> group;
  using F = shared_factor<kN, S>;
  const bool usable = stage_triangles<kN>(args, first, count, factors);
  group.sync();
  const F f = {factors + of_thread * F::kStride, usable};
  solve_small<kTwice>(f, args, x);
}

// kMatrices: at least as many as 32 right-hand sides one behind the other belong to. kTwice: A is a
// Cholesky factor. kShared: it stays in shared memory.
template <class S, int kN, int kMatrices, bool kTwice, bool kShared>
SIMT_KERNEL(steps::kThreads)
kernel_thread(arguments args) {
  using A = factors_layout<S, kN, kMatrices, kShared>;
  using X = steps::slots<S, kN>;
  constexpr int kOfWarp = A::kTotal + X::kOfWarp;
  SIMT_SHARED_ARRAY(S, all, kOfWarp * steps::kWarpsPerBlock);
  const simt::warp_group<32> group;
  const int lane = group.lane();
  SIMT_SHARED S* factors = all + simt::thread_index() / 32 * kOfWarp;
  SIMT_SHARED S* vectors = factors + A::kTotal;
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
    S x[1][kN];
    if (in_packed) {
      steps::stage_in<kN, 1>(dense_b, first, count, vectors);
      steps::read_slot<kN, 1>(vectors + at * X::kStride, false, x);
    } else {
      SIMT_GLOBAL const S* from = b + matrix * args.b.batch + column * args.b.column;
      SIMT_UNROLL
      for (int i = 0; i < kN; ++i) x[0][i] = from[i * args.b.row];
      group.sync();
    }
    solve_side<S, kN, kMatrices, kTwice>(simt::size_constant < kShared ? 1 : 0 > (), args,
                                         start.matrix, matrices, beyond, factors, x);
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

// A matrix and its kColumns right-hand sides to each thread.
template <class S, int kN, int kColumns, bool kTwice>
SIMT_KERNEL(steps::kThreads)
kernel_matrix(arguments args) {
  using A = steps::slots<S, kN * kN>;
  using X = steps::slots<S, kN * kColumns>;
  SIMT_SHARED_ARRAY(S, all, A::kOfBlock + X::kOfBlock);
  const simt::warp_group<32> group;
  const int lane = group.lane();
  // of both a warp's part is a whole number of packets
  SIMT_SHARED S* factors = all + simt::thread_index() / 32 * (A::kOfWarp + X::kOfWarp);
  SIMT_SHARED S* sides = factors + A::kOfWarp;
  for (simt::int64 first = steps::first_of_warp(); first < args.batch;
       first += steps::stride_of_warps()) {
    const int count = steps::count_of_warp(first, args.batch);
    group.sync();
    steps::load_slots<kN, kN>(args.a, first, count, factors);
    steps::load_slots<kN, kColumns>(args.b, first, count, sides);
    group.sync();
    // a thread past the last matrix repeats it, and its result is not stored
    const int at = lane < count ? lane : count - 1;
    small_factor<kN, S> f;
    make_factor(factors + at * A::kStride, args.a.layout == steps::kPackedRows, args, f);
    S x[kColumns][kN];
    steps::read_slot<kN, kColumns>(sides + at * X::kStride, args.b.layout == steps::kPackedRows, x);
    solve_small<kTwice>(f, args, x);
    group.sync();  // every thread has read its slots
    SIMT_UNROLL
    for (int c = 0; c < kColumns; ++c) {
      steps::write_column<kN, kColumns>(sides + lane * X::kStride,
                                        args.x.layout == steps::kPackedRows, c, x[c]);
    }
    steps::stage_out<kN, kColumns>(args.x, first, count, sides);
  }
}

}  // namespace solve
