// SPDX-License-Identifier: Apache-2.0
// svd by one-sided Jacobi, one matrix per thread (or lane).
// Method: rotations from the right make the columns of A orthogonal (Hestenes 1958); a pair is
// turned while the cosine of its angle is above sqrt(10 + n / 8) u, which keeps small singular
// values of B D, B well conditioned and D diagonal, accurate relative to themselves (Demmel and
// Veselic 1992; LAPACK gesvj). Storage: n x n, element (i, j) at a[j * ld + i]. Cost: n^2 / 2
// rotations of 9 n operations a sweep, 5 to 10 sweeps.

namespace svd {

// The smallest squared norm that is told from zero. Products of two of them, and squares of ratios
// of norms, stay in range after the factor of norm_scale().
template <class T>
SIMT_FN T smallest_square() {
  const T a = simt::constant<T>(1.2924697071141057e-26f);  // 2^-86
  const T b = simt::constant<T>(7.888609052210118e-31f);   // 2^-100
  return simt::is_double<T>() ? (b * b) * (b * b) : a;
}
template <class T>
SIMT_FN T norm_scale() {
  return simt::constant<T>(1099511627776.0f);  // 2^40
}

// Columns p, q -> (c p - conj(s) q, s p + c q), orthogonal afterwards, in Rutishauser's form with
// t = s / (1 + c): what a small angle adds is rounded, not the columns themselves, so that many
// small rotations keep the norms. `shift` goes from the squared norm of p to that of q.
template <class S>
struct plane_rotation {
  S s, t;
  simt::real_of<S> shift;
  simt::mask_of<S> active;  // elsewhere the identity: s = t = 0
};
template <class S>
SIMT_FN void turn(SIMT_PRIVATE S& p, SIMT_PRIVATE S& q, const plane_rotation<S>& r) {
  const S x = p, y = q;
  p = simt::fnma_conj(simt::fma(r.t, x, y), r.s, x);
  q = simt::fma(r.s, simt::fnma_conj(y, r.t, x), y);
}

// alpha, beta: squared norms of p and q; gamma = p^H q; limit: the square of the cosine that counts
// as zero. Everything is divided by the norms of both columns first, so that nothing under- or
// overflows.
template <class S>
SIMT_FN plane_rotation<S> orthogonalising_rotation(simt::real_of<S> alpha, simt::real_of<S> beta,
                                                   S gamma, simt::real_of<S> limit) {
  using T = simt::real_of<S>;
  const T zero = simt::constant<T>(0.0f), one = simt::constant<T>(1.0f);
  const T smallest = smallest_square<T>(), scale = norm_scale<T>();
  const simt::mask_of<T> measurable = simt::mask_and(alpha >= smallest, beta >= smallest);
  const T a = alpha * scale, b = beta * scale;
  const T inverse = simt::rsqrt(simt::select(measurable, a * b, one));
  const S cosine = simt::scale(scale * inverse, gamma);
  const T square = simt::norm2(cosine, zero);
  plane_rotation<S> r;
  r.active = simt::mask_and(measurable, square > limit);
  const T d = (b - a) * inverse;
  const T h = simt::select(r.active, simt::fma(simt::constant<T>(4.0f), square, d * d), one);
  // cos(2 t) = |d| y, so that c^2 and s follow from two reciprocal roots
  const T y = simt::rsqrt(h), half = simt::constant<T>(0.5f);
  const T c2 = simt::fma(half * simt::abs(d), y, half);
  const T k = simt::rsqrt(c2);
  const T w = simt::copysign(y * k, d);  // s / cosine
  r.s = simt::select(r.active, simt::scale(w, cosine), simt::zero<S>());
  r.t = simt::scale(one / simt::fma(c2, k, one), r.s);
  const T both = simt::real(simt::fma_conj(cosine, gamma, simt::zero<S>()));
  r.shift = simt::select(r.active, w * k * both, zero);
  return r;
}

// x^H y over m entries, in four interleaved partial sums (fixed order).
template <class S>
SIMT_FN S dot_columns(SIMT_PRIVATE const S* x, SIMT_PRIVATE const S* y, int m) {
  S s0 = simt::zero<S>(), s1 = s0, s2 = s0, s3 = s0;
  int i = 0;
  for (; i + 4 <= m; i += 4) {
    s0 = simt::fma_conj(x[i], y[i], s0);
    s1 = simt::fma_conj(x[i + 1], y[i + 1], s1);
    s2 = simt::fma_conj(x[i + 2], y[i + 2], s2);
    s3 = simt::fma_conj(x[i + 3], y[i + 3], s3);
  }
  for (; i < m; ++i) s0 = simt::fma_conj(x[i], y[i], s0);
  return (s0 + s1) + (s2 + s3);
}

template <class S>
SIMT_FN void turn_pair(SIMT_PRIVATE S* p, SIMT_PRIVATE S* q, const plane_rotation<S>& r, int m) {
  for (int i = 0; i < m; ++i) turn(p[i], q[i], r);
}

// The squared cosine up to which two columns count as orthogonal. Their own rounding and that of
// the dot product leave up to about 2 u, whatever n: at sqrt(n) u a few matrices in 10,000 of order
// 2 never come to rest. What is left is U's loss of orthogonality: at sqrt(n + 8) u it was 35
// sqrt(n) u in the 1-norm for n = 64.
template <class T>
SIMT_FN T jacobi_limit(int n) {
  const T u = simt::constant<T>(0.5f) * simt::eps<T>();
  return simt::constant<T>(10.0f + 0.125f * static_cast<float>(n)) * u * u;
}

// One sweep over all pairs. norms: n squared norms, exact at the start. Returns the lanes that
// turned any pair.
template <class S>
SIMT_STEP simt::mask_of<S> jacobi_sweep(int n, SIMT_PRIVATE S* a, int ld, SIMT_PRIVATE S* v,
                                        int ldv, SIMT_PRIVATE simt::real_of<S>* norms) {
  using T = simt::real_of<S>;
  const T limit = jacobi_limit<T>(n);
  simt::mask_of<T> turned = simt::mask_all<T>(false);
  for (int p = 0; p + 1 < n; ++p) {
    for (int q = p + 1; q < n; ++q) {
      SIMT_PRIVATE S* x = a + p * ld;
      SIMT_PRIVATE S* y = a + q * ld;
      const plane_rotation<S> r =
          orthogonalising_rotation(norms[p], norms[q], dot_columns(x, y, n), limit);
      if (!simt::any(r.active)) continue;
      turned = simt::mask_or(turned, r.active);
      norms[p] = norms[p] - r.shift;
      norms[q] = norms[q] + r.shift;
      turn_pair(x, y, r, n);
      if (v != nullptr) turn_pair(v + p * ldv, v + q * ldv, r, n);
    }
  }
  return turned;
}

// The row of u that is farthest from the span of its columns: per lane, the first one with the
// smallest norm, as a number.
template <class S>
SIMT_FN simt::real_of<S> farthest_row(int m, int n, SIMT_PRIVATE const S* u, int ld) {
  using T = simt::real_of<S>;
  T best = simt::constant<T>(2.0f), row = simt::constant<T>(0.0f);
  for (int i = 0; i < m; ++i) {
    T sum = simt::constant<T>(0.0f);
    for (int j = 0; j < n; ++j) sum = simt::norm2(u[j * ld + i], sum);
    const simt::mask_of<T> better = sum < best;
    best = simt::select(better, sum, best);
    row = simt::select(better, simt::constant<T>(static_cast<float>(i)), row);
  }
  return row;
}

// Replaces the columns of u that are zero by unit vectors orthogonal to all others: a unit vector,
// orthogonalised twice (modified Gram-Schmidt). x: m entries of scratch.
template <class S>
SIMT_STEP void complete_columns(int m, int n, SIMT_PRIVATE S* u, int ld, SIMT_PRIVATE S* x) {
  using T = simt::real_of<S>;
  const T zero = simt::constant<T>(0.0f), one = simt::constant<T>(1.0f);
  for (int j = 0; j < n; ++j) {
    SIMT_PRIVATE S* column = u + j * ld;
    const simt::mask_of<T> empty = steps::sum_of_squares(column, 0, m) == zero;
    if (!simt::any(empty)) continue;
    const T row = farthest_row(m, n, u, ld);
    for (int i = 0; i < m; ++i) {
      const simt::mask_of<T> here = row == simt::constant<T>(static_cast<float>(i));
      x[i] = simt::from_real<S>(simt::select(here, one, zero));
    }
    for (int pass = 0; pass < 2; ++pass) {
      for (int k = 0; k < n; ++k) {
        const S h = dot_columns(u + k * ld, x, m);
        for (int i = 0; i < m; ++i) x[i] = simt::fnma(u[k * ld + i], h, x[i]);
      }
    }
    const T h = steps::sum_of_squares(x, 0, m);
    // a lane whose column is not empty may have nothing left
    const T scale = one / simt::sqrt(simt::select(empty, h, one));
    for (int i = 0; i < m; ++i) {
      column[i] = simt::select(empty, simt::scale(scale, x[i]), column[i]);
    }
  }
}

// Columns of a divided by their norms, which go to d; one too small to be told from zero becomes
// zero and is completed.
template <class S>
SIMT_STEP void normalise_columns(int n, SIMT_PRIVATE S* a, int ld, SIMT_PRIVATE simt::real_of<S>* d,
                                 bool want_vectors, SIMT_PRIVATE S* x) {
  using T = simt::real_of<S>;
  const T zero = simt::constant<T>(0.0f), one = simt::constant<T>(1.0f);
  simt::mask_of<T> incomplete = simt::mask_all<T>(false);
  for (int j = 0; j < n; ++j) {
    SIMT_PRIVATE S* column = a + j * ld;
    const T square = steps::sum_of_squares(column, 0, n);
    const simt::mask_of<T> empty = simt::mask_not(square >= smallest_square<T>());
    d[j] = simt::sqrt(square);
    if (!want_vectors) continue;
    incomplete = simt::mask_or(incomplete, empty);
    const T scale = simt::select(empty, zero, one / simt::select(empty, one, d[j]));
    for (int i = 0; i < n; ++i) column[i] = simt::scale(scale, column[i]);
  }
  if (simt::any(incomplete)) complete_columns(n, n, a, ld, x);
}

// A = U diag(d) V^H, d >= 0 in no order. a: A, then U. v null: values only. x: n entries of
// scratch, norms: n. Returns the lanes that converged.
template <class S>
SIMT_STEP simt::mask_of<S> jacobi(int n, SIMT_PRIVATE S* a, int ld, SIMT_PRIVATE S* v, int ldv,
                                  SIMT_PRIVATE simt::real_of<S>* d, SIMT_PRIVATE S* x,
                                  SIMT_PRIVATE simt::real_of<S>* norms) {
  using T = simt::real_of<S>;
  const S one = simt::from_real<S>(simt::constant<T>(1.0f));
  if (v != nullptr) {
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < n; ++i) v[j * ldv + i] = i == j ? one : simt::zero<S>();
    }
  }
  simt::mask_of<T> turned = simt::mask_all<T>(true);
  // 5 to 10 as a rule; rows graded over d decades need about d.
  const int most = 400;
  for (int sweep = 0; sweep < most && simt::any(turned); ++sweep) {
    for (int j = 0; j < n; ++j) norms[j] = steps::sum_of_squares(a + j * ld, 0, n);
    turned = jacobi_sweep(n, a, ld, v, ldv, norms);
  }
  normalise_columns(n, a, ld, d, v != nullptr, x);
  return simt::mask_not(turned);
}

}  // namespace svd
