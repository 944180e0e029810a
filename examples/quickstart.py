# SPDX-License-Identifier: Apache-2.0
"""The three decompositions of a batch, and what each promises."""

import lanepack
import torch

A = torch.randn(1000, 6, 4, dtype=torch.float64)

Q, R = lanepack.qr(A)
assert torch.allclose(Q @ R, A)

U, S, Vh = lanepack.svd(A)  # thin: U is (1000, 6, 4)
assert torch.allclose(U * S[:, None, :] @ Vh, A)

# Eigenvalues ascend; those of A^T A are the squares of A's singular values.
L, V = lanepack.eigh(A.mT @ A)
assert torch.allclose(L.flip(-1), S**2)

print(f"{len(A)} matrices by {lanepack.svd_backend(6, 4, 1000, dtype=A.dtype)}")
