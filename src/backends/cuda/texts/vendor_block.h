// SPDX-License-Identifier: Apache-2.0
// The parts of the text "vendor_block", in order.
#include "kernels/steps/report.simt.h"
#include "kernels/steps/view.simt.h"
// after what stands above
#include "kernels/vendor/arguments.simt.h"
// after what stands above
#include "kernels/vendor/prepare_block.simt.h"
// after what stands above
#include "kernels/vendor/finish_block.simt.h"
#include "kernels/vendor/gram_block.simt.h"
