"""The incident model gets the same from Spark's tables as from the lines themselves."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from barnabas.analysis.derived.catalog import DERIVED
from barnabas.analysis.derived.store import derive_here
from barnabas.analysis.questions import story as questions
from barnabas.analysis.questions.story import observed
from barnabas.analysis.runtime.engine import in_this_process
from barnabas.analysis.story.incidents import incidents
from barnabas.analysis.story.sentences.incidents import details, headline
from tests.unit.analysis.conftest import (
    BACK,
    BORN,
    ONE,
    ORDERS,
    Read,
    leads,
    stall_of_orders_3,
    when,
    written,
)

Tables = Mapping[str, DataFrame]

DAY = date(2026, 11, 21)


def told(tables: Tables, min_insync: int | None = None) -> list[str]:
    return [
        each.text
        for incident in incidents(observed(tables, min_insync))
        for each in (headline(incident), *details(incident, DAY))
    ]


@pytest.mark.usefixtures("here")
def test_the_stall_of_orders_3_is_one_incident(story: Tables) -> None:
    first, *others = told(story, 2)
    assert first == "Broker 1, the controller, was lost; 2 partitions had no leader."
    assert others[0] == (
        "Broker 1, the controller, was lost between 03:12:02.000 and 03:12:08.010 (no line shows why) "
        "and was back at 03:14:40.400 or before."
    )
    assert (
        "orders-3 had no leader for at least 2 min 32 s and at most 2 min 39 s, until broker 1 led it again "
        "(1 election failed)." in others
    )
    assert "orders-0 had no leader for at least 40 ms and at most 6.1 s, until broker 2 led it." in others
    (worst, *_) = incidents(observed(story))
    assert any("orders-3" in line.text for line in headline(worst).lines)


@pytest.mark.usefixtures("here")
def test_without_the_lost_broker_s_log_nothing_bounds_it_from_above(
    survivor: Tables,
) -> None:
    _, first, *others = told(survivor)
    assert first.startswith(
        "Broker 2 was lost at 00:53:25.800 or before (why is unknown without its server.log)"
    )
    assert any(
        each.startswith("alone-0 had no leader for at least 14.8 s, until broker 2 was elected again")
        for each in others
    )


@pytest.mark.usefixtures("here")
def test_a_partition_that_nobody_ever_led(beginning: Tables) -> None:
    assert any(
        "new-0 had no leader at 10:00:01.000 and still has none when the logs end (10:00:02.000)" in each
        for each in told(beginning)
    )


MOST = 60


@pytest.fixture(scope="module")
def long(read: Read, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables of the stall of orders-3, before which its leader says 100 times that it leads."""
    folder = tmp_path_factory.mktemp("long")
    again = "".join(
        when(f"03:0{n // 60}:{n % 60:02},500", leads(ONE, ORDERS[3], BORN[3])) for n in range(100)
    )
    first, *others = stall_of_orders_3()
    written(read(again + first, *others).toArrow(), folder / "events")
    with in_this_process(), derive_here(folder):
        pass
    return folder


@pytest.mark.spark
@pytest.mark.parametrize("is_spark", [True, False])
def test_of_many_own_lines_those_after_trouble_are_read(
    spark: SparkSession, long: Path, monkeypatch: pytest.MonkeyPatch, *, is_spark: bool
) -> None:
    names = ("events", *(table.name for table in DERIVED))
    monkeypatch.setattr(questions, "_ROWS", MOST)
    if is_spark:
        seen = observed({name: spark.read.parquet(str(long / name)) for name in names})
    else:
        with in_this_process(), derive_here(long) as tables:
            seen = observed(tables)
    assert [each.time for each in seen.led] == sorted(each.time for each in seen.led)
    assert len(seen.led) == MOST
    assert (seen.led[-1].leader, seen.led[-1].leader_epoch) == (ONE, BACK.leader_epoch)
    assert seen.led[-1].time == datetime(2026, 11, 21, 3, 14, 40, 530_000)  # noqa: DTZ001


def test_of_too_many_states_whole_partitions_are_told(long: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with in_this_process(), derive_here(long) as tables:
        everything = observed(tables)
        troubled = [(each.topic, each.partition, each.life) for each in everything.states]
        first, second, *_ = dict.fromkeys(troubled)
        monkeypatch.setattr(questions, "_ROWS", troubled.index(second) + 1)
        seen = observed(tables)
    assert everything.untold == 0
    assert seen.untold == len(set(troubled)) - 1 > 0
    whole = [each for each in everything.states if (each.topic, each.partition, each.life) == first]
    assert seen.states == whole
    assert {(each.topic, each.partition, each.life) for each in (*seen.marks, *seen.led)} <= {first}
