# SPDX-License-Identifier: Apache-2.0
"""The exceptions that lanepack raises beside Python's and torch's own."""

from __future__ import annotations


class ArgumentError(ValueError, RuntimeError):
    """A wrong shape, mode, UPLO, driver or the like.

    It is a ValueError, as Python programs expect, and a RuntimeError, as torch raises.
    """
