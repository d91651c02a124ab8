"""The scan, over two brokers' files."""

from __future__ import annotations

import gzip
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from pyspark.sql import DataFrame, SparkSession

from barnabas.analysis.reading.events.tables import EVENTS
from barnabas.analysis.remote import looked_up
from barnabas.analysis.scan import Reading, events, write_events
from barnabas.analysis.sources import find

pytestmark = pytest.mark.spark


def test_every_line_is_a_row_and_its_trace_is_with_it(table: DataFrame) -> None:
    rows = table.orderBy("time", "source", "block", "line").collect()
    assert [(row["broker"], row["kind"]) for row in rows] == [
        (1, "partition-new"),
        (1, "partition-online"),
        (1, "leader-starts"),
        (2, "leader-and-isr-handling"),
        (2, "metadata-updated"),
        (2, "partition-change-failed"),
        (2, "isr-removal"),
        (2, "partition-online"),
        (2, "leader-starts"),
        (2, None),
    ]
    failed = rows[5]
    assert failed["trace"].splitlines()[-1] == "Caused by: java.lang.Exception: [not an entry]"
    assert failed["raw"].startswith("[2026-11-21 03:12:06,500] ERROR [Controller id=2 epoch=2]")


def test_values_have_types(table: DataFrame) -> None:
    row = table.where("kind = 'partition-online' and broker = 2").collect()[0]
    assert (
        row["topic"],
        row["partition"],
        row["leader"],
        row["leader_epoch"],
        row["isr"],
        row["version"],
    ) == (
        "a-b",
        0,
        2,
        2,
        [2],
        2,
    )
    assert (row["from"], row["to"]) == ("OfflinePartition", "OnlinePartition")
    assert row["time"].isoformat() == "2026-11-21T03:12:06.510000"
    assert row["source"].endswith("broker-2/state-change.log")


def test_a_line_that_no_rule_knows_is_kept_with_its_odd_byte(table: DataFrame) -> None:
    (row,) = table.where("not understood").collect()
    assert "Danc\N{REPLACEMENT CHARACTER}d around partition a-b-0" in row["raw"]
    assert (row["controller"], row["controller_epoch"]) == (2, 2)


def told(table: DataFrame) -> list[str]:
    return sorted(str(row) for row in table.drop("source", "block", "line").collect())


@pytest.mark.parametrize("split_bytes", [90, 700])
def test_traces_survive_splits_of_a_file(
    spark: SparkSession, table: DataFrame, logs: Path, split_bytes: int
) -> None:
    torn = events(spark, find([logs]), Reading(split_bytes=split_bytes))
    assert torn.rdd.getNumPartitions() > 3
    assert told(torn) == told(table)


def test_what_spark_reads_itself_is_the_same(spark: SparkSession, table: DataFrame, logs: Path) -> None:
    spark.conf.set("spark.sql.files.maxPartitionBytes", "300")
    spark.conf.set("spark.sql.files.openCostInBytes", "1")
    try:
        far = events(spark, looked_up(spark, find([logs.as_uri()])))
        assert far.rdd.getNumPartitions() > 5
        assert told(far) == told(table)
        named = events(spark, looked_up(spark, find([f"{logs.as_uri()}/broker-*/state-change.log"])))
        assert told(named) == told(table)
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
        spark.conf.unset("spark.sql.files.openCostInBytes")


def test_a_table_is_written_with_a_row_of_files_for_each_split(
    spark: SparkSession, table: DataFrame, logs: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "out" / "events"
    (tmp_path / "torn.log.gz").write_bytes(
        gzip.compress((logs / "broker-1" / "state-change.log").read_bytes())[:-9]
    )
    sources = find([logs, tmp_path / "torn.log.gz"])
    tallies = write_events(spark, sources, folder, Reading(split_bytes=800))
    written = spark.read.parquet(str(folder))
    assert written.schema == EVENTS
    assert told(written.where("source not like '%torn%'")) == told(table)
    assert not (folder / "_temporary").exists()
    assert [tally["error"] for tally in tallies].count(None) == len(tallies) - 1
    torn = tallies[-1]
    assert (torn["error"], torn["broker"]) == (
        "the compressed text ends early; nothing was read after line 3",
        None,
    )
    assert sum(tally["entries"] for tally in tallies) == written.count()
    assert sum(tally["replaced"] for tally in tallies) == 1
    # A former table goes, files without an entry give one with no rows.
    (tmp_path / "empty.log").touch()
    (tally,) = write_events(spark, find([tmp_path / "empty.log"]), folder)
    assert (tally["entries"], tally["lines"]) == (0, 0)
    assert spark.read.parquet(str(folder)).count() == 0


def test_the_broker_is_from_the_line_else_the_path_else_as_given(spark: SparkSession, tmp_path: Path) -> None:
    line = (
        "[2016-04-27 11:59:57,522] DEBUG preRegister called. Server=x, name=log4j:logger=state.change.logger"
    )
    said = "[2016-04-27 11:59:57,522] INFO [Broker id=9] Handling StopReplica request correlationId 1 from"
    text = f"{line} (state.change.logger)\n{said} controller 1 for 2 partitions (state.change.logger)\n"
    for name in ("logs", "broker-7"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "state-change.log").write_text(text)
    found = events(spark, find([tmp_path]), Reading(broker=5, zone=ZoneInfo("Europe/Warsaw")))
    rows = found.orderBy("source", "line").collect()
    assert [row["broker"] for row in rows] == [7, 9, 5, 9]
    assert rows[0]["time"] == datetime.fromisoformat("2016-04-27T09:59:57.522")
