# SPDX-License-Identifier: Apache-2.0
"""The built library that these tests look into, and binutils' view of it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def find_library():
    """LANEPACK_LIBRARY, or what the installed package would load."""
    if override := os.environ.get("LANEPACK_LIBRARY"):
        return Path(override)
    import lanepack

    for folder in lanepack.__path__:
        path = Path(folder) / "liblanepack.so"
        if path.is_file():
            return path
    raise FileNotFoundError(f"no liblanepack.so in {list(lanepack.__path__)}")


def objdump(*options):
    """Lines that objdump prints of the library."""
    if not sys.platform.startswith("linux"):
        pytest.skip("reads ELF files")
    program = shutil.which("objdump")
    if program is None:
        pytest.skip("needs objdump (binutils)")
    command = [program, *options, str(find_library())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield from process.stdout
    assert process.returncode == 0, command
