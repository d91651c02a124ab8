"""SyncGroup: its checks in their order, and the way of an assignment to the members."""

from __future__ import annotations

import pytest

from barnabas.broker.core.group.results import SyncGroupResult
from barnabas.broker.core.group.states import GroupState
from barnabas.cluster.model.errors import ErrorCode
from tests.unit.broker.core.group.parts import Coordinator


@pytest.fixture
def coordinator():
    """A group of ``a-uuid1``, which leads, and ``b-uuid2``; generation 1 is decided, nobody has synced."""
    coordinator = Coordinator()
    for client in ("a", "b"):
        coordinator.join(client=client)
    coordinator.advance(6000)
    return coordinator


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"group": "unknown"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "x", "generation": 7}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"generation": 0, "type_": "connect"}, ErrorCode.ILLEGAL_GENERATION),
        ({"generation": 2}, ErrorCode.ILLEGAL_GENERATION),
        ({"type_": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol": "sticky"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_a_sync_is_refused(coordinator, fields, error):
    token = coordinator.sync(**{"member_id": "a-uuid1", **fields})
    assert coordinator.answers[token] == SyncGroupResult(error, None, None, b"")
    assert not coordinator.writes


def test_a_sync_in_a_round_comes_too_late(coordinator):
    coordinator.join()
    token = coordinator.sync("a-uuid1")
    assert coordinator.answers[token].error is ErrorCode.REBALANCE_IN_PROGRESS


def test_members_that_the_leader_left_out_get_an_empty_assignment(coordinator):
    follower = coordinator.sync("b-uuid2", type_="consumer", protocol="range")
    coordinator.sync("a-uuid1", {"a-uuid1": b"0"})
    coordinator.written()
    assert coordinator.answers[follower] == SyncGroupResult(ErrorCode.NONE, "consumer", "range", b"")
    assert coordinator.lines("warn") == [
        "Setting empty assignments for members Set(b-uuid2) of g for generation 1",
        "Sending empty assignment to member b-uuid2 of g for generation 1 with no errors",
    ]


def test_of_many_members_without_partitions_ten_have_a_line():
    coordinator = Coordinator()
    coordinator.stable(*(f"c{number}" for number in range(13)))
    coordinator.join(coordinator.group.leader)
    for member_id in coordinator.group.members:
        coordinator.join(member_id)
    coordinator.sync(coordinator.group.leader)
    coordinator.written()
    lines = coordinator.lines("warn")
    assert sum(line.startswith("Sending empty assignment to member ") for line in lines) == 10
    assert lines[-1] == "Sending empty assignments to 3 other members of g for generation 2 with no errors"


def test_members_that_never_sync_are_removed(coordinator):
    coordinator.sync("a-uuid1")
    coordinator.written()
    for _ in range(7):
        coordinator.heartbeat("a-uuid1")
        coordinator.heartbeat("b-uuid2")
        coordinator.advance(8500)
    assert coordinator.group.state is GroupState.STABLE
    coordinator.advance(500)
    assert list(coordinator.group.members) == ["a-uuid1"]
    assert coordinator.group.state is GroupState.PREPARING_REBALANCE
    assert coordinator.lines("debug") == [
        "Group g removed members who haven't sent their sync request: Set(b-uuid2)"
    ]
    assert coordinator.lines()[-1].endswith(
        "(reason: Removing Set(b-uuid2) on pending sync request expiration)"
    )
