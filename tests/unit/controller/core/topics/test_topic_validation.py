from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.model.brokers import Broker
from barnabas.cluster.model.commands.topics import MAX_PARTITIONS, NewTopic
from barnabas.cluster.model.epochs import BrokerEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.model.partition import Assignment
from barnabas.controller.core.context.controller_context import Facts
from barnabas.controller.core.protocol.inputs import Draw
from barnabas.controller.core.topics.topic_validation import (
    Refusal,
    TopicNames,
    duplicates,
    plan_topic,
    refuse_name,
)

FACTS = Facts(BrokerId(1), num_partitions=2, default_replication_factor=2)
ZERO = Draw(0.0, 0.0)


def brokers(*racks: str | None) -> dict[BrokerId, Broker]:
    return {
        BrokerId(n): Broker(BrokerId(n), BrokerEpoch(n), (), rack) for n, rack in enumerate(racks, start=1)
    }


def hand(*replicas: tuple[int, ...]) -> dict[int, tuple[BrokerId, ...]]:
    return {number: tuple(BrokerId(id_) for id_ in some) for number, some in enumerate(replicas)}


THREE = brokers(None, None, None)

REFUSED = {
    "empty name": (NewTopic(""), ErrorCode.INVALID_TOPIC_EXCEPTION),
    "dot": (NewTopic("."), ErrorCode.INVALID_TOPIC_EXCEPTION),
    "two dots": (NewTopic(".."), ErrorCode.INVALID_TOPIC_EXCEPTION),
    "blank": (NewTopic("a b"), ErrorCode.INVALID_TOPIC_EXCEPTION),
    "newline at the end": (NewTopic("a\n"), ErrorCode.INVALID_TOPIC_EXCEPTION),
    "not ASCII": (NewTopic("ä"), ErrorCode.INVALID_TOPIC_EXCEPTION),
    "too long": (NewTopic("a" * 250), ErrorCode.INVALID_TOPIC_EXCEPTION),
    "exists": (NewTopic("there.is"), ErrorCode.TOPIC_ALREADY_EXISTS),
    "collides": (NewTopic("there_is"), ErrorCode.INVALID_TOPIC_EXCEPTION),
    "no partitions": (NewTopic("t", partitions=0), ErrorCode.INVALID_PARTITIONS),
    "fewer than none": (NewTopic("t", partitions=-2), ErrorCode.INVALID_PARTITIONS),
    "too many": (NewTopic("t", partitions=MAX_PARTITIONS + 1), ErrorCode.INVALID_PARTITIONS),
    "too many by hand": (
        NewTopic("t", assignments=dict.fromkeys(range(MAX_PARTITIONS + 1), (BrokerId(1),))),
        ErrorCode.INVALID_PARTITIONS,
    ),
    "no replicas": (NewTopic("t", replication_factor=0), ErrorCode.INVALID_REPLICATION_FACTOR),
    "too many replicas": (NewTopic("t", replication_factor=4), ErrorCode.INVALID_REPLICATION_FACTOR),
    "number and hand": (NewTopic("t", partitions=1, assignments=hand((1,))), ErrorCode.INVALID_REQUEST),
    "factor and hand": (
        NewTopic("t", replication_factor=1, assignments=hand((1,))),
        ErrorCode.INVALID_REQUEST,
    ),
    "gap": (NewTopic("t", assignments={1: (BrokerId(1),)}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    "twice": (NewTopic("t", assignments=hand((1, 1))), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    "nobody": (NewTopic("t", assignments=hand(())), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    "negative": (NewTopic("t", assignments=hand((-1,))), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    "uneven": (NewTopic("t", assignments=hand((1,), (1, 2))), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    "unknown setting": (NewTopic("t", configs={"no.such": "1"}), ErrorCode.INVALID_CONFIG),
    "lags": (
        NewTopic("t", configs={"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "8"}),
        ErrorCode.INVALID_CONFIG,
    ),
    "old format": (NewTopic("t", configs={"message.format.version": "0.9.0"}), ErrorCode.INVALID_CONFIG),
    "bad setting": (NewTopic("t", configs={"retention.ms": "long"}), ErrorCode.INVALID_CONFIG),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_have_kafkas_codes_and_name_the_thing(case: str) -> None:
    topic, code = REFUSED[case]
    refusal = plan_topic(topic, TopicNames({"there.is"}), THREE, FACTS, ZERO)
    assert isinstance(refusal, Refusal)
    assert refusal.error is code
    assert refusal.message


@pytest.mark.parametrize("name", ["a", "A.b_c-9", "a" * 249, "..."])
def test_legal_names(name: str) -> None:
    assert refuse_name(name, TopicNames({"other"})) is None


def test_placed_by_dice_with_the_defaults() -> None:
    assert plan_topic(NewTopic("t"), TopicNames(), THREE, FACTS, ZERO) == {
        0: Assignment((BrokerId(1), BrokerId(2))),
        1: Assignment((BrokerId(2), BrokerId(3))),
    }


def test_the_dice_choose_start_and_shift() -> None:
    plan = plan_topic(NewTopic("t", 1, 2), TopicNames(), THREE, FACTS, Draw(0.99, 0.5))
    assert plan == {0: Assignment((BrokerId(3), BrokerId(2)))}


def test_racks_count_only_where_every_broker_names_one() -> None:
    topic = NewTopic("t", 1, 2)
    by_rack = plan_topic(topic, TopicNames(), brokers("a", "a", "b"), FACTS, ZERO)
    assert by_rack == {0: Assignment((BrokerId(1), BrokerId(3)))}
    without = plan_topic(topic, TopicNames(), brokers(None, None, None), FACTS, ZERO)
    assert without == {0: Assignment((BrokerId(1), BrokerId(2)))}
    some = plan_topic(topic, TopicNames(), brokers("a", None, "b"), FACTS, ZERO)
    assert isinstance(some, Refusal)
    assert some.error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert "Not all brokers have rack information" in some.message
    assert some.message.endswith("2 have none.")


def test_placed_by_hand_also_on_brokers_that_are_away() -> None:
    plan = plan_topic(NewTopic("t", assignments=hand((9, 1), (1, 9))), TopicNames(), THREE, FACTS, ZERO)
    assert plan == {0: Assignment((BrokerId(9), BrokerId(1))), 1: Assignment((BrokerId(1), BrokerId(9)))}


def test_duplicates() -> None:
    assert duplicates(["a", "b", "a", "a"]) == {"a"}
    assert duplicates([]) == set()


class Counted(str):
    """A name that counts how often it is compared as a metric's name."""

    __slots__ = ()
    replaced = 0

    def replace(self, *args) -> str:
        Counted.replaced += 1
        return super().replace(*args)


def test_a_new_name_is_compared_with_the_names_like_it_alone() -> None:
    existing = TopicNames(Counted(f"topic.{number}") for number in range(1_000))
    Counted.replaced = 0
    for number in range(1_000):
        name = Counted(f"topic_{number + 500}")
        refusal = refuse_name(name, existing)
        assert (refusal is not None) is (number < 500)
        existing.add(name)
    assert Counted.replaced <= 2_000


@given(st.lists(st.text("ab._", min_size=1, max_size=4)), st.text("ab._", min_size=1, max_size=4))
def test_names_collide_that_are_one_metric(names: list[str], name: str) -> None:
    existing = TopicNames(names[:2])
    for later in names[2:]:
        existing.add(later)
    slow = sorted({other for other in names if other.replace(".", "_") == name.replace(".", "_")})
    assert [*existing.colliding_with(name)] == (slow if "." in name or "_" in name else [])
    assert (name in existing) is (name in names)
