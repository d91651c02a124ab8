"""The CreatePartitions request (api key 37; Kafka: ``ZkAdminManager.createPartitions``).

The assignment is written to ZooKeeper only; the watch on the topic's node creates the partitions. Source:
docs/kafka/topics.md, Placement; error codes and their order as in ``KafkaApis``, ``ZkAdminManager`` and
``AdminZkClient.createNewPartitionsAssignment`` of release 2.8.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.cluster.model import topic_names
from barnabas.cluster.model.brokers import Broker
from barnabas.cluster.model.commands.topics import (
    MAX_PARTITIONS,
    CreatePartitions,
    CreatePartitionsResult,
    NewPartitions,
    TopicResult,
)
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.model.log_text import shortened
from barnabas.cluster.model.partition import Assignment
from barnabas.controller.core.context.controller_context import ControllerContext
from barnabas.controller.core.protocol.effects import Decision, LogInfo, ask
from barnabas.controller.core.protocol.inputs import CommandReceived
from barnabas.controller.core.topics.effects import NO_TOPIC, ReadAssignments, WriteAssignment
from barnabas.controller.core.topics.topic_validation import (
    Assignments,
    Refusal,
    duplicates,
    place,
    refuse_batch,
    refuse_factor,
    refuse_size,
)


def create_partitions(
    context: ControllerContext, request: CommandReceived[CreatePartitions]
) -> Decision[CreatePartitionsResult]:
    """Check and write each topic separately, and return the result of each."""
    command = request.command
    twice = duplicates(topic.topic for topic in command.topics)
    too_many = refuse_batch(
        topic.count - len(context.assignments[topic.topic])
        for topic in command.topics
        if topic.topic in context.assignments and topic.count <= MAX_PARTITIONS
    )
    results: list[TopicResult] = []
    for topic in command.topics:
        outcome: int | Refusal | None
        if topic.topic in twice:
            outcome = Refusal(ErrorCode.INVALID_REQUEST, f"Duplicate topic name: {topic.topic}")
        else:
            outcome = too_many or _refuse_topic(context, topic.topic)
        if outcome is None:
            outcome = yield from _extend(context, topic, validate_only=command.validate_only)
        if isinstance(outcome, Refusal):
            message = shortened(outcome.message)
            line = f"topic {shortened(topic.topic)} refused with {outcome.error.name}: {message}"
            yield LogInfo(line, client_kind="CreatePartitions refused")
            results.append(TopicResult(topic.topic, outcome.error, outcome.message))
        else:
            results.append(TopicResult(topic.topic, ErrorCode.NONE, partitions=outcome))
    return CreatePartitionsResult(tuple(results))


def plan_partitions(
    wanted: NewPartitions, standing: Assignments, brokers: Mapping[BrokerId, Broker]
) -> Assignments | Refusal:
    """Check a request for more partitions and place the new ones.

    Args:
        wanted: The request.
        standing: The partitions in the topic's node.
        brokers: The registered brokers, on which replicas may be placed.

    Returns:
        The new partitions, or why the request is refused.
    """
    refusal = _refuse_count(wanted, standing)
    if refusal is not None:
        return refusal
    first, factor = standing[0], len(standing[0].replicas)
    if factor == 0:
        return refuse_factor(factor)
    count = wanted.count - len(standing)
    if wanted.assignments is not None:
        refusal = _refuse_by_hand(wanted.assignments, count, factor, brokers)
        numbered = enumerate(wanted.assignments, len(standing))
        return refusal or {number: Assignment(replicas) for number, replicas in numbered}
    ids = sorted(brokers)
    # The index of the first broker whose id is at least that of the first partition's preferred leader.
    start = next((place for place, id_ in enumerate(ids) if id_ >= first.replicas[0]), 0)
    return place(brokers, count, factor, start=start, shift=start, first_partition=len(standing))


def _extend(
    context: ControllerContext, wanted: NewPartitions, *, validate_only: bool
) -> Decision[int | Refusal]:
    """Return the number of partitions that the topic has now, or would have."""
    while True:
        name = wanted.topic
        standing = (yield from ask(ReadAssignments((name,)))).get(name, NO_TOPIC).partitions
        plan = plan_partitions(wanted, standing, context.brokers)
        if isinstance(plan, Refusal) or validate_only:
            return plan if isinstance(plan, Refusal) else wanted.count
        whole = {**standing, **plan}
        if (yield from ask(WriteAssignment(name, standing, whole, context.fence))):
            yield LogInfo(f"topic {name} written: {len(whole)} partitions from now on")
            return len(whole)
        # The node was written meanwhile, so the new partitions must be planned again.


def _refuse_topic(context: ControllerContext, name: str) -> Refusal | None:
    """Return why ``name`` is refused before its node is read, because each node read stays watched."""
    invalid = ErrorCode.INVALID_TOPIC_EXCEPTION
    fault = topic_names.fault(name)
    if fault is not None:
        return Refusal(invalid, fault)
    if context.is_being_deleted(name):
        return Refusal(invalid, "The topic is queued for deletion.")
    return None if name in context.assignments else _unknown(name)


def _unknown(name: str) -> Refusal:
    return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")


def _refuse_count(wanted: NewPartitions, standing: Assignments) -> Refusal | None:
    name, count = wanted.topic, len(standing)
    if any(assignment.is_being_reassigned for assignment in standing.values()):
        return Refusal(
            ErrorCode.REASSIGNMENT_IN_PROGRESS,
            f"A partition reassignment is in progress for the topic '{name}'.",
        )
    if not standing:
        return _unknown(name)
    invalid = ErrorCode.INVALID_PARTITIONS
    if wanted.count < count:
        return Refusal(
            invalid,
            f"Topic currently has {count} partitions, which is higher than the requested {wanted.count}.",
        )
    if wanted.count == count:
        return Refusal(invalid, f"Topic already has {count} partitions.")
    if sorted(standing) != list(range(count)):
        return Refusal(
            ErrorCode.UNKNOWN_SERVER_ERROR,
            f"Topic '{name}' has the partitions {sorted(standing)}, expected 0 to {count - 1}",
        )
    return refuse_size(wanted.count)


def _refuse_by_hand(
    given: tuple[tuple[BrokerId, ...], ...], count: int, factor: int, brokers: Mapping[BrokerId, Broker]
) -> Refusal | None:
    invalid = ErrorCode.INVALID_REPLICA_ASSIGNMENT
    unknown = sorted({replica for replicas in given for replica in replicas} - brokers.keys())
    if unknown:
        return Refusal(invalid, f"Unknown broker(s) in replica assignment: {', '.join(map(str, unknown))}.")
    if len(given) != count:
        return Refusal(
            invalid,
            f"Increasing the number of partitions by {count} but {len(given)} assignments provided.",
        )
    for replicas in given:
        listed = ", ".join(map(str, replicas))
        if not replicas:
            return Refusal(invalid, "Cannot have replication factor of 0 for a new partition.")
        if len(set(replicas)) != len(replicas):
            return Refusal(invalid, f"Duplicate brokers not allowed in replica assignment: {listed}.")
        if len(replicas) != factor:
            return Refusal(
                invalid,
                "Inconsistent replication factor between partitions, partition 0 has "
                f"{factor} while a new partition has {len(replicas)}: {listed}.",
            )
    return None
