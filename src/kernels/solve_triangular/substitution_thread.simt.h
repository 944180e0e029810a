// SPDX-License-Identifier: Apache-2.0
// Triangular systems by substitution, one matrix per thread (or lane).
// Method: tiles of rows and right-hand sides held in registers (Golub and Van Loan, 3.1; BLAS trsm).
// What comes before is subtracted row after row, so that neither the tile's order nor the number of
// right-hand sides changes a bit. A row is divided by its diagonal entry by way of a reciprocal
// where that is a normal number, and truly elsewhere: a zero gives Inf, as IEEE arithmetic has it.
// Cost: n^2 / 2 fused multiply-adds and n products a right-hand side.

namespace solve {

// A triangular factor in memory: element (i, k), k <= i, at data[i * row + k * col], conjugated with
// kConjugate. An upper triangle is a lower one whose rows and columns are counted from the end, and a
// transpose one whose strides are exchanged.
template <class S>
struct triangle {
  SIMT_PRIVATE const S* data;
  int row, col;
  bool unit;  // the diagonal counts as ones
};
// Right-hand sides, then the solution: element (i, c) at data[i * row + c * col].
template <class S>
struct sides {
  SIMT_PRIVATE S* data;
  int row, col;
};

template <class S>
struct tile_order {
  static constexpr int value = simt::traits<S>::kComplex ? 2 : 4;
};

template <bool kConjugate, class S>
SIMT_FN S element(const triangle<S>& a, int i, int k) {
  const S x = a.data[i * a.row + k * a.col];
  return kConjugate ? simt::conj(x) : x;
}

// a / b, correctly rounded for real numbers.
template <class T>
SIMT_FN T quotient(T a, T b) {
  return a / b;
}
// Of complex numbers, b's larger part is brought into [1, 2) first, so that its square is a normal number.
template <class T>
SIMT_FN simt::complex<T> quotient(simt::complex<T> a, simt::complex<T> b) {
  const T zero = simt::constant<T>(0.0f), one = simt::constant<T>(1.0f);
  const T largest = simt::max_magnitude(simt::max_magnitude(zero, b.re), b.im);
  const simt::mask_of<T> vanishes = largest == zero;
  const simt::pow2_scale<T> s =
      simt::make_pow2(-simt::exponent(simt::select(simt::is_finite(largest), largest, one)));
  const simt::complex<T> c = simt::scale_pow2(b, s);
  const simt::complex<T> d = simt::conj(c);
  const T inverse = one / simt::norm2(c, zero);
  simt::complex<T> q = simt::scale_pow2(simt::scale(inverse, d * a), s);
  // by zero: each part by itself
  q.re = simt::select(vanishes, a.re / zero, q.re);
  q.im = simt::select(vanishes, a.im / zero, q.im);
  return q;
}

// 1 / b, and where it may stand for the division: b and its inverse far from both ends.
template <class T>
SIMT_FN T reciprocal(T b, SIMT_PRIVATE simt::mask_of<T>& usable) {
  const T magnitude = simt::abs(b);
  usable = simt::mask_and(
      magnitude >= simt::tiny<T>(),
      magnitude * (simt::constant<T>(4.0f) * simt::tiny<T>()) <= simt::constant<T>(1.0f));
  return simt::constant<T>(1.0f) / b;
}
template <class T>
SIMT_FN simt::complex<T> reciprocal(simt::complex<T> b, SIMT_PRIVATE simt::mask_of<T>& usable) {
  const T square = simt::norm2(b, simt::constant<T>(0.0f));
  const T least = simt::tiny<T>() * (simt::constant<T>(4.0f) / simt::eps<T>());
  usable = simt::mask_and(square >= least, square * least <= simt::constant<T>(1.0f));
  return simt::scale(simt::constant<T>(1.0f) / square, simt::conj(b));
}

// kRows rows from i on of kCols right-hand sides from c on: what lies above is known.
template <bool kConjugate, int kRows, int kCols, class S>
SIMT_FN void solve_tile(const triangle<S>& a, const sides<S>& x, int i, int c,
                        SIMT_PRIVATE const S (&inverse)[kRows],
                        SIMT_PRIVATE const simt::mask_of<S> (&usable)[kRows], bool all_usable) {
  S acc[kRows][kCols];
  SIMT_UNROLL
  for (int r = 0; r < kRows; ++r) {
    SIMT_UNROLL
    for (int q = 0; q < kCols; ++q) acc[r][q] = x.data[(i + r) * x.row + (c + q) * x.col];
  }
  for (int k = 0; k < i; ++k) {
    S left[kRows], right[kCols];
    SIMT_UNROLL
    for (int r = 0; r < kRows; ++r) left[r] = element<kConjugate>(a, i + r, k);
    SIMT_UNROLL
    for (int q = 0; q < kCols; ++q) right[q] = x.data[k * x.row + (c + q) * x.col];
    SIMT_UNROLL
    for (int r = 0; r < kRows; ++r) {
      SIMT_UNROLL
      for (int q = 0; q < kCols; ++q) acc[r][q] = simt::fnma(left[r], right[q], acc[r][q]);
    }
  }
  SIMT_UNROLL
  for (int r = 0; r < kRows; ++r) {
    SIMT_UNROLL
    for (int k = 0; k < r; ++k) {
      const S left = element<kConjugate>(a, i + r, i + k);
      SIMT_UNROLL
      for (int q = 0; q < kCols; ++q) acc[r][q] = simt::fnma(left, acc[k][q], acc[r][q]);
    }
    if (!a.unit) {
      SIMT_UNROLL
      for (int q = 0; q < kCols; ++q) {
        const S product = inverse[r] * acc[r][q];
        if (all_usable) {
          acc[r][q] = product;
        } else {
          const S divided = quotient(acc[r][q], element<kConjugate>(a, i + r, i + r));
          acc[r][q] = simt::select(usable[r], product, divided);
        }
      }
    }
    SIMT_UNROLL
    for (int q = 0; q < kCols; ++q) x.data[(i + r) * x.row + (c + q) * x.col] = acc[r][q];
  }
}

template <bool kConjugate, int kRows, class S>
SIMT_FN void solve_rows(int columns, const triangle<S>& a, const sides<S>& x, int i) {
  constexpr int kCols = tile_order<S>::value;
  S inverse[kRows];
  simt::mask_of<S> usable[kRows];
  bool all_usable = true;
  SIMT_UNROLL
  for (int r = 0; r < kRows; ++r) {
    inverse[r] = simt::zero<S>();
    usable[r] = simt::mask_all<simt::real_of<S>>(true);
    if (a.unit) continue;
    inverse[r] = reciprocal(element<kConjugate>(a, i + r, i + r), usable[r]);
    all_usable = all_usable && simt::all(usable[r]);
  }
  int c = 0;
  for (; c + kCols <= columns; c += kCols) {
    solve_tile<kConjugate, kRows, kCols>(a, x, i, c, inverse, usable, all_usable);
  }
  for (; c < columns; ++c) {
    solve_tile<kConjugate, kRows, 1>(a, x, i, c, inverse, usable, all_usable);
  }
}

// A X = B for a lower triangle A of order n: x holds B, then X.
template <bool kConjugate, class S>
SIMT_STEP void substitute(int n, int columns, const triangle<S>& a, const sides<S>& x) {
  constexpr int kRows = tile_order<S>::value;
  int i = 0;
  for (; i + kRows <= n; i += kRows) solve_rows<kConjugate, kRows>(columns, a, x, i);
  for (; i < n; ++i) solve_rows<kConjugate, 1>(columns, a, x, i);
}

// The same matrix and right-hand sides counted from the end: an upper triangle becomes a lower one.
template <class S>
SIMT_FN triangle<S> reversed(const triangle<S>& a, int n) {
  triangle<S> r = a;
  r.data = a.data + (n - 1) * (a.row + a.col);
  r.row = -a.row;
  r.col = -a.col;
  return r;
}
template <class S>
SIMT_FN sides<S> reversed(const sides<S>& x, int n) {
  sides<S> r = x;
  r.data = x.data + (n - 1) * x.row;
  r.row = -x.row;
  return r;
}

// A X = B or conj(A) X = B, A lower or upper.
template <class S>
SIMT_FN void solve_triangular(int n, int columns, const triangle<S>& a, bool lower, bool conjugate,
                              const sides<S>& x) {
  const triangle<S> t = lower ? a : reversed(a, n);
  const sides<S> y = lower ? x : reversed(x, n);
  if (simt::traits<S>::kComplex && conjugate) {
    substitute<true>(n, columns, t, y);
  } else {
    substitute<false>(n, columns, t, y);
  }
}

}  // namespace solve
