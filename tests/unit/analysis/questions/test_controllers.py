"""Controllers, and brokers that were gone."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from pyspark.sql import DataFrame

from barnabas.analysis.derived.catalog import DERIVED
from barnabas.analysis.questions.controllers import controller_epochs, departures
from barnabas.analysis.runtime.engine import settled
from barnabas.cluster.model.epochs import ControllerEpoch
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import LeaderAndIsr, PartitionState
from barnabas.cluster.model.statechange import ControllerLines
from tests.unit.analysis.conftest import Read, derived
from tests.unit.analysis.derived.test_unavailability import KRAFT

pytestmark = pytest.mark.usefixtures("here")


def test_who_was_controller_when(story: Mapping[str, DataFrame]) -> None:
    rows = controller_epochs(story["controllers"]).collect()
    assert [(row["controller_epoch"], row["controller"]) for row in rows] == [(7, 1), (8, 2)]


def test_a_broker_is_gone_once_and_comes_back(story: Mapping[str, DataFrame]) -> None:
    (row,) = departures(story["events"], story["unavailability"], story["lives"]).collect()
    assert (row["broker"], row["partitions"], row["controller_epoch"]) == (1, 3, 8)
    assert (row["last_logged"].second, row["since"].second, row["back"].minute) == (2, 8, 14)


def test_a_broker_s_own_line_after_its_return_is_no_departure(read: Read) -> None:
    tables = derived(read(KRAFT))
    assert departures(tables["events"], tables["unavailability"], tables["lives"]).collect() == []


def test_a_broker_that_shuts_down_is_sent_requests_until_it_is_gone(read: Callable[..., DataFrame]) -> None:
    controller = ControllerLines(BrokerId(1), ControllerEpoch(1))
    led = LeaderAndIsr.initial(BrokerId(2), (BrokerId(2), BrokerId(3)))
    removed = controller.removed_from_isr(
        TopicPartition("t", 0), PartitionState(led, ControllerEpoch(1)), BrokerId(3)
    )
    lines = (
        ("10:00:00,000", removed),
        ("10:00:00,030", controller.sending_leader_and_isr_batch(BrokerId(3), 0, 1)),
        ("10:00:00,100", removed),
        ("10:00:09,000", controller.sending_leader_and_isr_batch(BrokerId(3), 0, 1)),
    )
    events = read("".join(line.entry(f"2026-11-21 {time}") for time, line in lines))
    tables = {"events": events}
    for table in DERIVED:
        tables[table.name] = settled(table.of(tables))
    (row,) = departures(events, tables["unavailability"], tables["lives"]).collect()
    assert (row["broker"], row["since"].second, row["back"].second) == (3, 0, 9)
