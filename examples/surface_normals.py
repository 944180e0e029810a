# SPDX-License-Identifier: Apache-2.0
"""Normals of a point cloud: eigh of the 3x3 covariance of every point's neighbourhood."""

import lanepack
import torch

torch.manual_seed(0)
points = torch.nn.functional.normalize(torch.randn(2000, 3), dim=-1)  # on the unit sphere

nearest = torch.cdist(points, points).topk(16, largest=False).indices
neighbours = points[nearest]  # (2000, 16, 3)
centred = neighbours - neighbours.mean(-2, keepdim=True)
covariance = centred.mT @ centred

# The direction in which a neighbourhood is thinnest belongs to the smallest eigenvalue, the first.
normals = lanepack.eigh(covariance).eigenvectors[..., 0]

alignment = (normals * points).sum(-1).abs()  # the true normal of a sphere is the point itself
print(f"median angle to the true normal: {torch.rad2deg(alignment.median().acos()):.1f} degrees")
assert alignment.median() > 0.99
