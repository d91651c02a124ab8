"""The model gets the last line of each broker before whatever happens, of however many seconds."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import product

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from barnabas.analysis.questions.spoken import Spoken, before, moments_of, spoken, spoken_near
from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.reading.events.tables import EVENTS
from barnabas.analysis.runtime.engine import framed, in_this_process
from barnabas.analysis.story.observed import Observed
from barnabas.cluster.model.statechange import Kind

pytestmark = pytest.mark.spark

START = datetime(2026, 11, 21, 3)  # noqa: DTZ001
LOSSES = (100.25, 101.0, 250.5)
"""When a controller says that a broker is gone, in seconds."""

SECOND = timedelta(seconds=1)


def lines() -> list[tuple[datetime, int, str, str]]:
    """Two brokers write twice in a second for five minutes, but for some seconds; a third writes once."""
    found: list[tuple[datetime, int, str, str]] = [
        (START + SECOND * (second + part), broker, Kind.LEADER_STARTS.value, "broker")
        for second in range(300)
        for broker in (1, 2)
        for part in (0.0, 0.5)
        if not (broker == 2 and 95 < second < 130)
    ]
    return [*found, (START + SECOND * 20, 3, BrokerKind.CONTACT_LOST.value, "broker")]


TURNS = pa.table(
    {
        "time": pa.array([START + SECOND * each for each in (*LOSSES, 33)], pa.timestamp("us")),
        "kind": [BrokerKind.BROKERS_CHANGED, Kind.ISR_REMOVAL, BrokerKind.STARTING, BrokerKind.STARTED],
    }
)


def table_of() -> pa.Table:
    columns = list(zip(*lines(), strict=True))
    kinds = (pa.timestamp("us"), pa.int32(), pa.string(), pa.string())
    return pa.table(
        [pa.array(each, kind) for each, kind in zip(columns, kinds, strict=True)],
        ["time", "broker", "kind", "role"],
    )


def read(events: DataFrame, most: int) -> Spoken:
    return spoken_near(spoken(events).limit(most).toArrow(), events, lambda: moments_of(TURNS, ()), most)


@pytest.fixture(params=[True, False], ids=["spark", "here"])
def events(request: pytest.FixtureRequest, spark: SparkSession) -> DataFrame:
    if request.param:
        names = table_of().column_names
        return spark.createDataFrame(table_of(), StructType([EVENTS[name] for name in names]))
    request.getfixturevalue("here")
    return framed(table_of())


@pytest.fixture
def here() -> object:
    with in_this_process():
        yield


def last(seen: Spoken, broker: int, until: datetime) -> datetime | None:
    return Observed(spoken=seen.times, spoken_until=seen.until).last_spoken(broker, until)


def test_of_many_seconds_those_before_a_moment_are_read(events: DataFrame) -> None:
    everything, seen = read(events, 10_000), read(events, 60)
    assert sum(map(len, everything.times.values())) > 1_000
    assert sum(map(len, seen.times.values())) < 120
    assert (everything.until, seen.until) == (None, None)
    assert set(everything.served) == {1, 2}
    assert everything.served[1] == [START + SECOND * (second + 0.5) for second in range(300)]
    assert all(set(seen.served[broker]) <= set(everything.served[broker]) for broker in (1, 2))
    assert everything.as_brokers == seen.as_brokers == {1, 2}
    assert set(seen.times) == {1, 2, 3}
    for loss, shift, broker in product(LOSSES, (-1, 0, 2), (1, 2, 3)):
        until = START + SECOND * (loss + shift)
        assert last(seen, broker, until) == last(everything, broker, until), (loss, shift, broker)


def test_of_too_many_moments_the_first_are_looked_at(events: DataFrame) -> None:
    everything, seen = read(events, 10_000), read(events, 8)
    assert seen.until is not None
    assert START + SECOND * 99 < seen.until < START + SECOND * 250
    for second, broker in product((99, 99.25), (1, 2, 3)):
        until = START + SECOND * second
        assert last(seen, broker, until) == last(everything, broker, until)


def test_a_second_run_reads_the_same(events: DataFrame) -> None:
    assert read(events, 8) == read(events, 8)


def test_the_rows_before_a_moment_are_in_order(events: DataFrame) -> None:
    rows = before(spoken(events), moments_of(TURNS, ())).toArrow().to_pylist()
    assert [(row["second"], row["broker"]) for row in rows] == sorted(
        (row["second"], row["broker"]) for row in rows
    )


def test_moments_are_the_seconds_around_losses_starts_and_states() -> None:
    state = pa.table({"led_at": pa.array([START + SECOND * 7.5, None], pa.timestamp("us")), "leader": [1, 2]})
    found = [(each - START) / SECOND for each in moments_of(TURNS.slice(1), (state,))["second"].to_pylist()]
    assert found == [6, 7, 9, 100, 101, 103, 249, 250, 252]
