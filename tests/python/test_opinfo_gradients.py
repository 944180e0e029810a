# SPDX-License-Identifier: Apache-2.0
"""PyTorch's gradient tests (its TestGradients) with our functions in the place of torch's."""

import pytest
import torch
from opinfo import OURS, swapped
from torch.testing._internal.common_utils import TestGradients

KINDS = ("backward", "backward_backward", "forward", "forward_backward")


class Gradients(TestGradients):
    __test__ = False  # a base class of unittest's: its checks are called below

    def runTest(self):  # noqa: N802
        pass


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", OURS)
def test_gradients(name, kind, dtype):
    op = swapped(name)
    tests = Gradients()
    if kind == "backward":
        tests._grad_test_helper("cpu", dtype, op, op.get_op())
    elif kind == "forward":
        tests._grad_test_helper(
            "cpu", dtype, op, op.get_op(),
            check_forward_ad=True, check_backward_ad=False, check_batched_grad=False,
        )  # fmt: skip
    else:
        check = {"backward_backward": "bwgrad_bwgrad", "forward_backward": "fwgrad_bwgrad"}[kind]
        tests._check_helper("cpu", dtype, op, op.get_op(), check)
