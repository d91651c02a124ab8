"""DescribeGroups, ListGroups, DeleteGroups, OffsetDelete and the end of groups without offsets."""

from __future__ import annotations

import pytest

from barnabas.broker.core.group.deletion import check_offset_delete, delete_group, remove_empty_group
from barnabas.broker.core.group.describe import describe_group, list_groups
from barnabas.broker.core.group.effects import GroupRemoved
from barnabas.broker.core.group.requests import GroupProtocol
from barnabas.broker.core.group.results import GroupOverview, GroupSummary, MemberSummary
from barnabas.broker.core.group.states import GroupState
from barnabas.broker.core.group.subscription import STRETCH_TOPICS
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.steps import at_once
from tests.unit.broker.core.group.parts import Coordinator, G


def subscription(*topics: str) -> bytes:
    encoded = b"".join(len(topic).to_bytes(2) + topic.encode() for topic in topics)
    return b"\0\1" + len(topics).to_bytes(4) + encoded + b"\xff\xff\xff\xff"


def test_a_stable_group_is_described():
    coordinator = Coordinator()
    coordinator.stable("a")
    coordinator.join(known=False)
    assert describe_group(coordinator.groups, G) == GroupSummary(
        GroupState.STABLE,
        "consumer",
        "range",
        (MemberSummary("a-uuid1", None, "a", "/127.0.0.1", b"r", b"a-a-uuid1"),),
    )


def test_a_rebalancing_group_is_described_without_protocol():
    coordinator = Coordinator()
    coordinator.join(instance="i")
    assert describe_group(coordinator.groups, G) == GroupSummary(
        GroupState.PREPARING_REBALANCE,
        "consumer",
        "",
        (MemberSummary("i-uuid1", "i", "c", "/127.0.0.1", b"", b""),),
    )


def test_an_unknown_group_is_dead():
    assert describe_group(Coordinator().groups, G) == GroupSummary(GroupState.DEAD, "", "", ())


@pytest.mark.parametrize(
    ("states", "listed"),
    [((), "ghk"), (["Stable"], "g"), (["Empty", "PreparingRebalance"], "hk"), (["stable", "x"], "")],
)
def test_groups_are_listed_by_state(states, listed):
    coordinator = Coordinator()
    coordinator.stable("a")
    coordinator.join(group="h")
    coordinator.commit("", generation=-1, group="k")
    all_groups = [
        GroupOverview("g", "consumer", GroupState.STABLE),
        GroupOverview("h", "consumer", GroupState.PREPARING_REBALANCE),
        GroupOverview("k", "", GroupState.EMPTY),
    ]
    assert list_groups(coordinator.groups, states) == [each for each in all_groups if each.group_id in listed]


def test_a_group_without_members_can_be_deleted():
    coordinator = Coordinator()
    members = coordinator.stable("a")
    assert delete_group(coordinator.groups, G, 0) == (ErrorCode.NON_EMPTY_GROUP, [])
    coordinator.leave(*members)
    coordinator.join(known=False)
    error, effects = delete_group(coordinator.groups, G, 0)
    coordinator.perform(effects)
    assert error is ErrorCode.NONE
    assert coordinator.removed == [GroupRemoved(G, 2)]
    assert not coordinator.timers
    assert delete_group(coordinator.groups, G, 0) == (ErrorCode.GROUP_ID_NOT_FOUND, [])


def test_a_group_without_offsets_dies_once_it_is_empty():
    coordinator = Coordinator()
    members = coordinator.stable("a")
    assert remove_empty_group(coordinator.groups, G, 0) == []
    coordinator.leave(*members)
    coordinator.perform(remove_empty_group(coordinator.groups, G, 0))
    assert coordinator.removed == [GroupRemoved(G, 2)]
    assert coordinator.lines()[-1] == "Group g transitioned to Dead in generation 2"
    assert not coordinator.groups.by_id


@pytest.mark.parametrize(
    ("type_", "metadata", "error", "kept"),
    [
        ("consumer", subscription("t", "u"), ErrorCode.NONE, {"t"}),
        ("consumer", subscription(), ErrorCode.NONE, set()),
        ("consumer", b"unreadable", ErrorCode.NONE, {"t", "v"}),
        ("connect", subscription("t"), ErrorCode.NON_EMPTY_GROUP, set()),
    ],
)
def test_offsets_of_subscribed_topics_stay(type_, metadata, error, kept):
    coordinator = Coordinator()
    members = coordinator.stable("a", type_=type_, protocols=(GroupProtocol("range", metadata),))
    at_once(coordinator.group.read_subscriptions())
    assert check_offset_delete(coordinator.groups, G, ["t", "v"]) == (error, kept)
    coordinator.leave(*members)
    assert check_offset_delete(coordinator.groups, G, ["t", "v"]) == (ErrorCode.NONE, set())


def test_a_group_subscribes_to_what_any_of_its_members_does():
    coordinator = Coordinator()
    for topic in ("t", "u"):
        coordinator.join(protocols=(GroupProtocol("range", subscription(topic)),))
    coordinator.advance(6000)
    assert coordinator.group.subscribed_topics is None, "it is read when it is needed"
    at_once(coordinator.group.read_subscriptions())
    assert coordinator.group.subscribed_topics == {"t", "u"}


def test_a_generation_that_begins_while_subscriptions_are_read_is_read():
    coordinator = Coordinator()
    many = subscription(*(f"t{number}" for number in range(STRETCH_TOPICS)))
    coordinator.stable("a", protocols=(GroupProtocol("range", many),))
    reading = coordinator.group.read_subscriptions()
    next(reading)
    coordinator.group.keep_subscriptions()
    assert list(reading) == [None]
    assert len(coordinator.group.subscribed_topics) == STRETCH_TOPICS


def test_offsets_of_an_unknown_group():
    assert check_offset_delete(Coordinator().groups, G, ["t"]) == (ErrorCode.GROUP_ID_NOT_FOUND, set())
