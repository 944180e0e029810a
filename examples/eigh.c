/* SPDX-License-Identifier: Apache-2.0
 *
 * Eigenvalues and eigenvectors of two symmetric matrices, from C, without Python or torch.
 *
 *   cc -std=c99 -Iinclude examples/eigh.c -L<folder of liblanepack.so> -llanepack -lm
 */
#include <math.h>
#include <stdio.h>

#include "lanepack/lanepack.h"

#define N 3
#define BATCH 2

int main(void) {
  /* Only the lower triangle is read; row-major here. */
  double a[BATCH][N][N] = {
      {{2, 0, 0}, {-1, 2, 0}, {0, -1, 2}},  /* 1-2-1: 2 - sqrt 2, 2, 2 + sqrt 2 */
      {{1, 0, 0}, {NAN, 1, 0}, {0, 0, 1}}}; /* not finite: NaN for itself alone */
  double w[BATCH][N];
  double v[BATCH][N][N]; /* column-major: v[b][k] is the k-th eigenvector */
  int32_t info[BATCH];
  int b, k, status;

  lanepack_eigh_args args = {0};
  args.call.struct_size = sizeof args;
  args.call.dtype = LANEPACK_DTYPE_F64;
  args.call.info = info;
  /*         data, rows, cols, batch, row stride, column stride, batch stride */
  args.a = (lanepack_batch){a, N, N, BATCH, N, 1, N * N};
  args.w = (lanepack_batch){w, N, 1, BATCH, 1, 1, N};
  args.v = (lanepack_batch){v, N, N, BATCH, 1, N, N * N};

  status = lanepack_eigh(&args);
  if (status != LANEPACK_STATUS_OK) {
    fprintf(stderr, "error %d: %s\n", status, lanepack_last_error());
    return 1;
  }
  for (b = 0; b < BATCH; ++b) {
    printf("matrix %d, info %d\n", b, (int)info[b]);
    for (k = 0; k < N; ++k) {
      printf("  %10.6f   [%9.6f %9.6f %9.6f]\n", w[b][k], v[b][k][0], v[b][k][1], v[b][k][2]);
    }
  }
  return fabs(w[0][0] - (2 - sqrt(2.0))) < 1e-14 && info[0] == 0 && isnan(w[1][0]) &&
                 info[1] == LANEPACK_INFO_NOT_FINITE
             ? 0
             : 1;
}
