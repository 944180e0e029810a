# SPDX-License-Identifier: Apache-2.0
"""What the tests on a GPU share: which algorithm serves what, runs, equality of bits."""

import torch
from conformance import cases, implementations


def is_vendor(algorithm):
    """Whether it is a routine of the vendor's: by the library, or by torch."""
    return algorithm.split(".")[-1] == "vendor"


ALGORITHMS = sorted({name for names in cases.CUDA_ALGORITHMS.values() for name in names})
KERNELS = [name for name in ALGORITHMS if not is_vendor(name)]


def family_of(operation):
    return cases.OPERATION_FAMILY[operation]


def serves(algorithm, operation, variant, m, n, dtype):
    """Whether a forced algorithm takes the problem."""
    import lanepack

    where = {"dtype": dtype, "device": "cuda"}
    with implementations.environment(LANEPACK_FORCE=algorithm):
        try:
            if operation == "qr":
                lanepack.qr_backend(m, n, 1, mode=variant, **where)
            elif operation == "svd":
                full, driver = variant == "full", "jacobi" if variant == "jacobi" else None
                lanepack.svd_backend(m, n, 1, full_matrices=full, driver=driver, **where)
            elif operation == "svdvals":
                driver = "jacobi" if variant == "jacobi" else None
                lanepack.svdvals_backend(m, n, 1, driver=driver, **where)
            else:
                lanepack.backend(operation, n, 1, **where)
        except (NotImplementedError, ValueError):
            return False
    return True


def run(algorithm, operation, variant, a):
    """(factors and info) of a tensor on the device, by a forced algorithm."""
    with implementations.environment(LANEPACK_FORCE=algorithm):
        factors, info = implementations.run_lanepack(operation, variant, a)
    return (*factors, info)


def same_bits(results, others):
    """Equal bit for bit; NaN equals NaN, +0 is not -0."""

    def bits(tensor):
        real = torch.view_as_real(tensor) if tensor.is_complex() else tensor
        return real.contiguous().reshape(-1).view(torch.uint8)

    return len(results) == len(others) and all(
        a.shape == b.shape and torch.equal(bits(a), bits(b))
        for a, b in zip(results, others, strict=True)
    )
