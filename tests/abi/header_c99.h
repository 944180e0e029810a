/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LANEPACK_TESTS_ABI_HEADER_C99_H_
#define LANEPACK_TESTS_ABI_HEADER_C99_H_

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

extern const size_t kLanepackC99Layout[];
extern const size_t kLanepackC99LayoutCount;
int lanepack_c99_abi_version(void);

#ifdef __cplusplus
}
#endif

#endif /* LANEPACK_TESTS_ABI_HEADER_C99_H_ */
