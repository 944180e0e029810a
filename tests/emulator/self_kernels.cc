// SPDX-License-Identifier: Apache-2.0
#include "self_kernels.h"

#include "dialect/emulator.h"
// after the dialect
#include "broken_kernels.simt.h"
#include "correct_kernels.simt.h"

namespace lanepack::emulator {

using self_test::arguments;

#define SELF(...) LANEPACK_KERNEL(arguments, __VA_ARGS__)
const Entry kSelfKernels[] = {
    SELF(correct::reduce),
    SELF(correct::transpose),
    SELF(correct::staged_copy),
    SELF(correct::words),
    SELF(correct::roles),
    SELF(correct::through_device),
    SELF(correct::private_array),
    SELF(broken::missing_barrier),
    SELF(broken::missing_group_sync),
    SELF(broken::sync_of_a_smaller_group),
    SELF(broken::missing_barrier_of_a_loop),
    SELF(broken::two_writers),
    SELF(broken::race_in_device_memory),
    SELF(broken::device_memory_of_another_group),
    SELF(broken::blocks_write_the_same),
    SELF(broken::block_reads_another),
    SELF(broken::divergent_barrier),
    SELF(broken::warp_at_two_places),
    SELF(broken::different_barriers),
    SELF(broken::early_return),
    SELF(broken::early_return_of_a_group),
    SELF(broken::divergent_shuffle),
    SELF(broken::different_words),
    SELF(broken::different_distances),
    SELF(broken::lane_outside_the_group),
    SELF(broken::one_turn_more),
    SELF(broken::shared_read_outside),
    SELF(broken::shared_write_outside),
    SELF(broken::device_read_outside),
    SELF(broken::device_write_outside),
    SELF(broken::null_pointer),
    SELF(broken::write_to_an_input),
    SELF(broken::misaligned),
    SELF(broken::private_pointer),
    SELF(broken::private_index),
    SELF(broken::uninitialised_shared),
    SELF(broken::uninitialised_output),
    SELF(broken::output_not_whole),
    SELF(broken::endless_loop),
    SELF(broken::too_much_shared_memory),
};
const int kSelfKernelCount = sizeof(kSelfKernels) / sizeof(kSelfKernels[0]);

}  // namespace lanepack::emulator
