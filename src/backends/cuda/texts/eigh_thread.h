// SPDX-License-Identifier: Apache-2.0
// The parts of the text "eigh_thread", in order.
#include "kernels/steps/householder_thread.simt.h"
#include "kernels/steps/prepare_thread.simt.h"
#include "kernels/steps/report.simt.h"
#include "kernels/steps/sort_thread.simt.h"
#include "kernels/steps/view.simt.h"
// after what stands above
#include "kernels/eigh/arguments.simt.h"
#include "kernels/eigh/jacobi_thread.simt.h"
#include "kernels/eigh/tridiagonal_ql_small_thread.simt.h"
#include "kernels/steps/staging_thread.simt.h"
// after what stands above
#include "kernels/steps/small_thread.simt.h"
// after what stands above
#include "kernels/eigh/small_thread.simt.h"
