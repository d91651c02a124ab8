"""Static members: they keep their place when they restart, and whoever else uses their name is fenced."""

from __future__ import annotations

import pytest

from barnabas.broker.core.group.requests import GroupProtocol
from barnabas.broker.core.group.results import JoinGroupResult, SyncGroupResult
from barnabas.broker.core.group.states import GroupState
from barnabas.cluster.model.errors import ErrorCode
from tests.unit.broker.core.group.parts import BOTH, RANGE, SESSION, Coordinator, G, fx

RR = (GroupProtocol("roundrobin", b"rr"), GroupProtocol("range", b"r"))


@pytest.fixture
def coordinator():
    """A stable group of a static leader ``i-uuid1`` and a static follower ``j-uuid2``."""
    coordinator = Coordinator()
    for instance in ("i", "j"):
        coordinator.join(instance=instance, protocols=BOTH)
    coordinator.advance(6000)
    coordinator.sync_all(["i-uuid1", "j-uuid2"])
    return coordinator


def test_a_static_member_needs_no_second_join(coordinator):
    assert coordinator.group.static_members == {"i": "i-uuid1", "j": "j-uuid2"}
    assert "Adding new static member Some(i) to group g with member id i-uuid1." in coordinator.lines()
    joins = "Static Member with unknown member id joins group g in Empty state."
    assert coordinator.lines()[0].startswith(joins)


def test_a_restarted_member_keeps_its_assignment(coordinator):
    token = coordinator.join(instance="j", protocols=BOTH)
    assert coordinator.unanswered() == {token}
    record = coordinator.writes[0].record
    assert [(each.member_id, each.assignment) for each in record.members] == [
        ("i-uuid1", b"a-i-uuid1"),
        ("j-uuid3", b"a-j-uuid2"),
    ]
    coordinator.written()
    assert coordinator.answers[token] == JoinGroupResult(
        "j-uuid3", ErrorCode.NONE, 1, "consumer", "range", "i-uuid1", ()
    )
    assert coordinator.group.state is GroupState.STABLE
    synced = coordinator.sync("j-uuid3", instance="j")
    assert coordinator.answers[synced].assignment == b"a-j-uuid2"
    assert fx.TimerKey(SESSION, G, "j-uuid2") not in coordinator.timers
    assert coordinator.lines()[-2:] == [
        (
            "Static member Some(j) of group g with unknown member id rejoins, assigning new member id "
            "j-uuid3, while old member id j-uuid2 will be removed."
        ),
        (
            "Static member which joins during Stable stage and doesn't affect selectProtocol will not "
            "trigger rebalance."
        ),
    ]


def test_a_restarted_leader_learns_of_the_old_one(coordinator):
    token = coordinator.join(instance="i", protocols=BOTH)
    coordinator.written()
    assert (coordinator.answers[token].leader, coordinator.group.leader) == ("i-uuid1", "i-uuid3")


def test_a_restart_that_cannot_be_stored_is_undone(coordinator):
    token = coordinator.join(instance="j", protocols=RANGE)
    coordinator.written(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert coordinator.answers[token] == JoinGroupResult(
        "", ErrorCode.NOT_COORDINATOR, 1, "consumer", "range", "i-uuid1", ()
    )
    assert coordinator.group.static_members["j"] == "j-uuid2"
    assert coordinator.group.members["j-uuid2"].protocols == BOTH
    assert fx.TimerKey(SESSION, G, "j-uuid2") in coordinator.timers
    assert fx.TimerKey(SESSION, G, "j-uuid3") not in coordinator.timers
    assert coordinator.lines("warn")[-1] == (
        "Failed to persist metadata for group g: this broker is not the coordinator"
    )
    assert coordinator.group.all_joined is False


def test_of_two_restarts_the_first_is_fenced(coordinator):
    first = coordinator.join(instance="j", protocols=BOTH)
    second = coordinator.join(instance="j", protocols=BOTH)
    assert coordinator.answers[first].error is ErrorCode.FENCED_INSTANCE_ID
    coordinator.written()
    assert second not in coordinator.answers
    coordinator.written()
    assert coordinator.answers[second].member_id == "j-uuid4"


def test_a_rebalance_overtakes_the_write_of_a_restart(coordinator):
    token = coordinator.join(instance="j", protocols=BOTH)
    coordinator.leave("i-uuid1")
    assert coordinator.answers[token].generation == 2
    coordinator.written(ErrorCode.REQUEST_TIMED_OUT)
    assert coordinator.group.static_members == {"j": "j-uuid3"}
    assert coordinator.group.state is GroupState.COMPLETING_REBALANCE


def test_a_restart_that_changes_the_vote_begins_a_rebalance(coordinator):
    coordinator.join("i-uuid1", instance="i", protocols=RR)
    coordinator.join("j-uuid2", instance="j", protocols=BOTH)
    coordinator.sync_all(["i-uuid1", "j-uuid2"])
    assert coordinator.group.protocol == "roundrobin"
    token = coordinator.join(instance="i", protocols=BOTH)
    assert coordinator.group.state is GroupState.PREPARING_REBALANCE
    assert token not in coordinator.answers
    assert coordinator.lines()[-1].endswith(
        "(reason: Group's selectedProtocol will change because static member i-uuid5 with instance id "
        "Some(i) joined with change of protocol)"
    )


def test_a_restart_while_the_leader_assigns_begins_a_rebalance(coordinator):
    for member_id in ("i-uuid1", "j-uuid2"):
        coordinator.join(member_id, instance=member_id[0], protocols=BOTH)
    parked = coordinator.sync("j-uuid2", instance="j")
    leader = coordinator.sync("i-uuid1", instance="i")
    token = coordinator.join(instance="j", protocols=BOTH)
    assert coordinator.answers[parked] == SyncGroupResult(ErrorCode.FENCED_INSTANCE_ID)
    assert coordinator.answers[leader] == SyncGroupResult(ErrorCode.REBALANCE_IN_PROGRESS)
    assert coordinator.lines()[-1].endswith(
        "(reason: Updating metadata for static member j-uuid5 with instance id Some(j))"
    )
    coordinator.written()
    coordinator.join("i-uuid1", instance="i", protocols=BOTH)
    assert coordinator.answers[token].generation == 3


def test_a_restart_in_a_round_takes_the_place_of_the_parked_join(coordinator):
    parked = coordinator.join("i-uuid1", instance="i", protocols=BOTH)
    token = coordinator.join(instance="i", protocols=BOTH)
    assert coordinator.answers[parked] == JoinGroupResult("i-uuid1", ErrorCode.FENCED_INSTANCE_ID)
    coordinator.join("j-uuid2", instance="j", protocols=BOTH)
    answer = coordinator.answers[token]
    assert (answer.member_id, answer.leader, len(answer.members)) == ("i-uuid4", "i-uuid4", 2)


def test_a_restart_between_join_and_sync_still_has_to_sync():
    coordinator = Coordinator()
    for instance in ("i", "j"):
        coordinator.join(instance=instance, session=100_000)
    coordinator.advance(6000)
    coordinator.sync("i-uuid1")
    coordinator.written()
    token = coordinator.join(instance="j", session=100_000)
    coordinator.written()
    coordinator.advance(60_000)
    assert coordinator.answers[token].member_id == "j-uuid3"
    assert list(coordinator.group.members) == ["i-uuid1"]


@pytest.mark.parametrize(
    ("operation", "call"),
    [
        ("join-group", lambda c: c.answers[c.join("x", instance="i", protocols=BOTH)].error),
        ("sync-group", lambda c: c.answers[c.sync("x", instance="i", generation=7)].error),
        ("heartbeat", lambda c: c.heartbeat("x", instance="i", generation=7)),
        ("leave-group", lambda c: c.leave(("x", "i"))[0]),
        ("commit-offsets", lambda c: c.commit("x", instance="i", generation=7)),
    ],
)
def test_another_member_id_is_fenced_before_all_else(coordinator, operation, call):
    assert call(coordinator) is ErrorCode.FENCED_INSTANCE_ID
    assert coordinator.lines("error") == [
        (
            "given member.id x is identified as a known static member i, but not matching the expected "
            f"member.id i-uuid1 during {operation}, will respond with instance fenced error"
        )
    ]
    assert coordinator.group.state is GroupState.STABLE
