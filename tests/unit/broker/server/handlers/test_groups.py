"""The APIs of groups, each version: what their handlers ask the coordinator, and how they answer."""

from __future__ import annotations

import datetime as dt
import inspect
from collections import defaultdict

import pytest

from barnabas.broker.coordinator.offsets import FetchedOffset
from barnabas.broker.core.group.records import OffsetAndMetadata
from barnabas.broker.core.group.requests import LeavingMember, MemberCall
from barnabas.broker.core.group.results import (
    GroupOverview,
    GroupSummary,
    JoinedMember,
    JoinGroupResult,
    LeftMember,
    MemberSummary,
    SyncGroupResult,
)
from barnabas.broker.core.group.states import GroupState
from barnabas.broker.server.handlers.join_group import MAX_NAME_BYTES, MAX_PROTOCOLS
from barnabas.broker.server.network.registry import HANDLERS
from barnabas.broker.wire.apis import APIS, ApiKey
from barnabas.broker.wire.frames import encode
from barnabas.broker.wire.schemas import REQUEST, load_payload_module, load_schema
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.runtime import turn

NONE = ErrorCode.NONE
T0, T1, U = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


def ms(value):
    return dt.timedelta(milliseconds=value)


def versions(*keys):
    return [
        (key, version) for key in keys for version in range(APIS[key].min_version, APIS[key].max_version + 1)
    ]


def entity(key, version, kind, /, **values):
    """An entity of the request's module from values for the fields of all versions."""
    schema = getattr(load_payload_module(key, version, REQUEST), kind)
    known = inspect.signature(schema).parameters
    return schema(**{field: value for field, value in values.items() if field in known})


def body_of(key, version, **values):
    known = inspect.signature(schema := load_schema(key, version, REQUEST)).parameters
    return schema(**{field: value for field, value in values.items() if field in known})


@pytest.fixture
def ask(broker, request_of):
    async def ask(key, version, client_id="c", **values):
        request = request_of(int(key), version, body_of(key, version, **values), client_id=client_id)
        answer = await HANDLERS[key](broker.context, request)
        assert encode(1, answer)
        return answer

    return ask


JOIN = {
    "group_id": "g",
    "session_timeout": ms(10_000),
    "rebalance_timeout": ms(60_000),
    "member_id": "m",
    "group_instance_id": None,
    "protocol_type": "consumer",
}


def protocols(version, count=1):
    return tuple(
        entity(ApiKey.JOIN_GROUP, version, "JoinGroupRequestProtocol", name=f"p{n}", metadata=b"x")
        for n in range(count)
    )


@pytest.mark.parametrize(("key", "version"), versions(ApiKey.JOIN_GROUP))
async def test_join(broker, ask, key, version):
    broker.groups.answer = JoinGroupResult(
        "m", NONE, 3, "consumer", "range", "m", (JoinedMember("m", None, b"md"),)
    )
    answer = await ask(key, version, **JOIN, protocols=protocols(version))
    assert (answer.error_code, answer.generation_id, answer.protocol_name) == (NONE, 3, "range")
    assert (answer.leader, answer.member_id, answer.members[0].metadata) == ("m", "m", b"md")
    (asked,) = broker.groups.asked
    assert (asked.group_id, asked.member_id, asked.client_id, asked.client_host) == ("g", "m", "c", "/")
    assert asked.rebalance_timeout_ms == (60_000 if version else 10_000)
    assert asked.require_known_member_id == (version >= 4)
    assert asked.protocols == (("p0", b"x"),)


@pytest.mark.parametrize(("version", "name"), [(6, ""), (7, None)])
async def test_a_refused_join_names_no_protocol(broker, ask, version, name):
    broker.groups.answer = JoinGroupResult("", ErrorCode.GROUP_MAX_SIZE_REACHED)
    answer = await ask(ApiKey.JOIN_GROUP, version, **JOIN, protocols=protocols(version))
    assert (answer.error_code, answer.generation_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, -1)
    assert answer.protocol_name == name


async def test_a_static_member_needs_no_id_first(broker, ask):
    broker.groups.answer = JoinGroupResult("i-1")
    await ask(ApiKey.JOIN_GROUP, 7, **JOIN | {"group_instance_id": "i"}, protocols=protocols(7))
    (asked,) = broker.groups.asked
    assert (asked.instance_id, asked.require_known_member_id) == ("i", False)


async def test_very_many_protocols_are_refused(broker, ask):
    answer = await ask(ApiKey.JOIN_GROUP, 7, **JOIN, protocols=protocols(7, MAX_PROTOCOLS + 1))
    assert (answer.error_code, broker.groups.asked) == (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, [])


async def test_a_name_that_makes_no_member_id_is_refused(broker, ask):
    answer = await ask(
        ApiKey.JOIN_GROUP, 7, client_id="c" * (MAX_NAME_BYTES + 1), **JOIN, protocols=protocols(7)
    )
    assert (answer.error_code, broker.groups.asked) == (ErrorCode.INVALID_REQUEST, [])


SYNC = {
    "group_id": "g",
    "generation_id": 3,
    "member_id": "m",
    "group_instance_id": "i",
    "protocol_type": "consumer",
    "protocol_name": "range",
}


@pytest.mark.parametrize(("key", "version"), versions(ApiKey.SYNC_GROUP))
async def test_sync(broker, ask, key, version):
    broker.groups.answer = SyncGroupResult(NONE, "consumer", "range", b"asg")
    each = entity(key, version, "SyncGroupRequestAssignment", member_id="m", assignment=b"asg")
    answer = await ask(key, version, **SYNC, assignments=(each,))
    assert (answer.error_code, answer.assignment) == (NONE, b"asg")
    (asked,) = broker.groups.asked
    assert (asked.generation, asked.instance_id) == (3, "i" if version >= 3 else None)
    assert (asked.protocol, asked.assignments) == ("range" if version >= 5 else None, {"m": b"asg"})


async def test_a_sync_since_version_5_names_the_protocol(broker, ask):
    answer = await ask(ApiKey.SYNC_GROUP, 5, **SYNC | {"protocol_name": None}, assignments=())
    assert (answer.error_code, broker.groups.asked) == (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, [])


@pytest.mark.parametrize(("key", "version"), versions(ApiKey.HEARTBEAT))
async def test_heartbeat(broker, ask, key, version):
    broker.groups.answer = ErrorCode.REBALANCE_IN_PROGRESS
    answer = await ask(key, version, **SYNC)
    assert answer.error_code is ErrorCode.REBALANCE_IN_PROGRESS
    assert broker.groups.asked == [MemberCall("g", 3, "m", "i" if version >= 3 else None)]


@pytest.mark.parametrize(("key", "version"), versions(ApiKey.LEAVE_GROUP))
async def test_leave(broker, ask, key, version):
    member = LeavingMember("m", "i" if version >= 3 else None)
    broker.groups.answer = [LeftMember(member, ErrorCode.UNKNOWN_MEMBER_ID)]
    several = ()
    if version >= 3:
        several = (entity(key, version, "MemberIdentity", member_id="m", group_instance_id="i"),)
    answer = await ask(key, version, group_id="g", member_id="m", members=several)
    assert broker.groups.asked == [("g", [member])]
    if version < 3:
        assert answer.error_code is ErrorCode.UNKNOWN_MEMBER_ID
    else:
        (left,) = answer.members
        assert (answer.error_code, left.error_code) == (NONE, ErrorCode.UNKNOWN_MEMBER_ID)
        assert (left.member_id, left.group_instance_id) == ("m", "i")


@pytest.mark.parametrize("version", [2, 4])
async def test_leave_at_another_broker(broker, ask, version):
    broker.groups.answer = ErrorCode.NOT_COORDINATOR
    answer = await ask(ApiKey.LEAVE_GROUP, version, group_id="g", member_id="m", members=())
    assert answer.error_code is ErrorCode.NOT_COORDINATOR


@pytest.mark.parametrize(("key", "version"), versions(ApiKey.OFFSET_COMMIT)[1:])
async def test_offset_commit(broker, ask, key, version):
    broker.topic("t", 1, 1)
    broker.groups.offsets.answer = {T0: NONE, T1: ErrorCode.OFFSET_METADATA_TOO_LARGE}
    partitions = [
        entity(
            key,
            version,
            "OffsetCommitRequestPartition",
            partition_index=number,
            committed_offset=10 + number,
            committed_leader_epoch=4,
            committed_metadata=metadata,
            commit_timestamp=-1 if number else 77,
        )
        for number, metadata in enumerate(("note", None, "no such partition"))
    ]
    topic = entity(key, version, "OffsetCommitRequestTopic", name="t", partitions=tuple(partitions))
    answer = await ask(
        key,
        version,
        group_id="g",
        generation_id_or_member_epoch=3,
        member_id="m",
        group_instance_id="i",
        retention_time=ms(5000),
        topics=(topic,),
    )
    assert [each.error_code for each in answer.topics[0].partitions] == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if number == 2
        else broker.groups.offsets.answer[TopicPartition("t", number)]
        for number in (each.partition_index for each in answer.topics[0].partitions)
    ]
    ((call, commits),) = broker.groups.offsets.asked
    assert call == MemberCall("g", 3, "m", "i" if version >= 7 else None)
    assert [(each.offset, each.metadata) for each in commits.values()] == [(10, "note"), (11, "")]
    first, second = commits.values()
    assert first.leader_epoch == (4 if version >= 6 else -1)
    assert (first.commit_ms == 77) == (version == 1)
    has_retention = 2 <= version <= 4
    assert second.expire_ms == (second.commit_ms + 5000 if has_retention else None)


async def test_a_commit_of_unknown_partitions_asks_nobody(broker, ask):
    partition = entity(
        8, 8, "OffsetCommitRequestPartition", partition_index=0, committed_offset=1, committed_metadata=""
    )
    topic = entity(8, 8, "OffsetCommitRequestTopic", name="x", partitions=(partition,))
    answer = await ask(ApiKey.OFFSET_COMMIT, 8, group_id="g", member_id="", topics=(topic,))
    assert answer.topics[0].partitions[0].error_code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert broker.groups.offsets.asked == []


async def test_a_commit_without_retention_does_not_expire_by_itself(broker, ask):
    broker.topic("t", 1)
    broker.groups.offsets.answer = {T0: NONE}
    partition = entity(
        8, 2, "OffsetCommitRequestPartition", partition_index=0, committed_offset=1, committed_metadata=""
    )
    topic = entity(8, 2, "OffsetCommitRequestTopic", name="t", partitions=(partition,))
    await ask(ApiKey.OFFSET_COMMIT, 2, group_id="g", member_id="", topics=(topic,))
    ((call, commits),) = broker.groups.offsets.asked
    assert (call.generation, commits[T0].expire_ms) == (-1, None)


def fetch_topics(version):
    return (entity(9, version, "OffsetFetchRequestTopic", name="t", partition_indexes=(0, 1)),)


@pytest.mark.parametrize(("key", "version"), versions(ApiKey.OFFSET_FETCH)[1:])
async def test_offset_fetch(broker, ask, key, version):
    broker.groups.offsets.answer = {
        T0: FetchedOffset(NONE, OffsetAndMetadata(5, 2, "note", 1)),
        T1: FetchedOffset(ErrorCode.UNSTABLE_OFFSET_COMMIT, None),
    }
    answer = await ask(key, version, group_id="g", topics=fetch_topics(version), require_stable=True)
    first, second = answer.topics[0].partitions
    assert (first.committed_offset, first.metadata, first.error_code) == (5, "note", NONE)
    assert (second.committed_offset, second.metadata) == (-1, "")
    assert second.error_code is ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert broker.groups.offsets.asked == [("g", [T0, T1], version >= 7)]
    if version >= 5:
        assert (first.committed_leader_epoch, second.committed_leader_epoch) == (2, -1)


@pytest.mark.parametrize("version", [1, 2])
async def test_the_error_of_a_fetch_is_that_of_the_request_since_version_2(broker, ask, version):
    broker.groups.offsets.answer = ErrorCode.NOT_COORDINATOR
    answer = await ask(ApiKey.OFFSET_FETCH, version, group_id="g", topics=fetch_topics(version))
    if version < 2:
        errors = [each.error_code for each in answer.topics[0].partitions]
        assert errors == [ErrorCode.NOT_COORDINATOR] * 2
    else:
        assert (answer.error_code, answer.topics) == (ErrorCode.NOT_COORDINATOR, ())


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize(("key", "version"), versions(ApiKey.DESCRIBE_GROUPS))
async def test_describe(broker, ask, key, version, asked):
    member = MemberSummary("m", "i", "c", "/127.0.0.1", b"md", b"asg")
    broker.groups.described = {
        "g": GroupSummary(GroupState.STABLE, "consumer", "range", (member,)),
        "h": ErrorCode.NOT_COORDINATOR,
    }
    answer = await ask(key, version, groups=("g", "h", "g"), include_authorized_operations=asked)
    first, second = answer.groups
    assert (first.group_id, first.group_state, first.protocol_data) == ("g", "Stable", "range")
    assert (first.members[0].client_host, first.members[0].member_assignment) == ("/127.0.0.1", b"asg")
    assert (second.error_code, second.group_state) == (ErrorCode.NOT_COORDINATOR, "")
    if version >= 3:
        assert first.authorized_operations == (328 if asked else -(2**31))
        assert second.authorized_operations == -(2**31)


@pytest.mark.parametrize(("key", "version"), versions(ApiKey.LIST_GROUPS))
async def test_list(broker, ask, key, version):
    broker.groups.answer = (
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        [GroupOverview("g", "consumer", GroupState.EMPTY)],
    )
    answer = await ask(key, version, states_filter=("Empty",))
    assert answer.error_code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert [(each.group_id, each.protocol_type) for each in answer.groups] == [("g", "consumer")]
    assert broker.groups.asked == [frozenset({"Empty"} if version >= 4 else ())]
    if version >= 4:
        assert answer.groups[0].group_state == "Empty"


@pytest.mark.parametrize(("key", "version"), versions(ApiKey.DELETE_GROUPS))
async def test_delete(broker, ask, key, version):
    broker.groups.answer = ErrorCode.NON_EMPTY_GROUP
    answer = await ask(key, version, groups_names=("g", "h", "g"))
    told = [(each.group_id, each.error_code) for each in answer.results]
    assert told == [("g", ErrorCode.NON_EMPTY_GROUP), ("h", ErrorCode.NON_EMPTY_GROUP)]


def deletions(*names):
    each = entity(47, 0, "OffsetDeleteRequestPartition", partition_index=0)
    return tuple(entity(47, 0, "OffsetDeleteRequestTopic", name=name, partitions=(each,)) for name in names)


async def test_offset_delete(broker, ask):
    broker.topic("t", 1)
    broker.groups.offsets.answer = {T0: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC}
    answer = await ask(ApiKey.OFFSET_DELETE, 0, group_id="g", topics=deletions("t", "u"))
    told = {topic.name: topic.partitions[0].error_code for topic in answer.topics}
    assert told == {
        "t": ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        "u": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert broker.groups.offsets.asked == [("g", [T0])]


async def test_offset_delete_of_a_group_that_is_not_there(broker, ask):
    broker.topic("t", 1)
    broker.groups.offsets.answer = ErrorCode.GROUP_ID_NOT_FOUND
    answer = await ask(ApiKey.OFFSET_DELETE, 0, group_id="g", topics=deletions("t"))
    assert (answer.error_code, answer.topics) == (ErrorCode.GROUP_ID_NOT_FOUND, ())


async def test_the_answer_to_the_leader_of_a_large_group_is_not_built_in_one_turn(
    broker, ask, turns, monkeypatch
):
    monkeypatch.setattr(turn, "TURN_S", 0.0)
    members = turns.elements(JoinedMember(f"m{number}", None, b"") for number in range(100))
    broker.groups.answer = JoinGroupResult("m0", NONE, 1, "consumer", "range", "m0", members)
    answer = await ask(ApiKey.JOIN_GROUP, 7, **JOIN, protocols=protocols(7))
    assert len(answer.members) == 100
    assert turns.most_in_a_turn() < 10


@pytest.mark.parametrize(
    "asked",
    [
        (ApiKey.DESCRIBE_GROUPS, "groups", GroupSummary(GroupState.DEAD)),
        (ApiKey.DELETE_GROUPS, "groups_names", NONE),
        (ApiKey.LIST_GROUPS, "states_filter", (NONE, [])),
    ],
)
async def test_many_names_are_not_hashed_in_one_turn(broker, ask, turns, monkeypatch, asked):
    """100,000 of them took 24 ms of CPU time."""
    key, field, found = asked
    monkeypatch.setattr(turn, "TURN_S", 0.0)
    broker.groups.answer = found
    broker.groups.described = defaultdict(lambda: found)
    values = {field: turns.names(100), "include_authorized_operations": False}
    await ask(key, APIS[key].max_version, **values)
    assert turns.most_in_a_turn() < 10
