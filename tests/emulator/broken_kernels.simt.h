// SPDX-License-Identifier: Apache-2.0
// Kernels with one fault each, which must be reported by its name. Blocks of 64 threads.

namespace broken {

using self_test::arguments;

SIMT_FN int global_index() { return simt::block_index() * 64 + simt::thread_index(); }

// ---- order of accesses ----

SIMT_KERNEL(64) missing_barrier(arguments x) {
  SIMT_SHARED_ARRAY(float, part, 64);
  const int lane = simt::thread_index();
  part[lane] = x.in[lane];
  x.out[lane] = part[63 - lane];
}
// Right in a warp that runs in step, and wrong by the rules.
SIMT_KERNEL(64) missing_group_sync(arguments x) {
  SIMT_SHARED_ARRAY(float, part, 64);
  const simt::warp_group<32> group;
  const int lane = simt::thread_index();
  part[lane] = x.in[lane];
  group.sum(part[lane]);  // an exchange orders no memory
  x.out[lane] = part[lane ^ 1];
}
// A group's sync does not reach the next group.
SIMT_KERNEL(64) sync_of_a_smaller_group(arguments x) {
  SIMT_SHARED_ARRAY(float, part, 64);
  const simt::warp_group<8> group;
  const int lane = simt::thread_index();
  part[lane] = x.in[lane];
  group.sync();
  x.out[lane] = part[lane ^ 8];
}
// The second turn writes what lanes of the first may still read.
SIMT_KERNEL(64) missing_barrier_of_a_loop(arguments x) {
  SIMT_SHARED_ARRAY(float, part, 64);
  const int lane = simt::thread_index();
  float sum = 0.0f;
  for (int turn = 0; turn < 2; ++turn) {
    part[lane] = x.in[lane] + sum;
    simt::sync_block();
    sum += part[63 - lane];
  }
  x.out[lane] = sum;
}
SIMT_KERNEL(64) two_writers(arguments x) {
  SIMT_SHARED_ARRAY(float, flag, 1);
  if (simt::thread_index() % 32 == 0) flag[0] = 1.0f;
  simt::sync_block();
  x.out[simt::thread_index()] = flag[0];
}
SIMT_KERNEL(64) race_in_device_memory(arguments x) {
  const int lane = simt::thread_index();
  x.out[lane] = x.in[lane];
  x.out[lane] = x.out[(lane + 1) % 64];
}
// A group's sync does not reach the next group.
SIMT_KERNEL(64) device_memory_of_another_group(arguments x) {
  const simt::warp_group<16> group;
  const int lane = simt::thread_index();
  x.out[lane] = x.in[lane];
  group.sync();
  const float other = x.out[lane ^ 16];
  simt::sync_block();
  x.out[lane] = other;
}
SIMT_KERNEL(64) blocks_write_the_same(arguments x) { x.out[simt::thread_index()] = 1.0f; }
SIMT_KERNEL(64) block_reads_another(arguments x) {
  const int index = global_index();
  x.out[index] = x.in[index];
  simt::sync_block();
  if (simt::block_index() == 1) x.out[index] = x.out[index - 64];
  if (simt::block_index() == 0) x.out[index] = x.out[index + 64];
}

// ---- words that not all lanes meet ----

SIMT_KERNEL(64) divergent_barrier(arguments x) {
  if (simt::thread_index() < 32) {
    simt::sync_block();
  } else {
    simt::sync_block();
  }
  x.out[simt::thread_index()] = 1.0f;
}
SIMT_KERNEL(64) warp_at_two_places(arguments x) {
  if (simt::thread_index() < 48) {
    simt::meet_block();
  } else {
    simt::meet_block();
  }
  x.out[simt::thread_index()] = 1.0f;
}
SIMT_KERNEL(64) different_barriers(arguments x) {
  if (simt::thread_index() < 32) {
    simt::meet_block();
  } else {
    simt::sync_block();
  }
  x.out[simt::thread_index()] = 1.0f;
}
SIMT_KERNEL(64) early_return(arguments x) {
  const int lane = simt::thread_index();
  x.out[lane] = 1.0f;
  if (x.in[lane] > 0.5f) return;
  simt::sync_block();
}
SIMT_KERNEL(64) early_return_of_a_group(arguments x) {
  const simt::warp_group<8> group;
  const int lane = simt::thread_index();
  x.out[lane] = 1.0f;
  if (lane == 13) return;
  x.out[lane] = group.sum(1.0f);
}
SIMT_KERNEL(64) divergent_shuffle(arguments x) {
  const simt::warp_group<8> group;
  const int lane = group.lane();
  float v = static_cast<float>(lane);
  if (lane < 4) v = group.shuffle_xor(v, 1);
  simt::sync_block();
  x.out[simt::thread_index()] = v;
}
SIMT_KERNEL(64) different_words(arguments x) {
  const simt::warp_group<16> group;
  float v = 1.0f;
  if (group.lane() < 8) {
    v = group.sum(v);
  } else {
    v = group.max(v);
  }
  x.out[simt::thread_index()] = v;
}
SIMT_KERNEL(64) different_distances(arguments x) {
  const simt::warp_group<16> group;
  x.out[simt::thread_index()] = group.shuffle_xor(1.0f, group.lane() < 8 ? 1 : 2);
}
SIMT_KERNEL(64) lane_outside_the_group(arguments x) {
  const simt::warp_group<8> group;
  x.out[simt::thread_index()] = group.broadcast(1.0f, 8);
}
SIMT_KERNEL(64) one_turn_more(arguments x) {
  const simt::warp_group<32> group;
  float sum = 0.0f;
  for (int turn = 0; turn < (group.lane() == 7 ? 4 : 3); ++turn) sum += group.sum(1.0f);
  x.out[simt::thread_index()] = sum;
}

// ---- addresses ----

SIMT_KERNEL(64) shared_read_outside(arguments x) {
  SIMT_SHARED_ARRAY(float, part, 64);
  const int lane = simt::thread_index();
  part[lane] = 1.0f;
  simt::sync_block();
  x.out[lane] = part[lane + 1];
}
SIMT_KERNEL(64) shared_write_outside(arguments x) {
  SIMT_SHARED_ARRAY(float, part, 64);
  const int lane = simt::thread_index();
  part[lane - 1] = x.in[lane];
  simt::sync_block();
  x.out[lane] = part[lane];
}
SIMT_KERNEL(64) device_read_outside(arguments x) {
  const int lane = simt::thread_index();
  x.out[lane] = x.in[lane + x.count];
}
SIMT_KERNEL(64) device_write_outside(arguments x) {
  x.out[simt::thread_index() + x.count - 63] = 1.0f;
}
SIMT_KERNEL(64) null_pointer(arguments x) { x.wide[simt::thread_index()] = 1.0; }
SIMT_KERNEL(64) write_to_an_input(arguments x) {
  const_cast<float*>(x.in)[simt::thread_index()] = 1.0f;
}
SIMT_KERNEL(64) misaligned(arguments x) {
  const int lane = simt::thread_index();
  const simt::packet<float, 4> v =
      *reinterpret_cast<const simt::packet<float, 4>*>(x.in + (lane == 9 ? 1 : 0));
  x.out[lane] = v.x[0] + v.x[3];
}
SIMT_KERNEL(64) private_pointer(arguments x) {
  SIMT_SHARED_ARRAY(float*, where, 64);
  float own = x.in[simt::thread_index()];
  where[simt::thread_index()] = &own;
  simt::sync_block();
  x.out[simt::thread_index()] = *where[63 - simt::thread_index()];
  simt::sync_block();
}
SIMT_KERNEL(64) private_index(arguments x) {
  float own[9];
  for (int i = 0; i < 9; ++i) own[i] = x.in[i];
  x.out[simt::thread_index()] = own[x.count % 55];
}

// ---- values ----

SIMT_KERNEL(64) uninitialised_shared(arguments x) {
  SIMT_SHARED_ARRAY(float, part, 64);
  const int lane = simt::thread_index();
  if (lane != 40) part[lane] = x.in[lane];
  simt::sync_block();
  x.out[lane] = part[63 - lane];
}
SIMT_KERNEL(64) uninitialised_output(arguments x) { x.out[simt::thread_index()] += 1.0f; }
SIMT_KERNEL(64) output_not_whole(arguments x) {
  if (simt::thread_index() != 17) x.out[simt::thread_index()] = 1.0f;
}
SIMT_KERNEL(64) endless_loop(arguments x) {
  float v = x.in[0];
  while (v < 2.0f) v = simt::sqrt(v);
  x.out[simt::thread_index()] = v;
}
SIMT_KERNEL(64) too_much_shared_memory(arguments x) {
  SIMT_SHARED_ARRAY(double, a, 4096);
  SIMT_SHARED_ARRAY(double, b, 4096);
  a[simt::thread_index()] = b[simt::thread_index()] = 1.0;
  x.out[simt::thread_index()] = static_cast<float>(a[simt::thread_index()]);
}

}  // namespace broken
