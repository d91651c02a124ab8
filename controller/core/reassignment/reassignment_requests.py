"""Requests for reassignments: by the API, by znode, and those that a former controller began.

Source: docs/kafka/topics.md, Reassignment (``processApiPartitionReassignment``,
``processZkPartitionReassignment``, ``initializePartitionReassignments``) and KIP-455.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from barnabas.cluster.model.commands.reassignments import (
    AlterPartitionReassignments,
    AlterPartitionReassignmentsResult,
    ListPartitionReassignments,
    ListPartitionReassignmentsResult,
    ReassignmentResult,
)
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.log_text import shortened
from barnabas.cluster.model.partition import Assignment
from barnabas.controller.core.context.controller_context import ControllerContext
from barnabas.controller.core.protocol.attempts import Failed, attempt_together
from barnabas.controller.core.protocol.effects import Decision, LogInfo
from barnabas.controller.core.protocol.inputs import CommandReceived
from barnabas.controller.core.reassignment.partition_reassignment import (
    REASSIGNMENT,
    continue_reassignments,
    reassign,
    running,
)
from barnabas.controller.core.topics.requested_reassignments import read_requests, withdraw
from barnabas.controller.core.topics.topic_validation import Refusal


def plan(
    tp: TopicPartition,
    current: Assignment,
    target: tuple[BrokerId, ...] | None,
    live: Collection[BrokerId] | None = None,
) -> Assignment | Refusal:
    """Return the assignment after a reassignment to ``target``, or after its cancellation if that is None.

    Args:
        tp: The partition, for the message of a refusal.
        current: Its assignment; empty if the partition is unknown.
        target: The requested replicas; None to cancel.
        live: The brokers on which new replicas may be placed; None for any.
    """
    if target is None:
        if not current.is_being_reassigned:
            message = f"No reassignment of partition {tp} is in progress."
            return Refusal(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, message)
        return current.reassign_to(current.origin)
    listed = ",".join(map(str, target))
    wanted = current.reassign_to(target)
    absent = ",".join(str(r) for r in wanted.adding if live is not None and r not in live)
    if not target:
        message = f"The replica list of partition {tp} is empty; expected at least one broker."
    elif len(set(target)) < len(target):
        message = f"The replica list {listed} of partition {tp} names a broker twice."
    elif min(target) < 0:
        message = f"The replica list {listed} of partition {tp} has a negative broker id."
    elif absent:
        message = f"The replica list {listed} of partition {tp} adds brokers that are not alive: {absent}."
    else:
        return wanted
    return Refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)


def process_api_partition_reassignment(
    context: ControllerContext, request: CommandReceived[AlterPartitionReassignments]
) -> Decision[AlterPartitionReassignmentsResult]:
    """Start, replace or cancel each reassignment separately, and return the result of each."""
    plans = {
        tp: plan(tp, context.assignment(tp), target, context.live_brokers)
        for tp, target in request.command.targets.items()
    }
    # The API's request replaces one in the znode.
    taken = {tp for tp, planned in plans.items() if isinstance(planned, Assignment)}
    if taken:
        yield from withdraw(context, lambda tp, _: tp in taken)
    refused = yield from _begin(context, plans)
    results = {
        tp: ReassignmentResult(refused[tp].error, refused[tp].message)
        if tp in refused
        else ReassignmentResult(ErrorCode.NONE)
        for tp in plans
    }
    return AlterPartitionReassignmentsResult(results)


def process_list_partition_reassignments(
    context: ControllerContext, request: CommandReceived[ListPartitionReassignments]
) -> Decision[ListPartitionReassignmentsResult]:
    """Return the running reassignments."""
    yield from ()  # A decision is a generator even if it yields no effects.
    named = None if request.command.partitions is None else frozenset(request.command.partitions)
    found = [tp for tp in running(context) if named is None or tp in named]
    return ListPartitionReassignmentsResult({tp: context.assignment(tp) for tp in found})


def process_zk_partition_reassignment(context: ControllerContext) -> Decision[None]:
    """Start the reassignments in ``/admin/reassign_partitions``, and remove those that are refused.

    A bad entry does not affect the others (KAFKA-9089). As in Kafka, target brokers that are not alive are
    accepted and waited for.
    """
    asked = yield from read_requests()
    if asked is None:
        return
    plans: dict[TopicPartition, Assignment | Refusal] = {}
    for tp, target in asked.targets.items():
        current = context.assignment(tp)
        if not current.is_being_reassigned or current.reassign_to(target) != current:
            plans[tp] = plan(tp, current, target)
    refused = yield from _begin(context, plans)
    if refused or not asked.targets:
        yield from withdraw(context, lambda tp, target: tp in refused and asked.targets[tp] == target)


def initialize_partition_reassignments(context: ControllerContext) -> Decision[None]:
    """Continue reassignments of former controllers, and start those requested by znode meanwhile."""
    begun = running(context)
    yield from process_zk_partition_reassignment(context)
    yield from continue_reassignments(context, begun)


def _is_there(context: ControllerContext, tp: TopicPartition) -> bool:
    return bool(context.assignment(tp).replicas) and not context.is_being_deleted(tp.topic)


def _begin(
    context: ControllerContext, plans: Mapping[TopicPartition, Assignment | Refusal]
) -> Decision[dict[TopicPartition, Refusal]]:
    """Start the planned reassignments; return the refused ones."""
    refused: dict[TopicPartition, Refusal] = {}
    wanted: dict[TopicPartition, Assignment] = {}
    for tp, planned in plans.items():
        if isinstance(planned, Refusal):
            refused[tp] = planned
        elif not _is_there(context, tp):
            refused[tp] = Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The partition {tp} does not exist.")
        else:
            wanted[tp] = planned
    begun = yield from attempt_together(
        REASSIGNMENT, wanted, lambda some: reassign(context, {tp: wanted[tp] for tp in some})
    )
    for some, outcome in begun:
        if isinstance(outcome, Failed):
            refused |= dict.fromkeys(some, Refusal(ErrorCode.UNKNOWN_SERVER_ERROR, outcome.because))
        else:
            refused |= outcome
    for tp, refusal in refused.items():
        name, message = shortened(str(tp)), shortened(refusal.message)
        line = f"reassignment of {name} refused with {refusal.error.name}: {message}"
        yield LogInfo(line, client_kind="reassignment refused")
    return refused
