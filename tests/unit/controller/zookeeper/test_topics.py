from __future__ import annotations

from types import SimpleNamespace

import pytest

from barnabas.cluster.model.epochs import ControllerEpoch, EpochVersion
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.model.partition import Assignment
from barnabas.cluster.zk.client.errors import BadVersion, NoNode
from barnabas.cluster.zk.schema.topics import TopicAssignment
from barnabas.cluster.zk.stores.fence import Fence
from barnabas.controller.core.protocol.effects import ControllerFence
from barnabas.controller.core.topics.effects import (
    DeleteTopic,
    MarkTopicDeletions,
    ReadTopicDeletions,
    RemoveTopicDeletions,
    WriteAssignment,
)
from barnabas.controller.zookeeper.topics import TOPICS

CONTROLLER_FENCE, FENCE = (
    ControllerFence(ControllerEpoch(3), EpochVersion(5)),
    Fence(ControllerEpoch(3), EpochVersion(5)),
)
BEFORE = {0: Assignment((BrokerId(1),))}
AFTER = {**BEFORE, 1: Assignment((BrokerId(2),))}


class Stores:
    """The stores of one topic; every call is noted."""

    def __init__(self):
        self.calls = []
        self.unwatched = []
        self.standing = {"t": TopicAssignment(BEFORE, "an id", 7)}
        self.refusal = None
        self.session = SimpleNamespace(unwatch=lambda *paths: self.unwatched.extend(paths))
        self.topics = SimpleNamespace(read=self._read, set_partitions=self._set)

    @property
    def deletions(self):
        def method(name):
            async def call(*arguments, **options):
                self.calls.append((name, arguments, options))
                return {"marked": {"t"}}.get(name)

            return call

        names = ("marked", "mark", "unmark", "delete_topic")
        return SimpleNamespace(**{name: method(name) for name in names})

    async def _read(self, names):
        return {name: self.standing[name] for name in names if name in self.standing}

    async def _set(self, name, assignment, fence):
        self.calls.append(("set", (name, assignment, fence), {}))
        if self.refusal is not None:
            raise self.refusal
        self.standing[name] = assignment


async def answer(stores, question):
    return await TOPICS[type(question)](stores, question)


async def test_marks_are_read_and_watched_written_and_removed():
    stores = Stores()
    assert await answer(stores, ReadTopicDeletions()) == {"t"}
    await answer(stores, MarkTopicDeletions(("t",), CONTROLLER_FENCE))
    await answer(stores, RemoveTopicDeletions(("t",), CONTROLLER_FENCE))
    assert stores.calls == [
        ("marked", (), {"watch": True}),
        ("mark", (("t",), FENCE), {}),
        ("unmark", (("t",), FENCE), {}),
    ]


async def test_a_deleted_topic_is_watched_no_more():
    stores = Stores()
    await answer(stores, DeleteTopic("t", CONTROLLER_FENCE))
    assert stores.calls == [("delete_topic", ("t", FENCE), {})]
    assert stores.unwatched == ["/brokers/topics/t"]


async def test_partitions_are_written_under_the_version_they_were_read_with_and_the_id_stays():
    stores = Stores()
    assert await answer(stores, WriteAssignment("t", BEFORE, AFTER, CONTROLLER_FENCE)) is True
    assert stores.calls == [("set", ("t", TopicAssignment(AFTER, "an id", 7), FENCE), {})]


@pytest.mark.parametrize("standing", [{}, {"t": TopicAssignment(AFTER, None, 8)}], ids=["gone", "other"])
async def test_partitions_that_stand_no_more_as_read_are_not_written(standing):
    stores = Stores()
    stores.standing = standing
    assert await answer(stores, WriteAssignment("t", BEFORE, AFTER, CONTROLLER_FENCE)) is False
    assert stores.calls == []


@pytest.mark.parametrize("refusal", [BadVersion("/t"), NoNode("/t")], ids=lambda error: type(error).__name__)
async def test_a_write_that_comes_too_late_says_so(refusal):
    stores = Stores()
    stores.refusal = refusal
    assert await answer(stores, WriteAssignment("t", BEFORE, AFTER, CONTROLLER_FENCE)) is False


async def test_a_write_whose_answer_was_lost_is_recognized():
    stores = Stores()

    async def written_and_then_sent_again(name, assignment, _fence):
        stores.standing[name] = assignment
        raise BadVersion("/t")

    stores.topics.set_partitions = written_and_then_sent_again
    assert await answer(stores, WriteAssignment("t", BEFORE, AFTER, CONTROLLER_FENCE)) is True
