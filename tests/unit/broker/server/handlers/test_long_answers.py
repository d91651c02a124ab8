"""Answers that may be long however short the request is: few are built at a time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from barnabas.broker.coordinator.offsets import FetchedOffset
from barnabas.broker.core.group.results import GroupSummary
from barnabas.broker.core.group.states import GroupState
from barnabas.broker.core.records.producer_state import ProducerEntry
from barnabas.broker.server.handlers import (
    describe_groups,
    describe_producers,
    list_groups,
    metadata,
    offset_fetch,
)
from barnabas.broker.server.network.registry import HANDLERS
from barnabas.broker.wire.apis import ApiKey
from barnabas.broker.wire.frames import Progress
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from tests.unit.broker.server.gates.rows import request_of


def topics(broker, count):
    broker.topic("orders", *[1] * (count - 1))
    return {"topics": None}


def offsets(broker, count):
    found = FetchedOffset(ErrorCode.NONE, None)
    broker.groups.offsets.answer = {TopicPartition("t", number): found for number in range(count)}
    return {"group_id": "g", "topics": None}


def described_groups(broker, count):
    names = [f"g{number}" for number in range(count)]
    broker.groups.described = dict.fromkeys(names, GroupSummary(GroupState.DEAD))
    return {"groups": names}


def listed_groups(broker, count):
    broker.groups.count, broker.groups.answer = count, (ErrorCode.NONE, [])
    return {}


def producers(broker, count):
    broker.topic("orders", 1)
    broker.reads.known_producers = {TopicPartition("orders", 0): (ProducerEntry(8, 0),) * (count - 1)}
    return {"topics": [{"name": "orders", "partition_indexes": [0]}]}


@pytest.mark.parametrize(
    ("key", "version", "prepare", "at_once"),
    [
        (ApiKey.METADATA, 9, topics, metadata.SHORT_ANSWER),
        (ApiKey.OFFSET_FETCH, 7, offsets, offset_fetch.SHORT_ANSWER),
        (ApiKey.DESCRIBE_GROUPS, 5, described_groups, describe_groups.FEW_GROUPS),
        (ApiKey.LIST_GROUPS, 4, listed_groups, list_groups.FEW_GROUPS),
        (ApiKey.DESCRIBE_PRODUCERS, 0, producers, describe_producers.SHORT_ANSWER),
    ],
)
async def test_a_long_answer_waits_until_few_others_are_built(broker, key, version, prepare, at_once):
    begun = []

    class Noted(Progress):
        async def begin_long_answer(self):
            begun.append(key)

    for count in (at_once, at_once + 1):
        assert begun == []
        request = request_of(key, version, prepare(broker, count))
        await HANDLERS[key](broker.context, replace(request, progress=Noted()))
    assert begun == [key]
