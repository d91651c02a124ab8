"""The scan, over two brokers' files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from analysis.scan import events
from analysis.sources import find

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


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


def test_traces_survive_splits_of_a_file(
    spark: SparkSession, table: DataFrame, logs: Path, tmp_path: Path
) -> None:
    whole = table.select("kind", "trace", "raw").collect()
    # Another path, so that Spark does not answer from the table that it has cached.
    copy = shutil.copytree(logs, tmp_path / "copy")
    spark.conf.set("spark.sql.files.maxPartitionBytes", "100")
    spark.conf.set("spark.sql.files.openCostInBytes", "1")
    try:
        torn = events(spark, find([copy]))
        assert torn.rdd.getNumPartitions() > 10
        assert sorted(torn.select("kind", "trace", "raw").collect(), key=str) == sorted(whole, key=str)
    finally:
        spark.conf.unset("spark.sql.files.maxPartitionBytes")
        spark.conf.unset("spark.sql.files.openCostInBytes")
