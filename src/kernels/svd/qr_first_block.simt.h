// SPDX-License-Identifier: Apache-2.0
// svd of a tall matrix (a wide one is its transpose) by QR first: A = Q R, then R = U_R S V^H, which the
// kernels for square matrices find, and U = Q U_R. The first kernel factors, the last one applies Q's
// reflectors to U_R, so that Q itself is never formed (LAPACK's gesdd forms it and multiplies).

namespace svd {

// What the kernels of a tall problem hand on, n = min(rows, columns): R and U_R of each matrix,
// packed columns; its reflectors; the exponent of A's scale, NaN where A is not finite; and what
// struct bidiagonal is for R. The reflectors are read in packets, and start at a whole one.
template <class S>
struct tall_workspace {
  using T = simt::real_of<S>;
  SIMT_GLOBAL S* vectors;
  SIMT_GLOBAL S* r;
  SIMT_GLOBAL S* u;
  SIMT_GLOBAL S* tau;
  SIMT_GLOBAL T* exponents;
  SIMT_GLOBAL T* bidiagonals;
};
// Rows of a reflector: what the kernels are made for.
SIMT_FN int reflector_rows(int m) { return (m + 31) / 32 * 32; }
template <class S>
SIMT_FN tall_workspace<S> tall_workspace_of(const arguments& args) {
  using T = simt::real_of<S>;
  const bool wide = args.m < args.n;
  const int m = wide ? args.n : args.m, n = wide ? args.m : args.n;
  tall_workspace<S> w;
  w.r = reinterpret_cast<SIMT_GLOBAL S*>(args.workspace);
  // whole packets, as n x n of any size need not be
  const simt::int64 square = (args.batch * n * n / 16 + 1) * 16;
  w.u = w.r + square;
  w.vectors = w.u + square;
  w.tau = w.vectors + args.batch * n * reflector_rows(m);
  w.exponents = reinterpret_cast<SIMT_GLOBAL T*>(w.tau + args.batch * n);
  w.bidiagonals = w.exponents + args.batch;
  return w;
}
template <class S>
SIMT_FN steps::view square_view(SIMT_GLOBAL S* data, int n) {
  return {data, 1, n, static_cast<simt::int64>(n) * n, steps::kPackedColumns};
}

// The square problem: of R, whose V is that of the tall matrix.
template <class S>
SIMT_FN arguments second_problem(const arguments& args) {
  const tall_workspace<S> w = tall_workspace_of<S>(args);
  const bool wide = args.m < args.n;
  arguments x = args;
  x.m = x.n = wide ? args.m : args.n;
  x.full = 0;
  x.a = square_view(w.r, x.n);
  x.u = square_view(w.u, x.n);
  x.vh = wide ? steps::transposed(args.u) : args.vh;
  x.workspace = w.bidiagonals;
  return x;
}

template <class S, int kM, int kParts, int kThreads>
SIMT_KERNEL(kThreads)
kernel_qr_first(arguments args) {
  using T = simt::real_of<S>;
  using L = qr::block_layout<S, kM, kParts>;
  SIMT_SHARED_ARRAY(S, all, L::kTotal);
  const qr::block_memory<S> memory = qr::block_memory_of<L>(all);
  const tall_workspace<S> w = tall_workspace_of<S>(args);
  const bool wide = args.m < args.n;
  const int m = wide ? args.n : args.m, n = wide ? args.m : args.n;
  const steps::view a = wide ? steps::transposed(args.a) : args.a;
  for (simt::int64 matrix = simt::block_index(); matrix < args.batch;
       matrix += simt::block_count()) {
    const qr::reflectors<S> to = {w.vectors + matrix * n * kM, w.tau + matrix * n};
    const steps::group_prepared<T> p = qr::factor_matrix<kM, kParts>(a, matrix, m, n, memory, to);
    qr::store_stage<kThreads>(square_view(w.r, n), matrix, n, n, 0, 0, memory.stage);
    if (simt::thread_index() == 0) {
      w.exponents[matrix] = p.bad ? simt::not_a_number<T>() : p.exponent;
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
  const tall_workspace<S> w = tall_workspace_of<S>(args);
  const bool wide = args.m < args.n;
  const int m = wide ? args.n : args.m, n = wide ? args.m : args.n;
  const steps::view u = wide ? steps::transposed(args.vh) : args.u;
  for (simt::int64 matrix = simt::block_index(); matrix < args.batch;
       matrix += simt::block_count()) {
    const qr::reflectors<S> from = {w.vectors + matrix * n * kM, w.tau + matrix * n};
    // all of U_R is NaN where the matrix is not finite or its svd did not converge
    const bool bad = !simt::is_finite(simt::real(w.u[matrix * n * n]));
    qr::apply_reflectors<kM, kParts, false>(from, square_view(w.u, n), u, matrix, m, n,
                                            args.full != 0 ? m : n, bad, memory);
  }
}

}  // namespace svd
