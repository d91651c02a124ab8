"""Paths are looked up before Spark is started, and brokers are known by them."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.analysis.reading.splits import plan
from barnabas.analysis.sources import (
    LOOKED_AT_BYTES,
    STDIN,
    NothingToReadError,
    broker_of,
    covered_by,
    find,
    is_log,
    logs_in,
    perhaps_logs,
    spooled,
)  # fmt: skip


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
    assert found.remote == ("hdfs://nn/logs/", "s3a://b/state-change.log.2026-11-21-03", "s3a://b/logs/*")
    assert (found.files, found.size) == ((), None)


def test_a_path_that_names_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(NothingToReadError, match="no path was given"):
        find([])
    with pytest.raises(NothingToReadError, match=r"gone\.log"):
        find([tmp_path / "gone.log"])
    with pytest.raises(NothingToReadError, match=r"expected state-change\.log"):
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
        ("[pod/kafka-0/kafka] ", 0),
        ("[pod/my-pool-3/kafka] ", 3),
        ("host kafka@2.service | ", 2),
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


ENTRY = b"[2026-11-21 03:12:45,678] INFO x (a.B)\n"


def put(folder: Path, **files: bytes) -> None:
    for name, data in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def test_a_folder_means_all_logs_in_it_whatever_their_names(tmp_path: Path) -> None:
    docker = json.dumps({"log": ENTRY.decode(), "stream": "stdout"}).encode()
    put(
        tmp_path,
        kafka_dot_txt=b"Starting\n" + ENTRY,
        deep__abc=docker,
        deep__old_dot_xz=lzma.compress(ENTRY),
        notes=b"Broker 1 died\n",
        picture=b"\xff\0" * 99,
        torn_dot_gz=b"\x1f\x8bnonsense",
        gc_dot_log=ENTRY,
        t__00000000000000000042_dot_log=ENTRY,
        empty=b"",
    )
    assert [str(path.relative_to(tmp_path)) for path in logs_in(tmp_path)] == [
        "deep/abc",
        "deep/old.xz",
        "kafka.txt",
    ]


def test_what_repeats_other_logs_is_left_out(tmp_path: Path) -> None:
    put(tmp_path, a__server_dot_log=ENTRY, a__kafkaServer_dot_out=ENTRY, b__kafkaServer_dot_out=ENTRY)
    put(tmp_path, a__console_dot_log=ENTRY, b__console_dot_log=ENTRY)
    put(tmp_path, out__report_dot_json=b"{}", out__report_dot_txt=ENTRY, out__events__part_dot_log=ENTRY)
    (tmp_path / "c.log").hardlink_to(tmp_path / "a" / "server.log")
    assert [str(Path(file).relative_to(tmp_path)) for file in find([tmp_path]).files] == [
        "a/server.log",
        "b/console.log",
        "b/kafkaServer.out",
    ]
    alone = tmp_path / "a" / "console.log"
    assert find([alone]).files == (str(alone),)


@pytest.mark.parametrize("length", [1, 1024 * 1024 - 30])
def test_what_a_console_alone_shows_is_read_unless_the_logs_grow(tmp_path: Path, length: int) -> None:
    end = b"\nTerminating due to java.lang.OutOfMemoryError: Java heap space\n"
    put(tmp_path, server_dot_log=ENTRY, kafkaServer_dot_out=ENTRY + b"x" * (length - len(ENTRY)) + end)
    put(tmp_path, console_dot_log=ENTRY + b"[x] Terminating due to a java.lang.OutOfMemoryError: x\n")
    assert [path.name for path in logs_in(tmp_path)] == ["kafkaServer.out", "server.log"]
    assert [path.name for path in logs_in(tmp_path, is_growing=True)] == ["server.log"]


@pytest.mark.parametrize(
    ("paths", "out", "covered"),
    [
        (["logs"], "logs", "logs/b1/server.log"),
        (["logs"], "logs/b1", "logs/b1/server.log"),
        (["logs"], "link", "logs/b1/server.log"),
        (["logs/b*"], "logs/b2", "logs/b2/server.log"),
        # A run of all logs would find none if a report lay around them.
        (["logs/b1"], "logs", "logs/b1/server.log"),
        (["logs/b1"], ".", "logs/b1/server.log"),
        # A report beside the logs is left out of the next run, and they are not.
        (["logs"], "logs/report", None),
        (["logs"], "other", None),
        # A file that is named is always read.
        (["logs/b1/server.log"], "logs/b1", None),
    ],
)
def test_a_report_among_logs_would_keep_the_next_run_from_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, paths: list[str], out: str, covered: str | None
) -> None:
    put(tmp_path / "logs", b1__server_dot_log=ENTRY, b2__server_dot_log=ENTRY)
    (tmp_path / "link").symlink_to("logs")
    monkeypatch.chdir(tmp_path)
    found = covered_by(out, paths, find(paths))
    assert found == (None if covered is None else str(tmp_path / covered))


def test_a_report_among_the_logs_of_a_store_is_recognized_by_its_address() -> None:
    found = find(["hdfs://nn/logs/"])
    assert covered_by("hdfs://nn/logs", ["hdfs://nn/logs/"], found) == "hdfs://nn/logs/"
    assert covered_by("hdfs://nn/logs/report", ["hdfs://nn/logs/"], found) is None


def test_a_report_in_which_logs_lie_says_why_they_are_not_read(tmp_path: Path) -> None:
    put(tmp_path, server_dot_log=ENTRY, report_dot_json=b"{}", events__part_dot_parquet=b"")
    with pytest.raises(NothingToReadError, match="it holds the report of an earlier run, which is left out"):
        find([tmp_path])


def test_topics_settings_that_a_tool_printed_are_among_the_logs_of_a_folder(tmp_path: Path) -> None:
    printed = (
        b"Dynamic configs for topic bills are:\nDynamic configs for topic orders are:\n"
        b"  min.insync.replicas=2 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:min.insync.replicas=2}\n"
    )
    znode = b'get /config/topics/orders\n{"version":1,"config":{"min.insync.replicas":"2"}}\n'
    brokers = b"Dynamic configs for broker 1 are:\n  min.insync.replicas=2 sensitive=false synonyms={}\n"
    put(tmp_path, topics_dot_txt=printed, a__znodes=znode, brokers_dot_txt=brokers, server_dot_log=ENTRY)
    names = [str(path.relative_to(tmp_path)) for path in logs_in(tmp_path)]
    assert names == ["a/znodes", "server.log", "topics.txt"]
    assert is_log("hdfs://nn/l/topics.txt", printed)


def test_pipes_and_devices_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "server.log")
    put(tmp_path, a=ENTRY)
    with pytest.raises(NothingToReadError, match=r"server\.log': it is a pipe.*expected a file, or - for"):
        find([tmp_path / "server.log"])
    with pytest.raises(NothingToReadError, match="'/dev/null': it is a device"):
        find(["/dev/null"])
    found = find([tmp_path])
    assert found.files == (str(tmp_path / "a"),)
    assert found.closed == (f"{tmp_path / 'server.log'}: it is a pipe",)
    # It may be a log as any other file may.
    (tmp_path / "server.log").rename(tmp_path / "lines")
    os.mkfifo(tmp_path / "kafka-request.log")
    assert find([tmp_path]).closed == (f"{tmp_path / 'lines'}: it is a pipe",)


def test_a_socket_beside_logs_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket is short
    put(tmp_path, a=ENTRY)
    with socket.socket(socket.AF_UNIX) as control:
        control.bind("control.sock")
        assert find([tmp_path]).closed == ()


def test_a_metadata_log_is_one_source_however_many_nodes_have_it(tmp_path: Path) -> None:
    sample = Path(__file__).parents[2] / "data" / "kraft-4.0" / "__cluster_metadata-0" / f"{0:020}.log"
    for node in ("kafka-1", "kafka-2"):
        folder = tmp_path / node / "__cluster_metadata-0"
        folder.mkdir(parents=True)
        (folder / sample.name).write_bytes(sample.read_bytes())
        (folder.parent / "meta.properties").write_text("cluster.id=x\n")
    found = find([tmp_path])
    assert found.files == (str(tmp_path / "kafka-1" / "__cluster_metadata-0" / sample.name),)
    assert found.closed == ()
    copy = tmp_path / "kafka-2" / "__cluster_metadata-0" / sample.name
    copy.write_bytes(sample.read_bytes()[:-2_000])
    (doubt,) = find([tmp_path]).closed
    assert doubt.startswith(f"{found.files[0]}: no other copy has the records from offset ")
    assert [split.end for split in plan([(found.files[0], 10**9)], parallel=8, most=1, least=1)] == [10**9]


def test_settings_of_a_topic_that_no_line_names_are_named_as_not_read(tmp_path: Path) -> None:
    settings = '{"version":1,"config":{"min.insync.replicas":"2"}}\n'
    (tmp_path / "server.log").write_bytes(ENTRY)
    (tmp_path / "orders.txt").write_text(f"Connecting to localhost:2181\n\nWATCHER::\n\n{settings}")
    why = (
        "it has a znode's settings, and no line says of which topic; expected the line of the command, "
        "'get /config/topics/NAME', above them"
    )
    found = find([tmp_path])
    assert found.files == (str(tmp_path / "server.log"),)
    assert found.closed == (f"{tmp_path / 'orders.txt'}: {why}",)
    assert find([tmp_path / "orders.txt"]).closed == found.closed
    for command, number in (("get /config/topics/orders", 2), ("get /config/brokers/1", 1)):
        (tmp_path / "orders.txt").write_text(f"{command}\n{settings}")
        found = find([tmp_path])
        assert (len(found.files), found.closed) == (number, ())


def test_the_standard_input_is_copied_because_tasks_read_files(tmp_path: Path) -> None:
    paths = spooled(["a", STDIN], io.BytesIO(ENTRY), tmp_path)
    assert paths == ["a", tmp_path / "stdin"]
    assert (tmp_path / "stdin").read_bytes() == ENTRY
    assert spooled(["a"], None, tmp_path / "gone") == ["a"]


def test_a_standard_input_that_is_closed_is_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(NothingToReadError, match="cannot read the standard input: it is closed"):
        spooled([STDIN], None, tmp_path)


def test_a_standard_input_without_a_byte_is_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(NothingToReadError, match="the standard input is empty: expected the lines of a log"):
        spooled([STDIN], io.BytesIO(), tmp_path)


def test_a_segment_at_the_standard_input_is_an_error_that_says_what_is_expected(tmp_path: Path) -> None:
    folder = Path(__file__).parents[2] / "data" / "kraft-4.0" / "__cluster_metadata-0"
    content = (folder / f"{0:020}.log").read_bytes()
    with pytest.raises(NothingToReadError) as caught:
        spooled([STDIN], io.BytesIO(content), tmp_path)
    assert str(caught.value) == (
        "cannot read the standard input: it is a segment of __cluster_metadata, not the lines of a log; "
        "expected the path of a metadata log's file (__cluster_metadata-0/00000000000000000000.log) or of a "
        "folder around it"
    )


def test_of_a_remote_folder_all_logs_are_chosen_whatever_their_names() -> None:
    entry = b"[2026-11-21 03:12:00,000] INFO started (kafka.server.KafkaServer)\n"
    files = {
        "hdfs://nn/l/b1/server.log": b"",
        "hdfs://nn/l/b1/kafkaServer.out": entry,
        "hdfs://nn/l/b1/console.log": entry,
        "hdfs://nn/l/b1/broker.txt": entry,
        "hdfs://nn/l/b2/kafkaServer.out": entry,
        "hdfs://nn/l/b2/console.log": entry,
        "hdfs://nn/l/b2/old.gz": gzip.compress(entry),
        "hdfs://nn/l/b2/notes.txt": b"nothing of a broker\n",
        "hdfs://nn/l/b2/log-cleaner.log": entry,
        "hdfs://nn/l/b2/t-0/00000000000000000000.log": entry,
        "hdfs://nn/l/out/report.json": b"{}",
        "hdfs://nn/l/out/events/part-0.txt": entry,
    }
    logs = [path for path in perhaps_logs(list(files)) if is_log(path, files[path][:LOOKED_AT_BYTES])]
    assert logs == [
        "hdfs://nn/l/b1/broker.txt",
        "hdfs://nn/l/b1/server.log",
        "hdfs://nn/l/b2/console.log",
        "hdfs://nn/l/b2/kafkaServer.out",
        "hdfs://nn/l/b2/old.gz",
    ]


def test_a_folder_without_logs_shows_the_layout_of_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text("\n0 [main] INFO kafka.server.KafkaServer - started\n")
    with pytest.raises(NothingToReadError) as raised:
        find([tmp_path])
    assert str(raised.value).endswith(
        "; the first line has a level, but no date and time before it: "
        "'0 [main] INFO kafka.server.KafkaServer - started'"
    )
