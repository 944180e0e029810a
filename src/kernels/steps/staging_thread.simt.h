// SPDX-License-Identifier: Apache-2.0
// Matrices between device memory and the registers of their threads, one matrix per thread: a warp
// copies its 32 matrices with wide accesses through shared memory of its own and meets no other warp
// (measured on an H200, 100,000 x 8: qr 22 us, 32 with a block's barriers, 72 with each thread's own
// loads). Matrices in registers are a[j][i]: row i of column j.

namespace steps {

// Threads of a block whose threads hold a matrix each.
SIMT_CONSTANT int kThreads = 64;
SIMT_CONSTANT int kWarpsPerBlock = kThreads / 32;

// The shared memory of a warp for 32 matrices of kCount entries each, kStride entries apart. Where a
// matrix is a whole number of 16-byte packets, the stride is an odd number of them: neither the copy
// nor a thread's own packets meet a bank twice.
template <class S, int kCount>
struct slots {
  static constexpr int kBytes = kCount * static_cast<int>(sizeof(S));
  static constexpr bool kWide = kBytes % 16 == 0;
  static constexpr int kStride =
      kWide ? (kBytes / 16 | 1) * 16 / static_cast<int>(sizeof(S)) : kCount;
  static constexpr int kOfWarp = 32 * kStride;
  static constexpr int kOfBlock = kWarpsPerBlock * kOfWarp;
};

// A 16-byte packet of S.
template <class S>
using wide_packet = simt::packet<S, 16 / static_cast<int>(sizeof(S))>;

// Whole packets of 32 matrices that lie packed in device memory, to or from their slots.
template <bool kIn, class S, int kCount>
SIMT_FN void copy_packets(SIMT_GLOBAL S* packed, SIMT_SHARED S* mine, int lane) {
  using P = wide_packet<S>;
  using L = slots<S, kCount>;
  constexpr int kPerMatrix = L::kWide ? L::kBytes / 16 : 1;
  constexpr int kPadded = L::kWide ? L::kStride * static_cast<int>(sizeof(S)) / 16 : 1;
  constexpr int kPackets = 2 * L::kBytes;  // 32 matrices
  SIMT_GLOBAL P* memory = reinterpret_cast<SIMT_GLOBAL P*>(packed);
  SIMT_SHARED P* shared = reinterpret_cast<SIMT_SHARED P*>(mine);
  SIMT_UNROLL
  for (int k = 0; k < (kPackets + 31) / 32; ++k) {
    const int i = k * 32 + lane;
    if (kPackets % 32 != 0 && i >= kPackets) continue;
    const int at = i / kPerMatrix * kPadded + i % kPerMatrix;
    if (kIn) {
      shared[at] = memory[i];
    } else {
      memory[i] = shared[at];
    }
  }
}

// `count` matrices of kM x kN from matrix `first` on, into the slots of the warp; entries in the order
// in which they lie in memory, column by column where they are not packed. load_slots() orders nothing,
// so that what it loads and another's loads are under way together.
template <int kM, int kN, class S>
SIMT_FN void load_slots(const view& x, simt::int64 first, int count, SIMT_SHARED S* mine) {
  const simt::warp_group<32> warp;
  constexpr int kCount = kM * kN;
  using L = slots<S, kCount>;
  SIMT_GLOBAL S* data = reinterpret_cast<SIMT_GLOBAL S*>(x.data);
  const int lane = warp.lane();
  if (x.layout == kStrided) {
    SIMT_GLOBAL const S* from = data + (first + (lane < count ? lane : count - 1)) * x.batch;
    SIMT_NO_UNROLL
    for (int j = 0; j < kN; ++j) {
      for (int i = 0; i < kM; ++i) {
        mine[lane * L::kStride + j * kM + i] = from[i * x.row + j * x.column];
      }
    }
  } else if (count == 32) {
    copy_packets<true, S, kCount>(data + first * kCount, mine, lane);
  } else {
    SIMT_NO_UNROLL
    for (int i = lane; i < count * kCount; i += 32) {
      mine[i / kCount * L::kStride + i % kCount] = data[first * kCount + i];
    }
  }
}
template <int kM, int kN, class S>
SIMT_FN void stage_in(const view& x, simt::int64 first, int count, SIMT_SHARED S* mine) {
  const simt::warp_group<32> warp;
  warp.sync();
  load_slots<kM, kN>(x, first, count, mine);
  warp.sync();
}

// The reverse.
template <int kM, int kN, class S>
SIMT_FN void stage_out(const view& x, simt::int64 first, int count, SIMT_SHARED S* mine) {
  const simt::warp_group<32> warp;
  constexpr int kCount = kM * kN;
  using L = slots<S, kCount>;
  SIMT_GLOBAL S* data = reinterpret_cast<SIMT_GLOBAL S*>(x.data);
  const int lane = warp.lane();
  warp.sync();
  if (x.layout == kStrided) {
    if (lane < count) {
      SIMT_GLOBAL S* to = data + (first + lane) * x.batch;
      SIMT_NO_UNROLL
      for (int j = 0; j < kN; ++j) {
        for (int i = 0; i < kM; ++i) {
          to[i * x.row + j * x.column] = mine[lane * L::kStride + j * kM + i];
        }
      }
    }
  } else if (count == 32) {
    copy_packets<false, S, kCount>(data + first * kCount, mine, lane);
  } else {
    SIMT_NO_UNROLL
    for (int i = lane; i < count * kCount; i += 32) {
      data[first * kCount + i] = mine[i / kCount * L::kStride + i % kCount];
    }
  }
  warp.sync();
}

// stage_out() of slots whose entries lie in the other order: rows and columns exchanged.
template <int kM, int kN, class S>
SIMT_FN void stage_out_transposed(const view& x, simt::int64 first, int count,
                                  SIMT_SHARED const S* mine) {
  const simt::warp_group<32> warp;
  constexpr int kCount = kM * kN;
  using L = slots<S, kCount>;
  SIMT_GLOBAL S* data = reinterpret_cast<SIMT_GLOBAL S*>(x.data);
  const bool rows = x.layout == kPackedRows;
  warp.sync();
  SIMT_NO_UNROLL
  for (int k = warp.lane(); k < count * kCount; k += 32) {
    const int matrix = k / kCount, entry = k % kCount;
    const int i = rows ? entry / kN : entry % kM, j = rows ? entry % kN : entry / kM;
    const S value = mine[matrix * L::kStride + (rows ? j * kM + i : i * kN + j)];
    if (x.layout == kStrided) {
      data[(first + matrix) * x.batch + i * x.row + j * x.column] = value;
    } else {
      data[first * kCount + k] = value;
    }
  }
  warp.sync();
}

// The widest packet, in entries, of which runs of kRun entries at multiples of kRun are whole numbers.
template <class S, int kRun>
SIMT_FN constexpr int packet_width() {
  return sizeof(S) <= 8 && kRun * sizeof(S) % 16 == 0  ? 16 / static_cast<int>(sizeof(S))
         : sizeof(S) <= 4 && kRun * sizeof(S) % 8 == 0 ? 8 / static_cast<int>(sizeof(S))
                                                       : 1;
}

// A slot into the first kN columns of a; by_rows: its entries lie row by row.
template <int kM, int kN, int kColumns, class S>
SIMT_FN void read_slot(SIMT_SHARED const S* slot, bool by_rows, SIMT_PRIVATE S (&a)[kColumns][kM]) {
  constexpr int kWidth = packet_width<S, kM * kN>();
  using P = simt::packet<S, kWidth>;
  SIMT_SHARED const P* from = reinterpret_cast<SIMT_SHARED const P*>(slot);
  if (by_rows) {
    SIMT_UNROLL
    for (int k = 0; k < kM * kN / kWidth; ++k) {
      const P p = from[k];
      SIMT_UNROLL
      for (int x = 0; x < kWidth; ++x) a[(k * kWidth + x) % kN][(k * kWidth + x) / kN] = p.x[x];
    }
  } else {
    SIMT_UNROLL
    for (int k = 0; k < kM * kN / kWidth; ++k) {
      const P p = from[k];
      SIMT_UNROLL
      for (int x = 0; x < kWidth; ++x) a[(k * kWidth + x) / kM][(k * kWidth + x) % kM] = p.x[x];
    }
  }
}

// One column of a matrix of kM x kN to column j of a slot; j may differ from thread to thread.
template <int kM, int kN, class S>
SIMT_FN void write_column(SIMT_SHARED S* slot, bool by_rows, int j, SIMT_PRIVATE const S (&x)[kM]) {
  if (by_rows) {
    SIMT_UNROLL
    for (int i = 0; i < kM; ++i) slot[i * kN + j] = x[i];
    return;
  }
  constexpr int kWidth = packet_width<S, kM>();
  using P = simt::packet<S, kWidth>;
  SIMT_SHARED P* to = reinterpret_cast<SIMT_SHARED P*>(slot + j * kM);
  SIMT_UNROLL
  for (int k = 0; k < kM / kWidth; ++k) {
    P p;
    SIMT_UNROLL
    for (int w = 0; w < kWidth; ++w) p.x[w] = x[k * kWidth + w];
    to[k] = p;
  }
}

template <class S>
SIMT_FN void fill_slot(SIMT_SHARED S* slot, int count, S value) {
  SIMT_NO_UNROLL
  for (int i = 0; i < count; ++i) slot[i] = value;
}

// The first matrix of this warp in the batch, and the distance to its next ones.
SIMT_FN simt::int64 first_of_warp() {
  return static_cast<simt::int64>(simt::block_index()) * kThreads + simt::thread_index() / 32 * 32;
}
SIMT_FN simt::int64 stride_of_warps() {
  return static_cast<simt::int64>(simt::block_count()) * kThreads;
}
SIMT_FN int count_of_warp(simt::int64 first, simt::int64 batch) {
  return batch - first < 32 ? static_cast<int>(batch - first) : 32;
}

}  // namespace steps
