/* SPDX-License-Identifier: Apache-2.0
 * The header as C99 sees it: sizes and offsets, for header_test.cc to compare. */
#include "header_c99.h"

#include <stddef.h>

#include "lanepack/lanepack.h"

const size_t kLanepackC99Layout[] = {
    sizeof(lanepack_batch),
    sizeof(lanepack_call),
    sizeof(lanepack_qr_args),
    sizeof(lanepack_eigh_args),
    sizeof(lanepack_svd_args),
    sizeof(lanepack_problem),
    sizeof(lanepack_cuda_state),
    offsetof(lanepack_call, threads),
    offsetof(lanepack_call, info),
    offsetof(lanepack_qr_args, r),
    offsetof(lanepack_eigh_args, v),
    offsetof(lanepack_svd_args, vh),
    offsetof(lanepack_problem, batch),
    offsetof(lanepack_cuda_state, cache),
};
const size_t kLanepackC99LayoutCount = sizeof(kLanepackC99Layout) / sizeof(kLanepackC99Layout[0]);

int lanepack_c99_abi_version(void) { return (int)lanepack_abi_version(); }
