// SPDX-License-Identifier: Apache-2.0
#include "launch.h"

namespace lanepack::emulator {

const bool kChecked = false;

}  // namespace lanepack::emulator
