# SPDX-License-Identifier: Apache-2.0
"""The torch ops behind the functions: torch.ops.lanepack.*, one file per family.

Each is functional and, but for the solves, returns `info` last. `check_errors` raises in the
kernel, so that a compiled program raises where an eager one does.
"""

from __future__ import annotations

from . import cholesky, eigh, qr, solve, svd

__all__ = ["cholesky", "eigh", "qr", "solve", "svd"]
