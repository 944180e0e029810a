# SPDX-License-Identifier: Apache-2.0
"""Who may include whom, as a table, and the rules of the sources that a compiler does not hold."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Folder (or file) under src -> what its files may include, each a folder or file under src or
# include; its own folder always. Arrows point down only: docs/design.md, "Layout".
ARROWS = {
    "core": (),
    "operations": ("core", "lanepack"),
    "dialect": ("hwy",),
    "kernels": (),
    "backends/backend.h": ("operations/problem.h",),
    "backends/registry.cc": ("backends/backend.h",),
    "backends/cpu": (
        "backends/backend.h",
        "core",
        "dialect",
        "hwy",
        "kernels",
        "operations",
    ),
    "backends/lapack": ("backends/backend.h", "core", "dialect/subnormals.h", "operations"),
    # A kernel's arguments are one struct for the host that fills it and the kernel that reads it:
    # kernels/<operation>/arguments.simt.h. texts/ names the kernels' parts for the flattener.
    "backends/cuda": (
        "backends/backend.h",
        "core",
        "dialect/arguments.h",
        "kernels",
        "operations",
    ),
    # The one backend that includes another: what surrounds cuSOLVER's routines are kernels,
    # launched as the other backend launches its own.
    "backends/vendor_cuda": (
        "backends/backend.h",
        "backends/cuda/driver.h",
        "backends/cuda/launch.h",
        "backends/cuda/plan.h",
        "core",
        "kernels",
        "operations",
    ),
    "routing": ("backends/backend.h", "core/types.h"),
    "c_api": ("backends/backend.h", "operations", "routing"),
}
# A header that each platform has its own of, in core.
PLATFORM_HEADERS = {"symbol_versions.h": "core/platform"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
CONDITION = re.compile(r"^\s*#\s*(?:if|ifdef|ifndef|elif)\b.*$", re.MULTILINE)
# Include guards, and the two forms that Highway's foreach_target asks for.
ALLOWED_CONDITION = re.compile(
    r"#ifndef LANEPACK_\w+_H_$"
    r"|#if HWY_ONCE$"
    r"|#if defined\(LANEPACK_\w+_H_\) == defined\(HWY_TARGET_TOGGLE\)$"
    r"|#ifdef LANEPACK_\w+_H_$"
)


def sources(folder="src"):
    files = sorted(p for p in (ROOT / folder).rglob("*") if p.suffix in (".h", ".cc"))
    assert files, f"no sources under {folder}"
    return files


def lies_in(path, place):
    return path == place or path.startswith(place + "/")


def layer_of(path):
    """The row of ARROWS that `path`, relative to src, belongs to."""
    layers = [layer for layer in ARROWS if lies_in(path, layer)]
    assert layers, f"src/{path} belongs to no layer of the table"
    return max(layers, key=len)


@pytest.mark.parametrize("source", sources(), ids=lambda p: str(p.relative_to(ROOT)))
def test_includes_follow_the_arrows(source):
    path = source.relative_to(ROOT / "src").as_posix()
    layer = layer_of(path)
    allowed = (*ARROWS[layer], layer)
    for kind, name in INCLUDE.findall(source.read_text()):
        if kind == "<":
            assert not path.startswith("kernels/"), f"a kernel text includes <{name}>"
            continue
        target = PLATFORM_HEADERS.get(name, name)
        assert any(lies_in(target, place) for place in allowed), (
            f"src/{path} includes {name}; {layer} may include: {', '.join(allowed)}"
        )


def test_kernels_include_nothing():
    for source in sources("src/kernels"):
        assert not INCLUDE.search(source.read_text()), source


def test_conditions_stay_in_the_dialect():
    for source in sources():
        if (ROOT / "src" / "dialect") in source.parents:
            continue
        for line in CONDITION.findall(source.read_text()):
            assert ALLOWED_CONDITION.match(line.strip()), f"{source}: {line}"


# Algorithms made of others' texts: docs/design.md, "Layers".
COMPOSED = {("svd", "tall"): (("qr", "tall"), ("svd", "bidiagonal_qr"))}


def test_identifiers_lead_to_their_files():
    """`eigh.tridiagonal_ql.lanes` runs kernels/eigh/tridiagonal_ql_thread.simt.h."""
    backend = (ROOT / "src/backends/cpu/cpu_backend.cc").read_text()
    lanes = set(re.findall(r'"(\w+)\.(\w+)\.lanes"', backend))
    assert lanes
    assert lanes >= COMPOSED.keys()
    parts = {part for identifier in lanes for part in COMPOSED.get(identifier, (identifier,))}
    for operation, method in sorted(parts):
        stem = ROOT / "src" / "kernels" / operation / method
        found = list(stem.parent.glob(f"{method}_*.simt.h"))
        assert found, f"{operation}.{method}.lanes has no text {stem}_<level>.simt.h"


def test_identifiers_of_gpu_kernels_lead_to_their_files():
    """`eigh.small.thread` is kernels/eigh/small_thread.simt.h, in the text "eigh_thread"."""
    table = (ROOT / "src/backends/cuda/algorithms.cc").read_text()
    kernels = re.findall(r'"(\w+)\.(\w+)\.(thread|warp|block)"', table)
    assert kernels
    for operation, method, level in kernels:
        path = f"kernels/{operation}/{method}_{level}.simt.h"
        assert (ROOT / "src" / path).is_file(), path
        text = ROOT / "src/backends/cuda/texts" / f"{operation}_{level}.h"
        assert f'#include "{path}"' in text.read_text(), f"{text} does not name {path}"


IDENTIFIER = re.compile(r'"(\w+\.(?:vendor|\w+\.(?:lanes|serial|parallel|thread|warp|block)))"')


def identifiers(*paths):
    return {found for path in paths for found in IDENTIFIER.findall((ROOT / path).read_text())}


def test_every_algorithm_is_tested_and_every_rule_leads_to_one():
    registered = identifiers(
        "src/backends/cpu/cpu_backend.cc",
        "src/backends/cuda/algorithms.cc",
        "src/backends/lapack/algorithms.cc",
        "src/backends/vendor_cuda/algorithms.cc",
    )
    assert registered
    # What is missing in this table is tested by nothing.
    assert identifiers("tests/conformance/cases.py") == registered
    # The router skips a rule whose identifier nobody registers.
    assert identifiers("src/routing/router.cc") <= registered


def test_every_source_has_its_licence_and_is_built():
    listed = (ROOT / "CMakeLists.txt").read_text().replace("${LANEPACK_SYSTEM}", "linux")
    for source in sources():
        assert "SPDX-License-Identifier: Apache-2.0" in source.read_text()[:200], source
        path = source.relative_to(ROOT).as_posix()
        if source.suffix == ".cc" and "_darwin" not in path:
            assert re.search(rf"^\s+{re.escape(path)}\b", listed, re.MULTILINE), (
                f"{path} is not in CMakeLists.txt"
            )
