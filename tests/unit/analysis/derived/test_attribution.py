"""The writers of lines that do not name them, in the table of events."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, SparkSession

from barnabas.analysis.derived.attribution import attributed
from barnabas.analysis.reading.events.tables import EVENTS
from barnabas.analysis.runtime.engine import in_this_process, rows_of

EXPIRED = (
    "[2018-07-14 04:38:26,444] INFO Unable to reconnect to ZooKeeper service, session 0x3 has expired "
    "(org.apache.zookeeper.ClientCnxn)\n"
)
SIGNAL = (
    "[2018-07-14 04:38:28,000] INFO Terminating process due to signal SIGTERM "
    "(org.apache.kafka.common.utils.LoggingSignalHandler)\n"
)


def stopping(second: int, broker: int) -> str:
    return (
        f"[2018-07-14 04:38:{second},100] INFO [KafkaServer id={broker}] shutting down "
        "(kafka.server.KafkaServer)\n"
    )


def writers(events: DataFrame) -> list[tuple[int | None, int | None]]:
    rows = sorted(rows_of(attributed(events)), key=lambda row: (row["source"], row["line"]))
    return [(row["broker"], row["subject"]) for row in rows]


@pytest.mark.usefixtures("here")
def test_a_file_of_one_broker_is_its_own(read: Callable[..., DataFrame]) -> None:
    assert writers(read(EXPIRED + stopping(28, 1))) == [(1, 1), (1, 1)]


@pytest.mark.usefixtures("here")
def test_a_doubt_stays_a_doubt(read: Callable[..., DataFrame]) -> None:
    log = stopping(20, 1) + EXPIRED + SIGNAL + stopping(28, 2)
    assert writers(read(log)) == [(1, 1), (None, None), (2, 2), (2, 2)]


@pytest.mark.usefixtures("here")
def test_events_that_all_name_their_writers_are_not_touched(read: Callable[..., DataFrame]) -> None:
    events = read(stopping(20, 1))
    assert attributed(events) is events


@pytest.mark.spark
def test_spark_names_the_same_writers(read: Callable[..., DataFrame], spark: SparkSession) -> None:
    events = read(stopping(20, 1) + EXPIRED + SIGNAL + stopping(28, 2), EXPIRED)
    with in_this_process():
        here = writers(events)
    assert writers(spark.createDataFrame(events.toArrow(), EVENTS)) == here
