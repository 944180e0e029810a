// SPDX-License-Identifier: Apache-2.0
// eigh by Householder tridiagonalisation and implicit QL, one matrix per thread (or lane).
// Method: Householder reduction (LAPACK hetd2, ungtr) and the implicit QL iteration (Dubrulle, Martin
// and Wilkinson 1968; LAPACK steqr) with one test: an off-diagonal entry below 4 u times the norm of
// the tridiagonal matrix is zero. (At u, the vectors of a cluster are turned among each other by rotations
// that stand for nothing but rounding, and lose orthogonality.)
// Storage: element (i, j) at a[j * ld + i], the lower triangle alone. Cost: 4/3 n^3 fused
// multiply-adds to reduce and as many to form Q, then about n^2 rotations of 4 n operations.
// A Hermitian matrix is reduced to a real tridiagonal one, so the iteration is real.

namespace eigh {

// p_i = sum_j A(i, j) v_j for first <= i < n from the lower triangle of the trailing block. Four
// columns at a time: 8 multiply-adds for 6 loads and one store.
template <class S>
SIMT_STEP void hermitian_product(SIMT_PRIVATE const S* a, int ld, SIMT_PRIVATE const S* v,
                                 SIMT_PRIVATE S* p, int first, int n) {
  for (int i = first; i < n; ++i) p[i] = simt::zero<S>();
  int j = first;
  for (; j + 4 <= n; j += 4) {
    SIMT_PRIVATE const S* a0 = a + j * ld;
    SIMT_PRIVATE const S* a1 = a0 + ld;
    SIMT_PRIVATE const S* a2 = a1 + ld;
    SIMT_PRIVATE const S* a3 = a2 + ld;
    const S v0 = v[j], v1 = v[j + 1], v2 = v[j + 2], v3 = v[j + 3];
    S p0 = simt::fma(a0[j], v0, p[j]);
    S p1 = simt::fma(a1[j + 1], v1, simt::fma(a0[j + 1], v0, p[j + 1]));
    S p2 = simt::fma(a2[j + 2], v2, simt::fma(a1[j + 2], v1, simt::fma(a0[j + 2], v0, p[j + 2])));
    S p3 = simt::fma(
        a3[j + 3], v3,
        simt::fma(a2[j + 3], v2, simt::fma(a1[j + 3], v1, simt::fma(a0[j + 3], v0, p[j + 3]))));
    p0 = simt::fma_conj(a0[j + 1], v1, p0);
    p0 = simt::fma_conj(a0[j + 2], v2, p0);
    p0 = simt::fma_conj(a0[j + 3], v3, p0);
    p1 = simt::fma_conj(a1[j + 2], v2, p1);
    p1 = simt::fma_conj(a1[j + 3], v3, p1);
    p2 = simt::fma_conj(a2[j + 3], v3, p2);
    for (int i = j + 4; i < n; ++i) {
      const S x0 = a0[i], x1 = a1[i], x2 = a2[i], x3 = a3[i], y = v[i];
      const S q0 = simt::fma(x1, v1, simt::fma(x0, v0, p[i]));
      p0 = simt::fma_conj(x0, y, p0);
      p1 = simt::fma_conj(x1, y, p1);
      p2 = simt::fma_conj(x2, y, p2);
      p3 = simt::fma_conj(x3, y, p3);
      p[i] = simt::fma(x3, v3, simt::fma(x2, v2, q0));
    }
    p[j] = p0;
    p[j + 1] = p1;
    p[j + 2] = p2;
    p[j + 3] = p3;
  }
  for (; j < n; ++j) {
    SIMT_PRIVATE const S* a0 = a + j * ld;
    const S v0 = v[j];
    S p0 = simt::fma(a0[j], v0, p[j]);
    for (int i = j + 1; i < n; ++i) {
      p0 = simt::fma_conj(a0[i], v[i], p0);
      p[i] = simt::fma(a0[i], v0, p[i]);
    }
    p[j] = p0;
  }
}

// A <- A - v w^H - w v^H on the lower triangle of the trailing block (LAPACK her2).
template <class S>
SIMT_STEP void rank_two_update(SIMT_PRIVATE S* a, int ld, SIMT_PRIVATE const S* v,
                               SIMT_PRIVATE const S* w, int first, int n) {
  int j = first;
  for (; j + 4 <= n; j += 4) {
    SIMT_PRIVATE S* a0 = a + j * ld;
    SIMT_PRIVATE S* a1 = a0 + ld;
    SIMT_PRIVATE S* a2 = a1 + ld;
    SIMT_PRIVATE S* a3 = a2 + ld;
    const S v0 = v[j], v1 = v[j + 1], v2 = v[j + 2], v3 = v[j + 3];
    const S w0 = w[j], w1 = w[j + 1], w2 = w[j + 2], w3 = w[j + 3];
    // the triangle above the diagonal of the 4 x 4 block is written too, and never read
    for (int i = j; i < n; ++i) {
      const S x = v[i], y = w[i];
      a0[i] = simt::fnma_conj(y, v0, simt::fnma_conj(x, w0, a0[i]));
      a1[i] = simt::fnma_conj(y, v1, simt::fnma_conj(x, w1, a1[i]));
      a2[i] = simt::fnma_conj(y, v2, simt::fnma_conj(x, w2, a2[i]));
      a3[i] = simt::fnma_conj(y, v3, simt::fnma_conj(x, w3, a3[i]));
    }
  }
  for (; j < n; ++j) {
    SIMT_PRIVATE S* a0 = a + j * ld;
    for (int i = j; i < n; ++i) {
      a0[i] = simt::fnma_conj(w[i], v[j], simt::fnma_conj(v[i], w[j], a0[i]));
    }
  }
}

// A = Q T Q^H. The reflectors stay in the columns of a (rows k + 1 ..), their factors in tau; d and e
// get T. p: n entries of scratch.
template <class S, class N>
SIMT_STEP void tridiagonalise(N n, SIMT_PRIVATE S* a, int ld, SIMT_PRIVATE S* tau,
                              SIMT_PRIVATE S* p, SIMT_PRIVATE simt::real_of<S>* d,
                              SIMT_PRIVATE simt::real_of<S>* e) {
  using T = simt::real_of<S>;
  const T minus_half = simt::constant<T>(-0.5f);
  for (int k = 0; k + 1 < n; ++k) {
    SIMT_PRIVATE S* v = a + k * ld;
    d[k] = simt::real(v[k]);
    const steps::reflector<S> h =
        steps::make_reflector(v[k + 1], steps::sum_of_squares(v, k + 2, n));
    e[k] = h.beta;
    tau[k] = h.tau;
    v[k + 1] = h.head;
    hermitian_product(a, ld, v, p, k + 1, n);
    S dot = simt::zero<S>();
    for (int i = k + 1; i < n; ++i) {
      p[i] = h.tau * p[i];
      dot = simt::fma_conj(p[i], v[i], dot);
    }
    dot = simt::scale(minus_half, h.tau * dot);
    for (int i = k + 1; i < n; ++i) p[i] = simt::fma(dot, v[i], p[i]);
    rank_two_update(a, ld, v, p, k + 1, n);
    for (int i = k + 1; i < n; ++i) {  // keeps the diagonal of a Hermitian matrix real
      a[i * ld + i] = simt::from_real<S>(simt::real(a[i * ld + i]));
    }
  }
  d[n - 1] = simt::real(a[(n - 1) * ld + n - 1]);
  e[n - 1] = simt::constant<T>(0.0f);
}

// Q = H_0 H_1 ... from the reflectors that tridiagonalise() left in a.
template <class S, class N>
SIMT_STEP void form_q(N n, SIMT_PRIVATE const S* a, int ld, SIMT_PRIVATE const S* tau,
                      SIMT_PRIVATE S* q) {
  using T = simt::real_of<S>;
  const S one = simt::from_real<S>(simt::constant<T>(1.0f));
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) q[j * ld + i] = i == j ? one : simt::zero<S>();
  }
  // Four columns meet all their reflectors before the next four: they stay in the first-level cache.
  // A column j <= k is still a unit vector when H_k comes, and H_k leaves it alone.
  for (int j = 0; j < n; j += 4) {
    const int end = j + 4 < n ? j + 4 : int(n);
    for (int k = end - 2; k >= 0; --k) {
      steps::apply_reflector(a + k * ld, tau[k], q, ld, k + 1, n, j, end);
    }
  }
}

// Columns x, y of V -> (c x - s y, s x + c y), n rows.
template <class S, class T>
SIMT_FN void rotate_columns(SIMT_PRIVATE S* x, SIMT_PRIVATE S* y, T c, T s, int n) {
  for (int r = 0; r < n; ++r) {
    const S p = x[r];
    const S q = y[r];
    x[r] = simt::fnma_real(s, q, simt::scale(c, p));
    y[r] = simt::fma_real(s, p, simt::scale(c, q));
  }
}

// Where each lane's sweep works: the first block of the tridiagonal matrix that is not diagonal yet.
template <class T>
struct block {
  T first, last;          // rows first..last, as numbers
  T d0, d1, e0;           // d[first], d[first + 1], e[first]
  simt::mask_of<T> busy;  // false: the lane is done
};

// Looks from `from`, below which every lane is done; [low, high] gets the hull of all lanes' blocks.
template <class T>
SIMT_STEP block<T> find_block(int n, SIMT_PRIVATE const T* d, SIMT_PRIVATE const T* e, T tol,
                              int from, SIMT_PRIVATE int* low, SIMT_PRIVATE int* high) {
  block<T> b;
  const T end = simt::constant<T>(static_cast<float>(n));
  b.first = end;
  b.last = end;
  b.d0 = b.d1 = b.e0 = simt::constant<T>(0.0f);
  b.busy = simt::mask_all<T>(false);
  simt::mask_of<T> open = b.busy;  // inside the block
  *low = n;
  *high = 0;
  for (int i = from; i < n; ++i) {
    const simt::mask_of<T> large = simt::abs(e[i]) > tol;
    const simt::mask_of<T> begins = simt::mask_and(large, simt::mask_not(b.busy));
    const simt::mask_of<T> ends = simt::mask_and(open, simt::mask_not(large));
    const T at = simt::constant<T>(static_cast<float>(i));
    b.last = simt::select(ends, at, b.last);
    if (simt::any(ends)) *high = i;
    if (simt::any(begins)) {
      if (*low == n) *low = i;
      b.first = simt::select(begins, at, b.first);
      b.d0 = simt::select(begins, d[i], b.d0);
      b.d1 = simt::select(begins, d[i + 1], b.d1);
      b.e0 = simt::select(begins, e[i], b.e0);
      b.busy = simt::mask_or(b.busy, begins);
    }
    open = simt::mask_and(simt::mask_or(open, begins), large);
    if (*low < n && i > *low && !simt::any(open) && simt::all(b.busy)) break;
  }
  return b;
}

// One implicit QL sweep over each lane's block, from its last row up to its first.
template <class S, class N>
SIMT_STEP void ql_sweep(N n, SIMT_PRIVATE simt::real_of<S>* d, SIMT_PRIVATE simt::real_of<S>* e,
                        SIMT_PRIVATE S* v, int ld, const block<simt::real_of<S>>& b, int low,
                        int high, bool want_vectors) {
  using T = simt::real_of<S>;
  const T zero = simt::constant<T>(0.0f), one = simt::constant<T>(1.0f);
  const T two = simt::constant<T>(2.0f);
  // Wilkinson's shift, from the upper end of the block
  const T e0 = simt::select(b.busy, b.e0, one);
  const T theta = (b.d1 - b.d0) / (two * e0);
  const T root = simt::sqrt(simt::fma(theta, theta, one));
  const T shift = e0 / (theta + simt::copysign(root, theta)) - b.d0;
  T g = zero, p = zero, s = one, c = one, next_d = zero;
  for (int i = high - 1; i >= low; --i) {
    const T at = simt::constant<T>(static_cast<float>(i));
    const T above = simt::constant<T>(static_cast<float>(i + 1));
    const simt::mask_of<T> active = simt::mask_and(at >= b.first, at < b.last);
    if (!simt::any(active)) continue;
    const simt::mask_of<T> starts = above == b.last;
    g = simt::select(starts, d[i + 1] + shift, g);
    next_d = simt::select(starts, d[i + 1], next_d);
    p = simt::select(starts, zero, p);
    s = simt::select(starts, one, s);
    c = simt::select(starts, one, c);
    // One rotation. What does not need y = 1 / sqrt(h) is ready before it, so that the chain from one
    // rotation to the next is g -> h -> y -> y^2 -> g.
    const T f = s * e[i];
    const T bb = c * e[i];
    const T h = simt::fma(g, g, f * f);
    const simt::mask_of<T> vanishes = simt::mask_not(h >= steps::negligible_square<T>());
    const T gg = next_d - p;
    const T q = simt::fma(d[i] - gg, f, two * (g * bb));
    const T gq = g * q, fq = f * q;
    const T y = simt::rsqrt(simt::select(vanishes, one, h));
    const T y2 = y * y;
    // where f = g = 0 the rotation is the identity: q = 0, so p and the product with y2 vanish too,
    // and what is left of t = 2 c bb is put in by hand
    const T r = simt::select(vanishes, g, h * y);
    c = simt::select(vanishes, one, g * y);
    s = simt::select(vanishes, zero, f * y);
    const simt::mask_of<T> inner = simt::mask_and(active, simt::mask_not(starts));
    e[i + 1] = simt::select(inner, r, e[i + 1]);
    p = fq * y2;
    d[i + 1] = simt::select(active, gg + p, d[i + 1]);
    g = simt::select(vanishes, bb, simt::fma(gq, y2, -bb));
    next_d = d[i];
    const simt::mask_of<T> tops = simt::mask_and(active, at == b.first);
    d[i] = simt::select(tops, next_d - p, d[i]);
    e[i] = simt::select(tops, g, e[i]);
    if (want_vectors) {
      // A lane that is done is turned by the identity: its entries are finite and keep their values
      // (the store makes every zero positive).
      const steps::rotation<T> turn = steps::normalised(c, s);
      rotate_columns(v + i * ld, v + (i + 1) * ld, simt::select(active, turn.c, one),
                     simt::select(active, turn.s, zero), n);
    }
  }
}

// T = V diag(d) V^H applied to the columns of v: d gets the eigenvalues in no order. Returns the lanes
// that converged.
template <class S, class N>
SIMT_STEP simt::mask_of<S> implicit_ql(N n, SIMT_PRIVATE simt::real_of<S>* d,
                                       SIMT_PRIVATE simt::real_of<S>* e, SIMT_PRIVATE S* v, int ld,
                                       bool want_vectors) {
  using T = simt::real_of<S>;
  T norm = simt::constant<T>(0.0f), before = norm;
  for (int i = 0; i < n; ++i) {
    const T here = simt::abs(e[i]);
    norm = simt::max(norm, simt::abs(d[i]) + (before + here));
    before = here;
  }
  const T tol = norm * simt::constant<T>(2.0f) * simt::eps<T>();
  int from = 0, low = 0, high = 0;
  const int most = 30 * n;  // LAPACK steqr's bound
  for (int sweep = 0; sweep < most; ++sweep) {
    const block<T> b = find_block(n, d, e, tol, from, &low, &high);
    if (!simt::any(b.busy)) return simt::mask_all<T>(true);
    from = low;
    ql_sweep<S>(n, d, e, v, ld, b, low, high, want_vectors);
  }
  return simt::mask_not(find_block(n, d, e, tol, from, &low, &high).busy);
}

// Everything between load and store. a: lower triangle of A, lost. v: Q's storage, null where
// no vectors are wanted. work: 2 n entries of S.
template <class S, class N>
SIMT_STEP simt::mask_of<S> tridiagonal_ql(N n, SIMT_PRIVATE S* a, int ld, SIMT_PRIVATE S* v,
                                          SIMT_PRIVATE simt::real_of<S>* d,
                                          SIMT_PRIVATE simt::real_of<S>* e, SIMT_PRIVATE S* work,
                                          bool want_vectors) {
  SIMT_PRIVATE S* tau = work;
  SIMT_PRIVATE S* p = work + n;
  tridiagonalise(n, a, ld, tau, p, d, e);
  if (want_vectors) form_q(n, a, ld, tau, v);
  return implicit_ql(n, d, e, v, ld, want_vectors);
}

// The method by order: Jacobi where the order is known at compile time, tridiagonal QL above.
template <class S>
SIMT_FN simt::mask_of<S> solve(int n, SIMT_PRIVATE S* a, int ld, SIMT_PRIVATE S* v,
                               SIMT_PRIVATE simt::real_of<S>* d, SIMT_PRIVATE simt::real_of<S>* e,
                               SIMT_PRIVATE S* work, bool want_vectors) {
  return tridiagonal_ql<S>(n, a, ld, v, d, e, work, want_vectors);
}
template <class S, int kOrder>
SIMT_FN simt::mask_of<S> solve(simt::size_constant<kOrder>, SIMT_PRIVATE S* a, int ld,
                               SIMT_PRIVATE S* v, SIMT_PRIVATE simt::real_of<S>* d,
                               SIMT_PRIVATE simt::real_of<S>*, SIMT_PRIVATE S*, bool want_vectors) {
  if (want_vectors) return jacobi<kOrder, true>(a, ld, v, d);
  return jacobi<kOrder, false>(a, ld, v, d);
}

}  // namespace eigh
