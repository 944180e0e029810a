/* SPDX-License-Identifier: Apache-2.0
 *
 * The oracle measures decompositions of batches of matrices in wider arithmetic than theirs: double
 * for float32 and complex64, long double for float64 and complex128.
 *
 * Errors are 1-norms divided by sqrt(n) u, with n = max(rows, columns) of A and u the unit roundoff
 * of the dtype; those of A are divided by norm(A) as well, after n times the smallest subnormal has
 * been taken off. Where norm(A) is zero only an exact result counts as zero; any other, and any
 * that is not finite, is infinity.
 *
 * Every function returns 0, or 1 where its arguments do not fit together; then nothing is written.
 */
#ifndef LANEPACK_TESTS_ORACLE_ORACLE_H_
#define LANEPACK_TESTS_ORACLE_ORACLE_H_

#include <stdint.h>

#define ORACLE_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef enum oracle_dtype {
  ORACLE_F32 = 0,
  ORACLE_F64 = 1,
  ORACLE_C64 = 2,
  ORACLE_C128 = 3
} oracle_dtype;

/* How a matrix A is to be read. */
typedef enum oracle_part {
  ORACLE_GENERAL = 0,
  ORACLE_LOWER = 1, /* Hermitian, from the lower triangle and the real part of the diagonal */
  ORACLE_UPPER = 2
} oracle_part;

/* Element (i, j) of matrix b is at data[b * batch_stride + i * row_stride + j * col_stride]. */
typedef struct oracle_batch {
  const void* data;
  int64_t rows;
  int64_t cols;
  int64_t batch;
  int64_t row_stride;
  int64_t col_stride;
  int64_t batch_stride;
} oracle_batch;

/* Per matrix: norm(A - QR)/norm(A); norm(I - Q^H Q); how many elements below R's diagonal are not
 * zero; how many of R's diagonal are not real; how many have the wrong sign (see sign_violations).
 */
enum { ORACLE_QR_MEASURES = 5 };
ORACLE_API int oracle_measure_qr(int dtype, int threads, const oracle_batch* a,
                                 const oracle_batch* q, const oracle_batch* r, double* measures);

/* R alone. Per matrix: norm(A^H A - R^H R)/(norm(A^H) norm(A)), elements below the diagonal that
 * are not zero, elements of the diagonal that are not real. */
enum { ORACLE_R_MEASURES = 3 };
ORACLE_API int oracle_measure_r(int dtype, int threads, const oracle_batch* a,
                                const oracle_batch* r, double* measures);

/* Per matrix: norm(A V - V D)/norm(A); norm(I - V^H V); how many eigenvalues are below the one
 * before. */
enum { ORACLE_EIGH_MEASURES = 3 };
ORACLE_API int oracle_measure_eigh(int dtype, int threads, int part, const oracle_batch* a,
                                   const oracle_batch* w, const oracle_batch* v, double* measures);

/* Per matrix: norm(A - U S V^H)/norm(A); norm(I - U^H U); norm(I - V^H V); how many singular values
 * are negative or above the one before. */
enum { ORACLE_SVD_MEASURES = 4 };
ORACLE_API int oracle_measure_svd(int dtype, int threads, const oracle_batch* a,
                                  const oracle_batch* u, const oracle_batch* s,
                                  const oracle_batch* vh, double* measures);

/* Reference spectra by Jacobi's method in the wider arithmetic: (batch, n) of its type, ascending
 * eigenvalues or descending singular values. The singular values of B D, D diagonal, are accurate
 * relative to each of them. */
ORACLE_API int oracle_eigenvalues(int dtype, int threads, int part, const oracle_batch* a,
                                  void* values);
ORACLE_API int oracle_singular_values(int dtype, int threads, const oracle_batch* a, void* values);

/* `values` (batch, k, 1) against `reference` (batch, k), dense and of the wider type. Per matrix:
 * the largest error divided by norm(A) and sqrt(n) u; the largest error relative to its own value,
 * in u; how many values are out of order (ascending for a Hermitian A, else descending and >= 0).
 */
enum { ORACLE_VALUE_MEASURES = 3 };
ORACLE_API int oracle_measure_values(int dtype, int threads, int part, const oracle_batch* a,
                                     const oracle_batch* values, const void* reference,
                                     double* measures);

#ifdef __cplusplus
}
#endif

#endif /* LANEPACK_TESTS_ORACLE_ORACLE_H_ */
