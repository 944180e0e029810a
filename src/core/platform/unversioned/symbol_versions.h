// SPDX-License-Identifier: Apache-2.0
// Platforms whose C library has no symbol versions (macOS, musl) need nothing here.
#ifndef LANEPACK_CORE_PLATFORM_SYMBOL_VERSIONS_H_
#define LANEPACK_CORE_PLATFORM_SYMBOL_VERSIONS_H_
#endif  // LANEPACK_CORE_PLATFORM_SYMBOL_VERSIONS_H_
