"""Folders with a scheme, through Hadoop's file systems; ``file://`` is one of them."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import cramjam
import pytest
from pyspark.sql import SparkSession

from barnabas.analysis.remote import remote_logs
from barnabas.analysis.scan import events, write_events
from barnabas.analysis.sources import NothingToReadError, find

pytestmark = pytest.mark.spark

ENTRY = "[2026-11-21 03:12:00,000] INFO [KafkaServer id=1] started (kafka.server.KafkaServer)\n"


def test_all_logs_of_a_remote_folder_are_read(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("a/server.log", "a/b/broker.txt", "a/b/notes.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("no entry\n" if "notes" in name else ENTRY)
    found = remote_logs(spark, tmp_path.as_uri())
    assert [path.rpartition("/")[2] for path in found] == ["broker.txt", "server.log"]
    rows = events(spark, find([tmp_path.as_uri()])).collect()
    assert sorted(row["source"].rpartition("/")[2] for row in rows) == ["broker.txt", "server.log"]


def test_small_files_of_one_task_are_one_part_of_the_table(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("logs/broker-1/server.log", "logs/broker-2/server.log"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(ENTRY)
    tallies = write_events(spark, find([(tmp_path / "logs").as_uri()]), tmp_path / "events")
    assert [(row["broker"], row["entries"]) for row in tallies] == [(1, 1), (2, 1)]
    assert spark.read.parquet(str(tmp_path / "events")).count() == 2


def test_a_remote_file_that_spark_does_not_decode_is_named_with_its_encoding(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "server.log.1.xz").write_bytes(lzma.compress(ENTRY.encode()))
    (tmp_path / "logs" / "server.log.2.gz").write_bytes(gzip.compress(ENTRY.encode()))
    (tmp_path / "logs" / "server.log.3.zst").write_bytes(bytes(cramjam.zstd.compress(ENTRY.encode())))
    tallies = write_events(spark, find([(tmp_path / "logs").as_uri()]), tmp_path / "events")
    assert [(row["source"].rpartition(".")[2], row["entries"], row["error"]) for row in tallies] == [
        ("xz", 0, "it is xz; at a URI only plain text, .gz and .zst are read"),
        ("gz", 1, None),
        ("zst", 1, None),
    ]


def test_a_remote_folder_without_logs_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(NothingToReadError, match="nothing to read in the folder"):
        remote_logs(spark, tmp_path.as_uri())
