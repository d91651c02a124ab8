"""The join round: the initial delay, its completion, and the generation that follows."""

from __future__ import annotations

from barnabas.broker.core.group.results import JoinedMember, JoinGroupResult, SyncGroupResult
from barnabas.broker.core.group.states import GroupState
from barnabas.cluster.model.errors import ErrorCode
from tests.unit.broker.core.group.parts import Coordinator


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
