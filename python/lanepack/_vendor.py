# SPDX-License-Identifier: Apache-2.0
"""torch's own routines (cuSOLVER, cuBLAS) behind lanepack's contract, where no kernel of ours is.

eigh, and svd of float32 and complex64, come here only where the library cannot call cuSOLVER
itself or launch its kernels.

Around them, on the device: a matrix with NaN or Inf in the part that is read is replaced by the
identity before and gets NaN after, every other is scaled by a power of two, and `info` says which
were bad. torch's eigh and svd read a result on the host, so they wait for the device and cannot be
captured into a CUDA graph; its qr does not.
"""

from __future__ import annotations

import torch

from . import _native, _routing
from ._arguments import UPLO_UPPER
from ._layout import column_major_strides, count

# cuSOLVER's batched eigh fails above about 32,000 matrices, so larger batches go in parts.
_MAX_BATCH = 16384


class _Scaled:
    """A batch (b, m, n) made ready: finite, its largest entries near 1; and the way back."""

    def __init__(self, A: torch.Tensor, read: torch.Tensor):
        """A: what is computed with, changed in place. read: the entries of A that are read."""
        parts = torch.view_as_real(read) if read.is_complex() else read
        dims = tuple(range(1, parts.dim()))
        largest = torch.linalg.vector_norm(parts, float("inf"), dims)
        self.bad = ~torch.isfinite(largest)
        scale, self.inverse = _powers_of_two(largest)
        A.mul_(scale[:, None, None])
        A.masked_fill_(self.bad[:, None, None], 0)
        A.diagonal(0, -2, -1).masked_fill_(self.bad[:, None], 1)
        self.A = A

    def finish(self, results: tuple, values: torch.Tensor) -> tuple:
        """Results of the given matrices, NaN for bad ones, and info behind them.

        values: those among the results that scale as A does.
        """
        converged = torch.isfinite(values.abs()).flatten(1).all(1)
        values.mul_(self.inverse.reshape(-1, *[1] * (values.dim() - 1)))
        info = torch.where(converged, 0, _native.INFO_NO_CONVERGENCE)
        info = info.masked_fill_(self.bad, _native.INFO_NOT_FINITE).to(torch.int32)
        bad = self.bad | ~converged
        for each in results:
            each.masked_fill_(bad.reshape(-1, *[1] * (each.dim() - 1)), float("nan"))
        return (*results, info)


def _powers_of_two(largest: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(s, 1 / s), powers of two that bring each entry near 1; any where it is not finite."""
    if largest.dtype == torch.float32:
        integers, shift, bias = torch.int32, 23, 127
    else:
        integers, shift, bias = torch.int64, 52, 1023
    # The exponent fields; two biases less one, since 2^-e has to be a normal number, and 2^e.
    field = largest.view(integers) >> shift
    scale = (2 * bias - field).clamp(1, 2 * bias - 1)
    inverse = 2 * bias - scale
    return (scale << shift).view(largest.dtype), (inverse << shift).view(largest.dtype)


def _qr(A, mode):
    work = _Scaled(A.clone(), A)
    Q, R = torch.linalg.qr(work.A, mode)
    if mode == "r":
        R, info = work.finish((R,), R)
        return Q, R, info
    return work.finish((Q, R), R)


def _triangle(A, UPLO):
    """A copy of the part of A that is read: a triangle, and of a complex diagonal the real part."""
    T = A.triu() if UPLO_UPPER[UPLO] else A.tril()
    if T.is_complex():
        torch.view_as_real(T).diagonal(0, -3, -2)[:, 1].zero_()
    return T


def _eigh(A, UPLO):
    T = _triangle(A, UPLO)
    work = _Scaled(T, T)
    L, V = torch.linalg.eigh(work.A, UPLO)
    return work.finish((L, V), L)


def _eigvalsh(A, UPLO):
    T = _triangle(A, UPLO)
    work = _Scaled(T, T)
    L = torch.linalg.eigvalsh(work.A, UPLO)
    return work.finish((L,), L)


def _torch_driver(A, driver):
    # torch takes the hints on CUDA only.
    return driver if A.is_cuda and driver != "jacobi" else None


def _svd(A, full, driver):
    work = _Scaled(A.clone(), A)
    U, S, Vh = torch.linalg.svd(work.A, full_matrices=full, driver=_torch_driver(A, driver))
    return work.finish((U, S, Vh), S)


def _svdvals(A, driver):
    work = _Scaled(A.clone(), A)
    S = torch.linalg.svdvals(work.A, driver=_torch_driver(A, driver))
    return work.finish((S,), S)


_FUNCTIONS = {"qr": _qr, "eigh": _eigh, "eigvalsh": _eigvalsh, "svd": _svd, "svdvals": _svdvals}


def route(operation: str, flags: int) -> str:
    """What a call that comes here is served by."""
    return "host" if flags & _native.FLAG_JACOBI else "vendor"


def on_host(name: str, A: torch.Tensor, variant: tuple) -> tuple:
    """The results and info of lanepack on the CPU, brought to A's device."""
    from . import _kernels  # which imports this module

    B = A.cpu()
    results = getattr(_kernels, name)(B, _kernels.describe(B), *variant, True)
    return tuple(each.to(A.device) for each in results)


def _part(name: str, A: torch.Tensor, variant: tuple) -> tuple:
    if name in ("svd", "svdvals") and variant[-1] == "jacobi":
        # None of the vendor's is as accurate relative to each value.
        return on_host(name, A, variant)
    try:
        return _FUNCTIONS[name](A, *variant)
    except torch.linalg.LinAlgError:
        # torch gives up a batch for one matrix that did not converge.
        return on_host(name, A, variant)


def _whole(name: str, A: torch.Tensor, variant: tuple) -> tuple:
    """Results and info of a batch (b, m, n), in parts that the vendor's routine takes.

    Under `invariant` one matrix at a time: a batched routine is another one.
    """
    size = 1 if _routing.current() == _routing.INVARIANT else _MAX_BATCH
    if len(A) <= size:
        return _part(name, A, variant)
    parts = [_part(name, A[i : i + size], variant) for i in range(0, len(A), size)]
    # qr's Q of mode "r" is empty whatever the batch.
    return tuple(
        each[0] if each[0].shape == (0,) else torch.cat(each) for each in zip(*parts, strict=True)
    )


def _empty(name: str, A: torch.Tensor, variant: tuple) -> tuple:
    """The results for an A without elements: identities, or nothing."""
    function = {
        "qr": lambda A, mode: tuple(torch.linalg.qr(A, mode)),
        "eigh": lambda A, UPLO: tuple(torch.linalg.eigh(A, UPLO)),
        "eigvalsh": lambda A, UPLO: (torch.linalg.eigvalsh(A, UPLO),),
        "svd": lambda A, full, driver: tuple(torch.linalg.svd(A, full)),
        "svdvals": lambda A, driver: (torch.linalg.svdvals(A),),
    }[name]
    results = function(A, *variant)
    return (*results, torch.zeros(A.shape[0], dtype=torch.int32, device=A.device))


def _shaped(result: torch.Tensor, batch: tuple[int, ...], matrices: bool) -> torch.Tensor:
    """One result with A's batch dimensions, and column-major if it holds matrices."""
    result = result.reshape(*batch, *result.shape[1:]) if result.shape != (0,) else result
    if not matrices or result.shape == (0,):
        return result.contiguous()
    strides = column_major_strides(result.shape)
    if result.stride() == strides:
        return result
    out = torch.empty_strided(result.shape, strides, dtype=result.dtype, device=result.device)
    return out.copy_(result)


@torch.no_grad()
def run(name: str, A: torch.Tensor, variant: tuple, want_info: bool) -> tuple:
    """What `_kernels.<name>(A, ..., *variant, want_info)` gives."""
    *batch, m, n = A.shape
    flat = A.reshape(count(batch), m, n)
    *results, info = (_whole if flat.numel() else _empty)(name, flat, variant)
    shaped = [_shaped(each, tuple(batch), each.dim() == 3) for each in results]
    return (*shaped, info.reshape(batch)) if want_info else tuple(shaped)
