"""Failed, unclean and unbalanced elections."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame

from barnabas.analysis.derived.leaders import leaders
from barnabas.analysis.derived.lives import lives
from barnabas.analysis.derived.schemas import DERIVED_ARROW
from barnabas.analysis.derived.states import states
from barnabas.analysis.questions.elections import failed_elections, preferred_imbalance, unclean_elections
from barnabas.analysis.runtime.engine import framed, settled
from barnabas.cluster.model.epochs import ControllerEpoch, PartitionVersion
from barnabas.cluster.model.ids import NO_LEADER, BrokerId, TopicPartition
from barnabas.cluster.model.partition import LeaderAndIsr, PartitionState
from barnabas.cluster.model.statechange import ControllerLines

pytestmark = pytest.mark.usefixtures("here")

ONE, TWO = BrokerId(1), BrokerId(2)


def led(*rows: dict[str, object]) -> DataFrame:
    """The table of leaders of a-0."""
    told = [{"topic": "a", "partition": 0, "life": 0} | row for row in rows]
    return framed(pa.Table.from_pylist(told, DERIVED_ARROW["leaders"]))


def test_a_failed_election_names_its_cause(story: Mapping[str, DataFrame]) -> None:
    (row,) = failed_elections(story["events"]).collect()
    assert (row["partition"], row["from"], row["to"]) == (3, "OfflinePartition", "OnlinePartition")
    assert row["cause"].startswith("kafka.common.StateChangeFailedException: Failed to elect leader")


def test_a_leader_that_was_not_in_sync_is_unclean(
    story: Mapping[str, DataFrame], read: Callable[..., DataFrame]
) -> None:
    assert unclean_elections(story["leaders"]).count() == 0
    tp, controller = TopicPartition("dirty", 0), ControllerLines(ONE, ControllerEpoch(1))
    first = LeaderAndIsr.initial(ONE, (ONE,))
    gone = first.new_leader(NO_LEADER, (ONE,)).written_as(PartitionVersion(1))
    dirty = gone.new_leader(TWO, (TWO,)).written_as(PartitionVersion(2))
    born = controller.partition_online(tp, "NewPartition", first).entry("2026-11-21 10:00:00,000")
    lost = controller.removed_from_isr(tp, PartitionState(gone, ControllerEpoch(1)), ONE)
    seen = lost.entry("2026-11-21 10:00:01,000")
    elected = controller.partition_online(tp, "OfflinePartition", dirty).entry("2026-11-21 10:00:02,000")
    events = read(born + seen + elected)
    made = settled(lives(events))
    (row,) = unclean_elections(leaders(settled(states(events, made)), made)).collect()
    assert (row["leader"], row["previous_isr"], row["isr"]) == (2, [1], [2])
    # Without the line of zkVersion 1, the ISR may have been another by then.
    events = read(born + elected)
    made = settled(lives(events))
    assert unclean_elections(leaders(settled(states(events, made)), made)).count() == 0


def test_imbalance_is_shown_for_each_minute_in_which_it_changes(story: Mapping[str, DataFrame]) -> None:
    rows = preferred_imbalance(story["leaders"]).where("broker = 1").collect()
    assert [(row["minute"].minute, row["preferred"], row["elsewhere"], row["percent"]) for row in rows] == [
        (0, 2, 0, 0.0),
        (12, 2, 2, 100.0),
        (14, 2, 1, 50.0),
    ]


@pytest.mark.parametrize(
    ("since", "shown"),
    [
        # At 10:02 broker 1 is nobody's preferred leader any more, so there is nothing to share.
        ((1, 2, 3), [(1, 1, 1, 0, 0.0), (2, 1, 0, 0, None), (2, 2, 1, 1, 100.0), (3, 2, 1, 0, 0.0)]),
        ((3, 2, 1), [(3, 2, 1, 0, 0.0)]),
    ],
    ids=["in order", "clocks are behind"],
)
def test_a_reassigned_partition_counts_for_its_new_preferred_leader(
    since: tuple[int, int, int], shown: list[tuple[object, ...]]
) -> None:
    times = [datetime(2026, 11, 21, 10, minute) for minute in since]  # noqa: DTZ001  (as in the tables)
    told = [
        {"leader_epoch": 0, "since": times[0], "leader": 1, "replicas": [1, 2]},
        {"leader_epoch": 1, "since": times[1], "leader": 1, "replicas": [2, 3]},
        {"leader_epoch": 2, "since": times[2], "leader": 2, "replicas": [2, 3]},
    ]
    rows = preferred_imbalance(led(*told)).collect()
    assert [
        (row["minute"].minute, row["broker"], row["preferred"], row["elsewhere"], row["percent"])
        for row in rows
    ] == shown


@pytest.mark.parametrize(
    ("election", "controller_epoch", "version", "is_unclean"),
    [
        (None, 5, 4, True),
        (None, 5, 6, False),
        # Brokers alone do not know whether the leader came from the ELR (KIP-966).
        (None, None, 4, False),
        ("eligible", 5, 4, False),
        ("unclean", 5, 6, True),
        ("unclean", None, 6, True),
    ],
)
def test_what_the_controller_says_of_an_election_counts(
    election: str | None, controller_epoch: int | None, version: int, is_unclean: bool
) -> None:
    row = {
        "leader": 2, "leader_epoch": 4, "previous_leader": 1, "previous_isr": [1], "isr": [2], "raw": "",
        "version": version, "previous_version": 3, "controller_epoch": controller_epoch, "election": election,
    }  # fmt: skip
    found = unclean_elections(led(row)).collect()
    assert [each["leader"] for each in found] == [2] * is_unclean
