"""JoinGroup: the order of its checks, member ids, and joins of known members."""

from __future__ import annotations

from dataclasses import replace

import pytest

from barnabas.broker.core.group.requests import GroupProtocol
from barnabas.broker.core.group.results import JoinGroupResult
from barnabas.broker.core.group.states import GroupState
from barnabas.cluster.model.errors import ErrorCode
from tests.unit.broker.core.group.parts import BOTH, CONFIG, JOIN, PENDING, RANGE, Coordinator, G, fx

OTHER = (GroupProtocol("sticky", b""),)


def refused(member_id, error):
    return JoinGroupResult(member_id, error, -1, None, None, "", ())


@pytest.mark.parametrize(
    ("fields", "member_id", "error"),
    [
        ({"session": 5999}, "", ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session": 1_800_001, "member_id": "x"}, "x", ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"member_id": "x"}, "x", ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "x", "protocols": ()}, "x", ErrorCode.UNKNOWN_MEMBER_ID),
        ({"protocols": ()}, "", ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"type_": ""}, "", ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_an_unknown_group_refuses(fields, member_id, error):
    coordinator = Coordinator()
    assert coordinator.answers[coordinator.join(**fields)] == refused(member_id, error)


@pytest.mark.parametrize(
    ("fields", "member_id", "error"),
    [
        ({"type_": "connect"}, "", ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": OTHER}, "", ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": OTHER, "member_id": "x"}, "x", ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"member_id": "x"}, "x", ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "a-uuid1", "instance": "i"}, "a-uuid1", ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_a_stable_group_refuses_and_its_members_notice_nothing(fields, member_id, error):
    coordinator = Coordinator()
    coordinator.stable("a", "b")
    timers = dict(coordinator.timers)
    assert coordinator.answers[coordinator.join(**fields)] == refused(member_id, error)
    assert coordinator.group.state is GroupState.STABLE
    assert coordinator.timers == timers


def test_a_group_that_was_empty_takes_another_type():
    coordinator = Coordinator()
    coordinator.leave(*coordinator.stable("a"))
    token = coordinator.join(type_="connect", protocols=OTHER)
    coordinator.advance(3000)
    assert coordinator.answers[token].protocol_type == "connect"


def test_a_client_is_given_a_member_id_and_joins_with_it():
    coordinator = Coordinator()
    asked = coordinator.join(known=False)
    assert coordinator.answers[asked] == refused("c-uuid1", ErrorCode.MEMBER_ID_REQUIRED)
    assert (coordinator.group.state, coordinator.group.pending_members) == (GroupState.EMPTY, {"c-uuid1"})
    token = coordinator.join("c-uuid1")
    assert coordinator.group.state is GroupState.PREPARING_REBALANCE
    assert fx.TimerKey(PENDING, G, "c-uuid1") not in coordinator.timers
    coordinator.advance(3000)
    assert coordinator.answers[token].member_id == "c-uuid1"
    assert coordinator.lines("debug") == [
        (
            "Dynamic member with unknown member id joins group g in Empty state. Created a new member id "
            "c-uuid1 and request the member to rejoin with this id."
        ),
        (
            "Dynamic Member with specific member id c-uuid1 joins group g in Empty state. "
            "Adding to the group now."
        ),
    ]


def test_an_unused_member_id_is_forgotten_after_the_session_timeout():
    coordinator = Coordinator()
    coordinator.join(known=False)
    coordinator.advance(9999)
    assert coordinator.group.pending_members
    coordinator.advance(1)
    assert not coordinator.group.pending_members
    assert coordinator.lines() == [
        "Pending member c-uuid1 in group g has been removed after session timeout expiration."
    ]
    assert coordinator.answers[coordinator.join("c-uuid1")].error is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("who", "protocols", "reason"),
    [
        ("a-uuid1", RANGE, "leader a-uuid1 re-joining group during Stable"),
        ("a-uuid1", BOTH, "leader a-uuid1 re-joining group during Stable"),
        ("b-uuid2", BOTH, "Updating metadata for member b-uuid2 during Stable"),
        ("b-uuid2", (GroupProtocol("range", b"new"),), "Updating metadata for member b-uuid2 during Stable"),
    ],
)
def test_a_member_that_joins_a_stable_group_again_begins_a_rebalance(who, protocols, reason):
    coordinator = Coordinator()
    coordinator.stable("a", "b")
    coordinator.join(who, protocols=protocols)
    assert coordinator.group.state is GroupState.PREPARING_REBALANCE
    assert coordinator.lines()[-1].endswith(f"(reason: {reason})")
    other = {"a-uuid1": "b-uuid2", "b-uuid2": "a-uuid1"}[who]
    assert coordinator.heartbeat(other) is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_member_that_changes_while_the_leader_assigns_begins_a_rebalance():
    coordinator = Coordinator()
    for client in ("a", "b"):
        coordinator.join(client=client)
    coordinator.advance(6000)
    parked = coordinator.sync("a-uuid1")
    coordinator.join("b-uuid2", protocols=BOTH)
    assert coordinator.answers[parked].error is ErrorCode.REBALANCE_IN_PROGRESS
    assert coordinator.lines()[-1].endswith(
        "(reason: Updating metadata for member b-uuid2 during CompletingRebalance)"
    )


def test_a_full_group_takes_no_new_member():
    coordinator = Coordinator(replace(CONFIG, max_size=2))
    members = coordinator.stable("a", "b")
    for fields in ({}, {"instance": "i"}, {"known": False}):
        token = coordinator.join(**fields)
        assert coordinator.answers[token] == refused("", ErrorCode.GROUP_MAX_SIZE_REACHED)
    assert coordinator.group.state is GroupState.STABLE
    assert coordinator.answers[coordinator.join(members[1])].error is ErrorCode.NONE


def test_the_last_to_join_a_round_of_a_group_that_is_too_large_is_removed():
    coordinator = Coordinator()
    first, second, third = coordinator.stable("a", "b", "c")
    coordinator.config = replace(CONFIG, max_size=2)
    coordinator.join(third, protocols=BOTH)
    assert coordinator.join(third, protocols=BOTH) not in coordinator.answers
    coordinator.join(second)
    token = coordinator.join(first)
    assert coordinator.answers[token] == refused("", ErrorCode.GROUP_MAX_SIZE_REACHED)
    assert list(coordinator.group.members) == [second, third]
    assert coordinator.group.state is GroupState.COMPLETING_REBALANCE
    assert fx.TimerKey(JOIN, G) not in coordinator.timers


def test_a_static_member_cannot_use_the_member_id_of_a_dynamic_one():
    coordinator = Coordinator()
    coordinator.join(known=False)
    token = coordinator.join("c-uuid1", instance="i")
    assert coordinator.answers[token] == refused("c-uuid1", ErrorCode.UNKNOWN_SERVER_ERROR)
