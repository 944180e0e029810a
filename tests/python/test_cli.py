# SPDX-License-Identifier: Apache-2.0
"""The command line: what it prints, where, and with which exit status."""

import importlib.util
import json
import subprocess
import sys

import lanepack
import pytest
import torch
from lanepack import cli


def test_help_names_every_command_and_option(capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(["--help"])
    assert stopped.value.code == 0
    text = capsys.readouterr().out
    for command in ("info", "demo", "bench", "explain"):
        assert command in text
    for command in ("info", "demo", "bench", "explain"):
        with pytest.raises(SystemExit):
            cli.main([command, "--help"])
        assert "--json" in capsys.readouterr().out


def test_without_a_command_the_help_and_an_error_status(capsys):
    assert cli.main([]) == 2
    assert "usage: lanepack" in capsys.readouterr().out


def test_version(capsys):
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == lanepack.__version__


def test_info(capsys):
    assert cli.main(["info"]) == 0
    text = capsys.readouterr().out
    assert lanepack.__version__ in text
    assert "LAPACK" in text
    assert cli.main(["info", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    for family in ("qr", "eigh", "svd"):
        policy = dict(found["policies"][family])
        assert policy.pop("source") == lanepack.policy_source(family, "cpu")
        assert policy == lanepack.policy(family, "cpu")


def test_explain(capsys):
    assert cli.main(["explain", "eigh", "4096", "32", "32", "--device", "cpu"]) == 0
    route = lanepack.eigh_backend(32, 4096, device="cpu")
    assert route in capsys.readouterr().out
    arguments = ["explain", "qr", "2", "3", "9", "4", "--dtype", "complex128", "--json"]
    assert cli.main([*arguments, "--device", "cpu"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["dtype"] == "complex128"
    expected = lanepack.qr_backend(9, 4, 6, dtype=torch.complex128, device="cpu")
    assert found["route"] == expected


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["explain", "eigh", "3"], "at least two sizes"),
        (["explain", "eigh", "3", "4"], "square"),
        (["bench", "--rows", "no such row"], "no row fits"),
        (["bench", "--compare", "no such file", "nor this"], "no such file"),
        pytest.param(
            ["demo", "--image", "no such file"],
            "no such file",
            marks=pytest.mark.skipif(
                importlib.util.find_spec("matplotlib") is None, reason="no matplotlib"
            ),
        ),
    ],
)
def test_errors_are_one_line_on_stderr(arguments, said, capsys):
    assert cli.main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
    assert captured.err.startswith("lanepack")
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["bench", "--dtype", "f32"],
        ["bench", "--threads", "0"],
        ["explain", "lu", "3", "3"],
        ["explain", "qr", "-1", "3"],
        ["nothing"],
    ],
)
def test_wrong_options_stop_with_usage(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main(arguments)
    assert stopped.value.code == 2
    assert "usage:" in capsys.readouterr().err


def test_a_pipe_gets_the_table_alone_and_may_close_early():
    command = [sys.executable, "-m", "lanepack", "bench", "--list"]
    whole = subprocess.run(command, capture_output=True, text=True, check=True)
    assert whole.stderr == ""
    assert "batch/eigh/float32/100000x2x2" in whole.stdout.splitlines()
    early = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    early.stdout.close()
    assert early.wait(timeout=120) == 0
    assert early.stderr.read() == ""
    early.stderr.close()


def test_demo(tmp_path, capsys):
    matplotlib_image = pytest.importorskip("matplotlib.image")
    ramp = torch.linspace(0, 1, 48).expand(40, 48)
    matplotlib_image.imsave(tmp_path / "small.png", ramp.numpy(), cmap="gray")
    output = tmp_path / "made" / "demo.png"
    arguments = ["demo", "--image", str(tmp_path / "small.png"), "--output", str(output)]
    assert cli.main([*arguments, "--repeats", "1", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["picture"] == [40, 48]
    assert [step["operation"] for step in result["steps"]] == ["eigh", "svd", "qr"]
    assert output.read_bytes().startswith(b"\x89PNG")
    # A ramp has rank 1, and a plane fitted to noise comes nearer to it.
    assert result["psnr_db"]["low_rank"] > 60
    assert result["psnr_db"]["fitted"] > result["psnr_db"]["noisy"]
