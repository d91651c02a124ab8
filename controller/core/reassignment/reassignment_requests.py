"""Requests for reassignments: the API, ``/admin/reassign_partitions``, and those of a former controller.

Source: docs/kafka/topics.md, Reassignment (``processApiPartitionReassignment``,
``processZkPartitionReassignment``, ``initializePartitionReassignments``) and KIP-455.
"""

from __future__ import annotations

from collections.abc import Collection

from barnabas.cluster.model.commands.reassignments import (
    AlterPartitionReassignments,
    AlterPartitionReassignmentsResult,
    ListPartitionReassignments,
    ListPartitionReassignmentsResult,
    ReassignmentResult,
)
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment
from barnabas.controller.core.context.controller_context import ControllerContext
from barnabas.controller.core.protocol.attempts import Failed, attempt
from barnabas.controller.core.protocol.effects import (
    Decision,
    LogInfo,
    shortened,
)
from barnabas.controller.core.protocol.inputs import CommandReceived
from barnabas.controller.core.reassignment.partition_reassignment import advance_all, reassign, running
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
        tp: Which partition, for the words of a refusal.
        current: Its assignment; without replicas where it is not known.
        target: The replicas it shall have.
        live: The brokers on which new replicas may be placed; any where None.
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


def alter(
    context: ControllerContext, request: CommandReceived[AlterPartitionReassignments]
) -> Decision[AlterPartitionReassignmentsResult]:
    """Begin, replace or cancel each reassignment for itself, and answer when all are taken up."""
    plans = {
        tp: plan(tp, context.assignment(tp), target, context.live_brokers)
        for tp, target in request.command.targets.items()
    }
    # The latest word holds, wherever it is said.
    taken = {tp for tp, planned in plans.items() if isinstance(planned, Assignment)}
    if taken:
        yield from withdraw(context, lambda tp, _: tp in taken)
    results: dict[TopicPartition, ReassignmentResult] = {}
    for tp, planned in plans.items():
        refusal = yield from _begin(context, tp, planned)
        results[tp] = (
            ReassignmentResult(ErrorCode.NONE)
            if refusal is None
            else ReassignmentResult(refusal.error, refusal.message)
        )
    return AlterPartitionReassignmentsResult(results)


def list_running(
    context: ControllerContext, request: CommandReceived[ListPartitionReassignments]
) -> Decision[ListPartitionReassignmentsResult]:
    """Answer which reassignments run."""
    yield from ()  # A decision is a generator, also when it has no effects.
    named = None if request.command.partitions is None else frozenset(request.command.partitions)
    found = [tp for tp in running(context) if named is None or tp in named]
    return ListPartitionReassignmentsResult({tp: context.assignment(tp) for tp in found})


def take_requests(context: ControllerContext) -> Decision[None]:
    """Begin what ``/admin/reassign_partitions`` asks for and does not run yet; take out what is refused.

    One bad entry costs itself alone (KAFKA-9089). Brokers that are not alive are taken here, and waited for,
    as in Kafka.
    """
    asked = yield from read_requests()
    if asked is None:
        return
    refused: dict[TopicPartition, tuple[BrokerId, ...]] = {}
    for tp, target in asked.targets.items():
        current = context.assignment(tp)
        if current.is_being_reassigned and current.reassign_to(target) == current:
            continue
        planned = plan(tp, current, target)
        if (yield from _begin(context, tp, planned)) is not None:
            refused[tp] = target
    if refused or not asked.targets:
        yield from withdraw(context, lambda tp, target: refused.get(tp) == target)


def take_over(context: ControllerContext) -> Decision[None]:
    """Go on with what the former controller began, and begin what was asked for while there was none."""
    begun = running(context)
    yield from take_requests(context)
    yield from advance_all(context, begun)


def _begin(
    context: ControllerContext, tp: TopicPartition, planned: Assignment | Refusal
) -> Decision[Refusal | None]:
    refusal: Refusal | Failed | None
    if isinstance(planned, Refusal):
        refusal = planned
    elif context.is_being_deleted(tp.topic) or not context.assignment(tp).replicas:
        refusal = Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The partition {tp} does not exist.")
    else:
        refusal = yield from attempt(f"the reassignment of {tp}", reassign(context, tp, planned))
    if isinstance(refusal, Failed):
        refusal = Refusal(ErrorCode.UNKNOWN_SERVER_ERROR, refusal.because)
    if refusal is not None:
        name, message = shortened(str(tp)), shortened(refusal.message)
        line = f"reassignment of {name} refused with {refusal.error.name}: {message}"
        yield LogInfo(line, client_kind="reassignment refused")
    return refusal
