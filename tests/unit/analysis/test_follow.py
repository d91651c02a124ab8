"""What is followed is in the end what a batch run reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from analysis.derived.catalog import DERIVED
from analysis.follow import append, follow
from analysis.scan import Reading, events
from analysis.sources import find

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]
PLACE = ("source", "block", "line")


def rows(table: DataFrame) -> list[str]:
    return sorted(map(str, table.collect()))


def told(table: DataFrame) -> list[str]:
    return rows(table.drop(*PLACE))


def test_a_stream_that_is_stopped_and_started_gives_the_rows_of_a_batch(
    spark: SparkSession, logs: Path, tmp_path: Path, settle: Callable[[DataFrame], DataFrame]
) -> None:
    growing, out = tmp_path / "growing", tmp_path / "out"
    growing.mkdir()
    texts = {log.parent.name: log.read_bytes() for log in logs.rglob("state-change.log")}
    batches = []

    def go_on(rest_s: float) -> None:
        query = follow(
            spark, [growing], out, lambda: batches.append(None), reading=Reading(broker=8), rest_s=rest_s
        )
        try:
            query.processAllAvailable()
        finally:
            query.stop()

    # The second broker is heard late, and its first entries are older than what was read of the first one.
    for name, part in (
        ("broker-1", slice(0, 400)),
        ("broker-1", slice(400, None)),
        ("broker-2", slice(None)),
    ):
        (growing / name).mkdir(exist_ok=True)
        with (growing / name / "state-change.log").open("ab") as log:
            log.write(texts[name][part])
        go_on(1e9)
    live = growing / "broker-1" / "state-change.log"
    live.rename(live.with_name("state-change.log.2026-11-21-03"))
    go_on(0.0)
    written = spark.read.parquet(str(out / "events"))
    read = events(spark, find([growing]), Reading(broker=8))
    assert told(written) == told(read)
    followed, at_once = {"events": written.cache()}, {"events": read.cache()}
    for table in DERIVED:
        for tables in (followed, at_once):
            tables[table.name] = settle(table.of(tables))
        assert rows(followed[table.name]) == rows(at_once[table.name]), table.name
    assert len(batches) >= 4


def test_a_batch_that_is_done_again_replaces_itself(
    spark: SparkSession, table: DataFrame, tmp_path: Path
) -> None:
    folder = tmp_path / "events"
    folder.mkdir()
    append(table.limit(3), 0, folder)
    append(table, 1, folder)
    append(table.limit(5), 1, folder)
    assert spark.read.parquet(str(folder)).count() == 8
