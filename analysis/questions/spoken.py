"""The seconds in which brokers wrote lines of their own, for the incident model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from barnabas.analysis.derived.lives import is_kind
from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.reading.events.kinds import CompanionKind
from barnabas.analysis.runtime.engine import Window, alike, sf
from barnabas.analysis.story.causes import STARTUP
from barnabas.analysis.story.observed import CLOCKS, seconds
from barnabas.analysis.story.runs import TURNS
from barnabas.cluster.model.statechange import Kind

_OF_ANY_NODE = (
    BrokerKind.CONFIGURED, BrokerKind.STOP_SIGNALLED, BrokerKind.CONTROLLER_KNOWN, BrokerKind.NO_CONTROLLER,
    BrokerKind.CONTACT_LOST, BrokerKind.CONTACT_MADE, BrokerKind.DIED, BrokerKind.THREAD_DIED,
    BrokerKind.NODE_STARTING, BrokerKind.NODE_STARTED, BrokerKind.NODE_STOPPING, BrokerKind.NODE_STOPPED,
)  # fmt: skip
"""The kinds of lines that a controller of KRaft writes too, though in the role of a broker."""

_OF_SERVING = (
    *Kind, CompanionKind.ISR_SHRINKING, CompanionKind.ISR_EXPANDING, CompanionKind.ISR_UPDATED,
    CompanionKind.ISR_NOT_UPDATED, BrokerKind.WRITES_REFUSED, BrokerKind.STARTED, BrokerKind.NODE_STARTED,
)  # fmt: skip
"""The kinds of lines that a broker writes only after it has registered and loaded its logs."""

_OF_CONTROLLERS = (
    Kind.LEADER_AND_ISR_BATCH, Kind.LEADER_AND_ISR_SENDING, Kind.UPDATE_METADATA_BATCH,
    Kind.STOP_REPLICA_BATCH,
)  # fmt: skip
"""The requests that controllers of ZooKeeper mode send, which are brokers that have registered."""


class Spoken(NamedTuple):
    """The times of brokers' own lines.

    Attributes:
        times: The times of each broker's, as in ``Observed.spoken``.
        served: The times of those of them that a broker writes only when it has started.
        as_brokers: Those of whose lines some are a broker's.
        until: Until when the times are all that the model needs; None to the end of the logs.
    """

    times: dict[int, list[datetime]]
    served: dict[int, list[datetime]]
    as_brokers: frozenset[int]
    until: datetime | None


def spoken(events: DataFrame) -> DataFrame:
    """Compute the first and the last line of each broker and second, in no order."""
    is_broker = sf.col("role") == "broker"
    is_serving = (is_broker & is_kind(*_OF_SERVING)) | is_kind(*_OF_CONTROLLERS)
    return (
        events.where("broker is not null")
        .groupBy("broker", sf.date_trunc("second", "time").cast("timestamp_ntz").alias("second"))
        .agg(
            sf.min("time").alias("first"),
            sf.max("time").alias("last"),
            sf.max(sf.when(is_serving, sf.col("time"))).alias("served"),
            sf.max(is_broker & ~is_kind(*_OF_ANY_NODE)).alias("as_broker"),
        )
    )


def spoken_near(found: pa.Table, events: DataFrame, moments: Callable[[], pa.Table], most: int) -> Spoken:
    """Return the times of brokers' own lines that the model gets.

    Logs of three brokers have 200,000 seconds in a day. Of more than ``most`` the model gets those that are
    the last ones before a moment at which it looks for a broker's last line, and so the same answers.

    Args:
        found: The rows of ``spoken``, of more than ``most`` any ones.
        events: The table ``events``, without lines that have no time.
        moments: Returns the seconds before which the last lines are looked for (``moments_of``).
        most: The most rows that the model gets.
    """
    until = None
    if found.num_rows >= most:
        asked = moments().slice(0, most)
        found = before(spoken(events), asked).limit(most).toArrow()
        cut = [table["second"][-1].as_py() for table in (asked, found) if table.num_rows >= most]
        until = min(cut, default=None)
    times: dict[int, list[datetime]] = {}
    served: dict[int, list[datetime]] = {}
    as_brokers: set[int] = set()
    for row in found.to_pylist():
        times.setdefault(row["broker"], []).extend((row["first"], row["last"]))
        if row["served"] is not None:
            served.setdefault(row["broker"], []).append(row["served"])
        if row["as_broker"]:
            as_brokers.add(row["broker"])
    kept = {broker: seconds(set(each)) for broker, each in times.items()}
    return Spoken(kept, _sorted(served), frozenset(as_brokers), until)


def _sorted(times: dict[int, list[datetime]]) -> dict[int, list[datetime]]:
    return {broker: sorted(each) for broker, each in times.items()}


def moments_of(lines: pa.Table, others: Iterable[pa.Table]) -> pa.Table:
    """Return the seconds in which the model may look for a broker's last line before, sorted.

    Args:
        lines: The rows of ``broker_events``; those with which an absence may begin or end count.
        others: Tables of which all times count.
    """
    turns = lines.filter(pc.is_in(lines["kind"], pa.array(sorted(TURNS))))
    columns = [turns["time"], *(column for table in others for column in table.columns)]
    times = [column.combine_chunks() for column in columns if pa.types.is_timestamp(column.type)]
    asked = [
        pc.floor_temporal(pc.add(each, pa.scalar(shift, pa.duration("us"))), unit="second")
        for each in times
        for shift in (-STARTUP, timedelta(0), CLOCKS)
    ]
    known = pc.unique(pa.chunked_array(asked)).drop_null()
    return pa.table({"second": known.take(pc.array_sort_indices(known))})


def before(rows: DataFrame, moments: pa.Table) -> DataFrame:
    """Select of each broker the rows in and before each of some seconds that are the last ones, by time.

    Each broker's last row is among them. ``as_broker`` is that of all of the broker's rows.
    """
    everyone = rows.select("broker").distinct().withColumn("always", sf.lit(1))
    asked = (
        alike(rows, moments)
        .select(sf.col("second").cast("timestamp_ntz").alias("second"), sf.lit(1).alias("always"))
        .join(everyone, "always")
        .select("broker", "second")
    )
    # The last row before a second, and the last one up to its end, are those that one of its marks follows.
    marks = asked.withColumn("place", sf.lit(0)).union(asked.withColumn("place", sf.lit(2)))
    by_time = Window.partitionBy("broker").orderBy("second", "place")
    followed = sf.lead("place").over(by_time)
    return (
        rows.withColumn("place", sf.lit(1))
        .unionByName(marks, allowMissingColumns=True)
        .withColumns({"next": followed, "as_broker": sf.max("as_broker").over(Window.partitionBy("broker"))})
        .where((sf.col("place") == 1) & (sf.col("next").isNull() | (sf.col("next") != 1)))
        .select("broker", "second", "first", "last", "served", "as_broker")
        .orderBy("second", "broker")
    )
