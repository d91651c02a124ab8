"""The whole run: tables, files, words, exit codes."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from typing import NoReturn
from unittest.mock import Mock

import pytest
from pyspark.sql import SparkSession

from barnabas.analysis import job
from barnabas.analysis.derived.catalog import DERIVED
from barnabas.analysis.follow import PAUSE_S
from barnabas.analysis.runtime.session import Amount, SparkStartError

METADATA = Path(__file__).parents[2] / "data" / "kraft-4.0"
SEGMENT = METADATA / "__cluster_metadata-0" / "00000000000000000000.log"


@dataclass(frozen=True)
class Ran:
    """What a run over two brokers' logs, and a compressed one that ends early, left and said."""

    paths: list[Path]
    out: Path
    code: int
    told: str
    complained: str


@pytest.fixture(scope="module")
def ran(spark: SparkSession, logs: Path, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder = tmp_path_factory.mktemp("ran")
    torn, out = folder / "state-change.log.1.gz", folder / "made" / "here"
    # A link to nowhere: as root, no mode of a file keeps a test from reading it.
    (folder / "broker-3").mkdir()
    (folder / "broker-3" / "state-change.log").symlink_to(folder / "gone")
    torn.write_bytes(gzip.compress((logs / "broker-1" / "state-change.log").read_bytes())[:-9])
    with redirect_stdout(StringIO()) as told, redirect_stderr(StringIO()) as complained:
        code = job.run([logs, folder], out, spark)
    return Ran([logs, folder], out, code, told.getvalue(), complained.getvalue())


@pytest.mark.spark
def test_a_run_writes_tables_and_the_report(spark: SparkSession, ran: Ran) -> None:
    assert ran.code == 0
    assert ran.told == (ran.out / "report.txt").read_text()
    assert ran.told.count("critical: No line shows why lost-0 has no leader.\n") == 1
    assert ran.told.count("critical: Broker 1, the controller, was lost; a-b-0 had no leader.\n") == 1
    assert " Broker 1, the controller, was lost between 03:12:00.030 and 03:12:06.505 (" in ran.told
    assert " and still has none when the logs end (" in ran.told
    assert " a-b-0 had no leader for at least 25 ms and at most 6.5 s, until broker 2 led it.\n" in ran.told
    assert "Read 13 lines of 2 brokers, " in ran.told
    assert " routine, 1 unknown.\n" in ran.told
    assert "a-b-0: 2 elected after 1 (epoch 2): there was no leader before" in ran.told
    assert len(json.loads((ran.out / "report.json").read_text())["leaderships"]) == 3
    assert "<title>What happened?</title>" in (ran.out / "report.html").read_text()
    assert spark.read.parquet(str(ran.out / "events")).count() == 13


@pytest.mark.spark
def test_what_could_not_be_read_is_reported_and_the_rest_is_read(spark: SparkSession, ran: Ran) -> None:
    assert "state-change.log.1.gz: the compressed text ends early" in ran.complained
    assert spark.read.parquet(str(ran.out / "files")).where("error is not null").count() == 2
    assert "broker-3/state-change.log: [Errno 2] No such file or directory" in ran.complained
    assert "broker-2/state-change.log: 1 byte not UTF-8" in ran.complained
    assert "Could not read all of file://" in ran.told


@pytest.mark.spark
def test_a_file_of_something_else_is_recognized(
    spark: SparkSession, logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert job.run([logs / "broker-1" / "kafkaServer.out"], tmp_path, spark) == 1
    told = capsys.readouterr().err
    assert f"no line was understood of {logs / 'broker-1' / 'kafkaServer.out'}: expected " in told


def test_a_folder_with_nothing_but_a_pipe_is_an_error_that_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    os.mkfifo(tmp_path / "server.log")
    assert job.run([tmp_path], tmp_path / "out") == 2
    assert capsys.readouterr().err == (
        f"barnabas analyze: nothing to read: {tmp_path / 'server.log'}: it is a pipe\n"
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.spark
@pytest.mark.parametrize(
    ("path", "end"),
    [
        ("file:///gone/state-change.log", (2, "nothing to read at 'file:///gone/state-change.log'")),
        ("s3a://bucket/logs", (3, "Spark failed: java.lang.RuntimeException: java.lang.ClassNotFound")),
    ],
)
def test_a_path_with_a_scheme_is_spark_s_and_so_is_its_error(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], path: str, end: tuple[int, str]
) -> None:
    code, reason = end
    assert job.run([path], tmp_path, spark) == code
    reading, failed = capsys.readouterr().err.splitlines()
    assert reading == "barnabas analyze: reading logs ..."
    assert failed.startswith(f"barnabas analyze: {reason}")


@pytest.mark.parametrize("amount", Amount)
def test_the_start_of_spark_is_announced_and_depends_on_its_work(
    amount: Amount,
    tmp_path: Path,
    logs: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @contextmanager
    def fail(amount: Amount) -> Iterator[NoReturn]:
        raise SparkStartError(f"no Java, {amount}")
        yield

    monkeypatch.setattr(job, "spark_session", fail)
    monkeypatch.setattr(job, "FEW", 0)
    assert job.run([logs], tmp_path if amount is Amount.SMALL else tmp_path.as_uri()) == 3
    assert capsys.readouterr().err.splitlines() == [
        "barnabas analyze: starting Spark, which takes some seconds ...",
        f"barnabas analyze: no Java, {amount}",
    ]


def no_spark(amount: Amount) -> NoReturn:
    raise AssertionError(f"Spark starts: {amount}")


@pytest.mark.spark
def test_few_lines_give_the_same_files_without_spark(
    ran: Ran,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(job, "spark_session", no_spark)
    assert job.run(ran.paths, tmp_path) == 0
    assert capsys.readouterr().out == ran.told
    for name in ("report.txt", "report.json", "report.html"):
        assert (tmp_path / name).read_text() == (ran.out / name).read_text(), name
    for name in ("events", "files", *(table.name for table in DERIVED)):
        here, there = (spark.read.parquet(str(out / name)) for out in (tmp_path, ran.out))
        assert here.schema == there.schema, name
        assert sorted(map(str, here.collect())) == sorted(map(str, there.collect())), name


def test_few_lines_of_something_else_are_recognized_without_spark(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(job, "spark_session", no_spark)
    assert job.run([logs / "broker-1" / "kafkaServer.out"], tmp_path) == 1
    told = capsys.readouterr().err
    assert told.startswith("barnabas analyze: no line was understood of ")
    assert (tmp_path / "events").is_dir()


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
    told = capsys.readouterr().err
    assert "cannot write to" in told
    assert "expected a folder that is writable" in told


def test_an_out_among_the_logs_is_refused_before_anything_is_written(
    tmp_path: Path, logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / "logs"
    shutil.copytree(logs, own)
    before = sorted(own.rglob("*"))
    assert job.run([own], own) == 2
    assert capsys.readouterr().err == (
        f"barnabas analyze: cannot write to {str(own)!r}: it holds the log "
        f"'{own / 'broker-1' / 'state-change.log'}', which no run would find beside a report; expected "
        "another --out, such as 'barnabas-report'\n"
    )
    assert sorted(own.rglob("*")) == before


def test_nothing_but_tables_is_replaced(
    tmp_path: Path, logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "diary.txt").touch()
    assert job.run([logs], tmp_path) == 2
    assert "diary.txt' is not part of one" in capsys.readouterr().err
    assert (tmp_path / "files" / "diary.txt").exists()


@pytest.mark.parametrize("name", ["-1", "x", "2147483648", "9" * 50, "\N{ARABIC-INDIC DIGIT THREE}", ""])
def test_a_broker_that_cannot_be_is_refused(capsys: pytest.CaptureFixture[str], name: str) -> None:
    with pytest.raises(SystemExit):
        job.main(["a.log", f"--broker={name}"])
    assert f"no broker {name!r}: expected its id, 0 to 2147483647" in capsys.readouterr().err


@pytest.mark.parametrize("number", ["0", "-1", "two", "\N{SUPERSCRIPT TWO}", ""])
def test_a_minimum_of_replicas_in_sync_is_one_or_more(
    number: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        job.main(["logs", f"--min-insync-replicas={number}"])
    expected = f"argument --min-insync-replicas: no number of replicas {number!r}: expected 1 to 2147483647"
    assert expected in capsys.readouterr().err


def test_only_local_logs_can_be_followed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert job.run(["s3a://bucket/logs"], tmp_path, is_followed=True) == 2
    assert "cannot follow 's3a://bucket/logs'" in capsys.readouterr().err


def test_the_standard_input_cannot_be_followed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert job.run(["-"], tmp_path, is_followed=True) == 2
    assert "cannot follow the standard input" in capsys.readouterr().err


def test_a_metadata_log_alone_cannot_be_followed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert job.run([METADATA], tmp_path, is_followed=True) == 2
    assert capsys.readouterr().err == (
        f"barnabas analyze: cannot follow '{SEGMENT}': it is of a metadata log, which is only read whole; "
        "expected state-change.log, controller.log or server.log of a broker, or no --follow\n"
    )


def test_a_metadata_log_alone_is_about_the_brokers_that_it_registers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert job.run([METADATA], tmp_path) == 0
    assert "Read 43 lines about 3 brokers, 2026-11-22 22:51:23.490 to " in capsys.readouterr().out


@pytest.mark.parametrize("path", ["-", "gone.log"])
def test_a_closed_standard_input_concerns_only_who_reads_it(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # Python has no stdin at all then, as in a process that a service starts.
    monkeypatch.setattr("sys.stdin", None)
    assert job.run([path], tmp_path / "out") == 2
    told = capsys.readouterr().err
    named = "cannot read the standard input: it is closed; expected the lines of a log"
    assert (named if path == "-" else "nothing to read at 'gone.log'") in told
    assert not (tmp_path / "out").exists()


def test_no_copy_of_the_standard_input_is_named(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # The folder of temporary files is none of the logs' folders, even if its name is a broker's.
    aside = tmp_path / "broker-9"
    aside.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(aside))
    for text, code in ((b"hello\n", 1), ((logs / "broker-2" / "state-change.log").read_bytes(), 0)):
        monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(text)))
        assert job.run(["-"], tmp_path / "out", form=job.Format.JSON) == code
    told = capsys.readouterr()
    assert "no line was understood of the standard input: expected" in told.err
    assert "; the first line has neither a date and time nor a level: 'hello'\n" in told.err
    assert "could not read all of the standard input: 1 byte not UTF-8" in told.err
    assert "the standard input" in told.out
    assert "broker-9" not in told.err + told.out


@pytest.mark.spark
def test_the_standard_input_is_read_too(
    spark: SparkSession, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = gzip.compress((logs / "broker-1" / "state-change.log").read_bytes())
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(data)))
    assert job.run(["-"], tmp_path, spark) == 0
    assert spark.read.parquet(str(tmp_path / "events")).count() == 3


def test_a_stream_goes_into_a_local_folder(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert job.run([logs], "hdfs://cluster/report", is_followed=True) == 2
    assert "cannot follow into 'hdfs://cluster/report'" in capsys.readouterr().err


def test_as_a_script_it_finds_its_packages_from_anywhere(tmp_path: Path) -> None:
    script = Path(job.__file__).resolve()
    done = subprocess.run(
        [sys.executable, str(script), "--help"], cwd=tmp_path, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "--out DIR" in done.stdout


@pytest.mark.parametrize("name", ["Mars/Olympus", "Europe", "../zone", ""])
def test_a_time_zone_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str], name: str) -> None:
    with pytest.raises(SystemExit):
        job.main(["a.log", "--time-zone", name])
    assert f"no time zone {name!r}" in capsys.readouterr().err


def test_the_help_has_the_exit_codes_and_what_a_time_zone_is_for(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        job.main(["--help"])
    told = " ".join(capsys.readouterr().out.split())
    assert told.endswith(
        "exit code: 0 if any line was understood, 1 if none was, 2 if there was nothing to read or nowhere "
        "to write, 3 if Spark failed"
    )
    assert "the time zone of times without one" in told


def test_a_form_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        job.main(["a.log", "--format", "xml"])
    told = capsys.readouterr().err
    assert told.startswith("usage: barnabas analyze ")
    assert "no format 'xml': expected html, json, markdown or text" in told


@pytest.mark.parametrize(
    ("redirected", "code", "told"),
    [
        ("--format json | head -c 0; exit ${PIPESTATUS[0]}", 141, []),
        (
            "--format json > /dev/full",
            2,
            ["barnabas analyze: cannot print the report: No space left on device; all of it is in 'OUT'"],
        ),
        (">&- 2>&-", 0, []),
    ],
)
def test_a_standard_output_that_takes_nothing_leaves_the_report(
    logs: Path, tmp_path: Path, redirected: str, code: int, told: list[str]
) -> None:
    done = subprocess.run(
        ["bash", "-c", f'"$0" -m barnabas.analysis.job "$1" --out out {redirected}', sys.executable, logs],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(Path(job.__file__).resolve().parents[1])},
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    said = [
        line.replace(str(tmp_path / "out"), "OUT")
        for line in done.stderr.splitlines()
        if line.startswith("barnabas analyze: cannot")
    ]
    assert (done.returncode, said) == (code, told)
    assert "Error" not in done.stderr
    assert json.loads((tmp_path / "out" / "report.json").read_text())["lines"] == 10


@pytest.mark.spark
@pytest.mark.parametrize("to_all", [False, True])
def test_sigterm_ends_a_run_quietly_and_leaves_the_former_output(
    logs: Path, tmp_path: Path, to_all: bool
) -> None:
    out = tmp_path / "out"
    (out / "leaders").mkdir(parents=True)
    (out / "report.txt").write_text("of a former run")
    program = (
        "import sys; from barnabas.analysis import job; job.FEW_BYTES = -1; sys.exit(job.main(sys.argv[1:]))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(logs), "--out", str(out)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stderr is not None
        # The last line before the report.
        assert any("finding out what" in line for line in process.stderr)
        (os.killpg if to_all else os.kill)(process.pid, signal.SIGTERM)
        told, complained = process.communicate()
    assert process.returncode == 128 + signal.SIGTERM
    assert (told, complained) == ("", "")
    assert sorted(path.name for path in out.iterdir()) == ["leaders", "report.txt"]
    assert (out / "report.txt").read_text() == "of a former run"


@pytest.mark.spark
@pytest.mark.parametrize("few", [0, job.FEW])
def test_following_reports_what_a_run_reports_until_it_is_interrupted(
    spark: SparkSession,
    ran: Ran,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    few: int,
) -> None:
    looks = iter(range(2))
    tasks = Mock(wraps=job.in_tasks)
    monkeypatch.setattr(job, "in_tasks", tasks)
    monkeypatch.setattr(job, "FEW", few)

    def pause(seconds: float) -> None:
        assert seconds == PAUSE_S
        if next(looks) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(job, "_pause", pause)
    monkeypatch.setattr("barnabas.analysis.follow.REST_S", 0.0)
    assert job.run([*ran.paths, METADATA], tmp_path, spark, is_followed=True) == 0
    assert tasks.called == (few == 0)
    for name in ("leaders", "controllers", "isr", "requests"):
        followed, run = (
            sorted(map(str, spark.read.parquet(str(out / name)).collect())) for out in (tmp_path, ran.out)
        )
        assert followed == run, name
    assert (tmp_path / "report.html").is_file()
    told, complained = capsys.readouterr()
    whole = (
        f"ould not read all of {SEGMENT}: it is of a metadata log, which is only read whole, without --follow"
    )
    assert told.count(f"C{whole}.\n") == complained.count(f"c{whole}\n") == 1
    assert "broker-3/state-change.log: No such file or directory" in complained
    assert "state-change.log.1.gz: the compressed text ends early" in complained
    assert "broker-2/state-change.log: 1 byte not UTF-8" in complained
