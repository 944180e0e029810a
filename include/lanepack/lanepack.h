/* SPDX-License-Identifier: Apache-2.0
 *
 * lanepack: decompositions of batches of matrices. The C interface.
 *
 * Conventions
 * - Every struct starts with struct_size = sizeof(struct), so that a later library can read an
 *   earlier caller's struct.
 * - Sizes and strides are int64_t and count elements, not bytes. Strides of inputs may be zero or
 *   negative. Outputs must not overlap any other argument.
 * - A function returns a lanepack_status. When it is not LANEPACK_STATUS_OK, nothing has been
 *   written (a CUDA call that the device refuses in its course may have written some results) and
 *   lanepack_last_error() gives the text of this thread's last error. A bad matrix is
 *   not an error: it gets NaN in its own outputs and a positive entry in `info`.
 * - No function throws, prints, or keeps a pointer after it has returned. All may be called from
 *   several threads at once.
 */
#ifndef LANEPACK_LANEPACK_H_
#define LANEPACK_LANEPACK_H_

#include <stdint.h>

#if defined(__GNUC__)
#define LANEPACK_API __attribute__((visibility("default")))
#else
#define LANEPACK_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Raised whenever a struct or the meaning of a field changes so that an old caller would see it. */
#define LANEPACK_ABI_VERSION 2

typedef enum lanepack_status {
  LANEPACK_STATUS_OK = 0,
  LANEPACK_STATUS_INVALID_ARGUMENT = 1, /* what was passed is wrong; the text says what is wanted */
  LANEPACK_STATUS_UNSUPPORTED = 2,      /* right, but this library has nothing that serves it */
  LANEPACK_STATUS_OUT_OF_MEMORY = 3,
  LANEPACK_STATUS_WORKSPACE_TOO_SMALL = 4,
  LANEPACK_STATUS_INTERNAL = 5,
  /* right and served, but this machine lacks what it needs (driver, NVRTC), or the device failed */
  LANEPACK_STATUS_UNAVAILABLE = 6
} lanepack_status;

typedef enum lanepack_dtype {
  LANEPACK_DTYPE_F32 = 0,
  LANEPACK_DTYPE_F64 = 1,
  LANEPACK_DTYPE_C64 = 2, /* pairs of float: real, imaginary */
  LANEPACK_DTYPE_C128 = 3 /* pairs of double */
} lanepack_dtype;

typedef enum lanepack_device {
  LANEPACK_DEVICE_CPU = 0,
  LANEPACK_DEVICE_CUDA = 1,
  LANEPACK_DEVICE_METAL = 2
} lanepack_device;

typedef enum lanepack_routing {
  /* may look at the batch count, and use all threads inside one large matrix */
  LANEPACK_ROUTING_FASTEST = 0,
  /* a matrix gives the same bits alone, in any batch, at any position, stride and thread count */
  LANEPACK_ROUTING_INVARIANT = 1
} lanepack_routing;

typedef enum lanepack_operation {
  LANEPACK_OPERATION_QR = 0,
  LANEPACK_OPERATION_EIGH = 1,     /* with vectors */
  LANEPACK_OPERATION_EIGVALSH = 2, /* lanepack_eigh with v.data null */
  LANEPACK_OPERATION_SVD = 3,      /* with vectors */
  LANEPACK_OPERATION_SVDVALS = 4,  /* lanepack_svd with u.data and vh.data null */
  LANEPACK_OPERATION_CHOLESKY = 5,
  LANEPACK_OPERATION_SOLVE_TRIANGULAR = 6,
  LANEPACK_OPERATION_CHOLESKY_SOLVE = 7,
  LANEPACK_OPERATION_CHOLESKY_INVERSE = 8
} lanepack_operation;

/* Bits of `flags`. One that an operation does not list is an error. */
#define LANEPACK_FLAG_UPPER 1u  /* read the upper triangle (default: the lower) */
#define LANEPACK_FLAG_JACOBI 2u /* svd: one-sided Jacobi, high relative accuracy, at every size */
#define LANEPACK_FLAG_RIGHT 4u  /* solve_triangular: X op(A) = B (default: op(A) X = B) */
/* solve_triangular: op(A) = A^T; with both flags A^H, with the second alone conj(A) */
#define LANEPACK_FLAG_TRANSPOSE 8u
#define LANEPACK_FLAG_CONJUGATE 16u
#define LANEPACK_FLAG_UNIT_DIAGONAL 32u /* solve_triangular: A's diagonal counts as ones, unread */

/* `info` of a matrix: 0 right; 1..n as LAPACK's routine of that operation; or one of these. */
#define LANEPACK_INFO_NOT_FINITE 2147483647     /* the part that is read holds NaN or Inf */
#define LANEPACK_INFO_NO_CONVERGENCE 2147483646 /* the iteration met its bound */

/* A batch of matrices: element (i, j) of matrix b is at data[b * batch_stride + i * row_stride +
 * j * col_stride], counted in elements of the dtype. A vector per matrix has cols = 1. */
typedef struct lanepack_batch {
  void* data;
  int64_t rows;
  int64_t cols;
  int64_t batch;
  int64_t row_stride;
  int64_t col_stride;
  int64_t batch_stride;
} lanepack_batch;

/* The fields that every operation takes, first in its struct. */
typedef struct lanepack_call {
  int64_t struct_size;  /* of the whole struct that starts with this one */
  int32_t dtype;        /* lanepack_dtype of the matrices; values are of its real type */
  int32_t device;       /* lanepack_device */
  int32_t device_index; /* which of them, as the CUDA driver numbers them; 0 for the CPU */
  int32_t threads;      /* CPU threads that may be used, this one included; 0: all cores */
  int32_t routing;      /* lanepack_routing */
  uint32_t flags;       /* LANEPACK_FLAG_* */
  void* stream;         /* CUstream, null: the device's default stream; null for the CPU */
  void* workspace;      /* device memory of workspace_bytes, 16-byte aligned; null: none */
  int64_t workspace_bytes;
  int32_t* info; /* (batch,) on the device, or null */
} lanepack_call;

/* A = Q R by Householder reflectors (LAPACK geqrf, orgqr). R's diagonal is real, its sign opposite
 * to the real part of the pivot column's head. With k = min(m, n):
 *   q (batch, m, k), r (batch, k, n)   reduced
 *   q (batch, m, m), r (batch, m, n)   complete
 *   q.data null,     r (batch, k, n)   R alone
 * Below R's diagonal stand exact zeros. flags: none. */
typedef struct lanepack_qr_args {
  lanepack_call call;
  lanepack_batch a; /* (batch, m, n), only read */
  lanepack_batch q;
  lanepack_batch r;
} lanepack_qr_args;

/* A = V diag(w) V^H for symmetric or Hermitian A (LAPACK syevd, heevd). One triangle is read (the
 * lower, or with LANEPACK_FLAG_UPPER the upper), and of a complex diagonal only the real part.
 * w ascends. v.data null: eigenvalues alone. */
typedef struct lanepack_eigh_args {
  lanepack_call call;
  lanepack_batch a; /* (batch, n, n), only read */
  lanepack_batch w; /* (batch, n, 1), of the real type */
  lanepack_batch v; /* (batch, n, n), eigenvectors in columns */
} lanepack_eigh_args;

/* A = U diag(s) V^H (LAPACK gesdd). s descends and is >= 0. With k = min(m, n):
 *   u (batch, m, k), vh (batch, k, n)   thin
 *   u (batch, m, m), vh (batch, n, n)   full
 *   both null                           singular values alone
 * flags: LANEPACK_FLAG_JACOBI (LAPACK gesvj; Drmac and Veselic 2008). */
typedef struct lanepack_svd_args {
  lanepack_call call;
  lanepack_batch a; /* (batch, m, n), only read */
  lanepack_batch u;
  lanepack_batch s; /* (batch, k, 1), of the real type */
  lanepack_batch vh;
} lanepack_svd_args;

/* A = L L^H, or with LANEPACK_FLAG_UPPER A = U^H U, for Hermitian positive-definite A (LAPACK potrf).
 * One triangle of A is read, the lower or the upper, and of a complex diagonal only the real part.
 * All of l is written: the factor, and zeros in the other triangle. info: the order of the first
 * leading minor that is not positive; such a matrix has NaN in its factor's triangle. */
typedef struct lanepack_cholesky_args {
  lanepack_call call;
  lanepack_batch a; /* (batch, n, n), only read */
  lanepack_batch l; /* (batch, n, n); may be a itself, with the same strides */
} lanepack_cholesky_args;

/* Systems with a triangular matrix, by substitution (BLAS trsm):
 *   lanepack_solve_triangular  op(A) X = B, or with LANEPACK_FLAG_RIGHT X op(A) = B; a is lower, with
 *                              LANEPACK_FLAG_UPPER upper; flags: all but LANEPACK_FLAG_JACOBI
 *   lanepack_cholesky_solve    A A^H X = B, or with LANEPACK_FLAG_UPPER A^H A X = B, where a is what
 *                              lanepack_cholesky gives (LAPACK potrs)
 * The other triangle is not read. Nothing is looked for: a zero on the diagonal gives Inf or NaN in
 * the right-hand sides that meet it, as IEEE arithmetic has it. call.info must be null. */
typedef struct lanepack_solve_args {
  lanepack_call call;
  lanepack_batch a; /* (batch, n, n), only read; a batch stride of 0 gives all the same */
  lanepack_batch b; /* (batch, n, k), with LANEPACK_FLAG_RIGHT (batch, k, n); only read */
  lanepack_batch x; /* of b's shape; may be b itself, with the same strides */
} lanepack_solve_args;

/* X = (L L^H)^-1, or with LANEPACK_FLAG_UPPER (U^H U)^-1, both triangles of it, from what
 * lanepack_cholesky gives (LAPACK potri). Otherwise as lanepack_cholesky_solve. */
typedef struct lanepack_cholesky_inverse_args {
  lanepack_call call;
  lanepack_batch l; /* (batch, n, n), only read */
  lanepack_batch x; /* (batch, n, n); may be l itself, with the same strides */
} lanepack_cholesky_inverse_args;

/* Runs the operation. On the CPU it returns when the result is there. On CUDA `data`, `workspace`
 * and `info` are device memory, the work is put on `stream`, and nothing waits for it; the first
 * call of a kind compiles its kernel, which takes seconds, or reads it from the cache. */
LANEPACK_API int lanepack_qr(const lanepack_qr_args* args);
LANEPACK_API int lanepack_eigh(const lanepack_eigh_args* args);
LANEPACK_API int lanepack_svd(const lanepack_svd_args* args);
LANEPACK_API int lanepack_cholesky(const lanepack_cholesky_args* args);
LANEPACK_API int lanepack_solve_triangular(const lanepack_solve_args* args);
LANEPACK_API int lanepack_cholesky_solve(const lanepack_solve_args* args);
LANEPACK_API int lanepack_cholesky_inverse(const lanepack_cholesky_inverse_args* args);

/* Device memory that the same call would need, in bytes. Checks the arguments as the call itself
 * does, but data pointers may be null as long as those of optional outputs tell whether they are
 * wanted. The CPU needs none: its scratch belongs to the threads and grows once. Between this and
 * the call the policy may change: a workspace that is too small then is WORKSPACE_TOO_SMALL. */
LANEPACK_API int lanepack_qr_workspace(const lanepack_qr_args* args, int64_t* bytes);
LANEPACK_API int lanepack_eigh_workspace(const lanepack_eigh_args* args, int64_t* bytes);
LANEPACK_API int lanepack_svd_workspace(const lanepack_svd_args* args, int64_t* bytes);
LANEPACK_API int lanepack_cholesky_workspace(const lanepack_cholesky_args* args, int64_t* bytes);
LANEPACK_API int lanepack_solve_triangular_workspace(const lanepack_solve_args* args,
                                                     int64_t* bytes);
LANEPACK_API int lanepack_cholesky_solve_workspace(const lanepack_solve_args* args, int64_t* bytes);
LANEPACK_API int lanepack_cholesky_inverse_workspace(const lanepack_cholesky_inverse_args* args,
                                                     int64_t* bytes);

/* A problem as the router sees it. */
typedef struct lanepack_problem {
  int64_t struct_size;
  int32_t operation; /* lanepack_operation */
  int32_t dtype;
  int32_t device;
  int32_t device_index;
  int32_t threads; /* as in lanepack_call */
  int32_t routing;
  uint32_t flags;
  int32_t full; /* qr: complete; svd: full matrices; otherwise 0 */
  int64_t m;    /* of the solves: the number of right-hand sides; of cholesky: n */
  int64_t n;
  int64_t batch;
} lanepack_problem;

/* Writes the identifier of the algorithm that the problem would take, such as
 * "eigh.tridiagonal_ql.lanes", with its terminating zero. Cut to `capacity` bytes. */
LANEPACK_API int lanepack_route(const lanepack_problem* problem, char* identifier,
                                int64_t capacity);

/* The named thresholds of the routing policy of one operation family ("qr", "eigh", "svd",
 * "cholesky", "solve") on one kind of device, such as lanes_max_n of the CPU and warp_max_n of CUDA;
 * each has a form per dtype (suffix _f64, _c64, _c128; none: float32).
 * A set takes effect at the next call. An unknown family or name is
 * LANEPACK_STATUS_INVALID_ARGUMENT, and the text lists the names. */
LANEPACK_API int lanepack_policy_set(const char* family, int32_t device, const char* name,
                                     int64_t value);
LANEPACK_API int lanepack_policy_get(const char* family, int32_t device, const char* name,
                                     int64_t* value);
/* Back to the built-in values. */
LANEPACK_API int lanepack_policy_reset(const char* family, int32_t device);
/* The names, separated by single spaces; lives as long as the library. */
LANEPACK_API const char* lanepack_policy_names(const char* family, int32_t device);

LANEPACK_API const char* lanepack_version(void); /* "0.1.0" */
LANEPACK_API int32_t lanepack_abi_version(void); /* LANEPACK_ABI_VERSION */
/* Text of the last error of this thread; "" if there was none. Valid until its next call. */
LANEPACK_API const char* lanepack_last_error(void);
/* "avx512", "avx2" or "baseline" (or "neon"): the instruction set that the lanes use. */
LANEPACK_API const char* lanepack_cpu_target(void);
/* The LAPACK found in this process, such as "libtorch_cpu.so (MKL)"; "" if there is none. */
LANEPACK_API const char* lanepack_lapack_name(void);

/* What calls on CUDA devices find on this machine. */
typedef struct lanepack_cuda_state {
  int64_t struct_size;
  int32_t device_count;
  int32_t driver_version;   /* 13000 is 13.0; 0: no driver */
  int32_t compiler_version; /* 13020 is 13.2; 0: no NVRTC was found */
  int32_t reserved;
  char compiler[512]; /* the file of NVRTC that was opened */
  char cache[512];    /* the folder of compiled kernels; "": none can be used */
  char problem[256];  /* why CUDA devices cannot be served; "": they can */
} lanepack_cuda_state;
/* Fills the struct. Looks for the driver, and for an NVRTC again if there was none before, but
 * starts no device. */
LANEPACK_API int lanepack_cuda_describe(lanepack_cuda_state* state);

#ifdef __cplusplus
}
#endif

#endif /* LANEPACK_LANEPACK_H_ */
