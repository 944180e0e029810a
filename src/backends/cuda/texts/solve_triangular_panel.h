// SPDX-License-Identifier: Apache-2.0
// The parts of the text "solve_triangular_panel", in order.
#include "kernels/solve_triangular/substitution_thread.simt.h"
#include "kernels/steps/report.simt.h"
#include "kernels/steps/view.simt.h"
// after what stands above
#include "kernels/solve_triangular/arguments.simt.h"
#include "kernels/solve_triangular/place.simt.h"
#include "kernels/steps/staging_warp.simt.h"
// after what stands above
#include "kernels/solve_triangular/factor_view.simt.h"
// after what stands above
#include "kernels/solve_triangular/substitution_panel.simt.h"
