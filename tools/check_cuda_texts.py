#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles the CUDA kernels as the library would at run time, without a GPU, and prints what each
needs: registers, spilled bytes, shared memory.

Fails on a kernel that does not compile, that spills where SPILLED does not say so, or that needs
more registers than MOST_REGISTERS says or more shared memory than a block may have without asking.
The compiler is NVRTC (pip install nvidia-cuda-nvrtc), the texts are those that
cmake/flatten_texts.cmake makes, the kernels those of the launch plans.

Without options a sample of the kernels for sm_90, and a few of them for sm_80 and sm_100 and by the
NVRTC of an older release that is installed as well.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]

# lanepack_operation and lanepack_dtype of lanepack.h.
QR, EIGH, EIGVALSH, SVD, SVDVALS, CHOLESKY, SOLVE_TRIANGULAR, CHOLESKY_SOLVE = range(8)
DTYPES = range(4)

# On sm_90, of the kernels that the benchmarks' rows take: more would cost a warp of each processor.
MOST_REGISTERS = {
    "cholesky::kernel_rows<float, 16, 8, 64>": 80,
    "cholesky::kernel_rows<float, 32, 16, 64>": 128,
    "cholesky::kernel_rows<float, 64, 32, 32>": 168,
    "eigh::kernel_thread<float, 3, true>": 56,
    "eigh::kernel_thread<float, 8, true>": 128,
    "eigh::kernel_reduce<float, 16, 16, true, 64>": 96,
    "eigh::kernel_reduce<float, 32, 32, true, 64>": 128,
    "eigh::kernel_ql<float, 32, 16, 544, 2>": 56,
    "qr::kernel_thread<float, 8, 8, 8, 8>": 128,
    "qr::kernel_warp<float, 32, 32, true, 64>": 128,
    "solve::kernel_matrix<float, 3, 3, false>": 40,
    "solve::kernel_rows<float, 32, 1, false, false, 128>": 48,
    "svd::kernel_thread<float, 8, 8, true, false>": 200,
    "svd::kernel_bidiagonalise<float, 32, 32, true, false, 64>": 144,
    "svd::kernel_implicit_qr<float, 32, 8, false, 544, 2>": 56,
}
# Bytes that a kernel may spill. Each of these needs a few registers more than the number at which
# one more warp fits, 56 to 168 (kernel_bidiagonalise_apart: than the 255 that there are): the
# compiler parks so many numbers outside the loops, of its own accord, to come down to it. Which
# ones differs from release to release of NVRTC and from architecture to architecture; the bytes are
# the most that any was seen to park.
SPILLED = {
    # Rows that fill a lane's registers: a few numbers are parked, and with more lanes it is slower
    # all the same (H200, 1024 x 64 float64: 37.7 us, 60.5 with a lane to each row).
    "cholesky::kernel_rows<double, 64, 32, 32>": 128,
    "cholesky::kernel_rows<float, 128, 64, 64>": 40,
    "cholesky::kernel_rows<simt::complex<double>, 32, 16, 64>": 136,
    "cholesky::kernel_rows<simt::complex<float>, 64, 32, 32>": 84,
    "cholesky::kernel_rows<double, 16, 8, 64>": 8,
    "cholesky::kernel_rows<double, 32, 8, 64>": 8,
    "cholesky::kernel_rows<float, 16, 8, 64>": 8,
    "cholesky::kernel_rows<float, 96, 32, 32>": 80,
    "eigh::kernel_ql<simt::complex<float>, 32, 8, 544, 2>": 32,
    "eigh::kernel_reduce<float, 32, 32, true, 64>": 8,
    "eigh::kernel_reduce<double, 16, 16, false, 64>": 8,
    "eigh::kernel_reduce<float, 16, 16, true, 64>": 8,
    "eigh::kernel_reduce<float, 32, 32, false, 64>": 40,
    "eigh::kernel_thread<double, 4, false>": 8,
    "eigh::kernel_thread<simt::complex<double>, 4, true>": 8,
    "solve::kernel_columns<simt::complex<double>, 16, 32, 16, 32>": 8,
    "solve::kernel_matrix<double, 3, 3, true>": 8,
    "solve::kernel_matrix<simt::complex<double>, 3, 1, false>": 8,
    "solve::kernel_panel<double, 32, 32, false, 64, 8>": 24,
    "solve::kernel_panel<double, 32, 32, true, 64, 8>": 24,
    "solve::kernel_rows<double, 16, 8, false, true, 64>": 16,
    "solve::kernel_rows<double, 32, 4, true, true, 64>": 16,
    "svd::kernel_apply_q<simt::complex<double>, 64, 4, 128>": 8,
    "svd::kernel_bidiagonalise_apart<simt::complex<double>, 32, false, true>": 64,
    "svd::kernel_bidiagonalise<float, 16, 16, true, false, 64>": 16,
    "svd::kernel_implicit_qr<float, 32, 8, false, 544, 2>": 32,
    "svd::kernel_implicit_qr<float, 32, 8, true, 544, 2>": 24,
    "svd::kernel_implicit_qr<simt::complex<double>, 32, 2, false, 288, 2>": 24,
    "svd::kernel_implicit_qr<simt::complex<double>, 32, 2, true, 288, 2>": 16,
    "svd::kernel_implicit_qr<simt::complex<float>, 32, 4, false, 544, 2>": 40,
    "svd::kernel_implicit_qr<simt::complex<float>, 32, 4, true, 544, 2>": 44,
    "svd::kernel_thread<float, 4, 4, true, false>": 8,
    "svd::kernel_thread<simt::complex<double>, 3, 3, false, false>": 8,
    "svd::kernel_thread<simt::complex<double>, 3, 3, true, false>": 32,
    "svd::kernel_thread<simt::complex<double>, 4, 4, false, false>": 8,
    "svd::kernel_thread<simt::complex<float>, 4, 4, true, false>": 8,
    "svd::kernel_thread<simt::complex<float>, 8, 3, true, true>": 8,
    "eigh::kernel_ql<float, 32, 16, 544, 2>": 8,
    "solve::kernel_rows<simt::complex<double>, 32, 1, false, true, 64>": 8,
    "solve::kernel_rows<simt::complex<double>, 32, 1, true, true, 64>": 48,
    "solve::kernel_rows<simt::complex<double>, 32, 4, false, true, 64>": 32,
    "solve::kernel_rows<simt::complex<double>, 32, 8, false, true, 64>": 24,
    "svd::kernel_implicit_qr<double, 32, 4, true, 288, 2>": 8,
    "svd::kernel_qr_first<simt::complex<float>, 64, 2, 64>": 8,
}
MOST_SHARED_BYTES = 48 * 1024

SQUARE = [1, 2, 3, 4, 5, 6, 7, 8, 12, 24, 32]
SHAPES = [(8, 3), (3, 8), (8, 4), (16, 5), (32, 20), (20, 32), (64, 32), (128, 32)]
SAMPLE_SQUARE = [3, 4, 8, 16, 32]
SAMPLE_SHAPES = [(8, 3), (64, 32)]
# Orders of cholesky and the solves, and numbers of right-hand sides.
ORDERS = [1, 2, 3, 4, 5, 6, 7, 8, 16, 24, 32, 64, 96, 128]
SAMPLE_ORDERS = [3, 8, 16, 32, 64, 128]
COLUMNS = [1, 2, 3, 4, 6, 12, 32]
SAMPLE_COLUMNS = [1, 3, 6, 12, 32]

# Of the sample, what is compiled for the other architectures and by other releases of NVRTC.
OTHER_ARCHITECTURES = ("sm_80", "sm_100")
FEW = re.compile(r"<(float|simt::complex<double>), (4|32)\b|vendor::.*<float\b")


class Kernel(NamedTuple):
    text: str
    name: str
    threads: int


class Job(NamedTuple):
    kernel: Kernel
    nvrtc: str
    architecture: str


class Needs(NamedTuple):
    registers: int
    spilled: int  # bytes of a thread outside registers
    shared: int


def problems(everything: bool) -> list[tuple[int, ...]]:
    square = SQUARE if everything else SAMPLE_SQUARE
    shapes = [(n, n) for n in square] + (SHAPES if everything else SAMPLE_SHAPES)
    if everything:
        shapes += [s for s in itertools.product(range(1, 9), repeat=2) if s not in shapes]
    found = [(op, d, n, n, 0, 1) for op in (EIGH, EIGVALSH) for d in DTYPES for n in square]
    for d, (m, n) in itertools.product(DTYPES, shapes):
        found += [(QR, d, m, n, 0, 1), (SVD, d, m, n, 0, 1), (SVDVALS, d, m, n, 0, 1)]
        if m != n or everything:
            found += [(QR, d, m, n, 1, 1), (SVD, d, m, n, 1, 1)]
        found.append((QR, d, m, n, 0, 0))
    orders = ORDERS if everything else SAMPLE_ORDERS
    columns = COLUMNS if everything else SAMPLE_COLUMNS
    for d, n in itertools.product(DTYPES, orders):
        found.append((CHOLESKY, d, n, n, 0, 0))
        found += [(op, d, k, n, 0, 0) for op in (SOLVE_TRIANGULAR, CHOLESKY_SOLVE) for k in columns]
    return found


def list_kernels(folder: Path, wanted: list[tuple[int, ...]]) -> list[Kernel]:
    program = folder / "list_plans"
    sources = [
        ROOT / "tests/cuda/list_plans.cc",
        *sorted((ROOT / "src/backends/cuda").glob("plan*.cc")),
        ROOT / "src/backends/vendor_cuda/plan.cc",
    ]
    compiler = os.environ.get("CXX", "c++")
    subprocess.run(
        [compiler, "-std=c++20", f"-I{ROOT / 'src'}", *map(str, sources), "-o", str(program)],
        check=True,
    )
    lines = "\n".join(" ".join(map(str, problem)) for problem in wanted)
    answer = subprocess.run([program], input=lines, text=True, capture_output=True, check=True)
    kernels = {}
    for line in answer.stdout.splitlines():
        text, name, threads = line.split("\t")
        kernels[name] = Kernel(text, name, int(threads))
    return list(kernels.values())


def flattened_texts(folder: Path) -> dict[str, str]:
    output = folder / "texts.cc"
    source = ROOT / "src"
    definitions = {
        "SOURCE": source,
        "TEXTS": source / "backends/cuda/texts",
        "DIALECT": "dialect/cuda.h",
        "OUTPUT": output,
    }
    script = ROOT / "cmake/flatten_texts.cmake"
    subprocess.run(
        ["cmake", *(f"-D{k}={v}" for k, v in definitions.items()), "-P", str(script)], check=True
    )
    pieces = re.split(r"constexpr const char\* (\w+)\[\] = \{", output.read_text())
    return {
        key: "".join(re.findall(r'R"simt\((.*?)\)simt"', body, re.DOTALL))
        for key, body in zip(pieces[1::2], pieces[2::2], strict=True)
    }


def find_nvrtcs() -> list[str]:
    """Every NVRTC that is installed, the latest release first; empty: none."""
    named = os.environ.get("LANEPACK_NVRTC_LIBRARY")
    if named:
        return [named]
    found = {}
    for place in map(Path, sys.path):
        for path in place.glob("nvidia/*/lib/libnvrtc.so.*"):
            major = path.name.rsplit(".", 1)[-1]
            if major.isdigit():
                found.setdefault(int(major), str(path))
    if found:
        return [found[major] for major in sorted(found, reverse=True)]
    try:
        ctypes.CDLL("libnvrtc.so")
    except OSError:
        return []
    return ["libnvrtc.so"]


def release_of(nvrtc: str) -> str:
    major, minor = ctypes.c_int(), ctypes.c_int()
    ctypes.CDLL(nvrtc).nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return f"{major.value}.{minor.value}"


def read_log(library: ctypes.CDLL, program: ctypes.c_void_p) -> str:
    size = ctypes.c_size_t()
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    return log.value.decode(errors="replace")


def compile_kernel(job: Job, text: str) -> Needs | str:
    """What the kernel needs, or the compiler's text."""
    library = ctypes.CDLL(job.nvrtc)
    program = ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"text.cu", 0, None, None)
    library.nvrtcAddNameExpression(program, job.kernel.name.encode())
    options = [
        f"--gpu-architecture={job.architecture}".encode(),
        *(o.encode() for o in compile_options()),
        b"--ptxas-options=-v",
    ]
    result = library.nvrtcCompileProgram(
        program, len(options), (ctypes.c_char_p * len(options))(*options)
    )
    log = read_log(library, program)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    used = re.search(r"Used (\d+) registers", log)
    frame = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores", log)
    if result != 0 or not used or not frame:
        return log
    shared = re.search(r"(\d+) bytes smem", log)
    return Needs(int(used[1]), max(int(frame[1]), int(frame[2])), int(shared[1]) if shared else 0)


def compile_options() -> list[str]:
    header = (ROOT / "src/backends/cuda/plan.h").read_text()
    found = re.search(r"kCompileOptions\[\] = \{(.*?)\}", header, re.S)
    assert found
    return re.findall(r'"(.*?)"', found[1])


def complaint(job: Job, needs: Needs) -> str:
    kernel = job.kernel
    tuned = MOST_REGISTERS.get(kernel.name, 255) if job.architecture == "sm_90" else 255
    most = min(tuned, 65536 // kernel.threads)
    if needs.registers > most:
        return f"more than {most} registers"
    if needs.spilled > SPILLED.get(kernel.name, 0):
        return "spills"
    if needs.shared > MOST_SHARED_BYTES:
        return "too much shared memory"
    return ""


def list_jobs(kernels: list[Kernel], nvrtcs: list[str], options: argparse.Namespace) -> list[Job]:
    if options.architectures:
        return [Job(k, nvrtcs[0], a) for a in options.architectures.split(",") for k in kernels]
    few = [kernel for kernel in kernels if FEW.search(kernel.name)]
    jobs = [Job(kernel, nvrtcs[0], "sm_90") for kernel in kernels]
    jobs += [Job(kernel, nvrtcs[0], a) for a in OTHER_ARCHITECTURES for kernel in few]
    return jobs + [Job(kernel, nvrtc, "sm_90") for nvrtc in nvrtcs[1:] for kernel in few]


def check(jobs: list[Job], texts: dict[str, str], options: argparse.Namespace) -> int:
    """How many kernels are wrong."""
    releases = {nvrtc: release_of(nvrtc) for nvrtc in {job.nvrtc for job in jobs}}
    failures = 0
    print(f"{'kernel':72} {'':7} NVRTC registers spilled shared")
    with ProcessPoolExecutor(options.jobs) as pool:
        answers = pool.map(compile_kernel, jobs, [texts[job.kernel.text] for job in jobs])
        for job, needs in zip(jobs, answers, strict=True):
            row = f"{job.kernel.name:72} {job.architecture:7} {releases[job.nvrtc]:>5}"
            if isinstance(needs, str):
                failures += 1
                print(f"{row} does not compile:\n{needs}")
                continue
            wrong = complaint(job, needs)
            failures += bool(wrong)
            if wrong or not options.quiet:
                row += f" {needs.registers:9} {needs.spilled:7} {needs.shared:6} {wrong}"
                print(row.rstrip(), flush=True)
    return failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--all", action="store_true", help="every size, not a sample")
    parser.add_argument("--architectures", help="all kernels for these, such as sm_80,sm_90,sm_100")
    parser.add_argument("--only", default="", help="kernels whose name matches this expression")
    parser.add_argument("--quiet", action="store_true", help="print what is wrong alone")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    nvrtcs = find_nvrtcs()
    if not nvrtcs:
        print(
            "check_cuda_texts: there is no NVRTC here, so that no CUDA kernel was compiled (pip "
            "install nvidia-cuda-nvrtc, or name its library in LANEPACK_NVRTC_LIBRARY)",
            file=sys.stderr,
        )
        return 2
    with tempfile.TemporaryDirectory() as name:
        kernels = sorted(list_kernels(Path(name), problems(options.all)))
        texts = flattened_texts(Path(name))
    jobs = list_jobs([k for k in kernels if re.search(options.only, k.name)], nvrtcs, options)
    began = time.monotonic()
    failures = check(jobs, texts, options)
    seconds = time.monotonic() - began
    print(f"{len(jobs)} compilations in {seconds:.0f} s, {failures} of them wrong")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
