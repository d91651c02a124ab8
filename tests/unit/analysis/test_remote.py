"""Folders with a scheme, through Hadoop's file systems; ``file://`` is one of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from barnabas.analysis.remote import remote_logs
from barnabas.analysis.scan import events
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


def test_a_remote_folder_without_logs_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(NothingToReadError, match="nothing to read in the folder"):
        remote_logs(spark, tmp_path.as_uri())
