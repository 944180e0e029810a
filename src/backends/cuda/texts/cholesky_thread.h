// SPDX-License-Identifier: Apache-2.0
// The parts of the text "cholesky_thread", in order.
#include "kernels/cholesky/left_looking_thread.simt.h"
#include "kernels/steps/report.simt.h"
#include "kernels/steps/view.simt.h"
// after what stands above
#include "kernels/cholesky/arguments.simt.h"
#include "kernels/cholesky/scaling.simt.h"
#include "kernels/steps/staging_thread.simt.h"
// after what stands above
#include "kernels/cholesky/small_thread.simt.h"
