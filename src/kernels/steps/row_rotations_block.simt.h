// SPDX-License-Identifier: Apache-2.0
// Sweeps of plane rotations over orthogonal factors, in a block whose first warp makes the rotations
// and whose other warps apply them. A maker's lane has a matrix of its own: its d and e, and the chain
// of scalars, which is so computed once. Each other thread, a taker, holds one real row of a factor in
// registers (a complex row is two) and reads the rotations from shared memory. They work a turn apart:
// while the makers make sweep k + 1 the takers apply sweep k, and all meet once a sweep.

namespace steps {

SIMT_CONSTANT int kMakers = 32;  // threads
// Rotations of a sweep come in whole parts of so many, filled up with the identity.
SIMT_CONSTANT int kPart = 8;

template <class T>
using value_pair = simt::packet<T, 2>;  // d_i, e_i
template <class T>
using rotation_pair = simt::packet<T, 2>;  // c, s

// The shared memory of kMatrices matrices of order kN with kSides factors, in T.
template <class T, int kN, int kMatrices, int kSides>
struct turns_layout {
  static constexpr int kPairs = 2 * kN * kMatrices;  // pair i of a matrix at i * kMatrices
  // A packet more than the rotations, so that the factors that a warp reads lie in other banks.
  static constexpr int kPad = 16 / static_cast<int>(sizeof(T));
  static constexpr int kSide = 2 * kN + kPad;  // rotation i at 2 i
  static constexpr int kMatrix = kSides * kSide + (kSides - 1) * kPad;
  static constexpr int kTurn = kMatrices * kMatrix;
  static constexpr int kTotal = kPairs + 2 * kTurn;
  static constexpr int kNotes = kMatrices * (kN + 5) + 2;  // in int
};
template <class T>
struct turns_memory {
  SIMT_SHARED value_pair<T>* pairs;
  SIMT_SHARED T* rotations;  // of two turns
  SIMT_SHARED int* ranges;   // of two turns: first, last of each matrix; equal where it rests
  SIMT_SHARED int* open;     // of two turns: 0 ends them
  SIMT_SHARED int* info;     // of each matrix, once the turns have ended
  SIMT_SHARED int* ranks;    // of each value of each matrix; ~rank where it is below zero
};
template <class L, int kMatrices, class T>
SIMT_FN turns_memory<T> turns_memory_of(SIMT_SHARED T* all, SIMT_SHARED int* notes) {
  return {reinterpret_cast<SIMT_SHARED value_pair<T>*>(all),
          all + L::kPairs,
          notes,
          notes + 4 * kMatrices,
          notes + 4 * kMatrices + 2,
          notes + 5 * kMatrices + 2};
}

// The identity in what a sweep over first .. last leaves of its parts.
template <class T>
SIMT_FN void fill_parts(SIMT_SHARED rotation_pair<T>* rotations, int first, int last) {
  rotation_pair<T> identity;
  identity.x[0] = simt::constant<T>(1.0f);
  identity.x[1] = simt::constant<T>(0.0f);
  SIMT_NO_UNROLL
  for (int i = first / kPart * kPart; i < first; ++i) rotations[i] = identity;
  SIMT_NO_UNROLL
  for (int i = last; i % kPart != 0; ++i) rotations[i] = identity;
}

// One rotation of columns i and i + 1 of a row.
template <int kN, class T>
SIMT_FN void turn_entries(SIMT_PRIVATE T (&row)[kN], int i, T c, T s) {
  const T here = row[i], next = row[i + 1];
  row[i] = simt::fma(s, next, c * here);
  row[i + 1] = simt::fnma(s, here, c * next);
}

// A row by the rotations first .. last - 1, upwards or with kDown downwards.
template <bool kDown, int kN, class T>
SIMT_FN void turn_row(SIMT_PRIVATE T (&row)[kN], SIMT_SHARED const T* rotations, int first,
                      int last) {
  constexpr int kHeld = 8 / static_cast<int>(sizeof(T));  // rotations of a packet
  using P = simt::packet<T, 2 * kHeld>;
  SIMT_SHARED const P* packets = reinterpret_cast<SIMT_SHARED const P*>(rotations);
  SIMT_UNROLL
  for (int y = 0; y < kN; y += kPart) {
    const int from = kDown ? kN - kPart - y : y;
    if (from >= last || from + kPart <= first) continue;
    SIMT_UNROLL
    for (int z = 0; z < kPart; z += kHeld) {
      const int at = from + (kDown ? kPart - kHeld - z : z);
      const P p = packets[at / kHeld];
      SIMT_UNROLL
      for (int w = 0; w < kHeld; ++w) {
        const int held = kDown ? kHeld - 1 - w : w;
        if (at + held + 1 < kN) turn_entries(row, at + held, p.x[2 * held], p.x[2 * held + 1]);
      }
    }
  }
}

// A taker's turns, at most `most`: row is one of factor `side` of the block's matrix `index`.
template <class L, bool kDown, int kMatrices, int kN, class T>
SIMT_FN void take_turns(const turns_memory<T>& memory, int most, int index, int side,
                        SIMT_PRIVATE T (&row)[kN]) {
  SIMT_SHARED const T* rotations = memory.rotations + index * L::kMatrix + side * L::kSide;
  SIMT_NO_UNROLL
  for (int turn = 0; turn <= most; ++turn) {
    const int parity = turn & 1;
    simt::meet_block();
    if (memory.open[parity] == 0) break;
    SIMT_SHARED const int* range = memory.ranges + 2 * (parity * kMatrices + index);
    const int first = range[0], last = range[1];
    if (first < last) turn_row<kDown>(row, rotations + parity * L::kTurn, first, last);
  }
}

// The place of value j among n; equal ones in the order they came in.
template <bool kDescending, int kStride, class T>
SIMT_FN int rank_among(int n, SIMT_SHARED const value_pair<T>* pairs, int j) {
  const T own = kDescending ? -simt::abs(pairs[j * kStride].x[0]) : pairs[j * kStride].x[0];
  int rank = 0;
  for (int k = 0; k < n; ++k) {
    const T other = kDescending ? -simt::abs(pairs[k * kStride].x[0]) : pairs[k * kStride].x[0];
    if (other < own || (other == own && k < j)) ++rank;
  }
  return rank;
}

// n pairs from device memory, in groups of loads that do not wait for each other.
template <int kStride, class T>
SIMT_FN void load_pairs(SIMT_GLOBAL const T* d, SIMT_GLOBAL const T* e, int n,
                        SIMT_SHARED value_pair<T>* pairs) {
  SIMT_NO_UNROLL
  for (int from = 0; from < n; from += kPart) {
    value_pair<T> x[kPart];
    SIMT_UNROLL
    for (int k = 0; k < kPart; ++k) {
      const int i = from + k < n ? from + k : n - 1;
      x[k].x[0] = d[i];
      x[k].x[1] = e[i];
    }
    SIMT_UNROLL
    for (int k = 0; k < kPart; ++k) {
      if (from + k < n) pairs[(from + k) * kStride] = x[k];
    }
  }
}

// A row of a factor in device memory, in T: its entry of column j is at data[j * column].
template <class T>
struct real_row {
  SIMT_GLOBAL T* data;
  simt::int64 column;
};
// `index` counts real rows; row, column: the strides of the factor in x.
template <class S>
SIMT_FN real_row<simt::real_of<S>> real_row_of(const view& x, simt::int64 matrix, simt::int64 row,
                                               simt::int64 column, int index) {
  using T = simt::real_of<S>;
  constexpr int kReals = simt::traits<S>::kComplex ? 2 : 1;
  SIMT_GLOBAL T* data = reinterpret_cast<SIMT_GLOBAL T*>(x.data);
  return {data + (matrix * x.batch + index / kReals * row) * kReals + index % kReals,
          column * kReals};
}
// Its first `columns` entries, and zeros.
template <int kN, class T>
SIMT_FN void load_real_row(const real_row<T>& x, int columns, SIMT_PRIVATE T (&row)[kN]) {
  SIMT_GLOBAL const T* at = x.data;
  SIMT_UNROLL
  for (int j = 0; j < kN; ++j) {
    row[j] = simt::constant<T>(0.0f);
    if (j < columns) row[j] = *at;
    at += x.column;
  }
}

// Member by member: a pointer to one of two would send both through memory.
SIMT_FN view select_view(bool first, const view& a, const view& b) {
  return {first ? a.data : b.data, first ? a.row : b.row, first ? a.column : b.column,
          first ? a.batch : b.batch, first ? a.layout : b.layout};
}

}  // namespace steps
