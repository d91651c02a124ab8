"""Which logs are put aside when the controller has named all that this broker hosts."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
from structlog.testing import capture_logs

from barnabas.broker.replicas import strays as strays_module
from barnabas.broker.replicas.strays import Strays
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.partition import Assignment
from barnabas.cluster.zk.client.errors import NoNode, ZooKeeperTimeout

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
        self.has_parent = True
        self.meanwhile = lambda: None

    async def topic_names(self):
        if not self.has_parent:
            raise NoNode("/brokers/topics")
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


@pytest.fixture
def pauses(monkeypatch):
    """Runs the next of the functions that are put there at each pause between two questions."""
    to_do = []

    async def pause(_seconds):
        to_do.pop(0)()

    monkeypatch.setattr(strays_module, "asyncio", SimpleNamespace(sleep=pause, Lock=asyncio.Lock))
    return to_do


async def test_zookeeper_is_asked_again_while_it_knows_no_topic(room, strays, topics, pauses):
    known = dict(topics.assignments)
    topics.assignments.clear()
    kept = []
    pauses += [
        lambda: kept.append(len(room.logs.logs)),
        lambda: (kept.append(len(room.logs.logs)), topics.assignments.update(known)),
    ]
    with capture_logs() as said:
        await look(strays)
    assert kept == [5, 5]
    assert set(room.logs.logs) == {TOLD, KEPT, UNREADABLE}
    assert [line["event"] for line in said if "kept" in line["event"]] == [
        "4 logs that may be strays are kept for now: ZooKeeper knows no topic"
    ]


@pytest.mark.parametrize("has_parent", [False, True])
async def test_nothing_is_led_that_zookeeper_does_not_know_as_it_knows_nothing(
    room, strays, topics, pauses, *, has_parent
):
    """What such a leader acknowledged would be lost when a topic of its name is created."""
    hosted = room.lead(topic_partition=MOVED)
    known = dict(topics.assignments)
    topics.assignments.clear()
    topics.has_parent = has_parent
    kept = []

    def look_and_return():
        kept.append((room.hosted.get(MOVED), room.logs.get(MOVED)))
        topics.assignments.update(known)
        topics.has_parent = True

    pauses.append(look_and_return)
    await look(strays)
    assert kept == [(None, hosted.log)]
    assert room.logs.get(MOVED) is None


async def test_zookeeper_is_asked_again_where_it_does_not_answer(room, strays, topics, pauses):
    topics.meanwhile = Mock(side_effect=ZooKeeperTimeout("away"))
    pauses.append(lambda: setattr(topics, "meanwhile", lambda: None))
    with capture_logs() as said:
        await look(strays)
    assert set(room.logs.logs) == {TOLD, KEPT, UNREADABLE}
    assert said[1]["event"].endswith("ZooKeeper does not say: away")


async def test_what_the_controller_speaks_of_before_zookeeper_answers_stays(room, strays, topics, pauses):
    known = dict(topics.assignments)
    topics.assignments.clear()
    pauses.append(lambda: (room.follow(topic_partition=MOVED), topics.assignments.update(known)))
    await look(strays)
    assert MOVED in room.logs.logs
    assert GONE not in room.logs.logs


async def test_zookeeper_is_not_read_if_the_list_is_complete(strays, topics, room):
    await strays.put_aside(strays.suspects(set(room.logs.logs)))
    assert topics.asked == []
