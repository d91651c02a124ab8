"""The join round: the initial delay, its completion, and the generation that follows."""

from __future__ import annotations

import pytest

from barnabas.broker.core.group.requests import GroupProtocol
from barnabas.broker.core.group.results import JoinedMember, JoinGroupResult, SyncGroupResult
from barnabas.broker.core.group.states import GroupState
from barnabas.cluster.model.errors import ErrorCode
from tests.unit.broker.core.group.parts import NO_DELAY, RANGE, Coordinator


def test_from_the_first_join_to_stable():
    coordinator = Coordinator()
    first, second = coordinator.join(client="a"), coordinator.join(client="b")
    assert coordinator.group.state is GroupState.PREPARING_REBALANCE
    assert not coordinator.answers
    coordinator.advance(6000)
    members = (JoinedMember("a-uuid1", None, b"r"), JoinedMember("b-uuid2", None, b"r"))
    assert coordinator.answers == {
        first: JoinGroupResult("a-uuid1", ErrorCode.NONE, 1, "consumer", "range", "a-uuid1", members),
        second: JoinGroupResult("b-uuid2", ErrorCode.NONE, 1, "consumer", "range", "a-uuid1"),
    }
    follower = coordinator.sync("b-uuid2")
    leader = coordinator.sync("a-uuid1", {"a-uuid1": b"0", "b-uuid2": b"1", "stranger": b"2"})
    assert coordinator.unanswered() == {follower, leader}
    record = coordinator.writes[0].record
    assert (record.generation, record.protocol, record.leader) == (1, "range", "a-uuid1")
    assert [(each.member_id, each.subscription, each.assignment) for each in record.members] == [
        ("a-uuid1", b"r", b"0"),
        ("b-uuid2", b"r", b"1"),
    ]
    coordinator.written()
    assert coordinator.answers[follower] == SyncGroupResult(ErrorCode.NONE, "consumer", "range", b"1")
    assert coordinator.answers[leader] == SyncGroupResult(ErrorCode.NONE, "consumer", "range", b"0")
    assert coordinator.group.state is GroupState.STABLE
    joins = "Dynamic Member with unknown member id joins group g in"
    added = "for this member and add to the group."
    assert coordinator.lines() == [
        f"{joins} Empty state. Created a new member id a-uuid1 {added}",
        (
            "Preparing to rebalance group g in state PreparingRebalance with old generation 0 "
            "(__consumer_offsets-12) (reason: Adding new member a-uuid1 with group instance id None)"
        ),
        f"{joins} PreparingRebalance state. Created a new member id b-uuid2 {added}",
        "Stabilized group g generation 1 (__consumer_offsets-12) with 2 members",
        (
            "Assignment received from leader for group g for generation 1. "
            "The group has 2 members, 0 of which are static."
        ),
    ]


@pytest.mark.parametrize(
    ("rebalance_ms", "joins_ms", "ends_ms"),
    [
        (60_000, [], 3000),
        (60_000, [1], 6000),
        (60_000, [1, 2999], 6000),
        (60_000, [1, 3001], 9000),
        (7000, [1, 3001, 6001], 7000),
        (3000, [1], 3000),
        (1000, [1], 3000),
    ],
)
def test_the_initial_delay_is_extended_up_to_the_rebalance_timeout(rebalance_ms, joins_ms, ends_ms):
    coordinator = Coordinator()
    start = coordinator.now_ms
    coordinator.join(rebalance=rebalance_ms)
    for at in joins_ms:
        coordinator.advance(start + at - coordinator.now_ms)
        coordinator.join(rebalance=rebalance_ms)
    coordinator.advance(start + ends_ms - 1 - coordinator.now_ms)
    assert coordinator.group.state is GroupState.PREPARING_REBALANCE
    coordinator.advance(1)
    assert coordinator.group.state is GroupState.COMPLETING_REBALANCE


def test_a_group_whose_last_member_left_during_the_delay_is_empty_after_it():
    coordinator = Coordinator()
    token = coordinator.join()
    assert coordinator.leave("c-uuid1") == [ErrorCode.NONE]
    assert coordinator.answers[token].error is ErrorCode.UNKNOWN_MEMBER_ID
    coordinator.advance(3000)
    coordinator.written()
    assert (coordinator.group.state, coordinator.group.generation) == (GroupState.EMPTY, 1)


def test_the_last_member_leaves():
    coordinator = Coordinator()
    (member,) = coordinator.stable("a")
    coordinator.leave(member)
    record = coordinator.writes[0].record
    assert (record.protocol_type, record.generation, record.protocol, record.leader) == (
        "consumer",
        2,
        None,
        None,
    )
    assert record.members == ()
    assert coordinator.lines()[-1] == "Group g with generation 2 is now empty (__consumer_offsets-12)"
    coordinator.written(ErrorCode.NOT_ENOUGH_REPLICAS)
    assert coordinator.lines("warn") == [
        "Failed to write empty metadata for group g: there is no coordinator now",
    ]
    assert not coordinator.timers


def test_the_round_ends_as_soon_as_everyone_has_joined():
    coordinator = Coordinator()
    first, second = coordinator.stable("a", "b")
    third = coordinator.join(client="c")
    coordinator.join(first)
    assert third not in coordinator.answers
    coordinator.join(second)
    assert coordinator.answers[third].generation == 2
    assert [line for line in coordinator.lines() if "Preparing" in line][-1] == (
        "Preparing to rebalance group g in state PreparingRebalance with old generation 1 "
        "(__consumer_offsets-12) (reason: Adding new member c-uuid3 with group instance id None)"
    )


def test_the_round_ends_at_the_largest_rebalance_timeout():
    coordinator = Coordinator()
    first = coordinator.join(client="a", rebalance=20_000)
    second = coordinator.join(client="b", rebalance=30_000, session=1_000_000)
    coordinator.advance(6000)
    coordinator.sync_all([coordinator.answers[first].member_id, coordinator.answers[second].member_id])
    third = coordinator.join(client="c", rebalance=40_000, session=1_000_000)
    coordinator.join("a-uuid1", rebalance=99_000)
    coordinator.advance(39_999)
    assert third not in coordinator.answers
    coordinator.advance(1)
    assert coordinator.answers[third].generation == 2
    assert list(coordinator.group.members) == ["a-uuid1", "c-uuid3"]
    assert "Group g removed dynamic members who haven't joined: Set(b-uuid2)" in coordinator.lines()


def test_a_static_leader_that_does_not_join_stays_and_is_replaced():
    coordinator = Coordinator()
    token = coordinator.join(instance="i", client="a", session=1_000_000)
    coordinator.join(client="b")
    coordinator.advance(6000)
    leader = coordinator.answers[token].member_id
    coordinator.sync_all([leader, "b-uuid2"])
    third = coordinator.join(client="c")
    coordinator.join("b-uuid2")
    coordinator.advance(60_000)
    assert coordinator.answers[third].leader == "b-uuid2"
    assert list(coordinator.group.members) == [leader, "b-uuid2", "c-uuid3"]
    assert (
        f"Group leader [member.id: {leader}, group.instance.id: Some(i)] failed to join before rebalance "
        "timeout, while new leader MemberMetadata(memberId=b-uuid2, groupInstanceId=None, clientId=b, "
        "clientHost=/127.0.0.1, sessionTimeoutMs=10000, rebalanceTimeoutMs=60000, "
        "supportedProtocols=List(range), ) was elected."
    ) in coordinator.lines()
    # It is expected to sync as the others are.
    assert coordinator.group.pending_sync == {leader, "b-uuid2", "c-uuid3"}


def test_a_round_that_nobody_joins_is_tried_again():
    coordinator = Coordinator(NO_DELAY)
    coordinator.stable("a", instance="i", session=100_000, rebalance=500)
    coordinator.join(client="b", rebalance=500)
    coordinator.leave("b-uuid2")
    coordinator.advance(500)
    assert coordinator.lines("error") == ["Group g could not complete rebalance because no members rejoined"]
    assert (
        "the group couldn't proceed to next generation because no member joined." in coordinator.lines()[-1]
    )
    coordinator.advance(999)
    assert len(coordinator.lines("error")) == 1
    coordinator.advance(1)
    assert len(coordinator.lines("error")) == 2
    token = coordinator.join("i-uuid1", instance="i")
    assert coordinator.answers[token].generation == 2


@pytest.mark.parametrize(
    ("preferences", "protocol"),
    [
        (["ab", "ba", "ba"], "b"),
        (["ab", "ba"], "a"),
        (["ba", "ab"], "b"),
        (["abc", "cb"], "b"),
        (["cab", "bca", "b"], "b"),
    ],
)
def test_the_protocol_that_most_members_prefer_is_chosen(preferences, protocol):
    coordinator = Coordinator()
    for names in preferences:
        token = coordinator.join(protocols=tuple(GroupProtocol(name, name.encode()) for name in names))
    coordinator.advance(60_000)
    assert coordinator.answers[token].protocol == protocol
    leader = coordinator.answers[1]
    assert [each.metadata for each in leader.members] == [protocol.encode()] * len(preferences)


def test_a_protocol_counts_once_per_member():
    """A protocol that a member names twice counts once, and removed members leave no counts behind."""
    coordinator = Coordinator()
    coordinator.join(protocols=(*RANGE, *RANGE))
    coordinator.join(protocols=RANGE)
    coordinator.advance(6000)
    assert coordinator.answers[1].protocol == "range"
    coordinator.leave("c-uuid1", "c-uuid2")
    assert not coordinator.group._supported
