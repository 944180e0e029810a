// SPDX-License-Identifier: Apache-2.0
// Triangular systems of an order kN known at compile time with many right-hand sides: kW lanes of a warp to a
// matrix or to a part of its right-hand sides, of which each lane has one whole in its registers. The
// triangle lies in shared memory, where all lanes read the same entries.
// Method: substitution (Golub and Van Loan, 3.1), by columns with L and by rows with L^H, so that both
// walk along the columns of L. A row meets the same operations in the same order as in
// substitution_thread.simt.h: the bits are the same.
// The lanes of a warp stay together, whatever kW is: of a part of a warp that the compiler does not know
// by its lanes it would first have to find out who is there, at every barrier.

namespace solve {

// A lower triangle by columns, each from the packet in which its diagonal lies to a whole number of
// packets.
template <class S, int kN>
struct packed_triangle {
  static constexpr int kWidth = 16 / static_cast<int>(sizeof(S));
  static constexpr int kRows = (kN + kWidth - 1) / kWidth * kWidth;
  static SIMT_FN constexpr int first_row(int c) { return c / kWidth * kWidth; }
  // of the entry in first_row()
  static SIMT_FN constexpr int start(int c) {
    return c / kWidth * kWidth * kRows - kWidth * kWidth * (c / kWidth) * (c / kWidth - 1) / 2 +
           c % kWidth * (kRows - first_row(c));
  }
  static SIMT_FN constexpr int place(int r, int c) { return start(c) + r - first_row(c); }
  static constexpr int kTotal = kWidth * kRows * (kRows / kWidth + 1) / 2;
};

// The shared memory of a group: the triangle, the inverses of its diagonal, and 128 bytes of each of its
// right-hand sides.
template <class S, int kN, int kW>
struct panel_layout {
  static constexpr int kWidth = 16 / static_cast<int>(sizeof(S));
  static constexpr int kRows = 128 / static_cast<int>(sizeof(S));  // of a part of a side
  static constexpr int kNarts = (kN + kRows - 1) / kRows;
  static constexpr int kSide = kRows + kWidth;
  static constexpr int kTriangle = packed_triangle<S, kN>::kTotal;
  static constexpr int kUsed = kTriangle + packed_triangle<S, kN>::kRows;  // packets
  static constexpr int kTotal = kUsed + kW * kSide;
};

// With zeros in what else belongs to its packets.
template <int kN, int kW, class S>
SIMT_FN void load_panel(const factor_view<S>& f, SIMT_SHARED S* tile) {
  using L = packed_triangle<S, kN>;
  const simt::warp_group<kW> group;
  constexpr int kLoads = 64 / static_cast<int>(sizeof(S));
  const bool along = rows_are_adjacent(f);
  SIMT_NO_UNROLL
  for (int inner = group.lane(); inner < L::kRows; inner += kW) {
    const simt::int64 step = along ? f.column : f.row;
    SIMT_GLOBAL const S* from = f.data + inner * (along ? f.row : f.column);
    SIMT_NO_UNROLL
    for (int first = 0; first < L::kRows; first += kLoads) {
      S x[kLoads];
      SIMT_UNROLL
      for (int y = 0; y < kLoads; ++y, from += step) {
        const int r = along ? inner : first + y, c = along ? first + y : inner;
        x[y] = simt::zero<S>();
        if (c <= r && r < kN) x[y] = *from;
      }
      SIMT_UNROLL
      for (int y = 0; y < kLoads; ++y) {
        const int r = along ? inner : first + y, c = along ? first + y : inner;
        if (c < kN && L::first_row(c) <= r && r < L::kRows) {
          tile[L::place(r, c)] = simt::select(f.conjugate, simt::conj(x[y]), x[y]);
        }
      }
    }
  }
}

// A packet of the column whose packets start at `column`, from row r on.
template <class S>
SIMT_FN steps::packet_of<S> packet_at(SIMT_SHARED const S* column, int r) {
  return reinterpret_cast<SIMT_SHARED const steps::packet_of<S>*>(
      column)[r / (16 / static_cast<int>(sizeof(S)))];
}

// x = L^-1 x.
template <int kN, class S>
SIMT_FN void substitute_down(SIMT_SHARED const S* tile, SIMT_SHARED const S* inverse, bool unit,
                             SIMT_PRIVATE S (&x)[kN]) {
  using L = packed_triangle<S, kN>;
  SIMT_UNROLL
  for (int c = 0; c < kN; ++c) {
    SIMT_SHARED const S* column = tile + L::start(c) - L::first_row(c);
    if (!unit) x[c] = inverse[c] * x[c];
    SIMT_UNROLL
    for (int r0 = L::first_row(c); r0 < L::kRows; r0 += L::kWidth) {
      if (r0 + L::kWidth <= c + 1) continue;
      const steps::packet_of<S> p = packet_at(column, r0);
      SIMT_UNROLL
      for (int w = 0; w < L::kWidth; ++w) {
        const int r = r0 + w;
        if (r > c && r < kN) x[r % kN] = simt::fnma(p.x[w], x[c], x[r % kN]);
      }
    }
  }
}

// x = L^-H x.
template <int kN, class S>
SIMT_FN void substitute_up(SIMT_SHARED const S* tile, SIMT_SHARED const S* inverse, bool unit,
                           SIMT_PRIVATE S (&x)[kN]) {
  using L = packed_triangle<S, kN>;
  SIMT_UNROLL
  for (int c = kN - 1; c >= 0; --c) {
    SIMT_SHARED const S* column = tile + L::start(c) - L::first_row(c);
    SIMT_UNROLL
    for (int r0 = L::kRows - L::kWidth; r0 >= L::first_row(c); r0 -= L::kWidth) {
      if (r0 + L::kWidth <= c + 1) continue;
      const steps::packet_of<S> p = packet_at(column, r0);
      SIMT_UNROLL
      for (int w = L::kWidth - 1; w >= 0; --w) {
        const int r = r0 + w;
        if (r > c && r < kN) x[c] = simt::fnma(simt::conj(p.x[w]), x[r % kN], x[c]);
      }
    }
    if (!unit) x[c] = simt::conj(inverse[c]) * x[c];
  }
}

// Whether the sides of a view pass through shared memory: a column lies contiguous.
SIMT_FN bool sides_are_apart(const steps::view& v) { return v.row == 1 && v.column != 1; }

// Where the sides of a group are: `count` of kW from `data` on.
template <class S>
struct sides_of_group {
  SIMT_GLOBAL S* data;
  simt::int64 row, column;
  int n, count;
  bool apart, packets;
};
template <class S>
SIMT_FN sides_of_group<S> sides_from(const steps::view& v, simt::int64 matrix, int first, int n,
                                     int count) {
  return {steps::matrix_of<S>(v, matrix) + first * v.column,
          v.row,
          v.column,
          n,
          count,
          sides_are_apart(v),
          steps::columns_are_packets<S>(v, n)};
}

// Side `c`, counted from the end with `reversed`: row i at data[i * row].
template <class S>
struct side_view {
  SIMT_GLOBAL S* data;
  simt::int64 row;
};
template <class S>
SIMT_FN side_view<S> side_of(const sides_of_group<S>& v, int c, bool reversed) {
  SIMT_GLOBAL S* data = v.data + c * v.column;
  if (reversed) return {data + (v.n - 1) * v.row, -v.row};
  return {data, v.row};
}

// x = L^-1 b in memory; x may be b.
template <class S>
SIMT_FN void substitute_slowly(const factor_view<S>& f, int n, bool unit, const side_view<S>& b,
                               const side_view<S>& x) {
  SIMT_NO_UNROLL
  for (int i = 0; i < n; ++i) {
    S sum = b.data[i * b.row];
    SIMT_NO_UNROLL
    for (int k = 0; k < i; ++k) sum = simt::fnma(entry(f, i, k), x.data[k * x.row], sum);
    if (!unit) {
      const S diagonal = entry(f, i, i);
      bool usable;
      const S inverse = reciprocal(diagonal, usable);
      sum = simt::select(usable, inverse * sum, quotient(sum, diagonal));
    }
    x.data[i * x.row] = sum;
  }
}
// Where some entry of the diagonal has no inverse to multiply with: one lane, one side.
template <class S, bool kTwice>
SIMT_FN void solve_slowly(factor_view<S> f, bool unit, bool lower, const sides_of_group<S>& b,
                          const sides_of_group<S>& to, int c) {
  side_view<S> from = side_of(b, c, !lower);
  SIMT_NO_UNROLL
  for (int pass = 0; pass < (kTwice ? 2 : 1); ++pass) {
    const side_view<S> x = side_of(to, c, !lower || pass > 0);
    if (pass > 0) from = x;
    substitute_slowly(f, b.n, unit, from, x);
    f = adjoint_of(f, b.n);
  }
}

template <int kN, int kW, class S>
SIMT_FN void load_sides(const sides_of_group<S>& v, SIMT_SHARED S* staged,
                        SIMT_PRIVATE S (&x)[kN]) {
  using L = panel_layout<S, kN, kW>;
  const simt::warp_group<32> warp;
  const simt::warp_group<kW> group;
  const int lane = group.lane();
  if (!v.apart) {
    SIMT_GLOBAL const S* from = v.data + lane * v.column;
    SIMT_UNROLL
    for (int r = 0; r < kN; ++r, from += v.row) {
      x[r] = simt::zero<S>();
      if (lane < v.count) x[r] = *from;
    }
    return;
  }
  constexpr int kLoads = 64 / static_cast<int>(sizeof(S));
  SIMT_UNROLL
  for (int part = 0; part < L::kNarts; ++part) {
    warp.sync();
    SIMT_NO_UNROLL
    for (int k0 = lane; k0 < kW * L::kRows; k0 += kLoads * kW) {
      S y[kLoads];
      SIMT_UNROLL
      for (int u = 0; u < kLoads; ++u) {
        const int k = k0 + u * kW, c = k / L::kRows, i = part * L::kRows + k % L::kRows;
        y[u] = simt::zero<S>();
        if (i < kN && c < v.count) y[u] = v.data[i + c * v.column];
      }
      SIMT_UNROLL
      for (int u = 0; u < kLoads; ++u) {
        const int k = k0 + u * kW;
        staged[k / L::kRows * L::kSide + k % L::kRows] = y[u];
      }
    }
    warp.sync();
    SIMT_UNROLL
    for (int r0 = 0; r0 < L::kRows; r0 += L::kWidth) {
      if (part * L::kRows + r0 >= kN) continue;
      const steps::packet_of<S> p = packet_at(staged + lane * L::kSide, r0);
      SIMT_UNROLL
      for (int w = 0; w < L::kWidth; ++w) {
        const int r = part * L::kRows + r0 + w;
        if (r < kN) x[r % kN] = p.x[w];
      }
    }
  }
}

template <int kN, int kW, class S>
SIMT_FN void store_sides(const sides_of_group<S>& v, SIMT_SHARED S* staged,
                         SIMT_PRIVATE const S (&x)[kN]) {
  using L = panel_layout<S, kN, kW>;
  using P = steps::packet_of<S>;
  const simt::warp_group<32> warp;
  const simt::warp_group<kW> group;
  const int lane = group.lane();
  if (!v.apart) {
    SIMT_GLOBAL S* to = v.data + lane * v.column;
    SIMT_UNROLL
    for (int r = 0; r < kN; ++r, to += v.row) {
      if (lane < v.count) *to = x[r];
    }
    return;
  }
  SIMT_UNROLL
  for (int part = 0; part < L::kNarts; ++part) {
    warp.sync();
    SIMT_UNROLL
    for (int r0 = 0; r0 < L::kRows; r0 += L::kWidth) {
      if (part * L::kRows + r0 >= kN) continue;
      P p;
      SIMT_UNROLL
      for (int w = 0; w < L::kWidth; ++w) {
        const int r = part * L::kRows + r0 + w;
        p.x[w] = r < kN ? x[r % kN] : simt::zero<S>();
      }
      reinterpret_cast<SIMT_SHARED P*>(staged + lane * L::kSide)[r0 / L::kWidth] = p;
    }
    warp.sync();
    constexpr int kNackets = L::kRows / L::kWidth;
    if (v.packets) {
      SIMT_UNROLL
      for (int k0 = 0; k0 < kW * kNackets; k0 += kW) {
        const int c = (k0 + lane) / kNackets, at = (k0 + lane) % kNackets * L::kWidth;
        const int i = part * L::kRows + at;
        if (i < kN && c < v.count) {
          *reinterpret_cast<SIMT_GLOBAL P*>(v.data + (c * kN + i)) =
              packet_at(staged + c * L::kSide, at);
        }
      }
    } else {
      SIMT_NO_UNROLL
      for (int k = lane; k < kW * L::kRows; k += kW) {
        const int c = k / L::kRows, r = k % L::kRows, i = part * L::kRows + r;
        if (i < kN && c < v.count) v.data[i + c * v.column] = staged[c * L::kSide + r];
      }
    }
  }
}

template <int kN, class S>
SIMT_FN void reverse(SIMT_PRIVATE S (&x)[kN]) {
  SIMT_UNROLL
  for (int r = 0; r < kN / 2; ++r) {
    const S y = x[r];
    x[r] = x[kN - 1 - r];
    x[kN - 1 - r] = y;
  }
}

// kW right-hand sides of a matrix to a group. kTwice: A is a Cholesky factor. kBlocks: to be resident on
// a multiprocessor.
template <class S, int kN, int kW, bool kTwice, int kThreads, int kBlocks>
SIMT_KERNEL(kThreads, kBlocks)
kernel_panel(arguments args) {
  using L = panel_layout<S, kN, kW>;
  constexpr int kGroups = kThreads / kW, kOfWarp = 32 / kW;
  SIMT_SHARED_ARRAY(S, all, kGroups * L::kTotal);
  const int index = simt::thread_index() / kW, of_warp = index % kOfWarp;
  SIMT_SHARED S* tile = all + index * L::kTotal;
  SIMT_SHARED S* inverse = tile + L::kTriangle;
  SIMT_SHARED S* staged = tile + L::kUsed;
  const simt::warp_group<32> warp;
  const simt::warp_group<kW> group;
  const int columns = static_cast<int>(args.columns);
  const int parts = (columns - 1) / kW + 1;
  const bool unit = args.unit != 0, lower = args.lower != 0;
  const simt::int64 total = args.batch * parts;
  const simt::int64 stride = static_cast<simt::int64>(simt::block_count()) * kGroups;
  for (simt::int64 first =
           static_cast<simt::int64>(simt::block_index()) * kGroups + (index - of_warp);
       first < total; first += stride) {
    // lanes past the last part repeat it, and nothing of theirs is stored
    const bool stored = first + of_warp < total;
    const place at = place_of(stored ? first + of_warp : total - 1, parts);
    const int start = at.part * kW, left = columns - start < kW ? columns - start : kW;
    const int count = stored ? left : 0;
    const sides_of_group<S> b = sides_from<S>(args.b, at.matrix, start, kN, count);
    const sides_of_group<S> to = sides_from<S>(args.x, at.matrix, start, kN, count);
    const factor_view<S> f = factor_of<S>(args, at.matrix);
    S x[kN];
    warp.sync();
    load_panel<kN, kW>(f, tile);
    warp.sync();
    bool usable = true;
    SIMT_NO_UNROLL
    for (int k = group.lane(); k < kN; k += kW) {
      if (unit) continue;
      bool this_usable;
      inverse[k] = reciprocal(tile[packed_triangle<S, kN>::place(k, k)], this_usable);
      usable = usable && this_usable;
    }
    const bool plain = warp.all(usable);
    warp.sync();
    if (!plain) {
      if (group.lane() < count) solve_slowly<S, kTwice>(f, unit, lower, b, to, group.lane());
      continue;
    }
    load_sides<kN, kW>(b, staged, x);
    if (!lower) reverse(x);
    substitute_down(tile, inverse, unit, x);
    if (kTwice) {
      warp.sync();  // else the compiler keeps the triangle in registers, which do not hold it
      substitute_up(tile, inverse, unit, x);
    }
    if (!lower) reverse(x);
    store_sides<kN, kW>(to, staged, x);
  }
}

}  // namespace solve
