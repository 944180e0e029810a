# SPDX-License-Identifier: Apache-2.0
"""Many small least-squares problems with one qr, and the gradient through them."""

import lanepack
import torch

torch.manual_seed(0)
x = torch.linspace(-1, 1, 12, dtype=torch.float64)
design = torch.stack((torch.ones_like(x), x, x**2), dim=-1)

# Each of 500 parabolas is seen with weights of its own, so each has its own matrix.
truth = torch.randn(500, 3, 1, dtype=torch.float64)
weights = torch.rand(500, 12, 1, dtype=torch.float64) + 0.1
weights.requires_grad_()

Q, R = lanepack.qr(weights * design)
coefficients = torch.linalg.solve_triangular(R, Q.mT @ (weights * (design @ truth)), upper=True)
assert torch.allclose(coefficients, truth)

# The data lie on the parabolas exactly, so the weights cannot matter: their gradient vanishes.
(gradient,) = torch.autograd.grad(coefficients.sum(), weights)
print(f"500 fits, largest gradient with respect to a weight: {gradient.abs().max():.1e}")
assert gradient.abs().max() < 1e-9
