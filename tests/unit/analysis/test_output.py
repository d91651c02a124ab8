"""The output of a run: tables and report."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from barnabas.analysis import job
from barnabas.analysis.derived.catalog import DERIVED
from barnabas.analysis.output import LocalOutput, OccupiedError, RemoteOutput, output_at
from barnabas.analysis.report.files import REPORTS, Format


def test_a_scheme_makes_it_spark_s(tmp_path: Path) -> None:
    assert output_at("hdfs://nn/report/").folder == "hdfs://nn/report"
    assert isinstance(output_at("s3a://bucket/report"), RemoteOutput)
    assert isinstance(output_at(tmp_path / "made"), LocalOutput)
    assert (tmp_path / "made").is_dir()


@pytest.mark.parametrize("name", ["events", "files", "leaders"])
def test_a_folder_that_is_no_table_is_not_replaced(tmp_path: Path, name: str) -> None:
    table = tmp_path / name
    table.mkdir()
    for part in ("part-0.parquet", ".part-0.parquet.crc", "_SUCCESS", "_temporary"):
        (table / part).touch()
    assert isinstance(output_at(tmp_path), LocalOutput)
    (table / "diary.txt").touch()
    with pytest.raises(OccupiedError, match=r"diary\.txt' is not part of one; expected an --out in which"):
        output_at(tmp_path)


def test_a_file_where_a_table_would_be_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "states").touch()
    with pytest.raises(OccupiedError, match="states' is not part of one"):
        output_at(tmp_path)


def test_a_folder_that_is_no_cluster_s_report_is_not_replaced(tmp_path: Path) -> None:
    for name in ("cluster-1", "cluster-notes"):
        (tmp_path / name).mkdir()
    (tmp_path / "cluster-1" / "report.txt").touch()
    (tmp_path / "cluster-1" / "leaders").mkdir()
    assert isinstance(output_at(tmp_path), LocalOutput)
    (tmp_path / "cluster-1" / "diary.txt").touch()
    with pytest.raises(OccupiedError, match=r"diary\.txt' is not part of one; expected an --out in which"):
        output_at(tmp_path)


def test_a_former_run_s_tables_go_however_many_clusters_it_had(tmp_path: Path) -> None:
    for name in ("cluster-1", "cluster-2", "cluster-notes", "leaders"):
        (tmp_path / name).mkdir()
    output = LocalOutput(tmp_path)
    (output.folder / "cluster-1").mkdir(parents=True)
    (output.folder / "cluster-1" / "report.txt").touch()
    output.finish()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cluster-1", "cluster-notes"]
    assert [path.name for path in (tmp_path / "cluster-1").iterdir()] == ["report.txt"]


def test_a_folder_that_is_not_writable_fails_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(PermissionError, match="Permission denied"):
        output_at(tmp_path)
    with pytest.raises(FileNotFoundError, match="no folder is named"):
        output_at("")


def test_a_run_s_output_moves_into_place_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "leaders").mkdir()
    (tmp_path / "leaders" / "part-of-a-former-run.parquet").touch()
    (tmp_path / "notes.txt").touch()
    abandoned = LocalOutput(tmp_path)
    (abandoned.folder / "leaders").mkdir(parents=True)
    output = LocalOutput(tmp_path)
    assert not output.folder.exists()
    (output.folder / "leaders").mkdir(parents=True)
    (output.folder / "leaders" / "part-0.parquet").touch()
    (output.folder / "report.txt").touch()
    assert (tmp_path / "leaders" / "part-of-a-former-run.parquet").exists()
    output.finish()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["leaders", "notes.txt", "report.txt"]
    assert [path.name for path in (tmp_path / "leaders").iterdir()] == ["part-0.parquet"]


def test_what_a_run_did_not_finish_is_removed(tmp_path: Path) -> None:
    output = LocalOutput(tmp_path)
    (output.folder / "events").mkdir(parents=True)
    output.discard()
    output.discard()
    assert not any(tmp_path.iterdir())


@pytest.mark.spark
def test_what_spark_writes_itself_is_the_same(
    spark: SparkSession, logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    near, far = tmp_path / "near", tmp_path / "far"
    (far / "events").mkdir(parents=True)
    (far / "events" / "part-of-a-former-run.parquet").touch()
    assert job.run([logs], near, spark) == 0
    capsys.readouterr()
    assert job.run([logs], far.as_uri(), spark, Format.HTML) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"Open {far.as_uri()}/report.html in a browser."
    for name in ("events", "files", *(table.name for table in DERIVED)):
        one, other = (spark.read.parquet(str(out / name)) for out in (near, far))
        assert one.schema == other.schema, name
        assert sorted(map(str, one.collect())) == sorted(map(str, other.collect())), name
    for name in REPORTS:
        assert (near / name).read_text() == (far / name).read_text()


@pytest.mark.spark
def test_a_file_system_that_is_away_is_named(
    spark: SparkSession, logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert job.run([logs], "s3a://bucket/report", spark) == 3
    assert "S3AFileSystem not found" in capsys.readouterr().err
