# SPDX-License-Identifier: Apache-2.0
"""What a matrix's bits may not depend on, on a GPU: batch, position, neighbours, strides, run."""

import pytest
import torch
from conformance import cases
from conformance.test_bits import VARIANTS, _input
from device_problems import KERNELS, run, same_bits, serves

SHAPES = ((1, 1), (2, 2), (3, 3), (5, 5), (8, 8), (13, 13), (24, 24), (32, 32), (9, 5), (5, 9),
          (8, 3), (100, 7), (128, 32))  # fmt: skip
BATCH = 333


def _problems(algorithm, dtype):
    family = algorithm.split(".")[0]
    count = 0
    for operation, own in cases.OPERATION_FAMILY.items():
        if own != family:
            continue
        for m, n in SHAPES:
            if operation in cases.SQUARE_ONLY and m != n:
                continue
            for variant in VARIANTS[operation]:
                if serves(algorithm, operation, variant, m, n, dtype):
                    count += 1
                    yield operation, variant, _input(operation, m, n, dtype, BATCH).cuda()
    if not count:
        pytest.skip(f"{algorithm} takes none of the shapes")


@pytest.fixture(params=cases.DTYPES, ids=lambda dtype: str(dtype).removeprefix("torch."))
def dtype(request):
    return request.param


@pytest.mark.parametrize("algorithm", KERNELS)
def test_bits_on_the_device(algorithm, dtype):
    for operation, variant, a in _problems(algorithm, dtype):
        where = f"{operation} {variant} {tuple(a.shape)}"

        def again(x, operation=operation, variant=variant):
            return run(algorithm, operation, variant, x)

        whole = again(a)
        assert same_bits(again(a), whole), f"{where}: a second run"
        for position in (0, 1, 31, 32, 63, 64, BATCH - 1):
            alone = again(a[position : position + 1])
            part = [each[position : position + 1] for each in whole]
            assert same_bits(alone, part), f"{where}: matrix {position} alone"
        part = [each[5:] for each in whole]
        assert same_bits(again(a[5:]), part), f"{where}: moved by 5"
        for name, layout in cases.LAYOUTS.items():
            assert same_bits(again(layout(a)), whole), f"{where}: layout {name}"
        spoiled = a.clone()
        spoiled[::7] = float("nan")
        others = torch.ones(BATCH, dtype=torch.bool, device="cuda")
        others[::7] = False
        results = again(spoiled)
        assert same_bits([each[others] for each in results], [each[others] for each in whole]), (
            f"{where}: NaN beside it"
        )
        assert (results[-1][::7] == 2**31 - 1).all(), where
        assert (results[-1][others] == 0).all(), where
