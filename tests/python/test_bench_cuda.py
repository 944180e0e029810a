# SPDX-License-Identifier: Apache-2.0
"""The benchmark of CUDA devices where there is none: its table, its failures, its files.

The runner works on a stand-in for the device, which times the CPU.
"""

import csv
import dataclasses
import json
import math
import time

import pytest
import torch
from lanepack import cli
from lanepack.bench import compare
from lanepack.bench import report as files
from lanepack.bench.cases import DTYPES
from lanepack.bench.cuda import cases, contestants, device, first, report, run

no_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="a CUDA device is there")
RATES = device.Rates(4.3e12, {"float32": 5e13, "float64": 5e13})


class StandIn:
    type = "cpu"
    name = "a stand-in"
    alive = True

    def synchronise(self):
        if not self.alive:
            raise RuntimeError("an illegal memory access was encountered")

    def events(self, call):
        start = time.perf_counter()
        call()
        return time.perf_counter() - start

    def capture(self, calls):
        return lambda: [call() for call in calls]

    def peak_bytes(self, call):
        call()
        return 1 << 20

    def release(self):
        pass


class Rival(contestants.Torch):
    """torch, with a fault: an exception, a pause per matrix, a wrong or a missing result."""

    def __init__(self, *, raises=None, pause_s=0.0, factor=1.0, on_stream=True):
        self.version = "0"
        self.on_stream = on_stream
        self.counts = []
        self._raises, self._pause_s, self._factor = raises, pause_s, factor

    def function(self, case, arguments):
        right = super().function(case, arguments)

        def call(*tensors):
            self.counts.append(len(tensors[0]))
            if self._raises is not None:
                raise self._raises
            time.sleep(self._pause_s * len(tensors[0]))
            return tuple(part * self._factor for part in self.to_torch(right(*tensors)))

        return call


def table(**options):
    return cases.select(cases.load_cases(), **options)


def small(measure="batch", operation="eigh", dtype="float32", batch=300, m=4, n=4, target=1e6):
    return cases.Case(measure, operation, dtype, batch, m, n, target, False)


def run_one(case, *rivals, stand_in=None, budget_s=0.05):
    field = [contestants.Lanepack(), *rivals]
    stand_in = stand_in or StandIn()
    (row,) = run.run([case], field, device=stand_in, rates=RATES, budget_s=budget_s)
    return row


def test_table_is_whole():
    loaded = cases.load_cases()
    assert len({case.name for case in loaded}) == len(loaded)
    for case in loaded:
        assert case.measure in cases.MEASURES
        assert case.operation in cases.OPERATIONS
        assert case.target_ms is None or case.target_ms > 0
        assert case.m == case.n or not case.operation.startswith(("eig", "cholesky_ex"))
    served = {case.operation for case in loaded if case.measure == "batch"}
    assert served == set(cases.OPERATIONS)
    shapes = {(case.measure, case.operation, case.shape) for case in loaded}
    assert len(shapes) * 4 == len(loaded)


@pytest.mark.parametrize(
    ("row", "targets"),
    [
        ("batch/eigh/{}/1000000x3x3", (0.034, 0.0884, 0.085, 0.17)),
        ("batch/eigh/{}/4096x32x32", (0.17, 0.51, 0.425, 0.85)),
        ("batch/svd/{}/4096x32x32", (0.33, 0.99, 0.825, 1.65)),
        ("batch/qr/{}/4096x32x32", (0.044, 0.1144, 0.11, 0.22)),
        ("batch/solve_triangular/{}/100000x8x8", (0.030, 0.078, 0.055, 0.15)),
        ("batch/cholesky_ex/{}/1000000x3x3", (0.024, 0.0624, 0.045, 0.12)),
        ("call/qr/{}/1x3x3", (0.018,) * 4),
        ("host/eigh/{}/1x32x32", (0.012,) * 4),
        ("first/eigh/{}/1000x32x32", (None,) * 4),
    ],
)
def test_targets_of_other_dtypes(row, targets):
    by_name = {case.name: case.target_ms for case in cases.load_cases()}
    found = [by_name[row.format(dtype)] for dtype in DTYPES]
    assert found == [None if target is None else pytest.approx(target) for target in targets]


def test_selection():
    assert {case.dtype for case in table()} == {"float32"}
    assert {case.dtype for case in table(dtypes=["float64", "complex64"])} == {
        "float64", "complex64",
    }  # fmt: skip
    assert [case.name for case in table(rows=["batch/qr/complex128/4096 x 32x32"])] == [
        "batch/qr/complex128/4096x32x32"
    ]
    assert {case.operation for case in table(operations=["cholesky"])} == {"cholesky_ex"}
    assert 0 < len(table(quick=True)) < len(table())


def test_floor():
    # 36 MB are read and 48 MB written; 32x32 costs more arithmetic than memory on complex numbers.
    assert run.floor_seconds(small(batch=1_000_000, m=3, n=3), RATES) == pytest.approx(
        84e6 / 4.3e12
    )
    dense = small(dtype="complex128", batch=64, m=512, n=512)
    assert run.floor_seconds(dense, RATES) == pytest.approx(64 * 10 / 3 * 512**3 * 4 / 5e13)


def test_list_filters(capsys):
    arguments = ["bench", "--device", "cuda", "--list", "--operations", "cholesky_solve"]
    assert cli.main([*arguments, "--dtype", "complex64"]) == 0
    names = capsys.readouterr().out.splitlines()
    assert "batch/cholesky_solve/complex64/100000x8x8" in names
    assert all(name.startswith("batch/cholesky_solve/complex64/") for name in names)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["bench"], "finds no CUDA device", marks=no_gpu),
        pytest.param(["demo"], "finds no CUDA device", marks=no_gpu),
        (["bench", "--rivals", "numpy"], "choose from torch, cupy, jax"),
        (["bench", "--threads", "1"], "--threads"),
        (["bench", "--rows", "no such row"], "no row fits"),
    ],
)
def test_errors_are_one_line_on_stderr(arguments, said, capsys):
    assert cli.main([*arguments, "--device", "cuda"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
    assert captured.err.startswith("lanepack")
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "soon"])
def test_seconds_must_be_a_time(seconds):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["bench", "--seconds", seconds])
    assert stopped.value.code == 2


@no_gpu
def test_a_rival_without_a_device_is_named():
    _, missing = contestants.available()
    assert {text.split()[0] for text in missing} == {"cupy", "jax"}
    with pytest.raises(ModuleNotFoundError, match="the rival cupy"):
        contestants.available(["cupy"])


@pytest.mark.parametrize("operation", cases.OPERATIONS)
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_right_results_are_right_and_wrong_ones_are_not(operation, dtype):
    case = small(operation=operation, dtype=dtype, batch=40, m=5, n=5)
    tensors = run.make_input(case, "cpu", torch.Generator().manual_seed(0))
    for library in (contestants.Lanepack(), contestants.Torch()):
        function = library.function(case, tensors)
        result = library.to_torch(function(*tensors))
        assert run.errors(operation, tensors, result).right
    wrong = [part.clone() for part in result]
    wrong[0][17] *= 1.001
    assert not run.errors(operation, tensors, tuple(wrong)).right
    wrong[0][17] = math.nan
    assert not run.errors(operation, tensors, tuple(wrong)).right


def test_a_batch_is_checked_in_parts(monkeypatch):
    monkeypatch.setattr(run, "_CHECKED_BYTES", 16 * 16 * 7)
    (A,) = run.make_input(small(batch=40), "cpu", torch.Generator().manual_seed(0))
    L, V = torch.linalg.eigh(A)
    assert run.errors("eigh", (A,), (L, V)).right
    V[39] *= 1.001
    assert not run.errors("eigh", (A,), (L, V)).right


@pytest.mark.parametrize("measure", ["batch", "call", "host"])
@pytest.mark.parametrize("on_stream", [True, False])
def test_one_row_of_each_kind(measure, on_stream):
    case = small(measure, batch=1 if measure != "batch" else 30)
    row = run_one(case, Rival(on_stream=on_stream))
    assert row.verdict == "met"
    assert row.times["lanepack"].right
    assert row.times["torch"].right
    assert row.rounds > 0
    assert row.reference == "torch"
    assert row.ratio_low <= row.ratio <= row.ratio_high
    assert (row.method == "graph") == (measure == "batch")
    assert math.isnan(row.floor) == (measure != "batch")
    assert report.table([row]).count("\n") == 2


def test_targets_decide():
    assert run_one(small(target=1e-9)).verdict == "missed"
    assert run_one(small(target=None)).verdict == "none"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (torch.OutOfMemoryError("Tried to allocate 252.00 GiB"), "out of memory"),
        (RuntimeError("RESOURCE_EXHAUSTED: Out of memory"), "out of memory"),
        (RuntimeError("cusolver error: CUSOLVER_STATUS_INVALID_VALUE"), "cuSOLVER error"),
        (TypeError("no such dtype"), "TypeError"),
    ],
)
def test_a_rival_that_fails_is_shown_and_ends_nothing(error, said):
    field = [contestants.Lanepack(), Rival(raises=error)]
    rows = run.run([small(), small()], field, device=StandIn(), rates=RATES, budget_s=0.01)
    assert [row.verdict for row in rows] == ["met", "met"]
    assert rows[0].reference == ""
    assert math.isnan(rows[0].ratio)
    assert rows[0].times["torch"].failure == said
    assert report.table(rows).count(said) == 2
    record = report.records(rows, {}, {})[0]
    assert record["torch_ms"] is None
    assert record["torch_note"] == said
    assert record["ratio"] is None


def test_a_slow_rival_gets_a_part_of_the_batch():
    rival = Rival(pause_s=1e-4)
    row = run_one(small(batch=100_000), rival, budget_s=0.05)
    time_ = row.times["torch"]
    assert time_.matrices == max(rival.counts) < 1000
    assert len(time_.seconds) == 1
    # The pause alone takes 10 s on the whole batch.
    assert time_.median >= 10
    assert time_.median == pytest.approx(time_.seconds[0] * 100_000 / time_.matrices)
    text = report.table([row])
    assert "~" in text
    assert f"torch in {row.case.name} from {time_.matrices}" in text
    assert report.records([row], {}, {})[0]["torch_note"].startswith("scaled from")


def test_a_rival_whose_call_is_slow_is_timed_once():
    row = run_one(small(batch=30), Rival(pause_s=1e-3), budget_s=0.1)
    assert len(row.times["torch"].seconds) == 1
    assert row.times["torch"].matrices is None
    assert report.records([row], {}, {})[0]["torch_note"] == "timed once"


def test_a_rival_beyond_its_bound_is_marked_and_still_compared_with():
    row = run_one(small(), Rival(factor=1.001))
    assert not row.times["torch"].right
    assert row.reference == "torch"
    assert "! beyond the bound" in report.table([row])
    row = run_one(small(), Rival(factor=math.nan))
    assert row.reference == ""


def test_a_wrong_result_of_ours_and_a_failed_call(monkeypatch):
    right = contestants.Lanepack.function
    monkeypatch.setattr(
        contestants.Lanepack,
        "function",
        lambda self, case, a: lambda A: tuple(1.001 * part for part in right(self, case, a)(A)),
    )
    assert run_one(small(), Rival()).verdict == "wrong"

    def fails(A):
        raise RuntimeError("no kernel")

    monkeypatch.setattr(contestants.Lanepack, "function", lambda self, case, a: fails)
    row = run_one(small(), Rival())
    assert row.verdict == "failed"
    assert "Failed: batch/eigh/float32/300x4x4: RuntimeError: no kernel" in report.table([row])
    assert report.summary([row]) == "1 row: 1 failed"
    json.dumps(report.records([row], {}, {}), allow_nan=False)


def test_a_lost_device_ends_the_run_with_the_rows_before():
    stand_in, finished = StandIn(), []

    class Fatal(Rival):
        def function(self, case, arguments):
            if case.n == 5:
                stand_in.alive = False
                raise RuntimeError("cusolver error")
            return super().function(case, arguments)

    with pytest.raises(run.DeviceLostError, match="cusolver error"):
        run.run(
            [small(), small(m=5, n=5), small(m=6, n=6)],
            [contestants.Lanepack(), Fatal()],
            device=stand_in, rates=RATES, budget_s=0.01, report=finished.append,
        )  # fmt: skip
    assert [row.case.n for row in finished] == [4]


@no_gpu
def test_the_fresh_process_says_why_it_failed():
    with pytest.raises(RuntimeError, match="finds no CUDA device"):
        first.times(small("first"), True)


def test_first_calls(monkeypatch):
    found = ({"lanepack": 1.5, "second call": 1e-4, "torch": 0.3}, {
        "lanepack": 0.02, "second call": 2e-4, "torch failure": "out of memory",
    })  # fmt: skip
    monkeypatch.setattr(first, "times", lambda case, with_torch: found)
    row = run_one(small("first", target=None), Rival())
    assert row.verdict == "none"
    (record,) = report.records([row], {}, {})
    assert (record["lanepack_ms"], record["warm_cache_ms"]) == (1500, 20)
    assert record["second_call_ms"] == pytest.approx(0.2)
    assert record["torch_note"] == "out of memory"
    assert "1.50 s" in report.table([row])


def test_csv_round_trip_and_compare(tmp_path):
    rows = [run_one(case, Rival()) for case in (small(), small(operation="qr", m=6, n=5))]
    failed = dataclasses.replace(rows[0], case=small(n=7, m=7), verdict="failed")
    failed.times = {"lanepack": run.Time(failure="RuntimeError: no kernel")}
    environment = run.environment(StandIn(), RATES)
    records = report.records([*rows, failed], environment, {"torch": "2"})
    files.write_csv(tmp_path / "before.csv", records)
    with (tmp_path / "before.csv").open() as file:
        read = list(csv.DictReader(file))
    for record, again in zip(records, read, strict=True):
        for name, value in record.items():
            assert again[name] == ("" if value is None else str(value))
    assert read[0]["memory_gb_s"] == "4300"
    for record in records[:2]:
        for part in ("", "_low", "_high"):
            record[f"lanepack{part}_ms"] /= 2
    files.write_csv(tmp_path / "after.csv", records)
    changes = compare.compare(tmp_path / "before.csv", tmp_path / "after.csv")
    assert len(changes) == 2  # the failed row has no time
    assert all(change.speed == pytest.approx(2) for change in changes)


def test_plot(tmp_path):
    pytest.importorskip("matplotlib")
    from lanepack.bench import plot

    rows = [
        run_one(small(operation=operation, batch=20), Rival())
        for operation in ("eigh", "qr", "cholesky_ex", "cholesky_solve")
    ]
    rows.append(run_one(small(batch=10), Rival(raises=RuntimeError("cusolver error"))))
    environment = run.environment(StandIn(), RATES)
    plot.plot(tmp_path / "plot.png", rows, environment)
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="no row"):
        plot.plot(tmp_path / "none.png", rows[-1:], environment)


def test_demo_shows_where_torch_fails(tmp_path):
    image = pytest.importorskip("matplotlib.image")
    from lanepack import demo, demo_figure

    ramp = torch.linspace(0, 1, 48).expand(40, 48)
    image.imsave(tmp_path / "small.png", ramp.numpy(), cmap="gray")
    result = demo.run(image=tmp_path / "small.png", output=tmp_path / "demo.png", repeats=1)
    assert all(step["torch_failure"] is None for step in result["steps"])
    result["steps"][0].update(torch_ms=None, ratio=None, torch_failure="out of memory")
    result.update(device="cuda", machine="a GPU")
    text = demo.text(result)
    assert "out of memory" in text
    assert "threads" not in text
    from matplotlib.figure import Figure

    axis = Figure().subplots()
    demo_figure._bars(axis, result["steps"])
    assert any("torch.linalg out of memory" in label.get_text() for label in axis.texts)
