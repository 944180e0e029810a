// SPDX-License-Identifier: Apache-2.0
// A matrix between device memory and a group of kW lanes of a warp, a column in the registers of each
// lane. Where columns lie contiguous in memory they pass through a tile in shared memory, so that
// lanes side by side touch entries side by side; rows do so as they are.
// A tile holds column j at j * tile_stride().

namespace steps {

// A 16-byte packet of S.
template <class S>
using packet_of = simt::packet<S, 16 / static_cast<int>(sizeof(S))>;

// Entries between two columns of kM entries: an odd number of packets, so that the lanes' packets
// meet no bank twice.
template <class S, int kM>
SIMT_FN constexpr int tile_stride() {
  return (((kM * static_cast<int>(sizeof(S)) + 15) / 16) | 1) * 16 / static_cast<int>(sizeof(S));
}

// kL entries (whole packets) from shared memory, aligned, and back.
template <int kL, int kX, class S>
SIMT_FN void read_packets(SIMT_SHARED const S* from, SIMT_PRIVATE S (&x)[kX]) {
  constexpr int kWidth = 16 / static_cast<int>(sizeof(S));
  SIMT_SHARED const packet_of<S>* p = reinterpret_cast<SIMT_SHARED const packet_of<S>*>(from);
  SIMT_UNROLL
  for (int k = 0; k < kL / kWidth; ++k) {
    const packet_of<S> y = p[k];
    SIMT_UNROLL
    for (int w = 0; w < kWidth; ++w) x[k * kWidth + w] = y.x[w];
  }
}
template <int kL, int kX, class S>
SIMT_FN void write_packets(SIMT_SHARED S* to, SIMT_PRIVATE const S (&x)[kX]) {
  constexpr int kWidth = 16 / static_cast<int>(sizeof(S));
  SIMT_SHARED packet_of<S>* p = reinterpret_cast<SIMT_SHARED packet_of<S>*>(to);
  SIMT_UNROLL
  for (int k = 0; k < kL / kWidth; ++k) {
    packet_of<S> y;
    SIMT_UNROLL
    for (int w = 0; w < kWidth; ++w) y.x[w] = x[k * kWidth + w];
    p[k] = y;
  }
}

// Where matrix `matrix` of a batch starts.
template <class S>
SIMT_FN SIMT_GLOBAL S* matrix_of(const view& x, simt::int64 matrix) {
  return reinterpret_cast<SIMT_GLOBAL S*>(x.data) + matrix * x.batch;
}

// The transpose.
SIMT_FN view transposed(const view& x) {
  const int layout = x.layout == kPackedRows      ? kPackedColumns
                     : x.layout == kPackedColumns ? kPackedRows
                                                  : kStrided;
  return {x.data, x.column, x.row, x.batch, layout};
}

// Whether the packets of a column do not reach into the next one.
template <class S>
SIMT_FN bool columns_are_packets(const view& x, int rows) {
  return x.layout == kPackedColumns && rows * static_cast<int>(sizeof(S)) % 16 == 0;
}

// The n columns of m entries, whole packets, between device memory and the tile. Where a packet belongs
// is counted up: a division each would cost more than the rest.
template <int kM, int kW, bool kStore, class S>
SIMT_FN void move_columns(SIMT_GLOBAL S* matrix, int m, int n, SIMT_SHARED S* tile) {
  constexpr int kWidth = 16 / static_cast<int>(sizeof(S)), kStride = tile_stride<S, kM>();
  const simt::joint_group<kW> group;
  SIMT_GLOBAL packet_of<S>* packets = reinterpret_cast<SIMT_GLOBAL packet_of<S>*>(matrix);
  const int per_column = m / kWidth, lane = group.lane();
  const int columns = kW / per_column, rest = kW % per_column;
  int j = lane / per_column, at = lane % per_column;
  for (int k = lane; k < n * per_column; k += kW) {
    SIMT_SHARED packet_of<S>* own = reinterpret_cast<SIMT_SHARED packet_of<S>*>(tile + j * kStride);
    if (kStore) {
      packets[k] = own[at];
    } else {
      own[at] = packets[k];
    }
    at += rest;
    j += columns;
    if (at >= per_column) {
      at -= per_column;
      ++j;
    }
  }
}

// The m x n matrix into the tile, rows m .. kM - 1 as zeros.
template <int kM, int kW, class S>
SIMT_FN void load_tile(const view& x, simt::int64 matrix, int m, int n, SIMT_SHARED S* tile) {
  const simt::joint_group<kW> group;
  constexpr int kStride = tile_stride<S, kM>();
  SIMT_GLOBAL S* from = matrix_of<S>(x, matrix);
  const int lane = group.lane();
  if (columns_are_packets<S>(x, m)) {
    move_columns<kM, kW, false>(from, m, n, tile);
  } else {
    for (int j = 0; j < n; ++j) {
      for (int i = lane; i < m; i += kW) tile[j * kStride + i] = from[i * x.row + j * x.column];
    }
  }
  if (m < kM) {
    for (int j = lane; j < n; j += kW) {
      for (int i = m; i < kM; ++i) tile[j * kStride + i] = simt::zero<S>();
    }
  }
}

// Column `lane` of the m x n matrix; zeros in rows from m and lanes from n on. The tile holds kW
// columns and nothing that is still needed, before and after.
template <int kM, int kW, class S>
SIMT_FN void load_column(const view& x, simt::int64 matrix, int m, int n, SIMT_SHARED S* tile,
                         SIMT_PRIVATE S (&a)[kM]) {
  const simt::joint_group<kW> group;
  const int lane = group.lane();
  if (x.row == 1 && x.column != 1) {
    group.sync();
    load_tile<kM, kW>(x, matrix, m, n, tile);
    group.sync();
    const int column = lane < n ? lane : n - 1;
    read_packets<kM>(tile + column * tile_stride<S, kM>(), a);
    SIMT_UNROLL
    for (int i = 0; i < kM; ++i) a[i] = lane < n ? a[i] : simt::zero<S>();
    group.sync();
  } else {
    SIMT_GLOBAL const S* from = matrix_of<S>(x, matrix) + lane * x.column;
    SIMT_UNROLL
    for (int i = 0; i < kM; ++i) {
      a[i] = simt::zero<S>();
      if (lane < n && i < m) a[i] = from[i * x.row];
    }
  }
}

// The reverse. Nothing is stored where !valid.
template <int kM, int kW, class S>
SIMT_FN void store_column(const view& x, simt::int64 matrix, int m, int n, bool valid,
                          SIMT_SHARED S* tile, SIMT_PRIVATE const S (&a)[kM]) {
  const simt::joint_group<kW> group;
  constexpr int kStride = tile_stride<S, kM>();
  const int lane = group.lane();
  SIMT_GLOBAL S* to = matrix_of<S>(x, matrix);
  if (x.row == 1 && x.column != 1) {
    group.sync();
    write_packets<kM>(tile + lane * kStride, a);
    group.sync();
    if (valid && columns_are_packets<S>(x, m)) {
      move_columns<kM, kW, true>(to, m, n, tile);
    } else if (valid) {
      for (int j = 0; j < n; ++j) {
        for (int i = lane; i < m; i += kW) to[i + j * x.column] = tile[j * kStride + i];
      }
    }
    group.sync();
  } else if (valid && lane < n) {
    SIMT_UNROLL
    for (int i = 0; i < kM; ++i) {
      if (i < m) to[i * x.row + lane * x.column] = a[i];
    }
  }
}

// What the store needs to know about the matrix of a group; the same in all its lanes.
template <class T>
struct group_prepared {
  bool bad;
  T exponent;
};

// prepare() of prepare_thread.simt.h for a matrix whose entries the lanes hold; `largest`: of each
// lane's own.
template <int kW, class T>
SIMT_FN group_prepared<T> prepare_group(T largest) {
  const simt::joint_group<kW> group;
  group_prepared<T> r;
  r.bad = group.any(!simt::is_finite(largest));
  const T over_all = group.max(r.bad ? simt::constant<T>(1.0f) : largest);
  r.exponent = simt::exponent(over_all);
  return r;
}

// Column (or row) `lane` of the matrix scaled, or of the identity.
template <int kW, int kM, class S>
SIMT_FN void scale_column(const group_prepared<simt::real_of<S>>& p, SIMT_PRIVATE S (&a)[kM]) {
  using T = simt::real_of<S>;
  const simt::joint_group<kW> group;
  const simt::pow2_scale<T> s = simt::make_pow2(-p.exponent);
  const int lane = group.lane();
  SIMT_UNROLL
  for (int i = 0; i < kM; ++i) {
    const S unit = simt::from_real<S>(simt::constant<T>(i == lane ? 1.0f : 0.0f));
    a[i] = simt::select(p.bad, unit, simt::scale_pow2(a[i], s));
  }
}
template <int kW, int kM, class S>
SIMT_FN group_prepared<simt::real_of<S>> prepare_column(SIMT_PRIVATE S (&a)[kM]) {
  using T = simt::real_of<S>;
  T largest = simt::constant<T>(0.0f);
  SIMT_UNROLL
  for (int i = 0; i < kM; ++i) largest = simt::max_magnitude(largest, a[i]);
  const group_prepared<T> p = prepare_group<kW>(largest);
  scale_column<kW>(p, a);
  return p;
}

}  // namespace steps
