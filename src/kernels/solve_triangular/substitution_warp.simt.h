// SPDX-License-Identifier: Apache-2.0
// Triangular systems by substitution (Golub and Van Loan, 3.1), kW lanes of a warp to a matrix or to a
// part of its right-hand sides, in two ways:
// - kernel_rows, for few right-hand sides and n <= kW: a lane has a row of X. A row that is known is
//   broadcast, and the rows below subtract it.
// - kernel_columns, for the rest: a lane has a right-hand side, which lies in shared memory; kP rows of
//   it at a time are in registers. Of what stands to the left of these rows a square of A at a time
//   lies in shared memory, where all lanes read the same entries; then comes the square on the
//   diagonal. Registers are shifted there: entry i stands for row k + i at step k, so that k is a
//   loop's index and not a register's.
// A row meets the same operations in the same order as in substitution_thread.simt.h: the bits are the
// same.

namespace solve {

// ---- a lane has a row ----

// A triangle of order kW in shared memory. kFolded: its columns k and kW - 1 - k one behind the other,
// which takes half of the room; a row is then read two lanes at a time.
template <int kW, bool kFolded>
struct triangle_layout {
  static constexpr int kTotal = kFolded ? kW / 2 * (kW + 2) : kW * (kW + 1);
  static SIMT_FN constexpr int place(int i, int k) {
    return !kFolded     ? k * (kW + 1) + i
           : k < kW / 2 ? k * (kW + 2) + i - k
                        : (kW - 1 - k) * (kW + 2) + i + 1;
  }
};

// The triangle of order n <= kW into shared memory.
template <int kW, bool kFolded, class S>
SIMT_FN void load_triangle(const factor_view<S>& f, int n, SIMT_SHARED S* tile) {
  const simt::warp_group<kW> group;
  constexpr int kLoads = loads_in_flight<S>(kW);
  const int lane = group.lane();
  const bool along = rows_are_adjacent(f);
  SIMT_NO_UNROLL
  for (int first = 0; first < n; first += kLoads) {
    S x[kLoads];
    SIMT_UNROLL
    for (int y = 0; y < kLoads; ++y) {
      const int i = along ? lane : first + y, k = along ? first + y : lane;
      x[y] = simt::zero<S>();
      if (i < n && k <= i) x[y] = entry(f, i, k);
    }
    SIMT_UNROLL
    for (int y = 0; y < kLoads; ++y) {
      const int i = along ? lane : first + y, k = along ? first + y : lane;
      if (i < n && k <= i) tile[triangle_layout<kW, kFolded>::place(i, k)] = x[y];
    }
  }
}

// What a lane divides its row by.
template <class S>
struct divisor {
  S diagonal, inverse;
  bool usable, unit;
};
template <bool kPlain, class S>
SIMT_FN S divided_by(const divisor<S>& d, S x) {
  S result = d.inverse * x;
  if (!kPlain) result = simt::select(d.usable, result, quotient(x, d.diagonal));
  return simt::select(d.unit, x, result);
}

// x = L^-1 x, or with kAdjoint L^-H x, in kColumns right-hand sides.
template <bool kAdjoint, bool kPlain, int kW, bool kFolded, int kColumns, class S>
SIMT_FN void substitute_rows(SIMT_SHARED const S* tile, int n, const divisor<S>& d,
                             SIMT_PRIVATE S (&x)[kColumns]) {
  using L = triangle_layout<kW, kFolded>;
  const simt::warp_group<kW> group;
  constexpr int kSteps = 8;
  const int lane = group.lane();
  SIMT_NO_UNROLL
  for (int first = 0; first < n; first += kSteps) {
    SIMT_UNROLL
    for (int y = 0; y < kSteps; ++y) {
      if (first + y >= n) continue;
      const int k = kAdjoint ? n - 1 - first - y : first + y;
      const bool below = kAdjoint ? lane < k : lane > k && lane < n;
      S l = simt::zero<S>();
      if (below) l = tile[kAdjoint ? L::place(k, lane) : L::place(lane, k)];
      if (kAdjoint) l = simt::conj(l);
      SIMT_UNROLL
      for (int c = 0; c < kColumns; ++c) {
        const S known = group.broadcast(divided_by<kPlain>(d, x[c]), k);
        x[c] = simt::select(below, simt::fnma(l, known, x[c]), x[c]);
      }
    }
  }
  SIMT_UNROLL
  for (int c = 0; c < kColumns; ++c) x[c] = divided_by<kPlain>(d, x[c]);
}

template <bool kPlain, bool kTwice, int kW, bool kFolded, int kColumns, class S>
SIMT_FN void solve_rows_of(SIMT_SHARED const S* tile, int n, divisor<S> d,
                           SIMT_PRIVATE S (&x)[kColumns]) {
  substitute_rows<false, kPlain, kW, kFolded>(tile, n, d, x);
  if (!kTwice) return;
  d.diagonal = simt::conj(d.diagonal);
  d.inverse = simt::conj(d.inverse);
  substitute_rows<true, kPlain, kW, kFolded>(tile, n, d, x);
}

// kColumns: right-hand sides at a time. kTwice: A is a Cholesky factor.
template <class S, int kW, int kColumns, bool kTwice, bool kFolded, int kThreads>
SIMT_KERNEL(kThreads)
kernel_rows(arguments args) {
  using L = triangle_layout<kW, kFolded>;
  constexpr int kGroups = kThreads / kW, kTile = L::kTotal;
  SIMT_SHARED_ARRAY(S, all, kGroups * kTile);
  const int index = simt::thread_index() / kW;
  SIMT_SHARED S* tile = all + index * kTile;
  const simt::warp_group<kW> group;
  const int lane = group.lane(), n = args.n, columns = static_cast<int>(args.columns);
  const bool mine = lane < n;
  const simt::int64 row = args.lower != 0 ? lane : n - 1 - lane;
  const simt::int64 stride = static_cast<simt::int64>(simt::block_count()) * kGroups;
  for (simt::int64 matrix = static_cast<simt::int64>(simt::block_index()) * kGroups + index;
       matrix < args.batch; matrix += stride) {
    const factor_view<S> f = factor_of<S>(args, matrix);
    SIMT_GLOBAL const S* b = steps::matrix_of<S>(args.b, matrix) + row * args.b.row;
    SIMT_GLOBAL S* to = steps::matrix_of<S>(args.x, matrix) + row * args.x.row;
    group.sync();
    load_triangle<kW, kFolded>(f, n, tile);
    group.sync();
    divisor<S> d;
    d.unit = args.unit != 0;
    d.diagonal = simt::from_real<S>(simt::constant<simt::real_of<S>>(1.0f));
    if (mine) d.diagonal = tile[L::place(lane, lane)];
    d.inverse = reciprocal(d.diagonal, d.usable);
    const bool plain = group.all(d.usable || d.unit);
    SIMT_NO_UNROLL
    for (int first = 0; first < columns; first += kColumns) {
      S x[kColumns];
      SIMT_UNROLL
      for (int c = 0; c < kColumns; ++c) {
        x[c] = simt::zero<S>();
        if (mine && first + c < columns) x[c] = b[(first + c) * args.b.column];
      }
      if (plain) {
        solve_rows_of<true, kTwice, kW, kFolded>(tile, n, d, x);
      } else {
        solve_rows_of<false, kTwice, kW, kFolded>(tile, n, d, x);
      }
      SIMT_UNROLL
      for (int c = 0; c < kColumns; ++c) {
        if (mine && first + c < columns) to[(first + c) * args.x.column] = x[c];
      }
    }
  }
}

// ---- a lane has a right-hand side ----

// The shared memory of a group.
template <class S, int kP, int kW, int kRows>
struct columns_layout {
  static constexpr int kStride = steps::tile_stride<S, kP>();  // of a square of A
  static constexpr int kSide = kRows | 1;                      // of a right-hand side
  static constexpr int kSquare = kP * kStride;
  static constexpr int kUsed = kSquare + kW * kSide + kP;
  static constexpr int kTotal =
      (kUsed * static_cast<int>(sizeof(S)) + 15) / 16 * 16 / static_cast<int>(sizeof(S));
};

// Rows from i0 and columns from k0 of A on, kP of each, zeros outside of its order n: (i, k) at
// k * kStride + i, or with kDiagonal at k * kStride + i - k, so that a column starts with its diagonal.
template <bool kDiagonal, int kP, int kW, class S>
SIMT_FN void load_square(const factor_view<S>& f, int n, int i0, int k0, SIMT_SHARED S* square) {
  const simt::warp_group<kW> group;
  constexpr int kStride = steps::tile_stride<S, kP>(), kLoads = loads_in_flight<S>(kP);
  const bool along = rows_are_adjacent(f);
  SIMT_NO_UNROLL
  for (int inner = group.lane(); inner < kP; inner += kW) {
    SIMT_NO_UNROLL
    for (int first = 0; first < kP; first += kLoads) {
      S x[kLoads];
      SIMT_UNROLL
      for (int y = 0; y < kLoads; ++y) {
        const int i = along ? inner : first + y, k = along ? first + y : inner;
        x[y] = simt::zero<S>();
        if (i0 + i < n && (!kDiagonal || k <= i)) x[y] = entry(f, i0 + i, k0 + k);
      }
      SIMT_UNROLL
      for (int y = 0; y < kLoads; ++y) {
        const int i = along ? inner : first + y, k = along ? first + y : inner;
        // above the diagonal there is room for the zeros that end a column
        const int at = !kDiagonal ? i : i < k ? i - k + kP : i - k;
        square[k * kStride + at] = x[y];
      }
    }
  }
}

// acc -= A(rows, columns) x(columns), kP of each.
template <int kP, class S>
SIMT_FN void subtract_square(SIMT_SHARED const S* square, SIMT_SHARED const S* x, int step,
                             SIMT_PRIVATE S (&acc)[kP]) {
  using P = steps::packet_of<S>;
  constexpr int kStride = steps::tile_stride<S, kP>(), kWidth = 16 / static_cast<int>(sizeof(S));
  SIMT_NO_UNROLL
  for (int first = 0; first < kP; first += 4) {
    SIMT_UNROLL
    for (int y = 0; y < 4; ++y) {
      const int k = first + y;
      const S known = x[k * step];
      SIMT_SHARED const P* packets = reinterpret_cast<SIMT_SHARED const P*>(square + k * kStride);
      SIMT_UNROLL
      for (int i = 0; i < kP / kWidth; ++i) {
        const P p = packets[i];
        SIMT_UNROLL
        for (int w = 0; w < kWidth; ++w) {
          acc[i * kWidth + w] = simt::fnma(p.x[w], known, acc[i * kWidth + w]);
        }
      }
    }
  }
}

// How a square on the diagonal divides.
template <class S>
struct divisors {
  SIMT_SHARED const S* inverse;
  bool plain, unit;
};

// Steps kFrom <= k < kFrom + 8 of the square on the diagonal, and those after them.
template <int kFrom, int kP, class S>
struct diagonal_steps {
  static constexpr int kLeft = kP - kFrom;
  using Next = diagonal_steps<(kFrom + 8 < kP ? kFrom + 8 : -1), kP, S>;

  static SIMT_FN void solve(SIMT_SHARED const S* square, const divisors<S>& d, int rows,
                            SIMT_SHARED S* x, int step, SIMT_PRIVATE S (&acc)[kP]) {
    using P = steps::packet_of<S>;
    constexpr int kStride = steps::tile_stride<S, kP>(), kWidth = 16 / static_cast<int>(sizeof(S));
    const int end = rows < kFrom + 8 ? rows : kFrom + 8;
    SIMT_NO_UNROLL
    for (int k = kFrom; k < end; ++k) {
      SIMT_SHARED const S* column = square + k * kStride;
      S known = acc[0];
      if (!d.unit) {
        const S product = d.inverse[k] * known;
        if (d.plain) {
          known = product;
        } else {
          bool usable;
          reciprocal(column[0], usable);
          known = simt::select(usable, product, quotient(known, column[0]));
        }
      }
      x[k * step] = known;
      SIMT_SHARED const P* packets = reinterpret_cast<SIMT_SHARED const P*>(column);
      SIMT_UNROLL
      for (int i = 0; i < kLeft / kWidth; ++i) {
        const P p = packets[i];
        SIMT_UNROLL
        for (int w = 0; w < kWidth; ++w) {
          const int r = i * kWidth + w;
          if (r > 0) acc[r - 1] = simt::fnma(p.x[w], known, acc[r]);
        }
      }
      acc[kLeft - 1] = simt::zero<S>();
    }
    Next::solve(square, d, rows, x, step, acc);
  }
};
template <int kP, class S>
struct diagonal_steps<-1, kP, S> {
  static SIMT_FN void solve(SIMT_SHARED const S*, const divisors<S>&, int, SIMT_SHARED S*, int,
                            SIMT_PRIVATE S (&)[kP]) {}
};

// L x = b, b and x at `side` and every `step` entries on; n <= kRows.
template <int kP, int kW, int kRows, class S>
SIMT_FN void substitute_columns(const factor_view<S>& f, int n, bool unit, SIMT_SHARED S* square,
                                SIMT_SHARED S* inverse, SIMT_SHARED S* side, int step) {
  const simt::warp_group<kW> group;
  constexpr int kStride = steps::tile_stride<S, kP>();
  constexpr bool kOne = kRows <= kP;  // square
  SIMT_NO_UNROLL
  for (int first = 0; first < (kOne ? 1 : n); first += kP) {
    const int rows = n - first < kP ? n - first : kP;
    S acc[kP];
    SIMT_UNROLL
    for (int i = 0; i < kP; ++i) {
      acc[i] = simt::zero<S>();
      if (i < rows) acc[i] = side[(first + i) * step];
    }
    SIMT_NO_UNROLL
    for (int k = 0; k < (kOne ? 0 : first); k += kP) {
      group.sync();
      load_square<false, kP, kW>(f, n, first, k, square);
      group.sync();
      subtract_square<kP>(square, side + k * step, step, acc);
    }
    group.sync();
    load_square<true, kP, kW>(f, n, first, first, square);
    group.sync();
    bool plain = true;
    SIMT_NO_UNROLL
    for (int k = group.lane(); k < rows; k += kW) {
      bool usable;
      inverse[k] = reciprocal(square[k * kStride], usable);
      plain = plain && usable;
    }
    const divisors<S> d = {inverse, group.all(plain), unit};
    group.sync();
    diagonal_steps<0, kP, S>::solve(square, d, rows, side + first * step, step, acc);
  }
}

// `count` of kW right-hand sides of n rows between device and shared memory; in: zeros for the others.
template <bool kIn, int kW, int kSide, class S>
SIMT_FN void copy_sides(SIMT_GLOBAL S* data, simt::int64 row, simt::int64 column, int n, int count,
                        SIMT_SHARED S* sides) {
  const simt::warp_group<kW> group;
  constexpr int kLoads = loads_in_flight<S>(kW);
  const bool along = row == 1 || row == -1;
  const int outer = along ? kW : n, inner = along ? n : kW;
  SIMT_NO_UNROLL
  for (int o = group.lane(); o < inner; o += kW) {
    SIMT_NO_UNROLL
    for (int first = 0; first < outer; first += kLoads) {
      S x[kLoads];
      SIMT_UNROLL
      for (int y = 0; y < kLoads; ++y) {
        const int i = along ? o : first + y, c = along ? first + y : o;
        x[y] = simt::zero<S>();
        if (i < n && (kIn ? c < count : c < kW)) {
          x[y] = kIn ? data[i * row + c * column] : sides[c * kSide + i];
        }
      }
      SIMT_UNROLL
      for (int y = 0; y < kLoads; ++y) {
        const int i = along ? o : first + y, c = along ? first + y : o;
        if (i < n && (kIn ? c < kW : c < count)) {
          if (kIn) {
            sides[c * kSide + i] = x[y];
          } else {
            data[i * row + c * column] = x[y];
          }
        }
      }
    }
  }
}

// kW right-hand sides of a matrix to a group. kP: rows at a time; kRows: the most there may be.
template <class S, int kP, int kW, int kRows, int kThreads>
SIMT_KERNEL(kThreads)
kernel_columns(arguments args) {
  using L = columns_layout<S, kP, kW, kRows>;
  constexpr int kGroups = kThreads / kW;
  SIMT_SHARED_ARRAY(S, all, kGroups * L::kTotal);
  const int index = simt::thread_index() / kW;
  SIMT_SHARED S* square = all + index * L::kTotal;
  SIMT_SHARED S* sides = square + L::kSquare;
  SIMT_SHARED S* inverse = sides + kW * L::kSide;
  const simt::warp_group<kW> group;
  const int n = args.n, columns = static_cast<int>(args.columns);
  const int parts = (columns - 1) / kW + 1;
  const simt::int64 stride = static_cast<simt::int64>(simt::block_count()) * kGroups;
  for (simt::int64 part = static_cast<simt::int64>(simt::block_index()) * kGroups + index;
       part < args.batch * parts; part += stride) {
    const place at = place_of(part, parts);
    const int first = at.part * kW, count = columns - first < kW ? columns - first : kW;
    SIMT_GLOBAL S* b = steps::matrix_of<S>(args.b, at.matrix) + first * args.b.column;
    SIMT_GLOBAL S* to = steps::matrix_of<S>(args.x, at.matrix) + first * args.x.column;
    factor_view<S> f = factor_of<S>(args, at.matrix);
    SIMT_SHARED S* side = sides + group.lane() * L::kSide;
    bool forward = args.lower != 0;
    group.sync();
    copy_sides<true, kW, L::kSide>(b, args.b.row, args.b.column, n, count, sides);
    group.sync();
    SIMT_NO_UNROLL
    for (int pass = 0; pass < args.passes; ++pass) {
      substitute_columns<kP, kW, kRows>(f, n, args.unit != 0, square, inverse,
                                        forward ? side : side + n - 1, forward ? 1 : -1);
      f = adjoint_of(f, n);
      forward = false;
    }
    group.sync();
    copy_sides<false, kW, L::kSide>(to, args.x.row, args.x.column, n, count, sides);
  }
}

}  // namespace solve
