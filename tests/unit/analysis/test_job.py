"""The whole run: tables, files, words, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from analysis import job


@pytest.mark.spark
@pytest.mark.timeout(300)
def test_a_run_writes_tables_and_tells_the_story(
    spark: SparkSession, logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "made" / "here"
    assert job.run([logs], out, spark) == 0
    told = capsys.readouterr().out
    assert told == (out / "report.txt").read_text()
    assert "Read 10 lines of 2 brokers, understood 9 (90.00 %)" in told
    assert "a-b-0: leader 1 -> 2 (epoch 2): leader was lost" in told
    assert len(json.loads((out / "report.json").read_text())["reigns"]) == 3
    assert "<title>What happened?</title>" in (out / "report.html").read_text()
    assert spark.read.parquet(str(out / "events")).count() == 10


@pytest.mark.spark
@pytest.mark.timeout(300)
def test_a_file_of_something_else_is_told_apart(
    spark: SparkSession, logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert job.run([logs / "broker-1" / "server.log"], tmp_path, spark) == 1
    assert "no line was understood" in capsys.readouterr().err


def test_a_missing_path_is_named_before_spark_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert job.main([str(tmp_path / "gone.log"), "--out", str(tmp_path)]) == 2
    assert "gone.log" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_named(
    tmp_path: Path, logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert job.run([logs], tmp_path / "file") == 2
    assert "cannot write to" in capsys.readouterr().err


def test_as_a_script_it_finds_its_packages_from_anywhere(tmp_path: Path) -> None:
    script = Path(job.__file__).resolve()
    done = subprocess.run(
        [sys.executable, str(script), "--help"], cwd=tmp_path, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "--out DIR" in done.stdout
