"""Which logs are put aside when the controller has named all that this broker hosts."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from barnabas.broker.replicas.strays import Strays
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.partition import Assignment
from barnabas.cluster.zk.errors import ZooKeeperTimeout

TOLD, GONE, MOVED = TopicPartition("told", 0), TopicPartition("gone", 0), TopicPartition("moved", 0)
KEPT, UNREADABLE = TopicPartition("kept", 1), TopicPartition("unreadable", 0)


class Topics:
    """What ZooKeeper says."""

    def __init__(self):
        self.assignments = {
            "told": {0: Assignment((1, 2))},
            "moved": {0: Assignment((2, 3))},
            "kept": {1: Assignment((3, 1))},
            "unreadable": None,
        }
        self.asked = []
        self.meanwhile = lambda: None

    async def topic_names(self):
        return set(self.assignments)

    async def assignments_of(self, topic):
        self.asked.append(topic)
        self.meanwhile()
        return self.assignments[topic]


@pytest.fixture
def topics():
    return Topics()


@pytest.fixture
def stopped():
    return []


@pytest.fixture
def strays(room, topics, stopped):
    for tp in (TOLD, GONE, MOVED, KEPT, UNREADABLE):
        room.logs.get_or_create(tp)
    return Strays(room.hosted, lambda: room.logs.logs, lambda: topics, asyncio.Lock(), stopped.extend)


async def look(strays):
    await strays.put_aside(strays.suspects({TOLD}))


async def test_what_nobody_assigned_here_is_put_aside(room, strays, topics, tmp_path):
    with capture_logs() as said:
        await look(strays)
    assert set(room.logs.logs) == {TOLD, KEPT, UNREADABLE}
    assert {path.name.split(".")[0] for path in tmp_path.glob("*-stray")} == {"gone-0", "moved-0"}
    reasons = [line["event"].split("because ")[1].split(";")[0] for line in said]
    assert reasons == ["topic gone is not there", "it is not assigned to this broker"]
    assert {line["log_level"] for line in said} == {"warning"}
    assert "told" not in topics.asked


async def test_a_replica_of_a_former_controller_is_put_aside_too(room, strays, stopped):
    room.follow(topic_partition=MOVED)
    await look(strays)
    assert (room.hosted.get(MOVED), room.logs.get(MOVED)) == (None, None)
    assert MOVED in stopped


@pytest.mark.parametrize("was_hosted", [False, True])
async def test_what_the_controller_speaks_of_meanwhile_stays(room, strays, topics, *, was_hosted):
    if was_hosted:
        room.follow(topic_partition=MOVED)
    topics.meanwhile = lambda: room.follow(epoch=1, topic_partition=MOVED)
    await look(strays)
    assert room.logs.get(MOVED) is room.hosted.get(MOVED).log


async def test_nothing_is_put_aside_where_zookeeper_knows_no_topic(room, strays, topics):
    topics.assignments.clear()
    with capture_logs() as said:
        await look(strays)
    assert len(room.logs.logs) == 5
    assert [line["log_level"] for line in said] == ["error"]


async def test_nothing_is_put_aside_where_zookeeper_does_not_answer(room, strays, topics):
    def away():
        raise ZooKeeperTimeout("away")

    topics.meanwhile = away
    with capture_logs() as said:
        await look(strays)
    assert MOVED in room.logs.logs
    assert said[-1]["event"].startswith("Logs that may be strays are kept")


async def test_zookeeper_is_not_asked_where_all_is_told(strays, topics, room):
    await strays.put_aside(strays.suspects(set(room.logs.logs)))
    assert topics.asked == []
