# SPDX-License-Identifier: Apache-2.0
"""Calls from several threads, after a fork, with other thread counts."""

import multiprocessing
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import lanepack
import numpy as np
import pytest
import torch
from properties import hermitian, randn

SIZES = (2, 3, 5, 8, 17, 40)


def work(A):
    return [*lanepack.qr(A), *lanepack.svd(A), *lanepack.eigh(A), lanepack.eigvalsh(A)]


def test_eight_threads_at_once():
    inputs = [hermitian(64 // n + 1, n, n, seed=60 + n, dtype=d) for n in SIZES
              for d in (torch.float32, torch.complex128)]  # fmt: skip
    expected = [work(A) for A in inputs]
    barrier = threading.Barrier(8)

    def run(start):
        barrier.wait()
        for step in range(3 * len(inputs)):
            i = (start + step) % len(inputs)
            for mine, other in zip(work(inputs[i]), expected[i], strict=True):
                assert torch.equal(mine, other)
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(run, range(8)))


def test_first_call_from_eight_threads():
    program = """
import threading, torch, lanepack
A = torch.eye(20).repeat(50, 1, 1) * 2
barrier, bad = threading.Barrier(8), []
def run():
    try:
        barrier.wait()
        assert torch.equal(lanepack.eigvalsh(A), torch.full((50, 20), 2.0))
        assert torch.equal(lanepack.svd(A).S, torch.full((50, 20), 2.0))
        Q, R = lanepack.qr(A)
        assert torch.equal(Q @ R, A)
    except BaseException as error:
        bad.append(error)
threads = [threading.Thread(target=run) for _ in range(8)]
[each.start() for each in threads]
[each.join() for each in threads]
assert not bad, bad
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


@pytest.mark.parametrize("n", SIZES)
def test_set_num_threads_changes_no_bit_of_many(n):
    A = randn(501, n, n, seed=61)
    before = torch.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append(work(A))
    finally:
        torch.set_num_threads(before)
    for other in results[1:]:
        for mine, theirs in zip(results[0], other, strict=True):
            assert torch.equal(mine, theirs)


def _child(A, expected, queue):
    # Compared by NumPy: torch's own kernels may wait for OpenMP threads that a fork does not copy.
    pairs = zip(work(A), expected, strict=True)
    queue.put(all(np.array_equal(a.numpy(), b.numpy()) for a, b in pairs))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_decomposes():
    small, large = randn(300, 8, 8, seed=62), randn(3, 150, 150, seed=63)
    context = multiprocessing.get_context("fork")
    for A in (small, large):
        expected = work(A)
        stop = threading.Event()

        def busy(A=A, stop=stop):
            while not stop.is_set():
                lanepack.svdvals(A)

        thread = threading.Thread(target=busy)
        thread.start()
        try:
            queue = context.Queue()
            child = context.Process(target=_child, args=(A, expected, queue))
            child.start()
            child.join(60)
            hung = child.is_alive()
            if hung:
                child.kill()
        finally:
            stop.set()
            thread.join()
        assert not hung
        assert child.exitcode == 0
        assert queue.get(timeout=10)


def test_the_gil_is_released():
    A = randn(1, 700, 700, seed=64)
    done = threading.Event()
    counts = []

    def count():
        steps = 0
        while not done.is_set():
            steps += 1
        counts.append(steps)

    thread = threading.Thread(target=count)
    switch = sys.getswitchinterval()
    # With the GIL held the counter would run between the calls only.
    sys.setswitchinterval(1e-5)
    try:
        thread.start()
        lanepack.svd(A)
    finally:
        done.set()
        thread.join()
        sys.setswitchinterval(switch)
    assert counts[0] > 10_000
