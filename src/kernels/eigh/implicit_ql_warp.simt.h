// SPDX-License-Identifier: Apache-2.0
// The second kernel of eigh with lanes of a warp to a matrix: implicit QL on the tridiagonal matrix,
// applied to Q. kLanes lanes a matrix, 32 / kLanes matrices a warp, a warp a block. Each lane owns
// kRows real rows of V (a complex row is two) and copies of its own of d and e, all in shared memory
// at its lane, so that a lane's index may be data: no bank conflict, no barrier in the loop, and few
// lanes repeat the chain of scalars (4096 x 32 on an H200: 8 lanes 107 us, 32 lanes 470 at first).
// Test and rotations are those of tridiagonal_ql_thread.simt.h.

namespace eigh {

// Rows that belong to a lane.
template <class S, int kN, int kLanes>
SIMT_FN constexpr int ql_rows() {
  return kN * (simt::traits<S>::kComplex ? 2 : 1) / kLanes;
}

template <class T>
using value_pair = simt::packet<T, 2>;  // d_i, e_i

// The shared memory of a warp, in T. Column i of a lane's rows stands at i * kRows * 32, a packet of
// kWidth rows after another, each for all lanes.
template <class T, int kN, int kRows, bool kVectors>
struct ql_layout {
  static constexpr int kMost = 16 / static_cast<int>(sizeof(T));
  static constexpr int kWidth = kRows % kMost == 0 ? kMost : kRows % 2 == 0 ? 2 : 1;
  static constexpr int kPairs = 2 * kN * 32;
  static constexpr int kTotal = kPairs + (kVectors ? kN * kRows * 32 : 0);
};

template <int kRows, int kWidth, class T>
SIMT_FN void read_rows(SIMT_SHARED const T* column, int lane, SIMT_PRIVATE T (&x)[kRows]) {
  using P = simt::packet<T, kWidth>;
  SIMT_SHARED const P* from = reinterpret_cast<SIMT_SHARED const P*>(column);
  SIMT_UNROLL
  for (int k = 0; k < kRows / kWidth; ++k) {
    const P p = from[k * 32 + lane];
    SIMT_UNROLL
    for (int w = 0; w < kWidth; ++w) x[k * kWidth + w] = p.x[w];
  }
}
template <int kRows, int kWidth, class T>
SIMT_FN void write_rows(SIMT_SHARED T* column, int lane, SIMT_PRIVATE const T (&x)[kRows]) {
  using P = simt::packet<T, kWidth>;
  SIMT_SHARED P* to = reinterpret_cast<SIMT_SHARED P*>(column);
  SIMT_UNROLL
  for (int k = 0; k < kRows / kWidth; ++k) {
    P p;
    SIMT_UNROLL
    for (int w = 0; w < kWidth; ++w) p.x[w] = x[k * kWidth + w];
    to[k * 32 + lane] = p;
  }
}

// Far below u^2 and above the root of the smallest number: added to g, it makes a rotation of two zeros
// the identity without a branch (a matrix's largest entry lies in [1, 2)).
template <class T>
SIMT_FN T nudge() {
  const T a = simt::constant<T>(8.6736173798840355e-19f);  // 2^-60
  return simt::is_double<T>() ? a * a * a * a * a * a * a : a;
}

// One sweep of QL over rows first .. last of the lane's matrix. Column i + 1 stays in registers; what
// the next rotation needs is read before the stores of this one. small: bit i where e_i is negligible.
template <bool kVectors, int kN, int kRows, class T>
SIMT_FN unsigned ql_sweep(SIMT_SHARED value_pair<T>* pairs, SIMT_SHARED T* v, int lane, int first,
                          int last, T tol, unsigned small) {
  using L = ql_layout<T, kN, kRows, kVectors>;
  const T zero = simt::constant<T>(0.0f), one = simt::constant<T>(1.0f);
  const T two = simt::constant<T>(2.0f);
  const value_pair<T> head = pairs[first * 32], next = pairs[(first + 1) * 32];
  value_pair<T> here = pairs[(last - 1) * 32];
  T d_above = pairs[last * 32].x[0];
  // Wilkinson's shift, from the upper end of the block
  const T theta = (next.x[0] - head.x[0]) / (two * head.x[1]);
  const T root = simt::sqrt(simt::fma(theta, theta, one));
  T g = d_above - head.x[0] + head.x[1] / (theta + simt::copysign(root, theta));
  T p = zero, s = one, c = one;
  T carried[kRows], waiting[kRows];
  if (kVectors) {
    read_rows<kRows, L::kWidth>(v + last * kRows * 32, lane, carried);
    read_rows<kRows, L::kWidth>(v + (last - 1) * kRows * 32, lane, waiting);
  }
  small &= ~(((1u << (last - first)) - 1u) << first);
  T r = zero;
  SIMT_NO_UNROLL
  for (int i = last - 1; i >= first; --i) {
    const int below = i > first ? i - 1 : first;
    const value_pair<T> after = pairs[below * 32];
    T column[kRows];
    if (kVectors) {
      SIMT_UNROLL
      for (int k = 0; k < kRows; ++k) column[k] = waiting[k];
      read_rows<kRows, L::kWidth>(v + below * kRows * 32, lane, waiting);
    }
    const T f = s * here.x[1], b = c * here.x[1];
    const T base = d_above - p;
    g = g + simt::copysign(nudge<T>(), g);
    const T h = simt::fma(f, f, g * g);
    const T q = simt::fma(here.x[0] - base, f, g * (b + b));
    const T y = simt::rsqrt(h);
    c = g * y;
    s = f * y;
    r = h * y;
    const T turned = q * y;
    p = s * turned;
    // e_last is no entry of the block: it stays what it was
    value_pair<T> done;
    done.x[0] = base + p;
    done.x[1] = i + 1 < last ? r : pairs[last * 32].x[1];
    pairs[(i + 1) * 32] = done;
    if (i + 1 < last && r <= tol) small |= 1u << (i + 1);
    g = simt::fma(c, turned, -b);
    d_above = here.x[0];
    here = after;
    if (kVectors) {
      T x[kRows];
      SIMT_UNROLL
      for (int k = 0; k < kRows; ++k) {
        x[k] = simt::fma(s, column[k], c * carried[k]);
        carried[k] = simt::fma(c, column[k], -(s * carried[k]));
      }
      write_rows<kRows, L::kWidth>(v + (i + 1) * kRows * 32, lane, x);
    }
  }
  value_pair<T> done;
  done.x[0] = d_above - p;
  done.x[1] = g;
  pairs[first * 32] = done;
  if (simt::abs(g) <= tol) small |= 1u << first;
  if (kVectors) write_rows<kRows, L::kWidth>(v + first * kRows * 32, lane, carried);
  return small;
}

// True where it converged. All lanes of the warp start a sweep together; how long it is, and where, is
// the same for the lanes of a matrix.
template <bool kVectors, int kN, int kRows, class T>
SIMT_FN bool ql_iteration(int n, SIMT_SHARED value_pair<T>* pairs, SIMT_SHARED T* v, int lane) {
  const simt::warp_group<32> warp;
  const T zero = simt::constant<T>(0.0f);
  T norm = zero, before = zero;
  for (int i = 0; i < n; ++i) {
    const value_pair<T> x = pairs[i * 32];
    norm = simt::max(norm, simt::abs(x.x[0]) + (before + simt::abs(x.x[1])));
    before = simt::abs(x.x[1]);
  }
  const T tol = norm * simt::constant<T>(2.0f) * simt::eps<T>();
  // the last bit, e_(n-1) = 0, is always set
  unsigned small = 0u;
  for (int i = 0; i < n; ++i) {
    if (simt::abs(pairs[i * 32].x[1]) <= tol) small |= 1u << i;
  }
  const unsigned all = n == 32 ? 0xffffffffu : (1u << n) - 1u;
  SIMT_NO_UNROLL
  for (int sweep = 0; sweep < 30 * n; ++sweep) {
    const unsigned open = ~small & all;
    if (!warp.any(open != 0u)) break;
    if (open != 0u) {
      const int first = simt::lowest_bit(open);
      const int last = first + simt::lowest_bit(small >> first);
      small = ql_sweep<kVectors, kN, kRows>(pairs, v, lane, first, last, tol, small);
    }
  }
  return (~small & all) == 0u;
}

// kRows rows of a lane between a column of v in device memory and shared memory. The rows of a matrix
// that does not fill its lanes' rows are zero.
template <class S, int kRows, int kWidth>
struct ql_column {
  using T = simt::real_of<S>;
  using P = simt::packet<T, kWidth>;
  static constexpr int kParts = simt::traits<S>::kComplex ? 2 : 1;

  // Whether a lane's packets are whole and aligned.
  static SIMT_FN bool in_packets(const steps::view& v, int n) {
    return v.layout == steps::kPackedColumns && n * kParts % kWidth == 0;
  }
  static SIMT_FN void read(const steps::view& v, SIMT_GLOBAL const T* column, int n, int row,
                           bool packets, SIMT_PRIVATE T (&x)[kRows]) {
    SIMT_UNROLL
    for (int k = 0; k < kRows; ++k) x[k] = simt::constant<T>(0.0f);
    SIMT_UNROLL
    for (int k = 0; k < kRows; k += kWidth) {
      if (packets && row + k < n * kParts) {
        const P p = *reinterpret_cast<SIMT_GLOBAL const P*>(column + row + k);
        SIMT_UNROLL
        for (int w = 0; w < kWidth; ++w) x[k + w] = p.x[w];
      }
      SIMT_UNROLL
      for (int w = 0; w < kWidth; ++w) {
        const int r = row + k + w;
        if (!packets && r < n * kParts) {
          x[k + w] = column[(r / kParts) * v.row * kParts + r % kParts];
        }
      }
    }
  }
  static SIMT_FN void write(const steps::view& v, SIMT_GLOBAL T* column, int n, int row,
                            bool packets, SIMT_PRIVATE const T (&x)[kRows]) {
    SIMT_UNROLL
    for (int k = 0; k < kRows; k += kWidth) {
      if (packets && row + k < n * kParts) {
        P p;
        SIMT_UNROLL
        for (int w = 0; w < kWidth; ++w) p.x[w] = x[k + w];
        *reinterpret_cast<SIMT_GLOBAL P*>(column + row + k) = p;
      }
      SIMT_UNROLL
      for (int w = 0; w < kWidth; ++w) {
        const int r = row + k + w;
        if (!packets && r < n * kParts) {
          column[(r / kParts) * v.row * kParts + r % kParts] = x[k + w];
        }
      }
    }
  }
};

// The place of value j among the values of a lane, ascending; equal ones in the order they came in.
template <class T>
SIMT_FN int rank_among(int n, SIMT_SHARED const value_pair<T>* pairs, int j) {
  const T own = pairs[j * 32].x[0];
  int rank = 0;
  for (int k = 0; k < n; ++k) {
    const T other = pairs[k * 32].x[0];
    if (other < own || (other == own && k < j)) ++rank;
  }
  return rank;
}

// kLanes lanes to a matrix of n <= kN; a warp a block.
template <class S, int kN, int kLanes, bool kVectors>
SIMT_KERNEL(32)
kernel_ql(arguments args) {
  using T = simt::real_of<S>;
  constexpr int kRows = kVectors ? ql_rows<S, kN, kLanes>() : 1;
  constexpr int kMatrices = 32 / kLanes;
  using L = ql_layout<T, kN, kRows, kVectors>;
  using Column = ql_column<S, kRows, L::kWidth>;
  constexpr int kParts = Column::kParts;
  SIMT_SHARED_ARRAY(T, all, L::kTotal);
  const simt::warp_group<32> warp;
  const simt::warp_group<kLanes> group;
  const int lane = warp.lane(), own = group.lane(), n = args.n, row = own * kRows;
  SIMT_SHARED value_pair<T>* pairs = reinterpret_cast<SIMT_SHARED value_pair<T>*>(all) + lane;
  SIMT_SHARED T* v = all + L::kPairs;
  const bool packets = kVectors && Column::in_packets(args.v, n);
  for (simt::int64 first = static_cast<simt::int64>(simt::block_index()) * kMatrices;
       first < args.batch; first += static_cast<simt::int64>(simt::block_count()) * kMatrices) {
    // a group past the last matrix repeats it and stores nothing
    const simt::int64 wanted = first + lane / kLanes;
    const bool valid = wanted < args.batch;
    const simt::int64 matrix = valid ? wanted : args.batch - 1;
    const tridiagonal<T> t = tridiagonal_of<T>(args, matrix);
    SIMT_GLOBAL T* base =
        reinterpret_cast<SIMT_GLOBAL T*>(args.v.data) + matrix * args.v.batch * kParts;
    for (int i = 0; i < n; ++i) {
      value_pair<T> x;
      x.x[0] = t.d[i];
      x.x[1] = t.e[i];
      pairs[i * 32] = x;
      if (kVectors) {
        T y[kRows];
        Column::read(args.v, base + i * args.v.column * kParts, n, row, packets, y);
        write_rows<kRows, L::kWidth>(v + i * kRows * 32, lane, y);
      }
    }
    const T exponent = *t.exponent;
    const bool bad = !simt::is_finite(exponent);
    const bool converged = ql_iteration<kVectors, kN, kRows>(n, pairs, v, lane);
    const int info = steps::info_of(bad, converged);
    const simt::pow2_scale<T> scale = simt::make_pow2(bad ? simt::constant<T>(0.0f) : exponent);
    // A group that repeats the last matrix has read its Q ahead of the first write to it.
    warp.sync();
    SIMT_GLOBAL T* w = reinterpret_cast<SIMT_GLOBAL T*>(args.w.data) + matrix * args.w.batch;
    for (int j = 0; j < n; ++j) {
      const int rank = rank_among(n, pairs, j);
      if (valid && j % kLanes == own) {
        const T value = simt::scale_pow2(pairs[j * 32].x[0], scale) + simt::constant<T>(0.0f);
        w[rank * args.w.row] = info != 0 ? simt::not_a_number<T>() : value;
      }
      if (kVectors) {
        T y[kRows];
        read_rows<kRows, L::kWidth>(v + j * kRows * 32, lane, y);
        SIMT_UNROLL
        for (int k = 0; k < kRows; ++k) y[k] = info != 0 ? simt::not_a_number<T>() : y[k];
        if (valid) {
          Column::write(args.v, base + rank * args.v.column * kParts, n, row, packets, y);
        }
      }
    }
    if (args.info != nullptr && valid && own == 0) args.info[matrix] = info;
    warp.sync();
  }
}

}  // namespace eigh
