"""The checks of a new topic and the placement of its replicas (Kafka: ``AdminZkClient.validateTopicCreate``).

Source: docs/kafka/topics.md, Creation and Placement; error codes and their order as in
``ZkAdminManager.createTopics`` of release 2.8.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from barnabas.cluster.model import placement, topic_names
from barnabas.cluster.model.brokers import Broker
from barnabas.cluster.model.commands.topics import MAX_PARTITIONS, NewTopic
from barnabas.cluster.model.configs.declarations import ConfigError
from barnabas.cluster.model.configs.topic import conflict, parse_topic
from barnabas.cluster.model.configs.unserved import unserved
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.model.partition import Assignment
from barnabas.controller.core.context.controller_context import Facts
from barnabas.controller.core.protocol.inputs import Draw

MAX_PARTITIONS_PER_REQUEST = 10_000
"""The most partitions of all topics of one command: a request of a few bytes can name any number.

Kafka's KRaft controller has the same limit, ``MAX_PARTITIONS_PER_BATCH``, and the same error. A client's
request is split into commands of at most 500 topics, and each command has this limit.
"""

Assignments = Mapping[int, Assignment]
"""The replicas of each partition of a topic."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The reason why a topic is refused: Kafka's error code and a sentence."""

    error: ErrorCode
    message: str


class TopicNames:
    """The names of the existing topics, indexed to find those with which a new name collides.

    Names that differ only in ``.`` and ``_`` collide, because metric names replace the one by the other
    (``Topic.hasCollision``). Only names with one of the two characters can collide, so only those are
    indexed.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = set(names)
        self._by_metric: defaultdict[str, list[str]] = defaultdict(list)
        for name in self._names:
            self._index(name)

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def add(self, name: str) -> None:
        """Add a topic that was created."""
        if name not in self._names:
            self._names.add(name)
            self._index(name)

    def _index(self, name: str) -> None:
        if "." in name or "_" in name:
            self._by_metric[name.replace(".", "_")].append(name)

    def colliding_with(self, name: str) -> list[str]:
        """Return the names that the new topic ``name`` collides with, sorted."""
        return sorted(self._by_metric.get(name.replace(".", "_"), ()))


def plan_topic(
    topic: NewTopic, existing: TopicNames, brokers: Mapping[BrokerId, Broker], facts: Facts, draw: Draw
) -> Assignments | Refusal:
    """Check a new topic and place its replicas.

    Args:
        topic: The request.
        existing: The names of all topics.
        brokers: The registered brokers, on which replicas may be placed.
        facts: The broker's settings, which have the defaults.
        draw: The random numbers of its placement.
    """
    return (
        refuse_name(topic.name, existing)
        or _refuse_contradiction(topic)
        or _refuse_configs(topic.configs)
        or (_by_hand(topic) if topic.assignments else _by_dice(topic, brokers, facts, draw))
    )


def refuse_name(name: str, existing: TopicNames) -> Refusal | None:
    """Return why a topic may not have this name; None where it may."""
    invalid = ErrorCode.INVALID_TOPIC_EXCEPTION
    fault = topic_names.fault(name)
    if fault is not None:
        return Refusal(invalid, fault)
    if name in existing:
        return Refusal(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    colliding = existing.colliding_with(name)
    if colliding:
        return Refusal(invalid, f"Topic '{name}' collides with existing topics: {', '.join(colliding)}")
    return None


def refuse_size(partitions: int) -> Refusal | None:
    """Return why a topic may not have so many partitions; None where it may."""
    if partitions <= MAX_PARTITIONS:
        return None
    return Refusal(
        ErrorCode.INVALID_PARTITIONS,
        f"Number of partitions must not be larger than {MAX_PARTITIONS}, not {partitions}.",
    )


def refuse_batch(partitions: Iterable[int]) -> Refusal | None:
    """Return why one command may not create so many partitions; None where it may.

    Args:
        partitions: The partitions of each topic. A topic of more than `MAX_PARTITIONS` is refused separately
            and counts as 0.
    """
    total = sum(count for count in partitions if 0 < count <= MAX_PARTITIONS)
    if total <= MAX_PARTITIONS_PER_REQUEST:
        return None
    return Refusal(
        ErrorCode.POLICY_VIOLATION,
        f"Excessively large number of partitions per request: {total}; at most {MAX_PARTITIONS_PER_REQUEST} "
        "are created at a time.",
    )


def refuse_factor(factor: int) -> Refusal:
    """Return why nothing can be placed with ``factor`` replicas, which is less than one."""
    return Refusal(
        ErrorCode.INVALID_REPLICATION_FACTOR, f"Replication factor must be larger than 0, not {factor}."
    )


def duplicates(names: Iterable[str]) -> set[str]:
    """Return the names that come more than once."""
    seen: set[str] = set()
    twice: set[str] = set()
    for name in names:
        (twice if name in seen else seen).add(name)
    return twice


def _refuse_contradiction(topic: NewTopic) -> Refusal | None:
    if topic.assignments and (topic.partitions != -1 or topic.replication_factor != -1):
        return Refusal(
            ErrorCode.INVALID_REQUEST,
            "Both numPartitions or replicationFactor and replicasAssignments were set. Both cannot be used "
            "at the "
            "same time.",
        )
    return None


def _refuse_configs(configs: Mapping[str, str]) -> Refusal | None:
    try:
        values, unknown = parse_topic(configs)
    except ConfigError as error:
        return Refusal(ErrorCode.INVALID_CONFIG, error.for_clients)
    if unknown:
        return Refusal(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {unknown[0]}")
    fault = unserved(values) or conflict(values)
    return None if fault is None else Refusal(ErrorCode.INVALID_CONFIG, str(fault))


def _by_hand(topic: NewTopic) -> Assignments | Refusal:
    invalid = ErrorCode.INVALID_REPLICA_ASSIGNMENT
    given = topic.assignments
    too_many = refuse_size(len(given))
    if too_many is not None:
        return too_many
    if sorted(given) != list(range(len(given))):
        return Refusal(
            invalid, f"partitions should be a consecutive 0-based integer sequence, not {sorted(given)}"
        )
    for number, replicas in sorted(given.items()):
        if not replicas:
            return Refusal(invalid, f"Partition {number} has no replicas; at least one is needed")
        if len(set(replicas)) != len(replicas):
            return Refusal(
                invalid, f"Duplicate replica assignment found: partition {number} has {list(replicas)}"
            )
        if min(replicas) < 0:
            return Refusal(invalid, f"Partition {number} has a negative broker id: {list(replicas)}")
    if len({len(replicas) for replicas in given.values()}) > 1:
        return Refusal(invalid, "All partitions should have the same number of replicas")
    return {number: Assignment(given[number]) for number in sorted(given)}


def _by_dice(
    topic: NewTopic, brokers: Mapping[BrokerId, Broker], facts: Facts, draw: Draw
) -> Assignments | Refusal:
    partitions = facts.num_partitions if topic.partitions == -1 else topic.partitions
    factor = facts.default_replication_factor if topic.replication_factor == -1 else topic.replication_factor
    if partitions <= 0:
        return Refusal(
            ErrorCode.INVALID_PARTITIONS, f"Number of partitions must be larger than 0, not {partitions}."
        )
    too_many = refuse_size(partitions)
    if too_many is not None:
        return too_many
    if factor <= 0:
        return refuse_factor(factor)
    start, shift = int(draw.start * len(brokers)), int(draw.shift * len(brokers))
    return place(brokers, partitions, factor, start=start, shift=shift)


def place(
    brokers: Mapping[BrokerId, Broker],
    partitions: int,
    factor: int,
    *,
    start: int,
    shift: int,
    first_partition: int = 0,
) -> Assignments | Refusal:
    """Place replicas on ``brokers``, by their racks where all have one; arguments as for `placement.assign`.

    As in Kafka, it is an error if only some brokers have a rack, because replicas could not be spread evenly.
    """
    if factor > len(brokers):
        return Refusal(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Replication factor: {factor} larger than available brokers: {len(brokers)}.",
        )
    racks = {id_: broker.rack for id_, broker in brokers.items() if broker.rack is not None}
    if racks and len(racks) < len(brokers):
        missing = ", ".join(str(id_) for id_ in sorted(brokers.keys() - racks.keys()))
        return Refusal(
            ErrorCode.UNKNOWN_SERVER_ERROR,
            f"Not all brokers have rack information for replica rack aware assignment: {missing} have none.",
        )
    where = {"start": start, "shift": shift, "first_partition": first_partition}
    if racks:
        placed = placement.assign_by_rack(racks, partitions, factor, **where)
    else:
        placed = placement.assign(sorted(brokers), partitions, factor, **where)
    return {number: Assignment(replicas) for number, replicas in placed.items()}
