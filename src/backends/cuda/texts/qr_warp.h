// SPDX-License-Identifier: Apache-2.0
// The parts of the text "qr_warp", in order.
#include "kernels/steps/householder_thread.simt.h"
#include "kernels/steps/report.simt.h"
#include "kernels/steps/view.simt.h"
// after what stands above
#include "kernels/qr/arguments.simt.h"
#include "kernels/steps/staging_warp.simt.h"
// after what stands above
#include "kernels/steps/shifted_warp.simt.h"
// after what stands above
#include "kernels/qr/householder_block.simt.h"
#include "kernels/qr/householder_warp.simt.h"
