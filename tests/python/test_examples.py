# SPDX-License-Identifier: Apache-2.0
"""The Python examples run; each checks its own result."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


def test_there_are_examples():
    assert EXAMPLES


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path):
    subprocess.run([sys.executable, str(path)], check=True, timeout=300)
