# SPDX-License-Identifier: Apache-2.0
"""One matrix of a batch holds a NaN: the others are decomposed, and info tells which one it was."""

import lanepack
import torch

A = torch.randn(64, 5, 5)
A = A + A.mT
clean = lanepack.eigh(A)

A[7, 3, 2] = float("nan")
L, V, info = lanepack.eigh_ex(A)

good = info == 0
assert torch.nonzero(~good).flatten().tolist() == [7]
assert L[7].isnan().all()
assert V[7].isnan().all()
# Not only close: the same bits as without the bad neighbour.
assert torch.equal(L[good], clean.eigenvalues[good])

try:
    lanepack.eigh(A, check_errors=True)
except torch.linalg.LinAlgError as error:
    print(error)
else:
    raise AssertionError("check_errors=True did not raise")
