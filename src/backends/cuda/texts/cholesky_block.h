// SPDX-License-Identifier: Apache-2.0
// The parts of the text "cholesky_block", in order.
#include "kernels/steps/report.simt.h"
#include "kernels/steps/view.simt.h"
// after what stands above
#include "kernels/cholesky/arguments.simt.h"
#include "kernels/cholesky/scaling.simt.h"
#include "kernels/steps/staging_warp.simt.h"
// after what stands above
#include "kernels/cholesky/right_looking_warp.simt.h"
// after what stands above
#include "kernels/cholesky/left_looking_block.simt.h"
