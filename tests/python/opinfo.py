# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own test data (OpInfo) for the functions that lanepack has too."""

import copy

import lanepack
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.definitions.linalg import op_db as linalg_db


def _triangular_solve(b, A, **kwargs):
    return lanepack.triangular_solve(b, A, **kwargs)


def _svd(A, full_matrices=True):  # torch's default
    return lanepack.svd(A, full_matrices)


# OpInfo's name -> our function with the same arguments.
OURS = {
    "linalg.qr": lanepack.qr,
    "linalg.eigh": lanepack.eigh,
    "linalg.eigvalsh": lanepack.eigvalsh,
    "linalg.svd": _svd,
    "linalg.svdvals": lanepack.svdvals,
    "linalg.cholesky": lanepack.cholesky,
    "linalg.cholesky_ex": lanepack.cholesky_ex,
    "linalg.solve_triangular": lanepack.solve_triangular,
    "cholesky_solve": lanepack.cholesky_solve,
    "cholesky_inverse": lanepack.cholesky_inverse,
    "triangular_solve": _triangular_solve,
}
# Those that torch has beside them; install() serves them.
OLDER = ("cholesky", "qr", "svd", "pinverse")

OPS = {op.name: op for op in [*linalg_db, *op_db] if op.name in OURS or op.name in OLDER}


def swapped(name: str):
    """The OpInfo with our function in the place of torch's."""
    op = copy.copy(OPS[name])
    op.op = OURS[name]
    op.name = f"lanepack.{name}"  # torch's generators look for "linalg.svd" in it
    op.method_variant = op.inplace_variant = None
    op.supports_out = False
    op.decorators = op.skips = ()
    return op


def samples(name: str, dtype: torch.dtype, kind: str, requires_grad: bool = False):
    """kind: "sample", "reference" or "conjugate"."""
    make = getattr(
        OPS[name], f"{kind}_inputs" if kind != "conjugate" else "conjugate_sample_inputs"
    )
    return make("cpu", dtype, requires_grad=requires_grad)
