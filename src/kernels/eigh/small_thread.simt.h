// SPDX-License-Identifier: Apache-2.0
// The GPU kernel of eigh and eigvalsh with one matrix per thread: orders to 8 known at compile time.
// Jacobi to order 4, tridiagonal QL above, and for the values alone of orders 3 and 4.

namespace eigh {

// By method: 0 Jacobi, 1 tridiagonal QL. d in no order; true where it converged.
template <bool kVectors, int n, class S>
SIMT_FN bool solve_small(simt::size_constant<0>, SIMT_PRIVATE S (&a)[n][n],
                         SIMT_PRIVATE S (&z)[n][n], SIMT_PRIVATE simt::real_of<S> (&d)[n]) {
  return jacobi<n, kVectors>(&a[0][0], n, &z[0][0], d);
}
template <bool kVectors, int n, class S>
SIMT_FN bool solve_small(simt::size_constant<1>, SIMT_PRIVATE S (&a)[n][n],
                         SIMT_PRIVATE S (&z)[n][n], SIMT_PRIVATE simt::real_of<S> (&d)[n]) {
  return tridiagonal_ql_small<kVectors>(a, z, d);
}

// The lower triangle of a matrix from its slot. An upper triangle is that of the conjugate transpose.
template <int n, class S>
SIMT_FN steps::prepared<simt::real_of<S>> load_small(SIMT_SHARED const S* slot, const arguments& x,
                                                     SIMT_PRIVATE S (&a)[n][n]) {
  const bool upper = x.upper != 0;
  steps::read_slot<n, n>(slot, (x.a.layout == steps::kPackedRows) != upper, a);
  return steps::prepare_small<true, n, n>(a, upper);
}

template <class S, int n, bool kVectors>
SIMT_KERNEL(steps::kThreads)
kernel_thread(arguments x) {
  using T = simt::real_of<S>;
  using Matrices = steps::slots<S, n * n>;
  using Values = steps::slots<T, n>;
  SIMT_SHARED_ARRAY(S, all_matrices, Matrices::kOfBlock);
  SIMT_SHARED_ARRAY(T, all_values, Values::kOfBlock);
  const int warp = simt::thread_index() / 32, lane = simt::thread_index() % 32;
  SIMT_SHARED S* matrices = all_matrices + warp * Matrices::kOfWarp;
  SIMT_SHARED T* values = all_values + warp * Values::kOfWarp;
  SIMT_SHARED S* matrix = matrices + lane * Matrices::kStride;
  SIMT_SHARED T* value = values + lane * Values::kStride;
  constexpr int kMethod = n <= 2 || (kVectors && n <= 4) ? 0 : 1;
  for (simt::int64 first = steps::first_of_warp(); first < x.batch;
       first += steps::stride_of_warps()) {
    const int count = steps::count_of_warp(first, x.batch);
    steps::stage_in<n, n>(x.a, first, count, matrices);
    // a thread past the last matrix repeats it, and its result is not stored
    const int at = lane < count ? lane : count - 1;
    S a[n][n], z[n][n];
    T d[n];
    steps::prepared<T> p = load_small<n>(matrices + at * Matrices::kStride, x, a);
    const T shift = kMethod == 1 ? steps::take_shift<n>(a, p) : simt::constant<T>(0.0f);
    const bool converged = solve_small<kVectors>(simt::size_constant<kMethod>(), a, z, d);
    const simt::warp_group<32> group;
    group.sync();  // every thread has read its slot
    steps::store_sorted<false, kVectors>(d, p.exponent, shift, value, z, matrix,
                                         x.v.layout == steps::kPackedRows);
    const int info = steps::info_of(p.bad, converged);
    if (info != 0) {
      steps::fill_slot(value, n, simt::not_a_number<T>());
      if (kVectors) steps::fill_slot(matrix, n * n, steps::nan_entry<S>());
    }
    if (x.info != nullptr && lane < count) x.info[first + lane] = info;
    steps::stage_out<n, 1>(x.w, first, count, values);
    if (kVectors) steps::stage_out<n, n>(x.v, first, count, matrices);
  }
}

}  // namespace eigh
