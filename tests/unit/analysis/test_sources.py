"""Paths are looked up before Spark is started, and brokers are known by them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.analysis.sources import NothingToReadError, broker_of, find, logs_in


def test_files_folders_and_globs(tmp_path: Path) -> None:
    for name in (
        "one/state-change.log",
        "one/deep/stage-change.log.2026-11-21-03",
        "one/state-change.log.1.gz",
        "one/server.log",
        "one/kafkaServer.out",
        "two/any.txt",
        "two/other.txt",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("12345")
    found = find([tmp_path / "one", tmp_path / "two" / "any.txt", str(tmp_path / "two" / "*.txt")])
    assert [str(Path(file).relative_to(tmp_path)) for file in found.files] == [
        "one/deep/stage-change.log.2026-11-21-03",
        "one/server.log",
        "one/state-change.log",
        "one/state-change.log.1.gz",
        "two/any.txt",
        "two/other.txt",
    ]
    assert (found.sizes, found.size) == ((5,) * 6, 30)
    assert logs_in(tmp_path / "two") == []


def test_other_file_systems_are_left_to_spark() -> None:
    found = find(["hdfs://nn/logs/", "s3a://b/state-change.log.2026-11-21-03", "s3a://b/logs/*"])
    assert found.remote_folders == ("hdfs://nn/logs/",)
    assert found.remote_files == ("s3a://b/state-change.log.2026-11-21-03", "s3a://b/logs/*")
    assert (found.files, found.size) == ((), None)


def test_a_path_that_names_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NothingToReadError, match="no path was given"):
        find([])
    with pytest.raises(NothingToReadError, match=r"gone\.log"):
        find([tmp_path / "gone.log"])
    with pytest.raises(NothingToReadError, match="expected files named"):
        find([tmp_path])
    with pytest.raises(NothingToReadError, match="nothing to read at ''"):
        find([""])


@pytest.mark.parametrize(
    ("text", "broker"),
    [
        ("/data/broker-2/logs/state-change.log", 2),
        ("file:///data/Broker0/state-change.log.2026-11-21-03", 0),
        ("cluster-9/kafka-1/state-change.log", 1),
        ("broker-1/node_3/state-change.log", 3),
        ("kafka-1-kafka-2  | ", 2),
        ("/opt/kafka_2.13-2.8.0/logs/state-change.log", None),
        ("/opt/kafka-2.8/logs/server.log", None),
        ("/opt/mykafka2/logs", None),
        ("", None),
    ],
)
def test_a_path_may_name_its_broker(text: str, broker: int | None) -> None:
    assert broker_of(text) == broker


def test_a_folder_that_cannot_be_listed_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def walk(folder: Path, onerror: Callable[[OSError], None]) -> list[object]:
        onerror(PermissionError(13, "Permission denied", str(folder / "kept")))
        return []

    monkeypatch.setattr("barnabas.analysis.sources.os.walk", walk)
    found = find([tmp_path])
    assert (found.files, found.closed) == ((), (f"{tmp_path / 'kept'}: Permission denied",))


def test_a_log_that_cannot_be_opened_is_read_as_far_as_that_goes(tmp_path: Path) -> None:
    link = tmp_path / "state-change.log"
    link.symlink_to(tmp_path / "gone")
    found = find([tmp_path])
    assert (found.files, found.sizes) == ((str(link),), (0,))


def test_a_folder_of_files_with_other_names_says_how_to_name_them(tmp_path: Path) -> None:
    (tmp_path / "kafka-1.log").touch()
    with pytest.raises(NothingToReadError) as refused:
        find([tmp_path])
    told = str(refused.value)
    assert "expected files named state-change.log*, controller.log* or server.log*" in told
    assert told.endswith(f"or name the files themselves: {tmp_path}/*.log")
