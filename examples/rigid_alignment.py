# SPDX-License-Identifier: Apache-2.0
"""Rotations between pairs of point sets: svd of 3x3 covariances (Kabsch 1976)."""

import lanepack
import torch

torch.manual_seed(0)
count = 5000
source = torch.randn(count, 20, 3, dtype=torch.float64)

# Random rotations: the orthogonal factor of a random matrix, with determinant 1.
Q, _ = lanepack.qr(torch.randn(count, 3, 3, dtype=torch.float64))
rotations = Q * torch.linalg.det(Q)[:, None, None]
target = source @ rotations.mT + 0.01 * torch.randn(source.shape, dtype=source.dtype)

U, _, Vh = lanepack.svd(target.mT @ source)
# Where U Vh would mirror, the direction of the smallest singular value is turned round.
signs = torch.ones(count, 3, dtype=source.dtype)
signs[:, 2] = torch.linalg.det(U @ Vh)
found = U * signs[:, None, :] @ Vh

error = (found - rotations).abs().max()
print(f"largest error of {count} rotations: {error:.4f}")
assert error < 0.05
