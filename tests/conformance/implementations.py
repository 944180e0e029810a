# SPDX-License-Identifier: Apache-2.0
"""What runs a case: lanepack with an algorithm forced, or torch.linalg, LAPACK's own."""

import contextlib
import os

import torch


class NotServedError(Exception):
    """The forced algorithm does not take this problem."""


@contextlib.contextmanager
def one_thread():
    """LAPACK's own threads would spin between the small problems of a batch, for no gain."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@one_thread()
def run_torch(operation, variant, a):
    """The factors as a tuple, from torch.linalg."""
    if operation == "qr":
        q, r = torch.linalg.qr(a, mode=variant)
        return (r,) if variant == "r" else (q, r)
    if operation == "eigh":
        return tuple(torch.linalg.eigh(a, UPLO=variant))
    if operation == "eigvalsh":
        return (torch.linalg.eigvalsh(a, UPLO=variant),)
    if operation == "svd":
        return tuple(torch.linalg.svd(a, full_matrices=variant == "full"))
    if operation == "svdvals":
        return (torch.linalg.svdvals(a),)
    raise ValueError(f"run_torch: no operation {operation!r}")


def run_lanepack(operation, variant, a):
    """(factors, info) from lanepack's form with `info`."""
    import lanepack

    driver = "jacobi" if variant == "jacobi" else None
    if operation == "qr":
        q, r, info = lanepack.qr_ex(a, mode=variant)
        return ((r,) if variant == "r" else (q, r)), info
    if operation == "eigh":
        *factors, info = lanepack.eigh_ex(a, UPLO=variant)
    elif operation == "eigvalsh":
        *factors, info = lanepack.eigvalsh_ex(a, UPLO=variant)
    elif operation == "svd":
        *factors, info = lanepack.svd_ex(a, full_matrices=variant == "full", driver=driver)
    elif operation == "svdvals":
        *factors, info = lanepack.svdvals_ex(a, driver=driver)
    else:
        raise ValueError(f"run_lanepack: no operation {operation!r}")
    return tuple(factors), info


@contextlib.contextmanager
def environment(**variables):
    """Sets environment variables (None: unset) and puts the old values back."""
    before = {name: os.environ.get(name) for name in variables}

    def put(values):
        for name, value in values.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value

    put(variables)
    try:
        yield
    finally:
        put(before)


class Lanepack:
    """lanepack, one forced algorithm at a time."""

    name = "lanepack"
    excused = ()

    def algorithms(self, case):
        return case.algorithms

    def run(self, case, algorithm, a):
        with environment(LANEPACK_FORCE=algorithm):
            try:
                return run_lanepack(case.operation, case.variant, a)
            except RuntimeError as error:
                # The router's refusal names the variable; any other error is a fault.
                if "LANEPACK_FORCE" in str(error):
                    raise NotServedError(str(error)) from error
                raise


class Torch:
    """torch.linalg in lanepack's place: shows that the suite itself and its bounds stand."""

    name = "torch"
    # geqrf and gesdd lose these to underflow, and complex geqrf can give NaN.
    excused = ("subnormal", "near_underflow")

    def algorithms(self, case):
        return ("torch.linalg",)

    def run(self, case, algorithm, a):
        if case.expect != "accurate" or case.variant == "jacobi":
            raise NotServedError(
                "torch.linalg raises on bad matrices and has no Jacobi driver on CPUs"
            )
        return run_torch(case.operation, case.variant, a), a.new_zeros(len(a), dtype=torch.int32)
