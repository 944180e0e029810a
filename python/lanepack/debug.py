# SPDX-License-Identifier: Apache-2.0
"""Checks that cost too much to be on always."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextvars import ContextVar

# As the routing mode: a list of one, which the function changes in place, and a variable that a
# block puts before it.
_process_state = [False]
_state: ContextVar[Sequence[bool]] = ContextVar("lanepack_gauge_check", default=_process_state)


def gauge_check(enabled: bool | None = None) -> bool:
    """Whether backward passes check the gauge of complex losses, as torch.linalg's do.

    A complex eigenvector may be multiplied by any phase, and so may a pair of singular vectors. A
    loss that changes with it has no gradient; with the check on, the backward of `eigh` and `svd`
    raises RuntimeError for it, in torch's words and with torch's tolerances. It reads the result of
    the comparison, so a device is waited for: it is off unless asked for. A matrix whose results
    are NaN is not held against its batch. Nothing is checked where values cannot be read: under
    torch.func.vmap, torch.compile and on meta tensors. Forward mode is not checked, as in torch.

    It is looked at when a backward runs, on the thread that runs it.

    Args:
        enabled: True or False sets it for the process; None leaves it.

    Returns:
        What was in force here before the call.

    Example:
        >>> import lanepack
        >>> before = lanepack.debug.gauge_check(True)
        >>> lanepack.debug.gauge_check()
        True
        >>> _ = lanepack.debug.gauge_check(before)
    """
    before = _state.get()[0]
    if enabled is not None:
        _process_state[0] = bool(enabled)
    return before


@contextlib.contextmanager
def gauge_checked(enabled: bool = True) -> Iterator[None]:
    """A block in whose backward passes the gauge is checked (or not); see `gauge_check`.

    It holds for this thread (or asyncio task) alone.
    """
    token = _state.set((bool(enabled),))
    try:
        yield
    finally:
        _state.reset(token)
