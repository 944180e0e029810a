// SPDX-License-Identifier: Apache-2.0
// svd and svdvals of tall matrices on CPU lanes by way of R (Lawson and Hanson 1974; Chan 1982;
// LAPACK gesdd for m >> n): A = Q R (lanes_tall-inl.h), R = U_R S V^H by svd.bidiagonal_qr.lanes
// for all matrices of a round at once, U = Q U_R. A wide matrix is read as its transpose.
// U is a product: the reflectors on U_R instead of on the identity take as many operations as
// forming Q and multiplying, but in passes over whole columns instead of tiles in registers
// (float32, 4096 x 64: 1.14 ms against 0.70). Included by lanes_svd_tall_<dtype>.cc.
#if defined(LANEPACK_BACKENDS_CPU_LANES_SVD_TALL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef LANEPACK_BACKENDS_CPU_LANES_SVD_TALL_INL_H_
#undef LANEPACK_BACKENDS_CPU_LANES_SVD_TALL_INL_H_
#else
#define LANEPACK_BACKENDS_CPU_LANES_SVD_TALL_INL_H_
#endif

#include <utility>

#include "backends/cpu/lanes.h"
#include "backends/cpu/lanes_tall-inl.h"
#include "operations/problem.h"

HWY_BEFORE_NAMESPACE();
namespace lanepack {
namespace HWY_NAMESPACE {

inline MatrixBatch transposed(MatrixBatch a) {
  std::swap(a.rows, a.cols);
  std::swap(a.row_stride, a.col_stride);
  return a;
}

// The matrices from `first` on.
template <class X>
MatrixBatch batch_from(MatrixBatch a, int64_t first) {
  if (a.data != nullptr) a.data = static_cast<X*>(a.data) + first * a.batch_stride;
  return a;
}

// Of A^T = U S Vh the factors of A are Vh^T, S and U^T: a wide A is a tall problem on other views.
inline SvdProblem as_tall(SvdProblem problem) {
  if (problem.key.m >= problem.key.n) return problem;
  std::swap(problem.key.m, problem.key.n);
  problem.a = transposed(problem.a);
  const MatrixBatch u = problem.u;
  problem.u = transposed(problem.vh);
  problem.vh = transposed(u);
  return problem;
}

// What all matrices of a round share out of the calling thread's scratch.
template <class S>
struct SvdRound {
  SvdProblem problem;  // of the round alone, at least as high as wide
  TallBlocks blocks;
  int n;
  size_t matrix_bytes;
  char* shared;
  int32_t* info;  // per matrix: what the svd of its R reports

  TallMatrix<S> matrix(int64_t b) const {
    return TallMatrix<S>(shared + b * matrix_bytes, blocks.count, n, false);
  }
  // U_R: of one block the factor that its Q is multiplied by, else behind R in what was the stack.
  S* u_r(const TallMatrix<S>& x) const {
    return blocks.count == 1 ? x.q_stack : x.stack + static_cast<ptrdiff_t>(n) * n;
  }
  bool want_vectors() const { return problem.u.data != nullptr; }
};

// Phase 2: R of one matrix. One that is not finite gets a NaN for the svd of R to find.
template <class S>
HWY_NOINLINE void finish_r(const SvdRound<S>& round, int64_t b, void* scratch) {
  const TallMatrix<S> x = round.matrix(b);
  if (std::any_of(x.bad, x.bad + round.blocks.count, [](bool y) { return y; })) {
    x.stack[0] = S(std::numeric_limits<real_t<S>>::quiet_NaN());
  } else if (round.blocks.count > 1) {
    x.exponent[0] = factor_stack<S>(x, round.blocks.count, round.n, round.want_vectors(), scratch);
  }
}

// Phase 3: svd of every R; S and Vh to the output, S at R's scale.
template <class S>
Status decompose_r(const SvdRound<S>& round, Status (*svd)(const SvdProblem&)) {
  const int64_t n = round.n;
  const int64_t step = static_cast<int64_t>(round.matrix_bytes / sizeof(S));
  const TallMatrix<S> first = round.matrix(0);
  SvdProblem inner = round.problem;
  inner.key.m = n;
  inner.a = MatrixBatch{first.stack, n, n, inner.key.batch, 1, n, step};
  if (round.want_vectors()) {
    inner.u = MatrixBatch{round.u_r(first), n, n, inner.key.batch, 1, n, step};
  }
  inner.info = round.info;
  return svd(inner);
}

// Phase 4: what the whole matrix gets: S at the scale of A, info, and NaN to a U that is none.
template <class S>
HWY_NOINLINE void finish_values(const SvdRound<S>& round, int64_t b) {
  using F = real_t<S>;
  constexpr int P = TallTypes<S>::kParts;
  const SvdProblem& problem = round.problem;
  const int found = round.info[b];
  if (problem.info != nullptr) problem.info[b] = found;
  if (found == 0) {
    const int exponent = round.matrix(b).exponent[0];
    const RealView<F> s = real_view<F, 1>(problem.s);
    F* const values = s.data + b * s.batch;
    for (int j = 0; exponent != TallMatrix<S>::kZeroBlock && j < round.n; ++j) {
      values[j * s.row] = std::ldexp(values[j * s.row], exponent);
    }
  } else if (round.want_vectors()) {
    store_nan<F, P>(real_view<F, P>(problem.u), b, static_cast<int>(problem.key.m), round.n);
  }
}

// Phase 5: Q of a block times U_R; of several blocks by way of the block's part of the stack's Q.
template <class S>
HWY_NOINLINE void multiply_block(const SvdRound<S>& round, int64_t b, int block, void* scratch) {
  if (round.info[b] != 0) return;
  const int n = round.n, count = round.blocks.count;
  const TallMatrix<S> x = round.matrix(b);
  if (count > 1) {
    const MatrixBatch q{x.q_stack, int64_t{count} * n, n, 1, 1, int64_t{count} * n, 0};
    multiply_rows<S>(group_view<S>(q, 0, int64_t{block} * n), n, n, round.u_r(x), n, scratch);
  }
  const int64_t row0 = block * round.blocks.rows;
  multiply_rows<S>(group_view<S>(round.problem.u, b, row0),
                   std::min(round.blocks.rows, round.problem.key.m - row0), n,
                   x.q_stack + static_cast<ptrdiff_t>(block) * n, count * n, scratch);
}

template <class S>
Status run_round(const SvdRound<S>& round, Status (*svd)(const SvdProblem&)) {
  const SvdProblem& problem = round.problem;
  const int n = round.n, blocks = round.blocks.count;
  const int64_t batch = problem.key.batch, parts = batch * blocks;
  const double block_ns = tall_cost_ns<S>(static_cast<double>(round.blocks.rows), n);
  const double stack_ns = blocks == 1 ? 1.0 : tall_cost_ns<S>(static_cast<double>(blocks) * n, n);
  const size_t stack_bytes =
      blocks == 1 ? 0 : TallScratch<S>::bytes(static_cast<int64_t>(blocks) * n, n);
  const auto threads = [&](int64_t count, double ns) {
    return worthwhile_threads(problem.key.threads, count, ns);
  };
  Status status = for_each_pack(
      threads(parts, block_ns), parts, 1, block_ns, TallScratch<S>::bytes(round.blocks.rows, n),
      [&](int64_t i, int, void* scratch) {
        factor_block<S>(problem.a, problem.u, i / blocks, round.blocks,
                        static_cast<int>(i % blocks), round.matrix(i / blocks), scratch);
      });
  if (status != Status::kOk) return status;
  status = for_each_pack(threads(batch, stack_ns), batch, 1, stack_ns, stack_bytes,
                         [&](int64_t b, int, void* scratch) { finish_r<S>(round, b, scratch); });
  if (status == Status::kOk) status = decompose_r<S>(round, svd);
  if (status != Status::kOk) return status;
  const double value_ns = 10.0 * n;
  status = for_each_pack(threads(batch, value_ns), batch, 1, value_ns, 0,
                         [&](int64_t b, int, void*) { finish_values<S>(round, b); });
  if (status != Status::kOk || !round.want_vectors()) return status;
  return for_each_pack(threads(parts, block_ns), parts, 1, block_ns, tile_bytes<S>(n),
                       [&](int64_t i, int, void* scratch) {
                         multiply_block<S>(round, i / blocks, static_cast<int>(i % blocks),
                                           scratch);
                       });
}

// Matrices of a round: enough to fill the lanes of every thread in the svd of R; beyond that as
// many as the threads' L2 holds between the phases. Scratch stays bounded where one matrix does not
// fill it.
template <class S>
int64_t round_size(const ProblemKey& key, size_t matrix_bytes) {
  constexpr int64_t kCacheBytes = 1 << 20, kMostBytes = 1 << 26;
  const int64_t threads = key.threads;
  const int64_t lanes = threads * TallTypes<S>::kGroup;
  const int64_t in_cache = threads * kCacheBytes / (key.m * key.n * sizeof(S));
  const int64_t bounded = std::max<int64_t>(1, kMostBytes / static_cast<int64_t>(matrix_bytes));
  const int64_t most = std::min({key.batch, std::max(lanes, in_cache), bounded});
  const int64_t rounds = (key.batch + most - 1) / most;
  return (key.batch + rounds - 1) / rounds;
}

template <class S>
Status run_svd_tall(const SvdProblem& given, Status (*svd)(const SvdProblem&)) {
  const SvdProblem problem = as_tall(given);
  SvdRound<S> round{problem, tall_blocks(problem.key), static_cast<int>(problem.key.n), 0, nullptr,
                    nullptr};
  round.matrix_bytes = TallMatrix<S>::bytes(round.blocks.count, round.n, false);
  const int64_t size = round_size<S>(problem.key, round.matrix_bytes);
  const size_t bytes = round.matrix_bytes * size + sizeof(int32_t) * size;
  round.shared = static_cast<char*>(thread_scratch(1, bytes));
  if (round.shared == nullptr) {
    return fail(Status::kOutOfMemory, "lanepack: no memory for %lld bytes of scratch",
                static_cast<long long>(bytes));
  }
  round.info = reinterpret_cast<int32_t*>(round.shared + round.matrix_bytes * size);
  for (int64_t first = 0; first < problem.key.batch; first += size) {
    round.problem.key.batch = std::min(size, problem.key.batch - first);
    round.problem.a = batch_from<S>(problem.a, first);
    round.problem.s = batch_from<real_t<S>>(problem.s, first);
    round.problem.u = batch_from<S>(problem.u, first);
    round.problem.vh = batch_from<S>(problem.vh, first);
    if (problem.info != nullptr) round.problem.info = problem.info + first;
    const Status status = run_round<S>(round, svd);
    if (status != Status::kOk) return status;
  }
  return Status::kOk;
}

}  // namespace HWY_NAMESPACE
}  // namespace lanepack
HWY_AFTER_NAMESPACE();

#endif  // LANEPACK_BACKENDS_CPU_LANES_SVD_TALL_INL_H_ (per target)
