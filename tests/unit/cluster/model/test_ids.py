"""How ids print, and the ids and epochs with a meaning of their own."""

from __future__ import annotations

import pytest

from barnabas.cluster.model import epochs
from barnabas.cluster.model.ids import LEADER_DURING_DELETE, NO_LEADER, TopicIdentity, TopicPartition


@pytest.mark.parametrize(
    ("topic", "partition", "printed"),
    [("orders", 3, "orders-3"), ("a-1", 0, "a-1-0"), ("a.b_c", 12, "a.b_c-12")],
)
def test_a_partition_prints_as_kafka_prints_it(topic: str, partition: int, printed: str) -> None:
    assert str(TopicPartition(topic, partition)) == printed
    assert f"{TopicPartition(topic, partition)}" == printed


def test_the_two_values_that_are_no_leader_are_those_of_the_wire() -> None:
    assert (NO_LEADER, LEADER_DURING_DELETE) == (-1, -2)


@pytest.mark.parametrize(
    ("other", "precedes"), [((5, 8), False), ((5, 7), False), ((5, 9), True), ((6, 9), False)]
)
def test_the_lower_czxid_of_a_tree_is_of_the_former_topic(other: tuple[int, int], precedes: bool) -> None:
    assert TopicIdentity(5, 8).precedes(TopicIdentity(*other)) is precedes


@pytest.mark.parametrize(("other", "is_denied"), [((5, 8), False), ((5, 9), True), ((6, 9), False)])
def test_topics_of_one_tree_are_distinguished(other: tuple[int, int], is_denied: bool) -> None:
    assert TopicIdentity(5, 8).denies(TopicIdentity(*other)) is is_denied


def test_the_sentinels_are_those_of_kafka() -> None:
    assert epochs.NO_CONTROLLER_EPOCH == 0
    assert epochs.UNKNOWN_BROKER_EPOCH == -1
    assert epochs.UNKNOWN_LEADER_EPOCH == -1
    assert epochs.EPOCH_DURING_DELETE == -2
    assert epochs.INITIAL_LEADER_EPOCH == 0
