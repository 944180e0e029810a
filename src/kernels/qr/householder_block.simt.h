// SPDX-License-Identifier: Apache-2.0
// QR by Householder reflectors of what is too tall for the registers of a lane: m <= kM rows, n <= 32 <
// m columns, kParts warps to a matrix, a warp a block where that is 1. Lane j of each warp holds entries
// of column j: warp p the rows p, p + kParts, .. of it. The first kernel leaves R and the reflectors,
// the second applies them: to columns of the identity, which gives Q, or to what svd has found for R.
// Registers are shifted: entry i of warp p stands for its i-th row from row k on at step k. Steps come
// in blocks of steps::kBlock, with the length that is left; the reflectors of a block pass through shared
// memory.

namespace qr {

// The shared memory of a block, in S.
template <class S, int kM, int kParts>
struct block_layout {
  static constexpr int kStage = 32 * 33;  // 32 rows of 32 columns, or R
  static constexpr int kVectors =
      steps::kBlock * kM;  // reflector k at k % steps::kBlock * kM, part after part
  static constexpr int kSums = 2 * kParts * 32;  // of two steps
  static constexpr int kRow = 2 * 32;            // row k, of two steps
  static constexpr int kTau = 32, kLargest = kParts;
  static constexpr int kTotal = kStage + kVectors + kSums + kRow + kTau + kLargest;
};
template <class S>
struct block_memory {
  SIMT_SHARED S* vectors;
  SIMT_SHARED S* stage;
  SIMT_SHARED S* sums;
  SIMT_SHARED S* row;
  SIMT_SHARED S* tau;
  SIMT_SHARED S* largest;
};
template <class L, class S>
SIMT_FN block_memory<S> block_memory_of(SIMT_SHARED S* all) {
  SIMT_SHARED S* const sums = all + L::kVectors + L::kStage;
  SIMT_SHARED S* const tau = sums + L::kSums + L::kRow;
  return {all, all + L::kVectors, sums, sums + L::kSums, tau, tau + L::kTau};
}

// What the first kernel leaves of a matrix: reflector k at vectors + k * kM, part p of it at p * kM /
// kParts, entry 0 of the part of row k its head.
template <class S>
struct reflectors {
  SIMT_GLOBAL S* vectors;
  SIMT_GLOBAL S* tau;
};

template <int kParts>
SIMT_FN void sync_parts() {
  const simt::warp_group<32> warp;
  if (kParts == 1) {
    warp.sync();
  } else {
    simt::sync_block();
  }
}

// Rows 32 c .. 32 c + 31 of an m x n matrix, n <= 32, between device memory and the stage, threads side
// by side along what is contiguous. Entry (i, j) is at i * 33 + j; what is outside is not touched.
template <int kThreads, class S>
SIMT_FN void load_stage(const steps::view& x, simt::int64 matrix, int m, int n, int first_row,
                        SIMT_SHARED S* stage) {
  SIMT_GLOBAL const S* from = steps::matrix_of<S>(x, matrix);
  const bool by_columns = x.row == 1;
  for (int k = simt::thread_index(); k < 32 * 32; k += kThreads) {
    const int i = by_columns ? k % 32 : k / 32, j = by_columns ? k / 32 : k % 32;
    if (first_row + i < m && j < n) {
      stage[i * 33 + j] = from[(first_row + i) * x.row + j * x.column];
    }
  }
}
template <int kThreads, class S>
SIMT_FN void store_stage(const steps::view& x, simt::int64 matrix, int m, int n, int first_row,
                         int first_column, SIMT_SHARED const S* stage) {
  SIMT_GLOBAL S* to = steps::matrix_of<S>(x, matrix);
  const bool by_columns = x.row == 1;
  for (int k = simt::thread_index(); k < 32 * 32; k += kThreads) {
    const int i = by_columns ? k % 32 : k / 32, j = by_columns ? k / 32 : k % 32;
    if (first_row + i < m && first_column + j < n) {
      to[(first_row + i) * x.row + (first_column + j) * x.column] = stage[i * 33 + j];
    }
  }
}

// The lane's entries of the m x n matrix, zeros outside.
template <int kM, int kParts, class S>
SIMT_FN void load_parts(const steps::view& x, simt::int64 matrix, int m, int n,
                        const block_memory<S>& memory, SIMT_PRIVATE S (&a)[kM / kParts]) {
  const int lane = simt::thread_index() % 32, part = simt::thread_index() / 32;
  constexpr int kRows = 32 / kParts;  // of 32 rows, those of a warp
  SIMT_UNROLL
  for (int c = 0; c < kM / 32; ++c) {
    load_stage<32 * kParts>(x, matrix, m, n, c * 32, memory.stage);
    sync_parts<kParts>();
    SIMT_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const int i = r * kParts + part;
      a[c * kRows + r] = simt::zero<S>();
      if (c * 32 + i < m && lane < n) a[c * kRows + r] = memory.stage[i * 33 + lane];
    }
    sync_parts<kParts>();
  }
}

// prepare_column() of staging_warp.simt.h for all parts.
template <int kM, int kParts, class S>
SIMT_FN steps::group_prepared<simt::real_of<S>> prepare_parts(const block_memory<S>& memory,
                                                              SIMT_PRIVATE S (&a)[kM / kParts]) {
  using T = simt::real_of<S>;
  const int lane = simt::thread_index() % 32, part = simt::thread_index() / 32;
  T largest = simt::constant<T>(0.0f);
  SIMT_UNROLL
  for (int i = 0; i < kM / kParts; ++i) largest = simt::max_magnitude(largest, a[i]);
  const simt::warp_group<32> warp;
  const bool bad_part = warp.any(!simt::is_finite(largest));
  const T of_part = warp.max(bad_part ? simt::constant<T>(0.0f) : largest);
  if (lane == 0) {
    memory.largest[part] = simt::from_real<S>(bad_part ? simt::not_a_number<T>() : of_part);
  }
  sync_parts<kParts>();
  steps::group_prepared<T> p;
  p.bad = false;
  largest = simt::constant<T>(0.0f);
  SIMT_UNROLL
  for (int i = 0; i < kParts; ++i) {
    const T x = simt::real(memory.largest[i]);
    p.bad = p.bad || !simt::is_finite(x);
    largest = x > largest ? x : largest;
  }
  p.exponent = simt::exponent(p.bad ? simt::constant<T>(1.0f) : largest);
  const simt::pow2_scale<T> s = simt::make_pow2(-p.exponent);
  SIMT_UNROLL
  for (int i = 0; i < kM / kParts; ++i) {
    const S unit = simt::from_real<S>(simt::constant<T>(i * kParts + part == lane ? 1.0f : 0.0f));
    a[i] = simt::select(p.bad, unit, simt::scale_pow2(a[i], s));
  }
  return p;
}

// The sum over all parts of x of each lane's column; in kept the sums of all columns stay for a step.
template <int kParts, class S>
SIMT_FN S sum_of_parts(SIMT_SHARED const S* sums, int column) {
  S sum = sums[column];
  SIMT_UNROLL
  for (int p = 1; p < kParts; ++p) sum = sum + sums[p * 32 + column];
  return sum;
}

// x_i -= v_i f over i < kL.
template <int kL, int kX, class S>
SIMT_FN void subtract_part(SIMT_SHARED const S* v, S f, SIMT_PRIVATE S (&x)[kX]) {
  using P = steps::packet_of<S>;
  constexpr int kWidth = 16 / static_cast<int>(sizeof(S));
  SIMT_SHARED const P* packets = reinterpret_cast<SIMT_SHARED const P*>(v);
  SIMT_UNROLL
  for (int k = 0; k < kL / kWidth; ++k) {
    const P p = packets[k];
    SIMT_UNROLL
    for (int w = 0; w < kWidth; ++w) x[k * kWidth + w] = simt::fnma(p.x[w], f, x[k * kWidth + w]);
  }
}

// The first `count` reflectors of a block between shared and device memory, kL entries of each part.
template <int kL, int kM, int kParts, bool kStores, class S>
SIMT_FN void move_vectors(SIMT_SHARED S* shared, SIMT_GLOBAL S* device, int count) {
  using P = steps::packet_of<S>;
  constexpr int kWidth = 16 / static_cast<int>(sizeof(S));
  constexpr int kPackets = kL / kWidth, kPart = kM / kParts;
  for (int k = simt::thread_index(); k < count * kParts * kPackets; k += 32 * kParts) {
    const int at = k / kPackets * kPart + k % kPackets * kWidth;
    SIMT_SHARED P* here = reinterpret_cast<SIMT_SHARED P*>(shared + at);
    SIMT_GLOBAL P* there = reinterpret_cast<SIMT_GLOBAL P*>(device + at);
    if (kStores) {
      *there = *here;
    } else {
      *here = *there;
    }
  }
}

// Steps k0 <= k < k1, where at most kL rows of each part are left.
template <int kL, int kM, int kParts, class S>
SIMT_FN void factor_parts(SIMT_PRIVATE S (&a)[kM / kParts], const block_memory<S>& memory,
                          SIMT_GLOBAL S* vectors, int k0, int k1) {
  using T = simt::real_of<S>;
  const simt::warp_group<32> warp;
  const int lane = warp.lane(), part = simt::thread_index() / 32;
  SIMT_NO_UNROLL
  for (int k = k0; k < k1; ++k) {
    SIMT_SHARED S* v = memory.vectors + (k - k0) * kM + part * (kM / kParts);
    SIMT_SHARED S* sums = memory.sums + k % 2 * (kParts * 32);
    SIMT_SHARED S* row = memory.row + k % 2 * 32;
    const bool has_row = k % kParts == part;  // row k is its entry 0
    if (lane == k) {
      steps::write_packets<kL>(v, a);
      if (has_row) v[0] = simt::zero<S>();
    }
    warp.sync();
    sums[part * 32 + lane] = steps::product_with<kL, true>(v, a, 0);
    if (has_row) row[lane] = a[0];
    sync_parts<kParts>();
    // column k against itself: the squared norm of the rest
    const T sigma = simt::real(sum_of_parts<kParts>(sums, k));
    const steps::reflector<S> h = steps::make_reflector(row[k], sigma);
    const S own = row[lane];
    const S f = simt::conj(h.tau) * simt::fma_conj(h.head, own, sum_of_parts<kParts>(sums, lane));
    subtract_part<kL>(v, f, a);
    if (has_row) {
      SIMT_UNROLL
      for (int i = 1; i < kL; ++i) a[i - 1] = a[i];
      a[kL - 1] = simt::zero<S>();
      memory.stage[k * 33 + lane] = lane == k  ? simt::from_real<S>(h.beta)
                                    : lane > k ? simt::fnma(h.head, f, own)
                                               : simt::zero<S>();
      // all lanes have read the zero that the head replaces
      warp.sync();
      if (lane == k) {
        v[0] = h.head;
        memory.tau[k] = h.tau;
      }
    }
  }
  sync_parts<kParts>();
  if (k0 < k1) {
    move_vectors<kL, kM, kParts, true>(memory.vectors, vectors + k0 * kM, k1 - k0);
  }
  sync_parts<kParts>();
}

// The entries that enter at step k: of the identity, or of a matrix on the stage.
template <bool kUnit, class S>
SIMT_FN S entering(SIMT_SHARED const S* stage, int k, int column, bool inner) {
  using T = simt::real_of<S>;
  if (kUnit) return simt::from_real<S>(simt::constant<T>(k == column ? 1.0f : 0.0f));
  return inner ? stage[k * 33 + column] : simt::zero<S>();
}

// Backwards through the same steps, x the column `column` of what they are applied to.
template <int kL, int kM, int kParts, bool kUnit, class S>
SIMT_FN void apply_parts(SIMT_PRIVATE S (&x)[kM / kParts], const block_memory<S>& memory,
                         SIMT_GLOBAL S* vectors, int column, bool inner, int k0, int k1) {
  const simt::warp_group<32> warp;
  const int lane = warp.lane(), part = simt::thread_index() / 32;
  sync_parts<kParts>();
  if (k0 < k1) {
    move_vectors<kL, kM, kParts, false>(memory.vectors, vectors + k0 * kM, k1 - k0);
  }
  sync_parts<kParts>();
  SIMT_NO_UNROLL
  for (int k = k1 - 1; k >= k0; --k) {
    SIMT_SHARED const S* v = memory.vectors + (k - k0) * kM + part * (kM / kParts);
    if (k % kParts == part) {
      SIMT_UNROLL
      for (int i = kL - 1; i > 0; --i) x[i] = x[i - 1];
      x[0] = entering<kUnit>(memory.stage, k, column, inner);
    }
    S sum = steps::product_with<kL, true>(v, x, 0);
    if (kParts > 1) {
      SIMT_SHARED S* sums = memory.sums + k % 2 * (kParts * 32);
      sums[part * 32 + lane] = sum;
      sync_parts<kParts>();
      sum = sum_of_parts<kParts>(sums, lane);
    }
    subtract_part<kL>(v, memory.tau[k] * sum, x);
  }
}

// All steps: kFrom is where the block starts.
template <int kFrom, int kM, int kParts, class S>
struct part_blocks {
  static constexpr int kL = (kM - kFrom) / kParts;
  using Next =
      part_blocks<(kFrom + steps::kBlock < 32) ? kFrom + steps::kBlock : -1, kM, kParts, S>;
  static SIMT_FN void factor(SIMT_PRIVATE S (&a)[kM / kParts], const block_memory<S>& memory,
                             SIMT_GLOBAL S* vectors, int count) {
    factor_parts<kL, kM, kParts>(a, memory, vectors, kFrom,
                                 steps::clipped(count, kFrom + steps::kBlock));
    Next::factor(a, memory, vectors, count);
  }
  template <bool kUnit>
  static SIMT_FN void apply(SIMT_PRIVATE S (&x)[kM / kParts], const block_memory<S>& memory,
                            SIMT_GLOBAL S* vectors, int column, bool inner, int count) {
    Next::template apply<kUnit>(x, memory, vectors, column, inner, count);
    apply_parts<kL, kM, kParts, kUnit>(x, memory, vectors, column, inner, kFrom,
                                       steps::clipped(count, kFrom + steps::kBlock));
  }
};
template <int kM, int kParts, class S>
struct part_blocks<-1, kM, kParts, S> {
  static SIMT_FN void factor(SIMT_PRIVATE S (&)[kM / kParts], const block_memory<S>&,
                             SIMT_GLOBAL S*, int) {}
  template <bool kUnit>
  static SIMT_FN void apply(SIMT_PRIVATE S (&)[kM / kParts], const block_memory<S>&, SIMT_GLOBAL S*,
                            int, bool, int) {}
};

// The factors of the m x n matrix, scaled: the reflectors where they are wanted, R on the stage.
template <int kM, int kParts, class S>
SIMT_FN steps::group_prepared<simt::real_of<S>> factor_matrix(const steps::view& x,
                                                              simt::int64 matrix, int m, int n,
                                                              const block_memory<S>& memory,
                                                              const reflectors<S>& to) {
  S a[kM / kParts];
  load_parts<kM, kParts>(x, matrix, m, n, memory, a);
  const steps::group_prepared<simt::real_of<S>> p = prepare_parts<kM, kParts>(memory, a);
  part_blocks<0, kM, kParts, S>::factor(a, memory, to.vectors, n);
  for (int k = simt::thread_index(); k < n; k += 32 * kParts) to.tau[k] = memory.tau[k];
  return p;
}

// H_0 .. H_(n-1) applied to the first `columns` columns of the identity; with !kUnit to a matrix whose
// first n rows and columns are `inner`, and whose others are those of the identity. NaN where bad.
template <int kM, int kParts, bool kUnit, class S>
SIMT_FN void apply_reflectors(const reflectors<S>& from, const steps::view& inner,
                              const steps::view& to, simt::int64 matrix, int m, int n, int columns,
                              bool bad, const block_memory<S>& memory) {
  using T = simt::real_of<S>;
  constexpr int kRows = 32 / kParts;
  const int lane = simt::thread_index() % 32, part = simt::thread_index() / 32;
  for (int k = simt::thread_index(); k < n; k += 32 * kParts) memory.tau[k] = from.tau[k];
  const int ahead = (part - n % kParts + kParts) % kParts;  // from row n to the warp's first
  SIMT_NO_UNROLL
  for (int first = 0; first < columns; first += 32) {
    const int column = first + lane;
    if (!kUnit && first == 0) load_stage<32 * kParts>(inner, matrix, n, n, 0, memory.stage);
    S x[kM / kParts];
    SIMT_UNROLL
    for (int i = 0; i < kM / kParts; ++i) {
      const bool unit = n + ahead + i * kParts == column;
      x[i] = simt::from_real<S>(simt::constant<T>(unit ? 1.0f : 0.0f));
    }
    part_blocks<0, kM, kParts, S>::template apply<kUnit>(x, memory, from.vectors, column,
                                                         column < n, n);
    SIMT_UNROLL
    for (int c = 0; c < kM / 32; ++c) {
      sync_parts<kParts>();
      SIMT_UNROLL
      for (int r = 0; r < kRows; ++r) {
        memory.stage[(r * kParts + part) * 33 + lane] =
            simt::select(bad, steps::nan_entry<S>(), x[c * kRows + r]);
      }
      sync_parts<kParts>();
      store_stage<32 * kParts>(to, matrix, m, columns, c * 32, first, memory.stage);
    }
    sync_parts<kParts>();
  }
}

// What stands in the workspace of qr: the reflectors of all matrices, their tau, and whether each is
// finite (0, or NaN).
template <int kM, class S>
SIMT_FN reflectors<S> reflectors_of(const arguments& args, simt::int64 matrix) {
  SIMT_GLOBAL S* base = reinterpret_cast<SIMT_GLOBAL S*>(args.workspace);
  return {base + matrix * args.n * kM, base + args.batch * args.n * kM + matrix * args.n};
}
template <int kM, class S>
SIMT_FN SIMT_GLOBAL simt::real_of<S>* finite_of(const arguments& args, simt::int64 matrix) {
  SIMT_GLOBAL S* base = reinterpret_cast<SIMT_GLOBAL S*>(args.workspace);
  return reinterpret_cast<SIMT_GLOBAL simt::real_of<S>*>(base + args.batch * args.n * (kM + 1)) +
         matrix;
}

template <class S, int kM, int kParts, int kThreads>
SIMT_KERNEL(kThreads)
kernel_factor(arguments args) {
  using T = simt::real_of<S>;
  using L = block_layout<S, kM, kParts>;
  SIMT_SHARED_ARRAY(S, all, L::kTotal);
  const block_memory<S> memory = block_memory_of<L>(all);
  const int lane = simt::thread_index() % 32, part = simt::thread_index() / 32;
  for (simt::int64 matrix = simt::block_index(); matrix < args.batch;
       matrix += simt::block_count()) {
    const steps::group_prepared<T> p = factor_matrix<kM, kParts>(
        args.a, matrix, args.m, args.n, memory, reflectors_of<kM, S>(args, matrix));
    const simt::pow2_scale<T> scale = simt::make_pow2(p.exponent);
    SIMT_GLOBAL S* to = steps::matrix_of<S>(args.r, matrix);
    const bool by_rows = args.r.column == 1;
    const int inner = by_rows ? args.n : args.r_rows;
    for (int k = simt::thread_index(); k < args.n * args.r_rows; k += kThreads) {
      const int y = k % inner, z = k / inner, i = by_rows ? z : y, j = by_rows ? y : z;
      S value = simt::zero<S>();
      if (i < args.n) value = simt::scale_pow2(memory.stage[i * 33 + j], scale);
      to[i * args.r.row + j * args.r.column] = simt::select(p.bad, steps::nan_entry<S>(), value);
    }
    if (lane == 0 && part == 0) {
      *finite_of<kM, S>(args, matrix) = p.bad ? simt::not_a_number<T>() : simt::constant<T>(0.0f);
      if (args.info != nullptr) args.info[matrix] = steps::info_of(p.bad, true);
    }
    sync_parts<kParts>();
  }
}

// Not asked for one block alone, the compiler spills to come down to 128 registers.
template <class S, int kM, int kParts, int kThreads>
SIMT_KERNEL(kThreads, 1)
kernel_form(arguments args) {
  using L = block_layout<S, kM, kParts>;
  SIMT_SHARED_ARRAY(S, all, L::kTotal);
  const block_memory<S> memory = block_memory_of<L>(all);
  for (simt::int64 matrix = simt::block_index(); matrix < args.batch;
       matrix += simt::block_count()) {
    const bool bad = !simt::is_finite(*finite_of<kM, S>(args, matrix));
    apply_reflectors<kM, kParts, true>(reflectors_of<kM, S>(args, matrix), args.q, args.q, matrix,
                                       args.m, args.n, args.q_columns, bad, memory);
  }
}

}  // namespace qr
