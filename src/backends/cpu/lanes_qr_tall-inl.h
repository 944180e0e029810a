// SPDX-License-Identifier: Apache-2.0
// QR of tall matrices on CPU lanes (lanes_tall-inl.h). A matrix of several blocks: QR of each block
// of rows, QR of the stacked R factors, Q of each block times its part of that Q, and the signs
// that LAPACK's reflectors would have given. Included by lanes_qr_tall_<dtype>.cc.
#if defined(LANEPACK_BACKENDS_CPU_LANES_QR_TALL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LANEPACK_BACKENDS_CPU_LANES_QR_TALL_INL_H_
#undef LANEPACK_BACKENDS_CPU_LANES_QR_TALL_INL_H_
#else
#define LANEPACK_BACKENDS_CPU_LANES_QR_TALL_INL_H_
#endif

#include "backends/cpu/lanes_tall-inl.h"
#include "operations/problem.h"

HWY_BEFORE_NAMESPACE();
namespace lanepack {
namespace HWY_NAMESPACE {

#include "kernels/qr/reconstruct_signs_thread.simt.h"

// R (r_ld groups a column) times 2^exponent to the output.
template <class S>
HWY_NOINLINE void store_scaled_r(const QrProblem& problem, int64_t index, int n, int exponent,
                                 const qr::tall_block<typename TallTypes<S>::X>& b) {
  using T = typename TallTypes<S>::T;
  const int e = exponent == TallMatrix<S>::kZeroBlock ? 0 : exponent;
  const simt::pow2_scale<T> scale =
      simt::make_pow2(simt::traits<T>::set(static_cast<typename TallTypes<S>::F>(e)));
  for (int i = 0; i < b.r_ld * n; ++i) b.r[i] = simt::scale_pow2(b.r[i], scale);
  store_rows<S>(group_view<S>(problem.r, index, 0), n, n, b.r, b.r_ld);
}

template <class S>
void mark_tall(const QrProblem& problem, int64_t index, bool bad) {
  using F = typename TallTypes<S>::F;
  constexpr int P = TallTypes<S>::kParts;
  if (problem.info != nullptr) problem.info[index] = bad ? kInfoNotFinite : 0;
  if (!bad) return;
  const int m = static_cast<int>(problem.key.m), n = static_cast<int>(problem.key.n);
  store_nan<F, P>(real_view<F, P>(problem.r), index, n, n);
  if (problem.q.data != nullptr) store_nan<F, P>(real_view<F, P>(problem.q), index, m, n);
}

// A matrix that is one block.
template <class S>
HWY_NOINLINE void decompose_whole(const QrProblem& problem, int64_t index, void* scratch) {
  const int64_t m = problem.key.m;
  const int n = static_cast<int>(problem.key.n);
  const qr::tall_block<typename TallTypes<S>::X> b = TallScratch<S>(scratch, m, n).block;
  int exponent = 0;
  const bool finite = factor_rows<S>(group_view<S>(problem.a, index, 0), m, n, b, &exponent);
  if (finite) {
    store_scaled_r<S>(problem, index, n, exponent, b);
    if (problem.q.data != nullptr) {
      form_rows<S>(b, n);
      store_rows<S>(group_view<S>(problem.q, index, 0), m, n, b.a, b.ld);
    }
  }
  mark_tall<S>(problem, index, !finite);
}

// LAPACK's signs from the first rows of Q: q_top times the first block of q_stack.
template <class S>
HWY_NOINLINE void find_signs(const TallMatrix<S>& matrix, int blocks, int n, S* product,
                             typename TallTypes<S>::F* sign) {
  using Lone = typename TallTypes<S>::Lone;
  const Lone* top = reinterpret_cast<const Lone*>(matrix.q_top);
  const Lone* q = reinterpret_cast<const Lone*>(matrix.q_stack);
  Lone* to = reinterpret_cast<Lone*>(product);
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) to[j * n + i] = simt::zero<Lone>();
    for (int k = 0; k < n; ++k) {
      const Lone x = q[static_cast<ptrdiff_t>(j) * blocks * n + k];
      for (int i = 0; i < n; ++i) to[j * n + i] = simt::fma(top[k * n + i], x, to[j * n + i]);
    }
  }
  qr::reconstruct_signs(n, to, reinterpret_cast<typename TallTypes<S>::LoneReal*>(sign));
}

// Row j of R and column j of q_stack times sign[j], which is exact.
template <class S>
void apply_signs(const TallMatrix<S>& matrix, int blocks, int n,
                 const typename TallTypes<S>::F* sign, S* r) {
  using F = typename TallTypes<S>::F;
  constexpr int P = TallTypes<S>::kParts;
  F* real_r = reinterpret_cast<F*>(r);
  F* q = reinterpret_cast<F*>(matrix.q_stack);
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i <= j; ++i) {
      for (int p = 0; p < P; ++p) real_r[(j * n + i) * P + p] *= sign[i];
    }
    F* column = q + static_cast<ptrdiff_t>(j) * blocks * n * P;
    for (ptrdiff_t i = 0; i < static_cast<ptrdiff_t>(blocks) * n * P; ++i) column[i] *= sign[j];
  }
}

// Phase 2: QR of the stack, LAPACK's signs, R to the output.
template <class S>
HWY_NOINLINE void decompose_stack(const QrProblem& problem, int64_t index, int blocks,
                                  const TallMatrix<S>& matrix, void* scratch) {
  using F = typename TallTypes<S>::F;
  const int n = static_cast<int>(problem.key.n);
  const bool bad = std::any_of(matrix.bad, matrix.bad + blocks, [](bool b) { return b; });
  mark_tall<S>(problem, index, bad);
  if (bad) return;
  const int exponent = factor_stack<S>(matrix, blocks, n, true, scratch);
  // behind R, the product takes the place of the stack
  S* const r = matrix.stack;
  S* const product = matrix.stack + static_cast<ptrdiff_t>(n) * n;
  alignas(64) F sign[kTallMaxColumns];
  find_signs<S>(matrix, blocks, n, product, sign);
  apply_signs<S>(matrix, blocks, n, sign, r);
  const qr::tall_block<typename TallTypes<S>::X> b =
      TallScratch<S>(scratch, static_cast<int64_t>(blocks) * n, n).block;
  load_rows<S>(dense_view<S>(r, n, n), n, n, b.r, b.r_ld, b.r_ld);
  store_scaled_r<S>(problem, index, n, exponent, b);
}

// Phase 3: the Q of a block times its n rows of the Q of the stack.
template <class S>
HWY_NOINLINE void multiply_block(const QrProblem& problem, int64_t index, const TallBlocks& blocks,
                                 int block, const TallMatrix<S>& matrix, void* scratch) {
  const int n = static_cast<int>(problem.key.n);
  const int64_t row0 = block * blocks.rows;
  multiply_rows<S>(group_view<S>(problem.q, index, row0),
                   std::min(blocks.rows, problem.key.m - row0), n,
                   matrix.q_stack + static_cast<ptrdiff_t>(block) * n, blocks.count * n, scratch);
}

template <class S>
Status run_tall_whole(const QrProblem& problem) {
  const int n = static_cast<int>(problem.key.n);
  const double ns = tall_cost_ns<S>(static_cast<double>(problem.key.m), n);
  const int threads = worthwhile_threads(problem.key.threads, problem.key.batch, ns);
  return for_each_pack(
      threads, problem.key.batch, 1, ns, TallScratch<S>::bytes(problem.key.m, n),
      [&](int64_t first, int, void* scratch) { decompose_whole<S>(problem, first, scratch); });
}

// As many matrices at a time as keep all threads busy.
template <class S>
Status run_tall_blocks(const QrProblem& problem, const TallBlocks& blocks) {
  const int n = static_cast<int>(problem.key.n);
  const int threads = problem.key.threads;
  const int64_t most = std::min<int64_t>(problem.key.batch,
                                         (4 * int64_t{threads} + blocks.count - 1) / blocks.count);
  const size_t one = TallMatrix<S>::bytes(blocks.count, n, true);
  char* shared = static_cast<char*>(thread_scratch(1, one * most));
  if (shared == nullptr) {
    return fail(Status::kOutOfMemory, "lanepack: no memory for %lld bytes of scratch",
                static_cast<long long>(one * most));
  }
  const auto matrix = [&](int64_t i) {
    return TallMatrix<S>(shared + i * one, blocks.count, n, true);
  };
  const double block_ns = tall_cost_ns<S>(static_cast<double>(blocks.rows), n);
  const double stack_ns = tall_cost_ns<S>(static_cast<double>(blocks.count) * n, n);
  for (int64_t first = 0; first < problem.key.batch; first += most) {
    const int64_t count = std::min(most, problem.key.batch - first);
    Status status =
        for_each_pack(threads, count * blocks.count, 1, block_ns,
                      TallScratch<S>::bytes(blocks.rows, n), [&](int64_t i, int, void* scratch) {
                        const int64_t b = i / blocks.count;
                        factor_block<S>(problem.a, problem.q, first + b, blocks,
                                        static_cast<int>(i % blocks.count), matrix(b), scratch);
                      });
    if (status != Status::kOk) return status;
    status =
        for_each_pack(worthwhile_threads(threads, count, stack_ns), count, 1, stack_ns,
                      TallScratch<S>::bytes(static_cast<int64_t>(blocks.count) * n, n),
                      [&](int64_t b, int, void* scratch) {
                        decompose_stack<S>(problem, first + b, blocks.count, matrix(b), scratch);
                      });
    if (status != Status::kOk) return status;
    if (problem.q.data == nullptr) continue;
    status =
        for_each_pack(threads, count * blocks.count, 1, block_ns, tile_bytes<S>(n),
                      [&](int64_t i, int, void* scratch) {
                        const int64_t b = i / blocks.count;
                        const TallMatrix<S> x = matrix(b);
                        if (std::any_of(x.bad, x.bad + blocks.count, [](bool y) { return y; })) {
                          return;
                        }
                        multiply_block<S>(problem, first + b, blocks,
                                          static_cast<int>(i % blocks.count), x, scratch);
                      });
    if (status != Status::kOk) return status;
  }
  return Status::kOk;
}

template <class S>
Status run_tall(const QrProblem& problem) {
  const TallBlocks blocks = tall_blocks(problem.key);
  return blocks.count == 1 ? run_tall_whole<S>(problem) : run_tall_blocks<S>(problem, blocks);
}

}  // namespace HWY_NAMESPACE
}  // namespace lanepack
HWY_AFTER_NAMESPACE();

#endif  // LANEPACK_BACKENDS_CPU_LANES_QR_TALL_INL_H_ (per target)
