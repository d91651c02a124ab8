"""The partitions whose leadership an automatic rebalance returns to the preferred replicas.

Source: docs/kafka/topics.md, Rebalance (``checkAndTriggerAutoLeaderRebalance``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr


@dataclass(frozen=True, slots=True)
class Led:
    """A partition and its leadership.

    Attributes:
        partition: The partition.
        assignment: Its replicas, the preferred one first.
        leadership: Its leader and ISR; None if it never had a leader.
    """

    partition: TopicPartition
    assignment: Assignment
    leadership: LeaderAndIsr | None


@dataclass(frozen=True, slots=True)
class Imbalance:
    """A broker that is the preferred replica of too many partitions that others lead.

    Attributes:
        broker_id: The broker.
        preferred: The number of partitions of which it is the preferred replica.
        imbalanced: Those of them that another broker leads, or none.
        candidates: Those of ``imbalanced`` that it could lead now.
    """

    broker_id: BrokerId
    preferred: int
    imbalanced: tuple[TopicPartition, ...]
    candidates: tuple[TopicPartition, ...]


def find_imbalances(
    partitions: Iterable[Led], percentage: int, is_online: Callable[[BrokerId, TopicPartition], bool]
) -> list[Imbalance]:
    """Return the brokers with more than ``percentage`` percent of imbalanced partitions, by id.

    Args:
        partitions: All partitions but those of topics being deleted.
        percentage: ``leader.imbalance.per.broker.percentage``.
        is_online: Whether that replica of that partition is live.
    """
    groups: dict[BrokerId, list[Led]] = {}
    for one in partitions:
        for preferred in one.assignment.replicas[:1]:
            groups.setdefault(preferred, []).append(one)
    found = (_imbalance(broker, groups[broker], is_online) for broker in sorted(groups))
    return [one for one in found if 100 * len(one.imbalanced) > percentage * one.preferred]


def is_any_reassigned(assignments: Mapping[str, Mapping[int, Assignment]]) -> bool:
    """Return whether any partition is being reassigned; release 2.8 then rebalances no leaders."""
    return any(each.is_being_reassigned for numbers in assignments.values() for each in numbers.values())


def _imbalance(
    broker: BrokerId, group: list[Led], is_online: Callable[[BrokerId, TopicPartition], bool]
) -> Imbalance:
    imbalanced = [
        (one.partition, one.leadership)
        for one in group
        if one.leadership is not None and one.leadership.leader != broker
    ]
    candidates = tuple(
        tp for tp, leadership in imbalanced if broker in leadership.isr and is_online(broker, tp)
    )
    return Imbalance(broker, len(group), tuple(tp for tp, _ in imbalanced), candidates)
