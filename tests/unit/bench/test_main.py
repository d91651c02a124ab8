import json
import os
import subprocess
import sys

import pytest

from barnabas.bench import __main__ as cli
from barnabas.bench.harness.registry import Bench, Run, at_least
from barnabas.tools.command_line.entry import SIGPIPE_CODE


@pytest.fixture
def benches(monkeypatch):
    figures = iter([3.0, 1.0, 2.0, 9.0])
    bench = Bench("lay", "How many eggs?", "eggs/day", at_least(2), lambda: Run(next(figures)))
    monkeypatch.setattr(cli, "load", lambda: {"lay": bench})


def test_list_names_every_bench_with_its_target(benches, capsys):
    assert cli.main(["--list"]) == 0
    assert capsys.readouterr().out.split() == ["lay", "≥", "2", "eggs/day", "How", "many", "eggs?"]


def test_json_is_one_object_on_stdout_and_progress_goes_elsewhere(benches, capsys):
    assert cli.main(["lay", "--json"]) == 0
    out, err = capsys.readouterr()
    body = json.loads(out)
    assert (body["name"], body["figure"], body["met"], len(body["runs"])) == ("lay", 2.0, True, 3)
    assert "run 3: 2 eggs/day" in err


def test_text_is_the_default_and_the_number_of_runs_can_be_given(benches, capsys):
    assert cli.main(["lay", "--runs", "1"]) == 0
    assert "over 1 runs" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["hatch"], []])
def test_a_bench_that_does_not_exist_is_refused_with_those_that_do(benches, capsys, arguments):
    assert cli.main(arguments) == 2
    assert "there are: lay" in capsys.readouterr().err


def test_sizes_reach_the_bench_and_move_its_target(monkeypatch, capsys):
    def lay(hens):
        return Run(float(hens))

    bench = Bench("lay", "How many eggs?", "eggs", at_least(2), lay, 1, {"hens": 4}, "hens")
    monkeypatch.setattr(cli, "load", lambda: {"lay": bench})
    assert cli.main(["lay", "--hens", "40", "--json"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert (body["figure"], body["target"], body["sizes"]) == (40.0, 20.0, {"hens": 40})
    assert cli.main(["lay"]) == 0
    assert "hens: 4" in capsys.readouterr().out
    assert cli.main(["lay", "--hens", "0"]) == 2
    assert "--hens is 0, expected a number above 0" in capsys.readouterr().err


def test_a_size_that_a_bench_does_not_have_is_refused(monkeypatch, capsys):
    lay = Bench("lay", "How many eggs?", "eggs", at_least(2), lambda hens: Run(1.0), 1, {"hens": 4})
    hatch = Bench("hatch", "How many chicks?", "chicks", at_least(2), lambda: Run(1.0))
    monkeypatch.setattr(cli, "load", lambda: {"lay": lay, "hatch": hatch})
    assert cli.main(["hatch", "--hens", "3"]) == 2
    assert "bench 'hatch' has no --hens; it has: none" in capsys.readouterr().err


def test_a_reader_that_goes_away_ends_the_list_quietly():
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = subprocess.run(
            [sys.executable, "-m", "barnabas.bench", "--list"],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    finally:
        os.close(writing)
    assert (ended.returncode, ended.stderr) == (SIGPIPE_CODE, "")
