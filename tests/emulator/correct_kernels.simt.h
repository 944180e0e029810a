// SPDX-License-Identifier: Apache-2.0
// Kernels without a fault, in which nothing may be reported. Blocks of 64 threads.

namespace correct {

using self_test::arguments;

// The sum of each block's part of `in`, in a tree through shared memory; `out`: one per block.
SIMT_KERNEL(64) reduce(arguments x) {
  SIMT_SHARED_ARRAY(float, part, 64);
  const int lane = simt::thread_index();
  for (int first = simt::block_index() * 64; first < x.count; first += simt::block_count() * 64) {
    part[lane] = first + lane < x.count ? x.in[first + lane] : 0.0f;
    simt::sync_block();
    for (int half = 32; half > 0; half /= 2) {
      if (lane < half) part[lane] = part[lane] + part[lane + half];
      simt::sync_block();
    }
    if (lane == 0) x.out[first / 64] = part[0];
    simt::sync_block();
  }
}

// The transpose of an 8x8 matrix per group of 8 lanes; the groups never wait for each other.
SIMT_KERNEL(64) transpose(arguments x) {
  SIMT_SHARED_ARRAY(float, tile, 8 * 72);
  const simt::warp_group<8> group;
  const int lane = group.lane();
  const int local = simt::thread_index() / 8;
  float* const own = tile + local * 72;
  const int step = simt::block_count() * 8;
  for (int matrix = simt::block_index() * 8 + local; matrix < x.count; matrix += step) {
    for (int j = 0; j < 8; ++j) own[j * 9 + lane] = x.in[matrix * 64 + j * 8 + lane];
    group.sync();
    for (int j = 0; j < 8; ++j) x.out[matrix * 64 + j * 8 + lane] = own[lane * 9 + j];
    group.sync();
  }
}

// A copy by way of shared memory, four floats at a time, with a tail of single ones.
SIMT_KERNEL(64) staged_copy(arguments x) {
  using packet = simt::packet<float, 4>;
  SIMT_SHARED_ARRAY(packet, stage, 64);
  const int lane = simt::thread_index();
  const int whole = x.count / 4;
  for (int first = simt::block_index() * 64; first < whole; first += simt::block_count() * 64) {
    const int index = first + lane;
    if (index < whole) {
      stage[63 - lane] = reinterpret_cast<const packet*>(x.in)[index];
    }
    simt::sync_block();
    if (first + 63 - lane < whole) {
      reinterpret_cast<packet*>(x.out)[first + 63 - lane] = stage[lane];
    }
    simt::sync_block();
  }
  if (simt::block_index() == 0 && whole * 4 + lane < x.count) {
    x.out[whole * 4 + lane] = x.in[whole * 4 + lane];
  }
}

// Words of groups, whose results are known; each group of 16 takes its own number of turns.
SIMT_KERNEL(64) words(arguments x) {
  const simt::warp_group<16> group;
  const simt::warp_group<32> warp;
  const int lane = group.lane();
  float right = 1.0f;
  for (int turn = 0; turn < 1 + simt::thread_index() / 16; ++turn) {
    if (group.sum(lane) != 120) right = 0.0f;
    if (group.max(lane) != 15) right = 0.0f;
    if (group.broadcast(lane, 5) != 5) right = 0.0f;
    if (group.shuffle_xor(lane, 6) != (lane ^ 6)) right = 0.0f;
    if (!group.any(lane == 3) || group.any(lane == 16)) right = 0.0f;
    if (group.all(lane < 15) || !group.all(lane < 16)) right = 0.0f;
  }
  const simt::complex<double> one = {1.0, -1.0};
  const simt::complex<double> total = warp.sum(one);
  if (total.re != 32.0 || total.im != -32.0) right = 0.0f;
  x.out[simt::block_index() * 64 + simt::thread_index()] = right;
}

// One warp makes what the other takes, a turn later; each meets the barrier in its own loop.
SIMT_KERNEL(64) roles(arguments x) {
  SIMT_SHARED_ARRAY(float, made, 64);
  const int thread = simt::thread_index(), lane = thread % 32;
  float* const own = x.out + simt::block_index() * 64;
  if (thread < 32) {
    for (int turn = 0; turn < 4; ++turn) {
      made[turn % 2 * 32 + lane] = x.in[lane] + static_cast<float>(turn);
      simt::meet_block();
    }
    own[thread] = 0.0f;
  } else {
    float sum = 0.0f;
    for (int turn = 0; turn < 4; ++turn) {
      simt::meet_block();
      sum += made[turn % 2 * 32 + 31 - lane];
    }
    own[thread] = sum;
  }
}

// Lanes hand on through device memory, in order.
SIMT_KERNEL(64) through_device(arguments x) {
  const int lane = simt::thread_index();
  float* const own = x.out + simt::block_index() * 64;
  own[lane] = x.in[lane];
  simt::sync_block();
  float next = own[(lane + 1) % 64];
  simt::sync_block();
  own[lane] = next;
  const simt::warp_group<8> group;
  group.sync();
  next = own[lane ^ 3];
  group.sync();
  own[lane] = next;
}

// Every element is scaled by a constant that lies in the program, by way of a private array.
SIMT_KERNEL(64) private_array(arguments x) {
  float own[9];
  const int lane = simt::block_index() * 64 + simt::thread_index();
  for (int i = 0; i < 9; ++i) own[i] = x.in[lane] * static_cast<float>(i);
  float sum = 0.0f;
  for (int i = 0; i < 9; ++i) sum += own[(i * 5 + x.count) % 9];
  x.out[lane] = sum;
}

}  // namespace correct
