// SPDX-License-Identifier: Apache-2.0
// What an iteration on a tridiagonal or bidiagonal matrix keeps in shared memory: kRows real rows of an
// orthogonal factor to each lane of a warp (a complex row is two), and a copy of d and e of each lane's
// own, all at the lane's place, so that an index may be data: no bank conflict, no barrier.

namespace steps {

// Rows of a packet.
template <class T, int kRows>
SIMT_FN constexpr int rows_width() {
  return kRows % (16 / static_cast<int>(sizeof(T))) == 0 ? 16 / static_cast<int>(sizeof(T))
         : kRows % 2 == 0                                ? 2
                                                         : 1;
}

// Column i of all lanes' rows stands at i * kRows * 32: a packet of each lane, then the next packets.
template <int kRows, class T>
SIMT_FN void read_rows(SIMT_SHARED const T* column, int lane, SIMT_PRIVATE T (&x)[kRows]) {
  constexpr int kWidth = rows_width<T, kRows>();
  using P = simt::packet<T, kWidth>;
  SIMT_SHARED const P* from = reinterpret_cast<SIMT_SHARED const P*>(column);
  SIMT_UNROLL
  for (int k = 0; k < kRows / kWidth; ++k) {
    const P p = from[k * 32 + lane];
    SIMT_UNROLL
    for (int w = 0; w < kWidth; ++w) x[k * kWidth + w] = p.x[w];
  }
}
template <int kRows, class T>
SIMT_FN void write_rows(SIMT_SHARED T* column, int lane, SIMT_PRIVATE const T (&x)[kRows]) {
  constexpr int kWidth = rows_width<T, kRows>();
  using P = simt::packet<T, kWidth>;
  SIMT_SHARED P* to = reinterpret_cast<SIMT_SHARED P*>(column);
  SIMT_UNROLL
  for (int k = 0; k < kRows / kWidth; ++k) {
    P p;
    SIMT_UNROLL
    for (int w = 0; w < kWidth; ++w) p.x[w] = x[k * kWidth + w];
    to[k * 32 + lane] = p;
  }
}

// A factor in device memory, of n rows: its entry (i, j) is at data[i * row + j * column], in T.
template <class S>
struct factor_rows {
  using T = simt::real_of<S>;
  SIMT_GLOBAL T* data;
  simt::int64 row, column;
  int n;
  bool packets;  // a lane's packets are whole and aligned
  bool conjugate;

  static constexpr int kParts = simt::traits<S>::kComplex ? 2 : 1;

  SIMT_FN simt::int64 place(int real_row, int j) const {
    return (real_row / kParts) * row + j * column + real_row % kParts;
  }
};
// `packed`: rows of a column are adjacent, and columns follow each other.
template <class S, int kRows>
SIMT_FN factor_rows<S> make_factor_rows(const view& x, simt::int64 matrix, simt::int64 row,
                                        simt::int64 column, int n, bool packed, bool conjugate) {
  using T = simt::real_of<S>;
  constexpr int kParts = factor_rows<S>::kParts, kWidth = rows_width<T, kRows>();
  SIMT_GLOBAL T* data = reinterpret_cast<SIMT_GLOBAL T*>(matrix_of<S>(x, matrix));
  return {data,
          row * kParts,
          column * kParts,
          n,
          packed && n * kParts % kWidth == 0,
          simt::traits<S>::kComplex && conjugate};
}

// Column j: the kRows real rows from `first` on. Rows past the last are zero, and not written.
template <int kRows, class S>
SIMT_FN void read_factor(const factor_rows<S>& x, int j, int first,
                         SIMT_PRIVATE simt::real_of<S> (&y)[kRows]) {
  using T = simt::real_of<S>;
  constexpr int kWidth = rows_width<T, kRows>();
  using P = simt::packet<T, kWidth>;
  const int rows = x.n * factor_rows<S>::kParts;
  SIMT_UNROLL
  for (int k = 0; k < kRows; k += kWidth) {
    P p;
    SIMT_UNROLL
    for (int w = 0; w < kWidth; ++w) p.x[w] = simt::constant<T>(0.0f);
    if (x.packets && first + k < rows) {
      p = *reinterpret_cast<SIMT_GLOBAL const P*>(x.data + j * x.column + first + k);
    }
    SIMT_UNROLL
    for (int w = 0; w < kWidth; ++w) {
      if (!x.packets && first + k + w < rows) p.x[w] = x.data[x.place(first + k + w, j)];
      const bool turned = x.conjugate && (first + k + w) % 2 != 0;
      y[k + w] = turned ? -p.x[w] : p.x[w];
    }
  }
}
template <int kRows, class S>
SIMT_FN void write_factor(const factor_rows<S>& x, int j, int first,
                          SIMT_PRIVATE const simt::real_of<S> (&y)[kRows]) {
  using T = simt::real_of<S>;
  constexpr int kWidth = rows_width<T, kRows>();
  using P = simt::packet<T, kWidth>;
  const int rows = x.n * factor_rows<S>::kParts;
  SIMT_UNROLL
  for (int k = 0; k < kRows; k += kWidth) {
    P p;
    SIMT_UNROLL
    for (int w = 0; w < kWidth; ++w) {
      const bool turned = x.conjugate && (first + k + w) % 2 != 0;
      p.x[w] = turned ? -y[k + w] : y[k + w];
    }
    if (x.packets && first + k < rows) {
      *reinterpret_cast<SIMT_GLOBAL P*>(x.data + j * x.column + first + k) = p;
    }
    SIMT_UNROLL
    for (int w = 0; w < kWidth; ++w) {
      if (!x.packets && first + k + w < rows) x.data[x.place(first + k + w, j)] = p.x[w];
    }
  }
}

}  // namespace steps
