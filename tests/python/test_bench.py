# SPDX-License-Identifier: Apache-2.0
"""The benchmark's parts that are not times: its table, its checks, its verdicts, its files."""

import csv
import dataclasses
import json
import math

import pytest
import torch
from lanepack.bench import cases, check, compare, contestants, measure, report, run


def test_case_table_is_whole():
    table = cases.load_cases()
    assert len({case.name for case in table}) == len(table)
    for case in table:
        assert case.measure in cases.MEASURES
        assert case.operation in cases.OPERATIONS
        assert case.dtype in cases.DTYPES
        assert 0 < case.needed <= case.target
        assert case.m == case.n or not case.operation.startswith(("eig", "cholesky"))
    # Every shape of the batch rows is there in both real dtypes.
    shapes = {(c.operation, c.shape, c.dtype) for c in table if c.measure == "batch"}
    for operation, shape, _ in shapes:
        assert {(operation, shape, dtype) for dtype in cases.DTYPES} <= shapes


def test_selection():
    table = cases.load_cases()
    default = cases.select(table)
    assert default
    assert not any(case.dtype.startswith("complex") for case in default)
    quick = cases.select(table, quick=True)
    assert 0 < len(quick) < len(default)
    chosen = cases.select(table, operations=["qr"], dtypes=["complex64"], rows=["1024 x 32x32"])
    assert [case.name for case in chosen] == ["batch/qr/complex64/1024x32x32"]
    assert cases.select(table, rows=["call/*/float64/1x8x8"])
    assert not cases.select(table, rows=["nothing of that name"])


@pytest.mark.parametrize("operation", cases.OPERATIONS)
def test_errors_accept_right_results_and_refuse_wrong_ones(operation):
    a = torch.randn(40, 6, 6, generator=torch.Generator().manual_seed(0))
    if operation.startswith("eig"):
        a = a + a.mT
    if operation in ("cholesky", "solve_triangular"):
        case = cases.Case("batch", operation, "float32", 40, 6, 6, 1, 1, None, False)
        a = run.make_input(case, torch.Generator().manual_seed(0))
    field = contestants.Torch()
    result = field.function(operation)(field.preparation(operation)(a))
    result = (result,) if isinstance(result, torch.Tensor) else tuple(result)
    assert check.errors(operation, a, result).right
    for part in range(len(result)):
        wrong = [each.clone() for each in result]
        wrong[part][17] *= 1.001
        assert not check.errors(operation, a, tuple(wrong)).right
        wrong[part][17] = math.nan
        assert not check.errors(operation, a, tuple(wrong)).right


def test_quartiles():
    assert measure.quartiles([3.0]) == (3.0, 3.0, 3.0)
    assert measure.quartiles([5.0, 1.0, 2.0, 4.0, 3.0]) == (2.0, 3.0, 4.0)


def test_every_function_is_called_once_a_round_in_changing_order():
    calls = []
    functions = [
        measure.Timed(name, lambda a: a, lambda a, name=name: calls.append(name)) for name in "abc"
    ]
    for timed in functions:
        timed.repeats = 1
    orders = {tuple(t.name for t in measure._order(functions, round_)) for round_ in range(6)}
    assert len(orders) == 6
    assert all(sorted(order) == ["a", "b", "c"] for order in orders)
    measure.interleave(functions, lambda: [0], budget_s=0, min_rounds=3, max_rounds=3)
    assert [len(timed.seconds) for timed in functions] == [3, 3, 3]


@pytest.mark.parametrize("measure_name", cases.MEASURES)
def test_one_row_of_each_kind(measure_name, tmp_path):
    case = min(
        (c for c in cases.select(cases.load_cases()) if c.measure == measure_name),
        key=lambda c: c.batch * c.m * c.n**2,
    )
    if measure_name in ("batch", "values"):
        case = dataclasses.replace(case, batch=8, m=5, n=5)
    field = contestants.available(["torch", "numpy"])
    rows = run.run([case], field, budget_s=0)
    (row,) = rows
    assert row.verdict in ("met", "missed")
    assert row.times["lanepack"].right
    assert row.ratio_low <= row.ratio <= row.ratio_high
    assert row.route.split(".")[0] in ("eigh", "svd", "qr", "cholesky", "solve_triangular")
    assert row.reference == {"batch": row.reference, "values": "with vectors"}.get(
        measure_name, "torch"
    )
    assert report.table(rows).count("\n") == 2
    records = report.records(rows, run.environment(), {c.name: c.version for c in field})
    report.write_csv(tmp_path / "new" / "rows.csv", records)
    with (tmp_path / "new" / "rows.csv").open() as file:
        (read,) = csv.DictReader(file)
    assert read["verdict"] == row.verdict
    json.loads(json.dumps(records))


def _write(path, median, spread, rounds=25):
    record = dict.fromkeys(compare._COLUMNS, "")
    record.update(measure="batch", operation="eigh", dtype="float32", batch=1, m=4, n=4, threads=1)
    record.update(rounds=rounds, lanepack_ms=1 / median, lanepack_low_ms=1, lanepack_high_ms=1)
    record.update(
        torch_ratio=median,
        torch_ratio_low=median * (1 - spread),
        torch_ratio_high=median * (1 + spread),
    )
    report.write_csv(path, [record])


@pytest.mark.parametrize(
    ("after", "spread", "verdict"),
    [
        (2.0, 0.01, "same"),
        (2.04, 0.001, "same"),
        (2.2, 0.01, "faster"),
        (1.8, 0.01, "slower"),
        (2.2, 0.3, "same"),
    ],
)
def test_compare_calls_a_change_only_what_lies_outside_the_noise(tmp_path, after, spread, verdict):
    _write(tmp_path / "before.csv", 2.0, spread)
    _write(tmp_path / "after.csv", after, spread)
    (change,) = compare.compare(tmp_path / "before.csv", tmp_path / "after.csv")
    assert change.verdict == verdict
    assert change.speed == pytest.approx(after / 2)


def test_compare_refuses_other_files(tmp_path):
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="lacks the columns"):
        compare.compare(tmp_path / "other.csv", tmp_path / "other.csv")


def test_plot(tmp_path):
    pytest.importorskip("matplotlib")
    from lanepack.bench import plot

    table = cases.select(cases.load_cases(), rows=["batch/*/float32/1024x32x32"])
    small = [dataclasses.replace(case, batch=4, m=6, n=6) for case in table]
    rows = run.run(small, contestants.available(["torch"]), budget_s=0)
    plot.plot(tmp_path / "plot.png", rows, run.environment())
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="no row"):
        plot.plot(tmp_path / "none.png", [], run.environment())
