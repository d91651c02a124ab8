"""A group goes to its record and back, and dies with its coordinator."""

from __future__ import annotations

from dataclasses import replace

import pytest

from barnabas.broker.core.group.loading import load_group
from barnabas.broker.core.group.states import GroupState
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.steps import at_once
from tests.unit.broker.core.group.parts import BOTH, CONFIG, SESSION, Coordinator, G, fx


def record_of_two():
    """The record of a stable group: ``a-uuid1`` and the static ``i-uuid2``, which leads."""
    coordinator = Coordinator()
    coordinator.join(client="a", protocols=BOTH, session=20_000)
    coordinator.join(instance="i", protocols=BOTH)
    coordinator.advance(6000)
    coordinator.sync("a-uuid1", {"a-uuid1": b"0", "i-uuid2": b"1"})
    return replace(coordinator.writes[0].record, leader="i-uuid2")


def load(stored, config=CONFIG):
    coordinator = Coordinator(config)
    coordinator.perform(load_group(config, coordinator.groups, G, stored, coordinator.now_ms))
    return coordinator


def test_a_group_with_members_is_stable_again():
    stored = record_of_two()
    coordinator = load(stored)
    group = coordinator.group
    assert (group.state, group.generation, group.leader) == (GroupState.STABLE, 1, "i-uuid2")
    assert (group.protocol_type, group.protocol) == ("consumer", "range")
    assert group.state_timestamp_ms == stored.state_timestamp_ms
    assert group.static_members == {"i": "i-uuid2"}
    assert group.stored({each.member_id: each.assignment for each in stored.members}) == stored
    assert coordinator.timers == {
        fx.TimerKey(SESSION, G, "a-uuid1"): coordinator.now_ms + 20_000,
        fx.TimerKey(SESSION, G, "i-uuid2"): coordinator.now_ms + 10_000,
    }
    assert coordinator.heartbeat("a-uuid1") is ErrorCode.NONE
    assert coordinator.answers[coordinator.sync("a-uuid1")].assignment == b"0"
    assert coordinator.lines() == [
        (
            "Loaded member MemberMetadata(memberId=a-uuid1, groupInstanceId=None, clientId=a, "
            "clientHost=/127.0.0.1, sessionTimeoutMs=20000, rebalanceTimeoutMs=60000, "
            "supportedProtocols=List(range), ) in group g with generation 1."
        ),
        (
            "Loaded member MemberMetadata(memberId=i-uuid2, groupInstanceId=Some(i), clientId=c, "
            "clientHost=/127.0.0.1, sessionTimeoutMs=10000, rebalanceTimeoutMs=60000, "
            "supportedProtocols=List(range), ) in group g with generation 1."
        ),
        "Loading group metadata for g with generation 1",
    ]


def test_a_group_without_members_is_empty_again():
    coordinator = Coordinator()
    coordinator.leave(*coordinator.stable("a"))
    stored = coordinator.writes[0].record
    coordinator = load(stored)
    group = coordinator.group
    at_once(group.read_subscriptions())
    assert (group.state, group.generation, group.protocol_type) == (GroupState.EMPTY, 2, "consumer")
    assert (group.protocol, group.leader, group.subscribed_topics) == (None, None, frozenset())
    assert not coordinator.timers


def test_a_group_that_only_committed_is_empty_and_has_no_type():
    group = load(None).group
    assert (group.state, group.generation, group.protocol_type) == (GroupState.EMPTY, 0, None)
    assert load(replace(record_of_two(), protocol_type="", members=())).group.protocol_type is None


def test_a_group_that_is_too_large_rebalances():
    coordinator = load(record_of_two(), replace(CONFIG, max_size=1))
    assert coordinator.group.state is GroupState.PREPARING_REBALANCE
    assert coordinator.lines()[-1].endswith(
        "(reason: Freshly-loaded group is over capacity (1). Rebalacing in order to give a chance for "
        "consumers to commit offsets)"
    )
    assert len(coordinator.timers) == 3


@pytest.mark.parametrize("damage", [{"leader": "nobody"}, {"leader": None}, {"protocol": None}])
def test_a_record_that_kafka_never_writes_makes_a_group_that_works(damage):
    coordinator = load(replace(record_of_two(), **damage))
    for member in [*coordinator.group.members.values()] * 2:
        coordinator.join(member.member_id, instance=member.instance_id, protocols=member.protocols)
    assert coordinator.group.generation == 2
    assert coordinator.group.leader in coordinator.group.members


def test_a_member_that_a_record_has_twice_counts_once():
    stored = record_of_two()
    coordinator = load(replace(stored, members=(*stored.members, stored.members[0])))
    coordinator.leave("a-uuid1", "i-uuid2")
    assert coordinator.group.state is GroupState.EMPTY


def test_two_members_of_one_instance_id_can_both_go():
    stored = record_of_two()
    twin = replace(stored.members[1], member_id="i-uuid9")
    coordinator = load(replace(stored, members=(*stored.members, twin)))
    coordinator.leave(("i-uuid9", "i"), "i-uuid2", "a-uuid1")
    assert coordinator.group.state is GroupState.EMPTY


def test_unloading_answers_what_is_parked_and_stops_all_timers():
    coordinator = Coordinator()
    coordinator.stable("a", "b")
    coordinator.join(known=False)
    joined = coordinator.join("a-uuid1")
    for group in ("h", "k"):
        coordinator.join(group=group)
        coordinator.advance(3000)
    synced = coordinator.sync("c-uuid5", group="h", generation=1)
    groups = list(coordinator.groups.by_id.values())
    coordinator.unload()
    assert coordinator.answers[joined].error is ErrorCode.NOT_COORDINATOR
    assert coordinator.answers[joined].member_id == "a-uuid1"
    assert coordinator.answers[synced].error is ErrorCode.NOT_COORDINATOR
    assert not coordinator.unanswered()
    assert not coordinator.timers
    assert not coordinator.groups.by_id
    assert {group.state for group in groups} == {GroupState.DEAD}
    assert coordinator.lines()[-3:] == [
        "Unloading group metadata for g with generation 1",
        "Unloading group metadata for h with generation 1",
        "Unloading group metadata for k with generation 1",
    ]
