"""The partitions that an automatic rebalance returns to their preferred replicas; a function of facts alone.

Source: docs/kafka/topics.md, Rebalance (``checkAndTriggerAutoLeaderRebalance``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr


@dataclass(frozen=True, slots=True)
class Led:
    """A partition as the rebalance sees it.

    Attributes:
        partition: Which.
        assignment: Its replicas, the preferred one first.
        leadership: Who leads it; None where nobody ever did.
    """

    partition: TopicPartition
    assignment: Assignment
    leadership: LeaderAndIsr | None


@dataclass(frozen=True, slots=True)
class Imbalance:
    """A broker of whose partitions too many are led by others.

    Attributes:
        broker_id: The broker.
        preferred: How many partitions it is the preferred replica of.
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
    """The brokers with more than ``percentage`` percent of their partitions in other hands, by number.

    Args:
        partitions: All that an election may move: those of topics being deleted are left out.
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
    """Whether any partition is being reassigned: release 2.8 rebalances no leaders meanwhile."""
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
