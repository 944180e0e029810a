// SPDX-License-Identifier: Apache-2.0
// svd by Householder bidiagonalisation and implicit QR, one matrix per thread (or lane).
// Method: Householder reduction to a real upper bidiagonal matrix (Golub and Kahan 1965; LAPACK
// gebd2, ungbr), then the implicit QR iteration on it with Demmel and Kahan's zero shift (1990;
// LAPACK bdsqr) and one test: an off-diagonal entry below 4 u times the norm is zero.
// Storage: m x n with m >= n, element (i, j) at a[j * ld + i]. Cost for m = n: 4/3 n^3 fused
// multiply-adds to reduce and as many to form U and V, then about n^2 pairs of rotations of 4 n
// operations each. A complex matrix is reduced to a real bidiagonal one, so the iteration is real.

namespace svd {

// x_i = sum over j0 <= j < n of A(i, j) w_j for first <= i < m. Four columns at a time.
template <class S>
SIMT_STEP void multiply_rows(SIMT_PRIVATE const S* a, int ld, SIMT_PRIVATE const S* w,
                             SIMT_PRIVATE S* x, int first, int m, int j0, int n) {
  for (int i = first; i < m; ++i) x[i] = simt::zero<S>();
  int j = j0;
  for (; j + 4 <= n; j += 4) {
    SIMT_PRIVATE const S* a0 = a + j * ld;
    SIMT_PRIVATE const S* a1 = a0 + ld;
    SIMT_PRIVATE const S* a2 = a1 + ld;
    SIMT_PRIVATE const S* a3 = a2 + ld;
    const S w0 = w[j], w1 = w[j + 1], w2 = w[j + 2], w3 = w[j + 3];
    for (int i = first; i < m; ++i) {
      const S y = simt::fma(a1[i], w1, simt::fma(a0[i], w0, x[i]));
      x[i] = simt::fma(a3[i], w3, simt::fma(a2[i], w2, y));
    }
  }
  for (; j < n; ++j) {
    SIMT_PRIVATE const S* a0 = a + j * ld;
    const S w0 = w[j];
    for (int i = first; i < m; ++i) x[i] = simt::fma(a0[i], w0, x[i]);
  }
}

// A(i, j) -= x_i conj(w_j) for first <= i < m and j0 <= j < n.
template <class S>
SIMT_STEP void subtract_outer(SIMT_PRIVATE S* a, int ld, SIMT_PRIVATE const S* x,
                              SIMT_PRIVATE const S* w, int first, int m, int j0, int n) {
  int j = j0;
  for (; j + 4 <= n; j += 4) {
    SIMT_PRIVATE S* a0 = a + j * ld;
    SIMT_PRIVATE S* a1 = a0 + ld;
    SIMT_PRIVATE S* a2 = a1 + ld;
    SIMT_PRIVATE S* a3 = a2 + ld;
    const S w0 = w[j], w1 = w[j + 1], w2 = w[j + 2], w3 = w[j + 3];
    for (int i = first; i < m; ++i) {
      const S y = x[i];
      a0[i] = simt::fnma_conj(y, w0, a0[i]);
      a1[i] = simt::fnma_conj(y, w1, a1[i]);
      a2[i] = simt::fnma_conj(y, w2, a2[i]);
      a3[i] = simt::fnma_conj(y, w3, a3[i]);
    }
  }
  for (; j < n; ++j) {
    SIMT_PRIVATE S* a0 = a + j * ld;
    const S w0 = w[j];
    for (int i = first; i < m; ++i) a0[i] = simt::fnma_conj(x[i], w0, a0[i]);
  }
}

// A = U B V^H with a real upper bidiagonal B: d and e. The left reflectors stay in the columns of
// a, their factors in tau_u; the right ones, where v is not null, go to its columns (reflector k to
// rows and column k + 1 ..), their factors to tau_v. x: m entries of scratch, w: n.
template <class S>
SIMT_STEP void bidiagonalise(int m, int n, SIMT_PRIVATE S* a, int ld, SIMT_PRIVATE S* v, int ldv,
                             SIMT_PRIVATE S* tau_u, SIMT_PRIVATE S* tau_v, SIMT_PRIVATE S* x,
                             SIMT_PRIVATE S* w, SIMT_PRIVATE simt::real_of<S>* d,
                             SIMT_PRIVATE simt::real_of<S>* e) {
  using T = simt::real_of<S>;
  for (int k = 0; k < n; ++k) {
    SIMT_PRIVATE S* column = a + k * ld;
    const steps::reflector<S> left =
        steps::make_reflector(column[k], steps::sum_of_squares(column, k + 1, m));
    d[k] = left.beta;
    tau_u[k] = left.tau;
    column[k] = left.head;
    e[k] = simt::constant<T>(0.0f);
    if (k + 1 == n) break;
    steps::apply_reflector(column, simt::conj(left.tau), a, ld, k, m, k + 1, n);
    // The conjugate of row k is what the right reflector maps to a multiple of e_1.
    SIMT_PRIVATE S* row = v != nullptr ? v + (k + 1) * ldv : w;
    for (int j = k + 1; j < n; ++j) row[j] = simt::conj(a[j * ld + k]);
    const steps::reflector<S> right =
        steps::make_reflector(row[k + 1], steps::sum_of_squares(row, k + 2, n));
    e[k] = right.beta;
    tau_v[k] = right.tau;
    row[k + 1] = right.head;
    multiply_rows(a, ld, row, x, k + 1, m, k + 1, n);
    for (int i = k + 1; i < m; ++i) x[i] = right.tau * x[i];
    subtract_outer(a, ld, x, row, k + 1, m, k + 1, n);
  }
}

// V from the right reflectors: the first row and column are those of the identity.
template <class S>
SIMT_STEP void form_v(int n, SIMT_PRIVATE S* v, int ldv, SIMT_PRIVATE const S* tau) {
  using T = simt::real_of<S>;
  v[0] = simt::from_real<S>(simt::constant<T>(1.0f));
  for (int i = 1; i < n; ++i) v[i] = v[i * ldv] = simt::zero<S>();
  qr::form_q(n - 1, n - 1, n - 1, v + ldv + 1, ldv, tau);
}

// Where each lane's sweep works: the first block of the bidiagonal matrix that is not diagonal yet.
template <class T>
struct block {
  T first, last;              // rows first..last, as numbers
  T d_first, e_first;         // d[first], e[first]
  T d_above, e_last, d_last;  // d[last - 1], e[last - 1], d[last]
  simt::mask_of<T> singular;  // some d of the block is negligible
  simt::mask_of<T> busy;      // false: the lane is done
};

// Looks from `from`, below which every lane is done; [low, high] gets the hull of all lanes'
// blocks.
template <class T>
SIMT_STEP block<T> find_block(int n, SIMT_PRIVATE const T* d, SIMT_PRIVATE const T* e, T tol,
                              int from, SIMT_PRIVATE int* low, SIMT_PRIVATE int* high) {
  block<T> b;
  const T end = simt::constant<T>(static_cast<float>(n)), one = simt::constant<T>(1.0f);
  b.first = b.last = end;
  b.d_first = b.e_first = b.d_above = b.e_last = b.d_last = one;
  b.busy = b.singular = simt::mask_all<T>(false);
  simt::mask_of<T> open = b.busy;  // inside the block
  *low = n;
  *high = 0;
  for (int i = from; i < n; ++i) {
    const simt::mask_of<T> large = simt::abs(e[i]) > tol;
    const simt::mask_of<T> begins = simt::mask_and(large, simt::mask_not(b.busy));
    const simt::mask_of<T> ends = simt::mask_and(open, simt::mask_not(large));
    const T at = simt::constant<T>(static_cast<float>(i));
    if (simt::any(ends)) {
      *high = i;
      b.last = simt::select(ends, at, b.last);
      b.d_above = simt::select(ends, d[i - 1], b.d_above);
      b.e_last = simt::select(ends, e[i - 1], b.e_last);
      b.d_last = simt::select(ends, d[i], b.d_last);
    }
    if (simt::any(begins)) {
      if (*low == n) *low = i;
      b.first = simt::select(begins, at, b.first);
      b.d_first = simt::select(begins, d[i], b.d_first);
      b.e_first = simt::select(begins, e[i], b.e_first);
      b.busy = simt::mask_or(b.busy, begins);
    }
    open = simt::mask_or(open, begins);
    b.singular = simt::mask_or(b.singular, simt::mask_and(open, simt::abs(d[i]) <= tol));
    open = simt::mask_and(open, large);
    if (*low < n && i > *low && !simt::any(open) && simt::all(b.busy)) break;
  }
  return b;
}

// The smaller singular value of [f g; 0 h] (LAPACK las2); the larger of |f| and |h| is not zero.
template <class T>
SIMT_FN T smaller_singular_value(T f, T g, T h) {
  const T one = simt::constant<T>(1.0f);
  const T small = simt::min(simt::abs(f), simt::abs(h));
  const T large = simt::max(simt::abs(f), simt::abs(h));
  const T inverse = one / large;
  const T ratio = small * inverse;
  const T off = g * inverse;
  const T sum = one + ratio, difference = one - ratio;
  const T p = simt::sqrt(simt::fma(sum, sum, off * off));
  const T q = simt::sqrt(simt::fma(difference, difference, off * off));
  return (small + small) / (p + q);
}

// What the first rotation of a sweep is made of: it turns (f, e[first]) to (r, 0). Zero shift where
// B is singular or the shift would be lost against d[first]^2.
template <class T>
SIMT_FN T first_rotation(const block<T>& b) {
  const T one = simt::constant<T>(1.0f);
  const simt::mask_of<T> shifted = simt::mask_and(b.busy, simt::mask_not(b.singular));
  const T d0 = simt::select(shifted, b.d_first, one);
  const T above = simt::select(shifted, b.d_above, one);
  const T sigma = smaller_singular_value(above, b.e_last, b.d_last);
  const T ratio = sigma / d0;
  const T gap = simt::abs(d0) - sigma;
  // A gap of zero would only exchange the two columns, sweep after sweep, where values are equal up
  // to a few u: turn by 45 degrees there.
  const simt::mask_of<T> lost = gap == simt::constant<T>(0.0f);
  const T f = simt::select(lost, b.e_first, gap * (simt::copysign(one, d0) + ratio));
  const simt::mask_of<T> used = simt::mask_and(shifted, ratio * ratio > simt::eps<T>());
  return simt::select(used, f, b.d_first);
}

// Counts sweeps over the same block. Every tenth has no shift: where the values left are equally far
// from the shift (1.2e-4, 1 and sqrt(2) on the diagonal, 1 and 1.8e-5 beside it: all of them 1) the
// same two matrices would take turns for ever.
template <class T>
struct patience {
  T first, last, count;

  SIMT_FN patience() : first(none()), last(first), count(first) {}
  SIMT_FN static T none() { return simt::constant<T>(-1.0f); }
  SIMT_FN simt::mask_of<T> ends(const block<T>& b) {
    const T zero = simt::constant<T>(0.0f);
    const simt::mask_of<T> same = simt::mask_and(b.first == first, b.last == last);
    first = b.first;
    last = b.last;
    count = simt::select(same, count + simt::constant<T>(1.0f), zero);
    const simt::mask_of<T> over = count >= simt::constant<T>(9.0f);
    count = simt::select(over, zero, count);
    return over;
  }
};

// Below this a sum of squares counts as zero: entries of 2^-6 u and less, and squares of products
// of two entries that stay in range.
template <class T>
SIMT_FN T negligible_square() {
  const T a = simt::constant<T>(0.015625f) * simt::constant<T>(0.5f) * simt::eps<T>();
  return a * a;
}

// What a rotation is multiplied by from the right before the left one is made of it. The left one's
// squares are products of two small numbers: in float32 they would be flushed where neither is
// negligible.
template <class T>
struct lift {
  T factor, inverse;
};
template <class T>
SIMT_FN lift<T> lift_of(T square) {
  const T one = simt::constant<T>(1.0f);
  if (simt::is_double<T>()) return {one, one};
  const simt::mask_of<T> small = square < simt::constant<T>(9.3132257461547852e-10f);  // 2^-30
  return {simt::select(small, simt::constant<T>(32768.0f), one),
          simt::select(small, simt::constant<T>(3.0517578125e-5f), one)};
}

// The rotations of one sweep, for the columns i and i + 1 of U (left) and V (right).
template <class T>
struct sweep_rotations {
  SIMT_PRIVATE T* c_left;
  SIMT_PRIVATE T* s_left;
  SIMT_PRIVATE T* c_right;
  SIMT_PRIVATE T* s_right;
};

// One implicit QR sweep over each lane's block, from its first row down to its last. A lane that
// has nothing to do at a row gets the identity for it. Row i: the right rotation turns (f, g) to
// (r, 0), the left one what it made of column i of B. All that the left one needs is known up to
// the factor y = 1 / sqrt(f^2 + g^2), so that both reciprocal roots are found at once: the chain
// from row to row has one of them.
template <bool kVectors, class T>
SIMT_STEP void qr_sweep(SIMT_PRIVATE T* d, SIMT_PRIVATE T* e, const block<T>& b, int low, int high,
                        sweep_rotations<T> rotations) {
  const T zero = simt::constant<T>(0.0f), one = simt::constant<T>(1.0f);
  const T f_first = first_rotation(b);
  const T smallest = negligible_square<T>();
  T f = zero, g = zero, d_here = zero, e_here = zero;
  for (int i = low; i < high; ++i) {
    const T at = simt::constant<T>(static_cast<float>(i));
    const T next = d[i + 1], e_next = e[i + 1];
    const simt::mask_of<T> active = simt::mask_and(at >= b.first, at < b.last);
    const simt::mask_of<T> starts = at == b.first;
    f = simt::select(starts, f_first, f);
    g = simt::select(starts, b.e_first, g);
    d_here = simt::select(starts, b.d_first, d_here);
    e_here = simt::select(starts, b.e_first, e_here);
    // right rotation: c = f y, s = g y
    T h = simt::fma(f, f, g * g);
    const simt::mask_of<T> right_vanishes = simt::mask_not(h >= smallest);
    const T kept = f;
    h = simt::select(right_vanishes, one, h);
    const lift<T> up = lift_of(h);
    f = simt::select(right_vanishes, one, f * up.factor);
    g = simt::select(right_vanishes, zero, g * up.factor);
    const T root = simt::rsqrt(h);
    const T y = root * up.inverse;
    if (i > low) {
      const simt::mask_of<T> inner = simt::mask_and(active, simt::mask_not(starts));
      const T r = simt::select(right_vanishes, kept, h * root);
      e[i - 1] = simt::select(inner, r, e[i - 1]);
    }
    // d[i], e[i], the bulge at (i + 1, i) and d[i + 1], all divided by y
    const T p = simt::fma(g, e_here, f * d_here);
    const T x = simt::fnma(g, d_here, f * e_here);
    const T q = g * next;
    const T w = f * next;
    // left rotation: c = p z, s = q z
    T k = simt::fma(p, p, q * q);
    const simt::mask_of<T> left_vanishes = simt::mask_not(k >= steps::negligible_square<T>());
    k = simt::select(left_vanishes, one, k);
    const T z = simt::rsqrt(k);
    const T c = simt::select(left_vanishes, one, p * z);
    const T s = simt::select(left_vanishes, zero, q * z);
    d[i] = simt::select(active, simt::select(left_vanishes, p, k * z) * y, d[i]);
    const T yz = y * z;
    const T e_turned = simt::fma(q, w, p * x);
    const T d_turned = simt::fnma(q, x, p * w);
    const T cy = f * y, sy = g * y;
    f = simt::select(left_vanishes, x * y, e_turned * yz);
    d_here = simt::select(left_vanishes, w * y, d_turned * yz);
    const simt::mask_of<T> ends =
        simt::mask_and(active, simt::constant<T>(static_cast<float>(i + 1)) == b.last);
    e[i] = simt::select(ends, f, e[i]);
    d[i + 1] = simt::select(ends, d_here, next);
    g = s * e_next;
    e_here = c * e_next;
    if (kVectors) {
      const steps::rotation<T> right = steps::normalised(cy, sy), left = steps::normalised(c, s);
      rotations.c_right[i] = simt::select(active, right.c, one);
      rotations.s_right[i] = simt::select(active, right.s, zero);
      rotations.c_left[i] = simt::select(active, left.c, one);
      rotations.s_left[i] = simt::select(active, left.s, zero);
    }
  }
}

// Sweeps whose rotations are kept before U and V are turned by all of them, block of rows by block
// of rows: a block stays in the first level of the cache.
SIMT_CONSTANT int kDelayed = 4;

template <class T>
struct delayed_sweeps {
  SIMT_PRIVATE T* storage;  // 4 kDelayed n
  int n, count;
  int low[kDelayed], high[kDelayed];

  SIMT_FN sweep_rotations<T> rotations(int sweep) const {
    SIMT_PRIVATE T* const first = storage + sweep * 4 * n;
    return {first, first + n, first + 2 * n, first + 3 * n};
  }
};

// Rows r .. r + kRows - 1 of columns low .. high turned by a sweep; the column that two rotations
// share stays in registers.
template <int kRows, class T>
SIMT_FN void rotate_rows(SIMT_PRIVATE T* v, int ld, SIMT_PRIVATE const T* c,
                         SIMT_PRIVATE const T* s, int low, int high) {
  T x[kRows];
  SIMT_UNROLL
  for (int r = 0; r < kRows; ++r) x[r] = v[low * ld + r];
  for (int i = low; i < high; ++i) {
    SIMT_PRIVATE T* here = v + i * ld;
    SIMT_PRIVATE const T* next = here + ld;
    const T ci = c[i], si = s[i];
    SIMT_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const T y = next[r];
      here[r] = simt::fma(si, y, ci * x[r]);
      x[r] = simt::fnma(si, x[r], ci * y);
    }
  }
  SIMT_UNROLL
  for (int r = 0; r < kRows; ++r) v[high * ld + r] = x[r];
}
template <int kRows, class T>
SIMT_STEP void rotate_block(SIMT_PRIVATE T* v, int ld, const delayed_sweeps<T>& sweeps, bool left) {
  for (int k = 0; k < sweeps.count; ++k) {
    const sweep_rotations<T> x = sweeps.rotations(k);
    rotate_rows<kRows>(v, ld, left ? x.c_left : x.c_right, left ? x.s_left : x.s_right,
                       sweeps.low[k], sweeps.high[k]);
  }
}

// All rows of U (left) or V; a complex matrix is one of twice as many real rows.
template <class T>
SIMT_STEP void rotate_columns(SIMT_PRIVATE T* v, int ld, int rows, const delayed_sweeps<T>& sweeps,
                              bool left) {
  int r = 0;
  for (; r + 8 <= rows; r += 8) rotate_block<8>(v + r, ld, sweeps, left);
  for (; r + 4 <= rows; r += 4) rotate_block<4>(v + r, ld, sweeps, left);
  for (; r < rows; ++r) rotate_block<1>(v + r, ld, sweeps, left);
}

// B = U diag(d) V^T applied to the columns of u and v (real rows; not touched without kVectors): d
// gets the singular values in no order, with signs. storage: 4 kDelayed n entries. Returns the
// lanes that converged.
template <bool kVectors, class T>
SIMT_STEP simt::mask_of<T> implicit_qr(int n, SIMT_PRIVATE T* d, SIMT_PRIVATE T* e,
                                       SIMT_PRIVATE T* u, int ldu, int rows_u, SIMT_PRIVATE T* v,
                                       int ldv, int rows_v, SIMT_PRIVATE T* storage) {
  T norm = simt::constant<T>(0.0f);
  for (int i = 0; i < n; ++i) norm = simt::max(norm, simt::abs(d[i]) + simt::abs(e[i]));
  // Two rotations a step leave rounding errors of 1 to 2 u times the norm in e.
  const T tol = norm * simt::constant<T>(2.0f) * simt::eps<T>();
  simt::mask_of<T> busy = simt::mask_all<T>(true);
  delayed_sweeps<T> delayed;
  delayed.storage = storage;
  delayed.n = n;
  delayed.count = 0;
  patience<T> waiting;
  int from = 0;
  const int most = 30 * n;
  for (int sweep = 0; sweep <= most; ++sweep) {
    int low = 0, high = 0;
    block<T> b = find_block(n, d, e, tol, from, &low, &high);
    busy = b.busy;
    b.singular = simt::mask_or(b.singular, waiting.ends(b));
    const bool last = !simt::any(busy) || sweep == most;
    if (kVectors && delayed.count > 0 && (last || delayed.count == kDelayed)) {
      rotate_columns(u, ldu, rows_u, delayed, true);
      rotate_columns(v, ldv, rows_v, delayed, false);
      delayed.count = 0;
    }
    if (last) break;
    from = low;
    qr_sweep<kVectors>(d, e, b, low, high, delayed.rotations(delayed.count));
    if (kVectors) {
      delayed.low[delayed.count] = low;
      delayed.high[delayed.count] = high;
      ++delayed.count;
    }
  }
  return simt::mask_not(busy);
}

// The sign of each value goes to its column of V.
template <class S>
SIMT_STEP void make_values_positive(int n, SIMT_PRIVATE simt::real_of<S>* d, SIMT_PRIVATE S* v,
                                    int ldv) {
  using T = simt::real_of<S>;
  const T one = simt::constant<T>(1.0f);
  for (int j = 0; j < n; ++j) {
    const T sign = simt::copysign(one, d[j]);
    d[j] = simt::abs(d[j]);
    if (v == nullptr) continue;
    for (int i = 0; i < n; ++i) v[j * ldv + i] = simt::scale(sign, v[j * ldv + i]);
  }
}

// Entries of S and of its real type that bidiagonal_qr() needs as scratch.
SIMT_FN int bidiagonal_qr_work(int m, int n) { return 3 * n + m; }
SIMT_FN int bidiagonal_qr_real_work(int n) { return (1 + 4 * kDelayed) * n; }

// Everything between load and store: A = U diag(d) V^H, d >= 0 in no order. a: A, then the first
// columns_u (n or m) columns of U. v null: values only.
template <class S>
SIMT_STEP simt::mask_of<S> bidiagonal_qr(int m, int n, SIMT_PRIVATE S* a, int ld, int columns_u,
                                         SIMT_PRIVATE S* v, int ldv,
                                         SIMT_PRIVATE simt::real_of<S>* d, SIMT_PRIVATE S* work,
                                         SIMT_PRIVATE simt::real_of<S>* real_work) {
  using T = simt::real_of<S>;
  constexpr int kParts = simt::traits<S>::kComplex ? 2 : 1;
  SIMT_PRIVATE S* tau_u = work;
  SIMT_PRIVATE S* tau_v = work + n;
  SIMT_PRIVATE T* e = real_work;
  SIMT_PRIVATE T* storage = real_work + n;
  bidiagonalise(m, n, a, ld, v, ldv, tau_u, tau_v, work + 3 * n, work + 2 * n, d, e);
  simt::mask_of<S> converged;
  if (v != nullptr) {
    qr::form_q(m, n, columns_u, a, ld, tau_u);
    form_v(n, v, ldv, tau_v);
    converged =
        implicit_qr<true>(n, d, e, reinterpret_cast<SIMT_PRIVATE T*>(a), ld * kParts, m * kParts,
                          reinterpret_cast<SIMT_PRIVATE T*>(v), ldv * kParts, n * kParts, storage);
  } else {
    SIMT_PRIVATE T* none = nullptr;
    converged = implicit_qr<false>(n, d, e, none, 0, 0, none, 0, 0, storage);
  }
  make_values_positive(n, d, v, ldv);
  return converged;
}

}  // namespace svd
