// SPDX-License-Identifier: Apache-2.0
// What the arguments of a GPU kernel are made of, for the host that fills them
// (src/kernels/<operation>/arguments.simt.h) and for the dialects that read them.
#ifndef LANEPACK_DIALECT_ARGUMENTS_H_
#define LANEPACK_DIALECT_ARGUMENTS_H_

#ifndef SIMT_GLOBAL
#define SIMT_GLOBAL
#endif

namespace simt {

using int64 = long long;  // NOLINT: <cstdint> is not there where a kernel is compiled

}  // namespace simt

#endif  // LANEPACK_DIALECT_ARGUMENTS_H_
