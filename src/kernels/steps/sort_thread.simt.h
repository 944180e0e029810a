// SPDX-License-Identifier: Apache-2.0
// Values and their vectors in order, one matrix per thread (or lane): for a handful of columns, where
// exchanging them in registers costs less than a store that sends each to its place.

namespace steps {

template <class S>
SIMT_FN void exchange(SIMT_PRIVATE S& x, SIMT_PRIVATE S& y, simt::mask_of<S> m) {
  const S kept = x;
  x = simt::select(m, y, x);
  y = simt::select(m, kept, y);
}

// d[0..n) ascending or descending, equal values in the order in which they came; the columns of u
// (rows_u entries each) and v (null where there are none) follow.
template <bool kDescending, class S, class N>
SIMT_STEP void sort_columns(N n, SIMT_PRIVATE simt::real_of<S>* d, SIMT_PRIVATE S* u, int ldu,
                            int rows_u, SIMT_PRIVATE S* v, int ldv, int rows_v) {
  using T = simt::real_of<S>;
  for (int last = n - 1; last > 0; --last) {
    for (int j = 0; j < last; ++j) {
      const simt::mask_of<T> wrong = kDescending ? d[j] < d[j + 1] : d[j + 1] < d[j];
      if (!simt::any(wrong)) continue;
      exchange(d[j], d[j + 1], wrong);
      if (u != nullptr) {
        for (int i = 0; i < rows_u; ++i) exchange(u[j * ldu + i], u[(j + 1) * ldu + i], wrong);
      }
      if (v != nullptr) {
        for (int i = 0; i < rows_v; ++i) exchange(v[j * ldv + i], v[(j + 1) * ldv + i], wrong);
      }
    }
  }
}

}  // namespace steps
