# SPDX-License-Identifier: Apache-2.0
"""Tests that need an NVIDIA GPU; one command on a machine that has one:

    PYTHONPATH=python python3 -m pytest -q tests/cuda

(where the library lies in python/lanepack, as an editable install has it).
"""

import pytest
import torch

# The conformance suite's counts and table, for its cases on a device.
from conformance.conftest import (  # noqa: F401
    pytest_sessionfinish,
    pytest_terminal_summary,
    record,
)


def pytest_collection_modifyitems(items):
    missing = pytest.mark.skip(reason="no CUDA device")
    for item in items:
        if "tests/cuda" not in str(item.path).replace("\\", "/"):
            continue
        item.add_marker(pytest.mark.cuda)
        if not torch.cuda.is_available():
            item.add_marker(missing)
