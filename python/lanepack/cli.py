# SPDX-License-Identifier: Apache-2.0
"""The command `lanepack`: info, demo, bench, explain, run, warmup, cache."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path

# Set for the process that `bench --threads` starts in place of this one.
_THREADS_SET = "LANEPACK_BENCH_THREADS"
_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)

_OPERATIONS = (
    "eigh", "eigvalsh", "svd", "svdvals", "qr", "cholesky", "solve_triangular", "cholesky_solve",
    "cholesky_inverse",
)  # fmt: skip
_TIMED = _OPERATIONS[:7]
_TIMED_ON_CUDA = (*_TIMED, "cholesky_ex", "cholesky_solve")
_RIVALS = {"cpu": ("torch", "numpy", "jax"), "cuda": ("torch", "cupy", "jax")}
_INSTALLED = (*_OPERATIONS, "triangular_solve")
_DTYPES = ("float32", "float64", "complex64", "complex128")


def _comma_list(allowed: Sequence[str] | None = None):
    """An argparse type: names separated by commas, each one of `allowed`."""

    def parse(text: str) -> list[str]:
        names = [name.strip() for name in text.split(",") if name.strip()]
        unknown = [name for name in names if allowed is not None and name not in allowed]
        if unknown or not names:
            what = ", ".join(unknown) or "nothing"
            choices = f"; choose from {', '.join(allowed)}" if allowed is not None else ""
            raise argparse.ArgumentTypeError(f"got {what}{choices}")
        return names

    return parse


def _positive(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"got {text!r}, wanted a whole number of at least 1")
    return value


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"got {text!r}, wanted a number of seconds above 0")
    return value


def _size(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"got {text!r}, wanted a whole number of at least 0")
    return value


def _shape(text: str) -> tuple[int, ...]:
    """An argparse type: "1000x8x8"."""
    return tuple(_size(part) for part in text.split("x"))


def build_parser() -> argparse.ArgumentParser:
    """The whole command line; each subcommand names its function in `run`."""
    parser = argparse.ArgumentParser(
        prog="lanepack",
        description="QR, eigh, SVD, Cholesky and solves of batches of matrices on PyTorch tensors.",
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    commands = parser.add_subparsers(dest="command", metavar="command")
    _add_info(commands)
    _add_demo(commands)
    _add_bench(commands)
    _add_explain(commands)
    _add_run(commands)
    _add_warmup(commands)
    _add_cache(commands)
    return parser


def _add_info(commands) -> None:
    text = "what was found on this machine: library, instruction set, threads, LAPACK"
    command = commands.add_parser("info", help=text, description=f"Prints {text}.")
    command.add_argument("--json", action="store_true", help="print one JSON object")
    command.set_defaults(run=_info)


def _add_demo(commands) -> None:
    command = commands.add_parser(
        "demo",
        help="a picture decomposed, times beside torch.linalg's, a plot",
        description=(
            "Decomposes a photograph: the structure tensor of every pixel with eigh, patches with "
            "svd, local least-squares fits with qr. Prints times beside torch.linalg's and the "
            "residuals, and writes a PNG that shows the results. Needs matplotlib: "
            "pip install lanepack[demo]."
        ),
    )
    command.add_argument(
        "--image",
        type=Path,
        metavar="FILE",
        help="your own picture (default: one of matplotlib's)",
    )
    command.add_argument(
        "--output",
        type=Path,
        default=Path("demo_output/lanepack_demo.png"),
        metavar="FILE",
        help="where the PNG goes (default: %(default)s)",
    )
    command.add_argument(
        "--repeats", type=_positive, default=5, help="timed calls per function (default: 5)"
    )
    command.add_argument(
        "--device", choices=("cpu", "cuda"), default="cpu", help="where it runs (default: cpu)"
    )
    command.add_argument("--json", action="store_true", help="print one JSON object")
    command.set_defaults(run=_demo)


def _add_bench(commands) -> None:
    command = commands.add_parser(
        "bench",
        help="rivals beside lanepack: table, CSV, plot, comparison of two runs",
        description=(
            "Times lanepack beside torch.linalg, NumPy and JAX, on a CUDA device beside "
            "torch.linalg, CuPy and JAX, those that are installed, on every row of the device's "
            "case table: interleaved, random inputs, results checked afterwards. The exit status "
            "is 1 if a result was wrong or a call failed; a missed target does not change it."
        ),
    )
    add = command.add_argument
    add("--device", choices=("cpu", "cuda"), default="cpu", help="default: cpu")
    add("--quick", action="store_true", help="fewer rows and rounds: under three minutes")
    add(
        "--operations",
        type=_comma_list(_TIMED_ON_CUDA),
        metavar="A,B",
        help=f"{', '.join(_TIMED)}; cholesky_solve on CUDA devices",
    )
    add(
        "--dtype",
        type=_comma_list(_DTYPES),
        metavar="A,B",
        help=f"{', '.join(_DTYPES)} (default: the real ones; on CUDA devices float32)",
    )
    add(
        "--rows",
        type=_comma_list(),
        metavar="A,B",
        help=(
            "only rows whose name, such as batch/eigh/float32/4096x16x16, contains one of these "
            "texts or matches it as a shell pattern"
        ),
    )
    add(
        "--rivals",
        type=_comma_list(("torch", "numpy", "cupy", "jax")),
        metavar="A,B",
        help="torch, numpy (CPU), cupy (CUDA), jax (default: all that are installed)",
    )
    add(
        "--seconds",
        type=_seconds,
        metavar="S",
        help=(
            "per row, for the rounds; on a CUDA device a rival's single call takes no longer "
            "either, or it gets a part of the batch (default: 3; with --quick 1; on CUDA 2 and 1)"
        ),
    )
    add(
        "--threads",
        type=_positive,
        metavar="N",
        help="CPU: threads and cores for every contestant (default: torch's number of threads)",
    )
    add("--seed", type=int, default=0, help="of the random inputs (default: 0)")
    add("--list", action="store_true", help="print the names of the chosen rows and exit")
    add("--csv", type=Path, metavar="FILE", help="write the rows as CSV")
    add(
        "--plot",
        type=Path,
        metavar="FILE",
        help="write a PNG: ratio against target (matplotlib)",
    )
    add("--json", action="store_true", help="print JSON instead of the table")
    add(
        "--compare",
        nargs=2,
        type=Path,
        metavar=("BEFORE", "AFTER"),
        help="compare two CSV files of earlier runs; nothing is timed",
    )
    command.set_defaults(run=_bench)


def _add_explain(commands) -> None:
    command = commands.add_parser(
        "explain",
        help="which algorithm a call takes, and why",
        description=(
            "Names the algorithm that a call takes. Example: lanepack explain eigh 4096 32 32"
        ),
    )
    command.add_argument("operation", choices=_OPERATIONS)
    command.add_argument(
        "shape", type=_size, nargs="+", help="the input's shape: batch dimensions, then m and n"
    )
    command.add_argument("--dtype", choices=_DTYPES, default="float32", help="default: float32")
    command.add_argument("--device", help="such as cpu (default: the accelerator, else the CPU)")
    command.add_argument("--json", action="store_true", help="print one JSON object")
    command.set_defaults(run=_explain)


def _add_run(commands) -> None:
    text = "runs a program with torch.linalg served by lanepack"
    command = commands.add_parser(
        "run",
        help=text,
        description=f"{text.capitalize()} (lanepack.install). A program is a file, or with -m a "
        "module; what follows it is its own.",
    )
    command.add_argument(
        "--functions",
        type=_comma_list(_INSTALLED),
        metavar="A,B",
        help=f"functions to serve: {', '.join(_INSTALLED)} (default: all)",
    )
    command.add_argument(
        "--no-check-errors",
        dest="check_errors",
        action="store_false",
        help="a bad matrix gives NaN for itself instead of raising, and nothing waits for a GPU",
    )
    command.add_argument("-m", dest="module", action="store_true", help="PROGRAM is a module")
    command.add_argument("program", metavar="PROGRAM")
    command.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...")
    command.set_defaults(run=_run)


def _add_warmup(commands) -> None:
    text = "compile and load GPU kernels ahead of their first use"
    command = commands.add_parser(
        "warmup",
        help=text,
        description=(
            f"To {text}; they stay in the cache on disk. Example: "
            "lanepack warmup eigh,svd 1000x8x8 1000x3x3 --dtypes float32,float64"
        ),
    )
    command.add_argument(
        "functions", type=_comma_list(_OPERATIONS), metavar="A,B", help=", ".join(_OPERATIONS)
    )
    command.add_argument(
        "shapes", type=_shape, nargs="+", metavar="BxMxN", help="the inputs' shapes"
    )
    command.add_argument(
        "--dtypes", type=_comma_list(_DTYPES), default=["float32"], metavar="A,B",
        help=f"{', '.join(_DTYPES)} (default: float32)",
    )  # fmt: skip
    command.add_argument("--device", help="such as cuda:1 (default: the accelerator, else the CPU)")
    command.add_argument("--json", action="store_true", help="print one JSON object")
    command.set_defaults(run=_warmup)


def _add_cache(commands) -> None:
    text = "where compiled GPU kernels are kept, and how many"
    command = commands.add_parser("cache", help=text, description=f"Prints {text}.")
    command.add_argument("--clear", action="store_true", help="remove them")
    command.add_argument("--json", action="store_true", help="print one JSON object")
    command.set_defaults(run=_cache)


def _info(arguments: argparse.Namespace) -> int:
    from . import info

    found = info.collect()
    print(json.dumps(found, indent=2) if arguments.json else info.text(found))
    return 0


def _demo(arguments: argparse.Namespace) -> int:
    from . import demo

    result = demo.run(
        image=arguments.image,
        output=arguments.output,
        repeats=arguments.repeats,
        device=arguments.device,
    )
    print(json.dumps(result, indent=2) if arguments.json else demo.text(result))
    return 0 if result["right"] else 1


def _explain(arguments: argparse.Namespace) -> int:
    import torch

    import lanepack
    from lanepack.policy import SQUARE

    operation, shape = arguments.operation, arguments.shape
    where = {"dtype": getattr(torch, arguments.dtype), "device": arguments.device}
    text = lanepack.explain(operation, *shape, **where)
    if not arguments.json:
        print(text)
        return 0
    *batch, m, n = shape
    if operation in SQUARE:
        route = lanepack.backend(operation, n, math.prod(batch), **where)
    else:
        route = getattr(lanepack, f"{operation}_backend")(m, n, math.prod(batch), **where)
    record = {
        "operation": operation,
        "shape": shape,
        "dtype": arguments.dtype,
        "route": route,
        "policy_source": lanepack.policy_source(operation, arguments.device),
        "policy": lanepack.policy(operation, arguments.device),
        "explanation": text,
    }
    print(json.dumps(record, indent=2))
    return 0


def _run(arguments: argparse.Namespace) -> int:
    import runpy

    import lanepack

    program = arguments.program
    if not arguments.module and not Path(program).is_file():
        print(f"lanepack run: {program} is not a file", file=sys.stderr)
        return 2
    try:
        lanepack.install(arguments.functions, check_errors=arguments.check_errors)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 2
    sys.argv = [program, *arguments.arguments]
    if arguments.module:
        sys.path.insert(0, os.getcwd())
        runpy.run_module(program, run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, str(Path(program).resolve().parent))
        runpy.run_path(program, run_name="__main__")
    return 0


def _warmup(arguments: argparse.Namespace) -> int:
    import time

    import torch

    import lanepack

    dtypes = [getattr(torch, name) for name in arguments.dtypes]
    start = time.perf_counter()
    lanepack.warmup(arguments.functions, arguments.shapes, dtypes, arguments.device)
    seconds = time.perf_counter() - start
    record = {
        "functions": arguments.functions,
        "shapes": arguments.shapes,
        "dtypes": arguments.dtypes,
        "device": lanepack.device_name(arguments.device),
        "seconds": seconds,
    }
    if arguments.json:
        print(json.dumps(record, indent=2))
    else:
        print(f"ready on {record['device']} after {seconds:.2f} s")
    return 0


def _cache(arguments: argparse.Namespace) -> int:
    from . import _native

    folder = Path(_native.cuda_describe().cache)
    files = []
    if folder.is_absolute():
        files = [path for path in folder.iterdir() if path.suffix in (".kernel", ".tmp")]
    record = {
        "folder": str(folder) if folder.is_absolute() else None,
        "kernels": len(files),
        "bytes": sum(path.stat().st_size for path in files),
        "cleared": arguments.clear,
    }
    if arguments.clear:
        for path in files:
            path.unlink(missing_ok=True)
    if arguments.json:
        print(json.dumps(record, indent=2))
        return 0
    where = record["folder"] or "no folder can be used"
    done = "removed" if arguments.clear else "kept"
    print(f"{where}: {record['kernels']} kernels, {record['bytes']} bytes {done}")
    return 0


def _restart_with_threads(threads: int, argv: Sequence[str]) -> None:
    """Replaces this process by one in which every library sees `threads` threads and cores.

    NumPy's OpenBLAS and JAX read their thread count only when they are loaded.
    """
    environment = dict(os.environ, **{name: str(threads) for name in _THREAD_VARIABLES})
    environment[_THREADS_SET] = str(threads)
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        if threads > len(cores):
            raise ValueError(
                f"lanepack bench: --threads {threads}, but this process may use {len(cores)} cores"
            )
        os.sched_setaffinity(0, cores[:threads])
    sys.stdout.flush()
    command = [sys.executable, "-m", "lanepack", *argv]
    os.execve(sys.executable, command, environment)


def _bench(arguments: argparse.Namespace) -> int:
    from .bench import compare

    if arguments.compare is not None:
        changes = compare.compare(*arguments.compare)
        if arguments.json:
            print(json.dumps([vars(change) for change in changes], indent=2))
        else:
            print(compare.table(changes))
        return 0
    on_cuda = arguments.device == "cuda"
    rivals = _RIVALS[arguments.device]
    unknown = [name for name in arguments.rivals or () if name not in rivals]
    if unknown:
        raise ValueError(
            f"lanepack bench: --rivals {', '.join(unknown)} with --device {arguments.device}; "
            f"choose from {', '.join(rivals)}"
        )
    if on_cuda and arguments.threads is not None:
        raise ValueError("lanepack bench: --threads is for the CPU, not for --device cuda")
    if on_cuda:
        from .bench.cuda import cases
    else:
        from .bench import cases
    chosen = cases.select(
        cases.load_cases(),
        operations=arguments.operations,
        dtypes=arguments.dtype,
        rows=arguments.rows,
        quick=arguments.quick,
    )
    if not chosen:
        raise ValueError("lanepack bench: no row fits; --list without filters shows the names")
    if arguments.list:
        print("\n".join(case.name for case in chosen))
        return 0
    if on_cuda:
        return _time_on_cuda(arguments, chosen)
    if arguments.threads is not None:
        if os.environ.get(_THREADS_SET) != str(arguments.threads):
            _restart_with_threads(arguments.threads, arguments.argv)
        import torch

        torch.set_num_threads(arguments.threads)
    return _time_on_cpu(arguments, chosen)


class _Collector:
    """Rows as they are finished, with progress; what was interrupted is printed all the same."""

    def __init__(self, total: int) -> None:
        self.rows: list = []
        self.status = 0
        self._total = total

    def run(self, function, **options) -> None:
        from .bench import progress, report

        with progress.Progress(self._total) as shown:

            def finished(row) -> None:
                self.rows.append(row)
                shown(report.progress_text(row))

            try:
                function(report=finished, **options)
            except KeyboardInterrupt:
                if not self.rows:
                    raise
                self.status = 130
        if self.status:
            print(f"lanepack bench: interrupted after {len(self.rows)} rows", file=sys.stderr)


def _time_on_cpu(arguments: argparse.Namespace, chosen: list) -> int:
    from .bench import contestants, report, run

    field = contestants.available(arguments.rivals)
    versions = {contestant.name: contestant.version for contestant in field}
    environment = run.environment()
    budget_s = arguments.seconds or (1.0 if arguments.quick else 3.0)
    collector = _Collector(len(chosen))
    collector.run(
        lambda **options: run.run(chosen, field, **options),
        budget_s=budget_s,
        seed=arguments.seed,
    )
    rows = collector.rows
    records = report.records(rows, environment, versions)
    _write_files(arguments, rows, records, environment)
    if arguments.json:
        print(json.dumps({**environment, "versions": versions, "rows": records}, indent=2))
    else:
        libraries = ", ".join(f"{name} {version}" for name, version in versions.items())
        print(f"{environment['machine']}, {environment['threads']} threads used; {libraries}")
        print(f"{environment['date']}, Python {environment['python']}\n")
        print(report.table(rows))
        print(f"\n{report.summary(rows)}")
    return collector.status or int(any(row.verdict == "wrong" for row in rows))


def _time_on_cuda(arguments: argparse.Namespace, chosen: list) -> int:
    from .bench.cuda import contestants, report, run
    from .bench.cuda.device import Device

    device = Device()
    field, missing = contestants.available(arguments.rivals)
    versions = {contestant.name: contestant.version for contestant in field}
    rates = device.rates()
    environment = run.environment(device, rates)
    budget_s = arguments.seconds or (1.0 if arguments.quick else 2.0)
    collector = _Collector(len(chosen))
    lost = None
    try:
        collector.run(
            lambda **options: run.run(chosen, field, device=device, rates=rates, **options),
            budget_s=budget_s,
            seed=arguments.seed,
        )
    except run.DeviceLostError as error:
        lost = str(error)
        if not collector.rows:
            raise ValueError(f"lanepack bench: the CUDA device was lost {lost}") from error
    rows = collector.rows
    records = report.records(rows, environment, versions)
    _write_files(arguments, rows, records, environment)
    if arguments.json:
        found = {**environment, "versions": versions, "missing": missing, "rows": records}
        print(json.dumps(found, indent=2))
    else:
        libraries = ", ".join(f"{name} {version}" for name, version in versions.items())
        print(f"{environment['machine']}; {libraries}; CUDA {environment['cuda']}")
        print(
            f"{environment['date']}, Python {environment['python']}; copies at "
            f"{environment['memory_gb_s']} GB/s, products at {environment['float32_tflops']} "
            f"(float32) and {environment['float64_tflops']} (float64) TFLOP/s\n"
        )
        print(report.table(rows, missing))
        print(f"\n{report.summary(rows)}")
    if lost is not None:
        print(f"lanepack bench: the CUDA device was lost {lost}", file=sys.stderr)
        return 1
    return collector.status or int(any(row.verdict in ("wrong", "failed") for row in rows))


def _write_files(arguments: argparse.Namespace, rows: list, records: list, environment) -> None:
    from .bench import plot, report

    if arguments.csv is not None:
        report.write_csv(arguments.csv, records)
    if arguments.plot is not None:
        plot.plot(arguments.plot, rows, environment)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit status."""
    parser = build_parser()
    argv = sys.argv[1:] if argv is None else argv
    arguments = parser.parse_args(argv)
    arguments.argv = argv
    if arguments.version:
        import lanepack

        print(lanepack.__version__)
        return 0
    if arguments.command is None:
        parser.print_help()
        return 2
    if arguments.command == "run":  # what it raises is the program's, and goes to whoever called
        return arguments.run(arguments)
    try:
        status = arguments.run(arguments)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader of a pipe left, as `| head` does. Python flushes stdout once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("lanepack: interrupted", file=sys.stderr)
        return 130
    except (ValueError, OSError, ModuleNotFoundError, NotImplementedError) as error:
        text = str(error)
        print(text if text.startswith("lanepack") else f"lanepack: {text}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
