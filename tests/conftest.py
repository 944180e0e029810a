# SPDX-License-Identifier: Apache-2.0
"""Options and tiers of the whole suite."""

import pytest


@pytest.fixture(autouse=True)
def _seeded():
    """The same numbers whichever tests ran before in this process."""
    import torch

    torch.manual_seed(0)


def pytest_addoption(parser):
    group = parser.getgroup("lanepack")
    group.addoption(
        "--all",
        action="store_true",
        default=False,
        help="run the slow tier too (the same as -m 'slow or not slow')",
    )
    group.addoption(
        "--implementation",
        choices=("lanepack", "torch"),
        default="lanepack",
        help="what the conformance suite tries; torch shows that its bounds stand",
    )
    group.addoption(
        "--accuracy-table",
        metavar="PATH",
        default=None,
        help="write the conformance suite's maxima, ours beside LAPACK's, to PATH",
    )


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: of the slow tier, run with --all or -m slow")
    config.addinivalue_line("markers", "cuda: needs an NVIDIA GPU; skipped where there is none")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--all") or config.option.markexpr:
        return
    fast = [item for item in items if not item.get_closest_marker("slow")]
    config.hook.pytest_deselected(items=[item for item in items if item.get_closest_marker("slow")])
    items[:] = fast
