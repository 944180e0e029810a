// SPDX-License-Identifier: Apache-2.0
// The parts of the text "eigh_warp", in order.
#include "kernels/steps/householder_thread.simt.h"
#include "kernels/steps/report.simt.h"
#include "kernels/steps/rotation_thread.simt.h"
#include "kernels/steps/view.simt.h"
// after what stands above
#include "kernels/eigh/arguments.simt.h"
#include "kernels/steps/staging_warp.simt.h"
// after what stands above
#include "kernels/steps/lane_rows_warp.simt.h"
#include "kernels/steps/row_rotations_block.simt.h"
#include "kernels/steps/shifted_warp.simt.h"
// after what stands above
#include "kernels/eigh/tridiagonalise_warp.simt.h"
// after what stands above
#include "kernels/eigh/bisection_warp.simt.h"
#include "kernels/eigh/ql_sweep_thread.simt.h"
// after what stands above
#include "kernels/eigh/implicit_ql_block.simt.h"
#include "kernels/eigh/implicit_ql_warp.simt.h"
