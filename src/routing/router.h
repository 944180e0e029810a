// SPDX-License-Identifier: Apache-2.0
// Which algorithm serves a problem.
#ifndef LANEPACK_ROUTING_ROUTER_H_
#define LANEPACK_ROUTING_ROUTER_H_

#include "backends/backend.h"

namespace lanepack {

// Finds the algorithm for `key`, or records an error headed by `function`. LANEPACK_FORCE in the
// environment names one and overrides the policy; an identifier that does not exist
// (kInvalidArgument), or that does not serve the problem (kUnsupported), is an error.
Status route(const char* function, const ProblemKey& key, const Algorithm** algorithm);

// "qr", "eigh", "eigvalsh", "svd" or "svdvals".
const char* operation_name(Operation operation);
// "f32", "f64", "c64" or "c128".
const char* dtype_name(Dtype dtype);

}  // namespace lanepack

#endif  // LANEPACK_ROUTING_ROUTER_H_
