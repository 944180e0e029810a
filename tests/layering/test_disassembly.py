# SPDX-License-Identifier: Apache-2.0
"""AVX code stands only in the functions that are chosen by the CPU's abilities.

An inline function that several files share would be merged by the linker into one copy; were it
compiled with AVX once, it would crash on a machine without. So each VEX- or EVEX-coded instruction
must lie in a function of one of Highway's target namespaces.
"""

import platform
import re

import pytest
from library import objdump

FUNCTION = re.compile(r"^[0-9a-f]+ <(.*)>:$")
# "address: bytes  mnemonic operands"
INSTRUCTION = re.compile(r"^\s+[0-9a-f]+:\t((?:[0-9a-f]{2} )+)\s*\t(\w+)\s*(.*)$")
# VEX and EVEX mnemonics start with v, or with k for the mask registers; these two do not.
LEGACY = {"verr", "verw"}
BMI = re.compile(r"^(andn|bextr|blsi|blsmsk|blsr|bzhi|mulx|pdep|pext|rorx|sarx|shlx|shrx)$")
TARGET = re.compile(r"\bN_(AVX2|AVX3)\b|hwy::N_(AVX2|AVX3)\b|::N_(AVX2|AVX3)::")


def needs_avx(mnemonic):
    return (
        (mnemonic[0] == "v" and mnemonic not in LEGACY)
        or bool(BMI.match(mnemonic))
        or (
            mnemonic[0] == "k"
            and mnemonic[1:4] in ("mov", "and", "or", "ort", "not", "xor", "xno", "shi")
        )
    )


@pytest.mark.skipif(platform.machine() != "x86_64", reason="x86-64 instructions")
def test_avx_stays_in_its_namespaces():
    function = ""
    offenders = {}
    inside = 0
    for line in objdump("-d", "-C", "-M", "att-mnemonic"):
        if match := FUNCTION.match(line):
            function = match.group(1)
        elif match := INSTRUCTION.match(line):
            if not needs_avx(match.group(2)):
                continue
            if TARGET.search(function):
                inside += 1
            else:
                offenders.setdefault(function, line.strip())
    assert inside > 1000, "the lanes for AVX2 and AVX-512 are not in the library"
    assert not offenders, f"AVX outside its namespaces: {offenders}"
