# SPDX-License-Identifier: Apache-2.0
"""What the library shows and needs, against its header and the systems it promises to load on."""

import re
from pathlib import Path

from library import objdump

ROOT = Path(__file__).resolve().parents[2]

# The newest symbol versions that manylinux_2_28 has (AlmaLinux 8: glibc 2.28, gcc 8).
NEWEST = {"GLIBC": (2, 28), "GLIBCXX": (3, 4, 25), "CXXABI": (1, 3, 11), "GCC": (8, 0, 0)}


def dynamic_symbols():
    """(name, defined, version) of each dynamic symbol."""
    for line in objdump("-T"):
        match = re.match(
            r"^[0-9a-f]{8,} .{7} (\S+)\s+[0-9a-f]+\s+(?:(\(?[\w.]+\)?)\s+)?(\S+)$", line
        )
        if match:
            section, version, name = match.groups()
            yield name, section != "*UND*", (version or "").strip("()")


def test_exports_are_those_of_the_header():
    header = (ROOT / "include/lanepack/lanepack.h").read_text()
    declared = set(re.findall(r"LANEPACK_API\s[^;]*?\b(lanepack_\w+)\(", header))
    exported = {name for name, defined, _ in dynamic_symbols() if defined}
    assert declared
    assert exported == declared


def test_symbol_versions_are_old_enough():
    needed = {version for _, defined, version in dynamic_symbols() if not defined}
    assert any(version.startswith("GLIBC_") for version in needed)
    for version in sorted(needed):
        name, _, number = version.partition("_")
        if name in NEWEST and re.fullmatch(r"[\d.]+", number):
            assert tuple(map(int, number.split("."))) <= NEWEST[name], version


def test_no_libm_function_whose_version_moved():
    """pow, exp and log got new versions in glibc 2.29; results must not follow the C library."""
    needed = {name for name, defined, _ in dynamic_symbols() if not defined}
    for name in ("pow", "exp", "log", "exp2", "log2", "sin", "cos", "atan2", "hypot"):
        assert not needed & {name, name + "f"}, name
