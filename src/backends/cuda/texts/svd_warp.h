// SPDX-License-Identifier: Apache-2.0
// The parts of the text "svd_warp", in order.
#include "kernels/steps/householder_thread.simt.h"
#include "kernels/steps/report.simt.h"
#include "kernels/steps/rotation_thread.simt.h"
#include "kernels/steps/view.simt.h"
// after what stands above
#include "kernels/qr/householder_thread.simt.h"
#include "kernels/steps/staging_warp.simt.h"
#include "kernels/svd/arguments.simt.h"
// after what stands above
#include "kernels/steps/lane_rows_warp.simt.h"
#include "kernels/steps/row_rotations_block.simt.h"
#include "kernels/steps/shifted_warp.simt.h"
#include "kernels/svd/bidiagonal_qr_thread.simt.h"
// after what stands above
#include "kernels/qr/arguments.simt.h"
// after what stands above
#include "kernels/qr/householder_block.simt.h"
// after what stands above
#include "kernels/svd/qr_first_block.simt.h"
// after what stands above
#include "kernels/svd/bidiagonalise_warp.simt.h"
// after what stands above
#include "kernels/svd/bidiagonalise_block.simt.h"
#include "kernels/svd/qr_sweep_thread.simt.h"
// after what stands above
#include "kernels/svd/implicit_qr_block.simt.h"
#include "kernels/svd/implicit_qr_warp.simt.h"
