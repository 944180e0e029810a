# SPDX-License-Identifier: Apache-2.0
"""Decompositions of batches of matrices: qr, eigh, svd, on PyTorch tensors.

    >>> import torch, lanepack
    >>> Q, R = lanepack.qr(torch.randn(1000, 64, 32))

The functions are torch.linalg's in name, parameters, results and derivatives; see `lanepack.qr` and
its siblings. A bad matrix gives NaN for itself and leaves the rest of its batch alone.
"""

from __future__ import annotations

from . import debug, ops
from ._canonical import canonical
from ._errors import ArgumentError
from ._install import install, installed, uninstall
from ._native import version as _version
from ._routing import invariant, routing, set_routing
from ._warmup import warmup
from .linalg import (
    eigh,
    eigh_ex,
    eigvalsh,
    eigvalsh_ex,
    qr,
    qr_ex,
    svd,
    svd_ex,
    svdvals,
    svdvals_ex,
)
from .policy import (
    backend,
    cholesky_backend,
    cholesky_policy,
    cholesky_policy_source,
    device_name,
    eigh_backend,
    eigh_policy,
    eigh_policy_source,
    eigvalsh_backend,
    explain,
    gpu_core_count,
    policy,
    policy_source,
    qr_backend,
    qr_policy,
    qr_policy_source,
    set_cholesky_policy,
    set_eigh_policy,
    set_policy,
    set_qr_policy,
    set_solve_policy,
    set_svd_policy,
    solve_policy,
    solve_policy_source,
    solve_triangular_backend,
    svd_backend,
    svd_policy,
    svd_policy_source,
    svdvals_backend,
)
from .solves import (
    cholesky,
    cholesky_ex,
    cholesky_inverse,
    cholesky_solve,
    solve_triangular,
    triangular_solve,
)

__version__ = _version()

__all__ = [
    "ArgumentError",
    "backend",
    "canonical",
    "cholesky",
    "cholesky_backend",
    "cholesky_ex",
    "cholesky_inverse",
    "cholesky_policy",
    "cholesky_policy_source",
    "cholesky_solve",
    "debug",
    "device_name",
    "eigh",
    "eigh_backend",
    "eigh_ex",
    "eigh_policy",
    "eigh_policy_source",
    "eigvalsh",
    "eigvalsh_backend",
    "eigvalsh_ex",
    "explain",
    "gpu_core_count",
    "install",
    "installed",
    "invariant",
    "ops",
    "policy",
    "policy_source",
    "qr",
    "qr_backend",
    "qr_ex",
    "qr_policy",
    "qr_policy_source",
    "routing",
    "set_cholesky_policy",
    "set_eigh_policy",
    "set_policy",
    "set_qr_policy",
    "set_routing",
    "set_solve_policy",
    "set_svd_policy",
    "solve_policy",
    "solve_policy_source",
    "solve_triangular",
    "solve_triangular_backend",
    "svd",
    "svd_backend",
    "svd_ex",
    "svd_policy",
    "svd_policy_source",
    "svdvals",
    "svdvals_backend",
    "svdvals_ex",
    "triangular_solve",
    "uninstall",
    "warmup",
]
