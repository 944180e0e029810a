# SPDX-License-Identifier: Apache-2.0
"""The table of cases: what every algorithm is tried on, and what its results must meet."""

import dataclasses

import torch

from . import families

F32, F64, C64, C128 = torch.float32, torch.float64, torch.complex64, torch.complex128
DTYPES = (F32, F64, C64, C128)

# Every algorithm of an operation family; which problems each takes is the library's answer. svd's
# also serve svdvals, eigh's eigvalsh.
ALGORITHMS = {
    "qr": ("qr.householder.lanes", "qr.tall.lanes", "qr.lapack.serial", "qr.lapack.parallel"),
    "eigh": ("eigh.tridiagonal_ql.lanes", "eigh.lapack.serial", "eigh.lapack.parallel"),
    "svd": (
        "svd.jacobi.lanes",
        "svd.bidiagonal_qr.lanes",
        "svd.tall.lanes",
        "svd.lapack.serial",
        "svd.lapack.parallel",
    ),
}
# Those of cholesky and of the solves have inputs of their own: test_cholesky.py.
FACTOR_ALGORITHMS = (
    "cholesky.left_looking.lanes",
    "cholesky.lapack.serial",
    "cholesky.lapack.parallel",
)
SOLVE_ALGORITHMS = (
    "solve_triangular.substitution.lanes",
    "solve_triangular.lapack.serial",
    "solve_triangular.lapack.parallel",
)
# The same for CUDA devices (tests/cuda).
CUDA_ALGORITHMS = {
    "qr": ("qr.small.thread", "qr.householder.warp", "vendor"),
    "eigh": ("eigh.small.thread", "eigh.implicit_ql.warp", "eigh.vendor"),
    "svd": ("svd.small.thread", "svd.implicit_qr.warp", "svd.vendor", "vendor"),
}
CUDA_FACTOR_ALGORITHMS = (
    "cholesky.small.thread",
    "cholesky.right_looking.warp",
    "cholesky.right_looking.block",
    "cholesky.left_looking.block",
)
CUDA_SOLVE_ALGORITHMS = (
    "solve_triangular.small.thread",
    "solve_triangular.substitution.warp",
)
OPERATION_FAMILY = {"qr": "qr", "eigh": "eigh", "eigvalsh": "eigh", "svd": "svd", "svdvals": "svd"}

# In units of sqrt(n) u, and of norm(A) where A is part of it.
BOUNDS = {
    "residual": 20.0,
    "orthogonality": 30.0,
    "orthogonality_u": 30.0,
    "orthogonality_v": 30.0,
    "error": 12.0,
    "difference": 12.0,
    # R alone: A^H A - R^H R = E^H A + A^H E + ... with a residual E of 20 on either side and the
    # orthogonality's 30.
    "gram": 70.0,
}
# Measures that count faults.
EXACT = ("order", "below_diagonal", "complex_diagonal", "signs")
# Singular values of graded matrices under driver="jacobi": n times this, relative, in u.
RELATIVE = 20.0
# At most so many times LAPACK's own maximum, once above the floor.
LAPACK_FACTOR = 2.0
LAPACK_FLOOR = 2.0
# The second rule is the one that counts for longer sides than this.
LAPACK_DECIDES_ABOVE = 32
# An error of LAPACK's above this is a failure (of gesdd, geqrf near underflow), no yardstick.
LAPACK_FAILED = 100.0


@dataclasses.dataclass(frozen=True)
class Case:
    """One batch: `count` matrices (m, n) of each of the families, one after the other.

    variant: qr "reduced", "complete", "r"; eigh and eigvalsh "L", "U"; svd "thin", "full", and
    with svdvals too "jacobi" (the driver) beside "" (svdvals' plain form).
    layout: of LAYOUTS. expect: "accurate", "relative" (graded values under Jacobi) or "not_finite".
    """

    operation: str
    variant: str
    m: int
    n: int
    dtype: torch.dtype
    families: tuple
    count: int
    layout: str = "column"
    expect: str = "accurate"
    slow: bool = False

    @property
    def algorithms(self):
        return ALGORITHMS[OPERATION_FAMILY[self.operation]]

    def __str__(self):
        parts = [
            self.operation,
            self.variant,
            f"{self.m}x{self.n}",
            str(self.dtype).removeprefix("torch."),
            self.layout,
        ]
        if self.expect != "accurate":
            parts.append(self.expect)
        parts.append(f"{self.count}x{len(self.families)}")
        return "-".join(part for part in parts if part)


def _column(a):
    return a.mT.contiguous().mT


def _padded(a):
    batch, m, n = a.shape
    out = a.new_full((batch + 1, n + 3, m + 5), float("nan"))
    out[1:, 1 : n + 1, 2 : m + 2] = a.mT
    return out[1:, 1 : n + 1, 2 : m + 2].mT


def _strided(a):
    batch, m, n = a.shape
    out = a.new_full((2 * batch, 3 * m, 2 * n), float("nan"))
    out[::2, ::3, ::2] = a
    return out[::2, ::3, ::2]


def _batch_last(a):
    return a.permute(1, 2, 0).contiguous().permute(2, 0, 1)


LAYOUTS = {
    "column": _column,
    "row": lambda a: a.contiguous(),
    "padded": _padded,
    "strided": _strided,
    "batch_last": _batch_last,
    "columns_last": lambda a: a.permute(1, 0, 2).contiguous().permute(1, 0, 2),
}

VARIANTS = {
    "qr": ("reduced", "complete", "r"),
    "eigh": ("L", "U"),
    "eigvalsh": ("L", "U"),
    "svd": ("thin", "full"),
    "svdvals": ("",),
}
# Values alone, and what gives them with vectors.
WITH_VECTORS = {"eigvalsh": "eigh", "svdvals": "svd"}
SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 96, 128, 200)
RATIOS = (1.5, 4, 64)
SQUARE_ONLY = ("eigh", "eigvalsh")


def _families(operation):
    return families.HERMITIAN if operation in SQUARE_ONLY else families.GENERAL


def _fast_count(m, n, dtype):
    """Enough of each family in float32 that the second rule compares maxima and not luck; fewer
    where LAPACK and the oracle's long double take longer."""
    longest = max(m, n)
    if longest <= 8:
        return 64 if dtype in (F64, C128) else 128
    if longest <= 17:
        return 64 if dtype == F32 else 24
    if min(m, n) <= 33:
        return 32 if dtype == F32 else 10
    return 8 if dtype == F32 else 3


def _fast_shapes(operation, variant):
    plain = variant in ("reduced", "L", "thin", "")
    sizes = (1, 2, 3, 4, 5, 8, 9, 16, 17, 32, 33, 64) if plain else (1, 3, 8, 17, 33)
    shapes = [(n, n) for n in sizes]
    if operation not in SQUARE_ONLY:
        shapes += [(3, 2), (2, 3), (12, 8), (8, 12), (36, 9), (9, 36), (64, 32)]
        if plain:
            shapes += [(256, 4), (4, 256), (1, 64), (64, 1), (96, 64), (64, 96)]
            shapes += [(32, 64), (100, 32)]
    return shapes


def _fast():
    layouts = list(LAYOUTS)
    for operation, variants in VARIANTS.items():
        names = _families(operation)
        for variant in variants:
            for dtype in DTYPES:
                for index, (m, n) in enumerate(_fast_shapes(operation, variant)):
                    yield Case(
                        operation,
                        variant,
                        m,
                        n,
                        dtype,
                        names,
                        _fast_count(m, n, dtype),
                        layouts[index % len(layouts)],
                    )
                for m, n in ((3, 3), (8, 8), (17, 17), (40, 40), (6, 4), (4, 6)):
                    if m == n or operation not in SQUARE_ONLY:
                        yield Case(
                            operation,
                            variant,
                            m,
                            n,
                            dtype,
                            ("not_finite",),
                            40,
                            "column",
                            "not_finite",
                        )
        for n in (3, 8):
            yield Case(operation, variants[0], n, n, F32, names, -(-100_000 // len(names)))
    for dtype in DTYPES:
        for operation, layout in (("svd", "row"), ("svdvals", "column")):
            for m, n in ((2, 2), (3, 3), (8, 8), (12, 8), (8, 12), (33, 33), (80, 40)):
                yield Case(
                    operation,
                    "jacobi",
                    m,
                    n,
                    dtype,
                    families.GENERAL,
                    _fast_count(m, n, dtype),
                    layout,
                )
            for m, n in ((2, 2), (4, 4), (8, 8), (20, 8), (33, 33), (80, 40)):
                yield Case(
                    operation,
                    "jacobi",
                    m,
                    n,
                    dtype,
                    ("graded_product",),
                    100 if m <= 20 else 10,
                    layout,
                    "relative",
                )


def _slow_count(m, n, names):
    """100,000 matrices over the families at n <= 8, 10,000 at n <= 32, then fewer."""
    longest, work = max(m, n), m * n * min(m, n)
    if longest <= 8:
        return -(-100_000 // len(names))
    if longest <= 32:
        return -(-10_000 // len(names))
    return max(2, min(64, 40_000_000 // work))


def _slow_shapes(operation):
    shapes = [(n, n) for n in SIZES]
    if operation not in SQUARE_ONLY:
        for n in SIZES:
            for ratio in RATIOS:
                m = max(n + 1, round(n * ratio))
                if m * n * n <= 130_000_000:
                    shapes += [(m, n), (n, m)]
    return shapes


def _slow():
    layouts = list(LAYOUTS)
    for operation, variants in VARIANTS.items():
        names = _families(operation)
        if operation == "svd":
            variants += ("jacobi",)
        for variant in variants:
            for dtype in DTYPES:
                for index, (m, n) in enumerate(_slow_shapes(operation)):
                    if variant in ("complete", "full") and max(m, n) > 256:
                        continue  # their square factor is the long side's
                    yield Case(
                        operation,
                        variant,
                        m,
                        n,
                        dtype,
                        names,
                        _slow_count(m, n, names),
                        layouts[index % len(layouts)],
                        slow=True,
                    )


def _all():
    fast = dict.fromkeys(_fast())
    slow = (case for case in _slow() if dataclasses.replace(case, slow=False) not in fast)
    return (*fast, *slow)


CASES = _all()
