"""Files with a scheme, through Hadoop's file systems; ``file://`` is one of them."""

from __future__ import annotations

import bz2
import gzip
import lzma
import shutil
import struct
from pathlib import Path

import cramjam
import pytest
from pyspark.sql import SparkSession

from barnabas.analysis.remote import Form, form_of, looked_up
from barnabas.analysis.scan import events, save_events, write_events
from barnabas.analysis.sources import NothingToReadError, find

pytestmark = pytest.mark.spark

ENTRY = "[2026-11-21 03:12:00,000] INFO [KafkaServer id=1] started (kafka.server.KafkaServer)\n"
JOURNAL = (
    f"__CURSOR=s=1\n__REALTIME_TIMESTAMP=1\n_HOSTNAME=kafka-2\n_SYSTEMD_UNIT=kafka.service\nMESSAGE={ENTRY}\n"
).encode()
LONG = "".join(
    f"[2026-11-21 03:{n // 60:02}:{n % 60:02},000] INFO [KafkaServer id=1] started {n * 7919} (kafka.x)\n"
    for n in range(3_600)
).encode()
JSON = b"""\
[ {
  "@timestamp" : "2026-11-21T03:12:00.000Z",
  "level" : "INFO",
  "thread" : "main",
  "logger" : "kafka.server.KafkaServer",
  "message" : "[KafkaServer id=1] started"
}, {
  "@timestamp" : "2026-11-21T03:12:01.000Z",
  "level" : "INFO",
  "thread" : "main",
  "logger" : "kafka.server.KafkaServer",
  "message" : "[KafkaServer id=1] shut down completed"
} ]
"""
METADATA = Path(__file__).parents[2] / "data" / "kraft-4.0" / "__cluster_metadata-0"


def zstd(content: bytes) -> bytes:
    return bytes(cramjam.zstd.compress(content))


def flipped(content: bytes) -> bytes:
    """The content with a few other bytes in its middle."""
    middle = len(content) // 2
    return content[:middle] + bytes(32) + content[middle + 32 :]


def names(paths: tuple[str, ...]) -> list[str]:
    return [path.rpartition("/")[2] for path in paths]


def write(folder: Path, **contents: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        (folder / name.replace("_", ".")).write_bytes(content)


def test_all_logs_of_a_remote_folder_are_read(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("a/server.log", "a/b/broker.txt", "a/b/notes.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("no entry\n" if "notes" in name else ENTRY)
    found = looked_up(spark, find([tmp_path.as_uri()]))
    assert (names(found.lines), found.whole) == (["broker.txt", "server.log"], ())
    rows = events(spark, found).collect()
    assert sorted(row["source"].rpartition("/")[2] for row in rows) == ["broker.txt", "server.log"]


def test_remote_files_and_globs_are_looked_up(spark: SparkSession, tmp_path: Path) -> None:
    write(tmp_path / "a", notes_txt=b"no entry\n", server_log=lzma.compress(ENTRY.encode()))
    write(tmp_path / "b" / "c", server_log=ENTRY.encode())
    found = looked_up(spark, find([f"{tmp_path.as_uri()}/a/*", f"{tmp_path.as_uri()}/b*"]))
    assert (names(found.lines), names(found.whole)) == (["notes.txt", "server.log"], ["server.log"])
    with pytest.raises(NothingToReadError, match=r"nothing to read at 'file:.*/none'"):
        looked_up(spark, find([f"{tmp_path.as_uri()}/none"]))


def test_small_files_of_one_task_are_one_part_of_the_table(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("logs/broker-1/server.log", "logs/broker-2/server.log"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(ENTRY)
    found = looked_up(spark, find([(tmp_path / "logs").as_uri()]))
    tallies = write_events(spark, found, tmp_path / "events")
    assert [(row["broker"], row["entries"]) for row in tallies] == [(1, 1), (2, 1)]
    assert spark.read.parquet(str(tmp_path / "events")).count() == 2


def test_encoded_files_are_read_as_local_ones(spark: SparkSession, tmp_path: Path) -> None:
    plain = ENTRY.encode()
    packed = lzma.compress(plain * 3)
    write(
        tmp_path / "broker-2",
        server_log=plain, server_log_1_gz=gzip.compress(plain), server_log_3_gz=gzip.compress(JSON),
        server_log_2_zst=zstd(plain), server_log_4_xz=packed, server_log_5=packed[:-9],
        server_log_6=gzip.compress(plain * 2), server_log_7_gz=gzip.compress(LONG)[:-2_000],
        server_log_8_gz=flipped(gzip.compress(LONG)), server_log_9_zst=zstd(LONG)[:-2_000],
        server_log_10_gz=plain, server_log_11_zst=gzip.compress(plain), journal=JOURNAL,
        server_log_12_gzip=gzip.compress(LONG)[:-2_000], server_log_13_zstd=zstd(LONG)[:-2_000],
        server_log_14_bz2=bz2.compress(plain), server_log_15_bz2=bz2.compress(LONG, 1)[:-2_000],
        json=JSON, journal_zst=zstd(JOURNAL),
    )  # fmt: skip
    found = looked_up(spark, find([tmp_path.as_uri()]))
    assert names(found.lines) == ["server.log"]
    here = write_events(spark, find([tmp_path]), tmp_path / "here")
    there = write_events(spark, found, tmp_path / "there")
    counted = {
        row["source"].rpartition("/")[2]: (row["broker"], row["entries"], row["understood"], row["error"])
        for row in here
    }
    assert counted["server.log.5"][3] == "the compressed text ends early; nothing was read after line 3"
    for name, error in (
        ("server.log.7.gz", "the compressed text ends early; nothing was read after line "),
        ("server.log.8.gz", "the compressed text is damaged: "),
        ("server.log.9.zst", "the compressed text is damaged or ends early: "),
        ("server.log.12.gzip", "the compressed text ends early; nothing was read after line "),
        ("server.log.15.bz2", "the compressed text ends early; nothing was read after line "),
        ("server.log.13.zstd", "the compressed text is damaged or ends early: "),
    ):
        _, entries, _, said = counted[name]
        assert said.startswith(error)
        assert entries > 400, name
    assert (
        counted["server.log.10.gz"]
        == counted["server.log.14.bz2"]
        == counted["server.log.11.zst"]
        == (2, 1, 1, None)
    )
    assert [counted[name][1] for name in ("json", "journal", "server.log.3.gz")] == [2, 1, 2]
    assert counted == {
        row["source"].rpartition("/")[2]: (row["broker"], row["entries"], row["understood"], row["error"])
        for row in there
    }
    saved = save_events(spark, found, (tmp_path / "saved").as_uri())
    assert [row["entries"] for row in saved] == [row["entries"] for row in there]


def test_a_fetched_file_has_every_byte(spark: SparkSession, tmp_path: Path) -> None:
    # Spark takes a line feed at the end for the end of a line. Without it the last frame would be torn.
    packed = zstd(ENTRY.encode()) + struct.pack("<II", 0x184D2A50, 1) + b"\n"
    write(tmp_path / "logs", server_log=packed)
    tallies = write_events(spark, looked_up(spark, find([(tmp_path / "logs").as_uri()])), tmp_path / "events")
    assert [(row["entries"], row["error"]) for row in tallies] == [(1, None)]


def test_a_remote_metadata_log_is_one_source_however_many_nodes_have_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    for node in ("kafka-1", "kafka-2"):
        shutil.copytree(METADATA, tmp_path / "logs" / node / METADATA.name)
        (tmp_path / "logs" / node / "meta.properties").write_text("cluster.id=x\n")
    last = max((tmp_path / "logs" / "kafka-2" / METADATA.name).glob("*.log"))
    last.write_bytes(last.read_bytes()[:-2_000])
    local, remote = find([tmp_path / "logs"]), looked_up(spark, find([(tmp_path / "logs").as_uri()]))
    assert [reason.rpartition("kafka-1")[2] for reason in remote.closed] == [
        reason.rpartition("kafka-1")[2] for reason in local.closed
    ]
    assert len(remote.closed) == 1
    assert all("/kafka-1/" in path for path in remote.whole)
    here, there = (
        write_events(spark, local, tmp_path / "here"),
        write_events(spark, remote, tmp_path / "there"),
    )
    for rows in (here, there):
        assert [(row["error"], row["entries"] > 0) for row in rows] == [(None, True)]
    same = [
        spark.read.parquet(str(tmp_path / place)).drop("source").toArrow().sort_by("line").to_pylist()
        for place in ("here", "there")
    ]
    assert same[0] == same[1]


def test_the_form_of_a_file_follows_from_its_first_bytes_and_what_spark_decodes() -> None:
    assert form_of("x/server.log", ENTRY.encode()) is Form.LINES
    assert form_of("x/server.log.gz", b"") is Form.WHOLE
    assert form_of("x/server.log.gz", gzip.compress(ENTRY.encode())) is Form.WHOLE
    assert form_of("x/server.log", gzip.compress(ENTRY.encode())) is Form.WHOLE
    assert form_of("x/server.log", JOURNAL) is Form.WHOLE
    assert form_of("x/server.log.zst", ENTRY.encode()) is Form.WHOLE


def test_a_remote_folder_without_logs_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(NothingToReadError, match="nothing to read in the folder"):
        looked_up(spark, find([tmp_path.as_uri()]))
