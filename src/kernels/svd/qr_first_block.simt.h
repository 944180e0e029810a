// SPDX-License-Identifier: Apache-2.0
// svd of a tall matrix (a wide one is its transpose) by QR first: A = Q R, then R = U_R S V^H, which the
// kernels for square matrices find, and U = Q U_R. The first kernel factors, the last one applies Q's
// reflectors to U_R, so that Q itself is never formed (LAPACK's gesdd forms it and multiplies).

namespace svd {

template <class S>
SIMT_FN steps::view square_view(SIMT_GLOBAL void* data, int n) {
  return {data, 1, n, static_cast<simt::int64>(n) * n, steps::kPackedColumns};
}

// The square problem: of R, whose V is that of the tall matrix.
template <class S>
SIMT_FN arguments second_problem(const arguments& args) {
  arguments x = args;
  x.m = x.n = args.m < args.n ? args.m : args.n;
  x.full = 0;
  x.a = square_view<S>(args.tall.r, x.n);
  x.u = square_view<S>(args.tall.u, x.n);
  x.vh = args.tall.vh;
  x.workspace = args.tall.bidiagonals;
  return x;
}
template <class S>
SIMT_FN SIMT_GLOBAL simt::real_of<S>* tall_exponent(const arguments& args, simt::int64 matrix) {
  return reinterpret_cast<SIMT_GLOBAL simt::real_of<S>*>(args.tall.exponents) + matrix;
}
template <int kM, class S>
SIMT_FN qr::reflectors<S> tall_reflectors(const arguments& args, simt::int64 matrix, int n) {
  return {reinterpret_cast<SIMT_GLOBAL S*>(args.tall.vectors) + matrix * n * kM,
          reinterpret_cast<SIMT_GLOBAL S*>(args.tall.tau) + matrix * n};
}

template <class S, int kM, int kParts, int kThreads>
SIMT_KERNEL(kThreads)
kernel_qr_first(arguments args) {
  using T = simt::real_of<S>;
  using L = qr::block_layout<S, kM, kParts>;
  SIMT_SHARED_ARRAY(S, all, L::kTotal);
  const qr::block_memory<S> memory = qr::block_memory_of<L>(all);
  const bool wide = args.m < args.n;
  const int m = wide ? args.n : args.m, n = wide ? args.m : args.n;
  const steps::view a = wide ? steps::transposed(args.a) : args.a;
  for (simt::int64 matrix = simt::block_index(); matrix < args.batch;
       matrix += simt::block_count()) {
    const qr::reflectors<S> to = tall_reflectors<kM, S>(args, matrix, n);
    const steps::group_prepared<T> p = qr::factor_matrix<kM, kParts>(a, matrix, m, n, memory, to);
    qr::store_stage<kThreads>(square_view<S>(args.tall.r, n), matrix, n, n, 0, 0, memory.stage);
    if (simt::thread_index() == 0) {
      *tall_exponent<S>(args, matrix) = p.bad ? simt::not_a_number<T>() : p.exponent;
    }
    qr::sync_parts<kParts>();
  }
}

template <class S, int kM, int kParts, int kThreads>
SIMT_KERNEL(kThreads)
kernel_apply_q(arguments args) {
  using L = qr::block_layout<S, kM, kParts>;
  SIMT_SHARED_ARRAY(S, all, L::kTotal);
  const qr::block_memory<S> memory = qr::block_memory_of<L>(all);
  const bool wide = args.m < args.n;
  const int m = wide ? args.n : args.m, n = wide ? args.m : args.n;
  const steps::view u = wide ? steps::transposed(args.vh) : args.u;
  for (simt::int64 matrix = simt::block_index(); matrix < args.batch;
       matrix += simt::block_count()) {
    const qr::reflectors<S> from = tall_reflectors<kM, S>(args, matrix, n);
    const steps::view inner = square_view<S>(args.tall.u, n);
    // all of U_R is NaN where the matrix is not finite or its svd did not converge
    const bool bad = !simt::is_finite(simt::real(*steps::matrix_of<S>(inner, matrix)));
    qr::apply_reflectors<kM, kParts, false>(from, inner, u, matrix, m, n, args.full != 0 ? m : n,
                                            bad, memory);
  }
}

}  // namespace svd
