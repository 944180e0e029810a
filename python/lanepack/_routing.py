# SPDX-License-Identifier: Apache-2.0
"""The routing mode: one for the process, and one that a `with` block puts before it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextvars import ContextVar

from ._errors import ArgumentError

FASTEST = 0
INVARIANT = 1
_NAMES = ("fastest", "invariant")

# A list of one, so that reading the mode is one look-up: outside a block the variable gives the
# process's, which set_routing changes in place.
_process_mode = [FASTEST]
_mode: ContextVar[Sequence[int]] = ContextVar("lanepack_routing", default=_process_mode)
get_mode = _mode.get


def current() -> int:
    """The mode in force here, as the C library numbers it."""
    return get_mode()[0]


@contextlib.contextmanager
def using(mode: int) -> Iterator[None]:
    """Puts a mode before the process's for this thread (or task) and block."""
    token = _mode.set((mode,))
    try:
        yield
    finally:
        _mode.reset(token)


def set_routing(mode: str) -> None:
    """Sets the routing mode of the process: "fastest" or "invariant".

    "fastest" may look at the batch count and use all threads inside one large matrix.
    "invariant": a matrix gives the same bits alone, in any batch, at any position, with any
    stride and thread count. Both repeat run to run. The mode is read when an operation runs; the
    forward stores it and the backward uses the stored one. Set it outside compiled regions.
    """
    if mode not in _NAMES:
        raise ArgumentError(
            f"lanepack.set_routing: mode is {mode!r}; it must be 'fastest' or 'invariant'"
        )
    _process_mode[0] = _NAMES.index(mode)


def routing() -> str:
    """The routing mode in force here: "fastest" or "invariant"."""
    return _NAMES[current()]


@contextlib.contextmanager
def invariant() -> Iterator[None]:
    """A block in whose calls a matrix gives the same bits in any batch (see `set_routing`).

    It holds for the calls of this thread (or asyncio task) alone.
    """
    with using(INVARIANT):
        yield
