"""Heartbeat, LeaveGroup, the checks of commits, and the end of a session."""

from __future__ import annotations

import pytest

from barnabas.broker.core.group.states import GroupState
from barnabas.cluster.model.errors import ErrorCode
from tests.unit.broker.core.group.parts import PENDING, SESSION, Coordinator, G, fx


def in_state(state):
    """A coordinator whose group of ``a-uuid1`` and ``b-uuid2`` is in ``state``, its generation 1."""
    coordinator = Coordinator()
    if state is GroupState.EMPTY:
        coordinator.leave(*coordinator.stable("a"))
        return coordinator
    coordinator.stable("a", "b")
    if state is not GroupState.STABLE:
        coordinator.join("a-uuid1")
    if state is GroupState.COMPLETING_REBALANCE:
        coordinator.join("b-uuid2")
    assert coordinator.group.state is state
    return coordinator


def test_a_heartbeat_of_an_unknown_group():
    assert Coordinator().heartbeat("x", generation=1, group="h") is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("state", "member_id", "generation", "error"),
    [
        (GroupState.EMPTY, "", -1, ErrorCode.NONE),
        (GroupState.EMPTY, "x", 2, ErrorCode.UNKNOWN_MEMBER_ID),
        (GroupState.STABLE, "", -1, ErrorCode.UNKNOWN_MEMBER_ID),
        (GroupState.STABLE, "b-uuid2", 0, ErrorCode.ILLEGAL_GENERATION),
        (GroupState.STABLE, "b-uuid2", -1, ErrorCode.ILLEGAL_GENERATION),
        (GroupState.STABLE, "b-uuid2", 1, ErrorCode.NONE),
        (GroupState.PREPARING_REBALANCE, "b-uuid2", 1, ErrorCode.NONE),
        (GroupState.COMPLETING_REBALANCE, "b-uuid2", 2, ErrorCode.REBALANCE_IN_PROGRESS),
        (GroupState.COMPLETING_REBALANCE, "b-uuid2", 1, ErrorCode.ILLEGAL_GENERATION),
    ],
)
def test_a_commit_is_judged_and_restarts_the_session(state, member_id, generation, error):
    coordinator = in_state(state)
    before = coordinator.timers.get(fx.TimerKey(SESSION, G, "b-uuid2"))
    coordinator.advance(1000)
    assert coordinator.commit(member_id, generation=generation) is error
    restarted = coordinator.timers.get(fx.TimerKey(SESSION, G, "b-uuid2")) != before
    assert restarted == (error is ErrorCode.NONE and state is not GroupState.EMPTY)


def test_a_commit_without_generation_creates_a_group():
    coordinator = Coordinator()
    assert coordinator.commit("", generation=0) is ErrorCode.ILLEGAL_GENERATION
    assert not coordinator.groups.by_id
    assert coordinator.commit("", generation=-1) is ErrorCode.NONE
    assert coordinator.group.state is GroupState.EMPTY


def test_members_leave_each_for_itself():
    coordinator = Coordinator()
    coordinator.stable("a", "b")
    coordinator.join(instance="i")
    coordinator.join(known=False)
    assert coordinator.leave("b-uuid2", "x", ("c-uuid4", "k"), "c-uuid4", ("", "i"), ("", "j")) == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.NONE,
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]
    assert list(coordinator.group.members) == ["a-uuid1"]
    assert not coordinator.group.pending_members
    assert not coordinator.group.static_members
    assert fx.TimerKey(PENDING, G, "c-uuid4") not in coordinator.timers
    assert [line for line in coordinator.lines() if "leaving" in line or "has left" in line] == [
        ("Member[group.instance.id None, member.id b-uuid2] in group g has left, removing it from the group"),
        "Pending member c-uuid4 is leaving group g.",
        (
            "Member[group.instance.id Some(i), member.id i-uuid3] in group g has left, "
            "removing it from the group"
        ),
    ]


def test_members_leave_an_unknown_group():
    assert Coordinator().leave("a", "b", group="h") == [ErrorCode.UNKNOWN_MEMBER_ID] * 2


def test_a_member_that_leaves_a_stable_group_begins_a_rebalance():
    coordinator = in_state(GroupState.STABLE)
    coordinator.leave("b-uuid2")
    assert coordinator.group.state is GroupState.PREPARING_REBALANCE
    assert coordinator.lines()[-1].endswith("(reason: removing member b-uuid2 on LeaveGroup)")


def test_a_silent_member_is_removed():
    coordinator = in_state(GroupState.STABLE)
    coordinator.advance(9000)
    coordinator.heartbeat("a-uuid1")
    coordinator.advance(1000)
    assert list(coordinator.group.members) == ["a-uuid1"]
    assert coordinator.group.state is GroupState.PREPARING_REBALANCE
    assert coordinator.lines()[-2:] == [
        "Member b-uuid2 in group g has failed, removing it from the group",
        (
            "Preparing to rebalance group g in state PreparingRebalance with old generation 1 "
            "(__consumer_offsets-12) (reason: removing member b-uuid2 on heartbeat expiration)"
        ),
    ]


def test_a_new_member_is_parked_for_five_minutes_at_most():
    coordinator = Coordinator()
    coordinator.join(instance="i", session=600_000, rebalance=600_000)
    coordinator.advance(3000)
    new = coordinator.join(client="b", session=6000, rebalance=600_000)
    coordinator.advance(299_999)
    assert new not in coordinator.answers
    coordinator.advance(1)
    assert coordinator.answers[new].error is ErrorCode.UNKNOWN_MEMBER_ID
    assert coordinator.answers[new].member_id == ""
