"""Kafka's ``onPartitionReassignment``: the phases in which one partition moves to other brokers (KIP-455).

The topic's znode holds all that a new controller needs: the replicas, those being added and those being
removed. So every phase can be repeated. Phase U writes the reassignment. Phase A sends leader and new
replicas their state. When every target replica is in sync, phase B moves the leader and deletes the old
replicas.

Beyond Kafka: replicas that a new target or a cancellation leaves out are removed before the znode is written,
not after, and never all that are in sync; and phase B waits where no target replica can lead.
Source: docs/kafka/topics.md, Reassignment.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment
from barnabas.controller.core.batches.request_batch import RequestBatch, update_metadata
from barnabas.controller.core.context.controller_context import ControllerContext, PartitionReplica
from barnabas.controller.core.context.machines import PartitionMachineState, ReplicaMachineState
from barnabas.controller.core.partitions.effects import WatchPartitionStates
from barnabas.controller.core.partitions.elections import OfflineElection, OtherElection
from barnabas.controller.core.partitions.leadership import raise_epochs
from barnabas.controller.core.partitions.partition_state_machine import change_partitions
from barnabas.controller.core.protocol.attempts import attempt
from barnabas.controller.core.protocol.effects import Decision, LogInfo, LogStateChange, ask, listed
from barnabas.controller.core.replicas.replica_state_machine import change_replicas
from barnabas.controller.core.topics import topic_deletion
from barnabas.controller.core.topics.effects import NO_TOPIC, ReadAssignments, WriteAssignment
from barnabas.controller.core.topics.requested_reassignments import withdraw
from barnabas.controller.core.topics.topic_validation import Refusal


def reassign(context: ControllerContext, tp: TopicPartition, wanted: Assignment) -> Decision[Refusal | None]:
    """Take up the reassignment of ``tp`` to ``wanted``, whatever runs, and go on as far as it goes now.

    Returns:
        Why it was not taken up; then nothing has changed.
    """
    if wanted != context.assignment(tp):
        refusal = yield from _update(context, tp, wanted)
        if refusal is not None:
            return refusal
    yield from advance(context, tp)
    return None


def advance(context: ControllerContext, tp: TopicPartition) -> Decision[None]:
    """Do what the reassignment of ``tp`` needs next: phase B if every target replica is in sync, else A."""
    if not (yield from _is_complete(context, tp)):
        yield from _tell(context, tp)
        if tp in context.leaderships or not (yield from _initialize(context, tp)):
            return
    yield from _complete(context, tp)


def advance_if_complete(context: ControllerContext, tps: Iterable[TopicPartition]) -> Decision[None]:
    """Complete those of ``tps`` that are being reassigned and whose last target replica has caught up."""
    for tp in tps:
        if may_go_on(context, tp):
            yield from attempt(f"the reassignment of {tp}", _complete_if_so(context, tp))


def _complete_if_so(context: ControllerContext, tp: TopicPartition) -> Decision[None]:
    if (yield from _is_complete(context, tp)):
        yield from _complete(context, tp)


def advance_those_to(context: ControllerContext, brokers: Collection[BrokerId]) -> Decision[None]:
    """Go on with every reassignment that has one of ``brokers``, which have just come, for a target."""
    arrived = [
        tp for tp in running(context) if any(broker in context.assignment(tp).target for broker in brokers)
    ]
    yield from advance_all(context, arrived)


def advance_all(context: ControllerContext, tps: Iterable[TopicPartition]) -> Decision[None]:
    """Go on with those of ``tps`` that are being reassigned; what one fails at keeps no other."""
    for tp in tps:
        if may_go_on(context, tp):
            yield from attempt(f"the reassignment of {tp}", advance(context, tp))


def may_go_on(context: ControllerContext, tp: TopicPartition) -> bool:
    """Whether ``tp`` is being reassigned and still to be kept.

    A deletion waits for a reassignment, but the return of any broker with a replica lets it begin all the
    same; from then on no replica may be sent the partition.
    """
    is_going = tp.topic in context.topics_with_deletion_started
    return context.assignment(tp).is_being_reassigned and not is_going


def running(context: ControllerContext) -> list[TopicPartition]:
    """The partitions that are being reassigned, by topic and number."""
    return sorted(
        TopicPartition(topic, number)
        for topic, numbers in context.assignments.items()
        for number, assignment in numbers.items()
        if assignment.is_being_reassigned
    )


# Phase U


def _update(context: ControllerContext, tp: TopicPartition, wanted: Assignment) -> Decision[Refusal | None]:
    """Let go what ``wanted`` leaves out, then write ``wanted``.

    In this order a controller that fails in between leaves the former reassignment, which its successor
    resumes; in the other it would leave an ISR member, even a leader, that nobody knows to be a replica.
    """
    before = context.assignment(tp)
    yield from _read_state(context, tp)
    left_out = tuple(replica for replica in before.replicas if replica not in wanted.replicas)
    context.assign(tp, wanted)
    if left_out and not (yield from _move_off(context, tp, left_out)):
        context.assign(tp, before)
        return Refusal(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"None of the replicas {_join(wanted.replicas)} of partition {tp} is online and in sync; its "
            f"records are on {_join(left_out)} alone, expected there until another has caught up",
        )
    yield from _let_go(context, tp, left_out)
    if not (yield from _write(context, tp, before, wanted)):
        return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The partition {tp} does not exist any more.")
    return None


def _move_off(
    context: ControllerContext, tp: TopicPartition, left_out: Collection[BrokerId]
) -> Decision[bool]:
    """Have the partition led by a replica that stays; False where records would be lost with ``left_out``."""
    known = context.leaderships.get(tp)
    if known is None or not set(left_out) & {known.leader_and_isr.leader, *known.leader_and_isr.isr}:
        return True
    staying = set(context.online_replicas(tp))
    if staying & set(known.leader_and_isr.isr) and known.leader_and_isr.leader in left_out:
        yield from change_partitions(context, (tp,), PartitionMachineState.ONLINE, OfflineElection())
    now = context.leaderships[tp].leader_and_isr
    return now.leader not in left_out and bool(staying & set(now.isr))


# Phase A


def _tell(context: ControllerContext, tp: TopicPartition) -> Decision[None]:
    """Send the replicas the new assignment in a new leader epoch; create the replicas being added."""
    assignment = context.assignment(tp)
    yield LogInfo(
        f"{tp} moves to {listed(assignment.target)}: adding {listed(assignment.adding)}, removing "
        f"{listed(assignment.removing)}"
    )
    # After a failover, or the return of a broker, they may be there already, online or not.
    known = context.replica_states
    new = [one for one in (PartitionReplica(tp, r) for r in assignment.adding) if one not in known]
    context.new_replicas.created(tp, (one.replica for one in new))
    if tp in context.leaderships:
        yield from _announce(context, tp)
    for one in new:
        yield from change_replicas(context, (one,), ReplicaMachineState.NEW)


def _announce(context: ControllerContext, tp: TopicPartition) -> Decision[None]:
    """Raise the leader epoch, so that replicas take the assignment over, and send it to all of them."""
    assignment = context.assignment(tp)
    if not (yield from raise_epochs(context, (tp,))):
        yield LogStateChange(context.lines.reassignment_not_sent(assignment, tp))
        return
    state = context.leaderships[tp]
    batch = RequestBatch(context)
    batch.add_leader_and_isr((*assignment.origin, *assignment.adding), tp, state)
    yield from batch.flush()
    leader = state.leader_and_isr.leader
    yield LogStateChange(context.lines.reassignment_sent(state, assignment, leader, tp))


def _initialize(context: ControllerContext, tp: TopicPartition) -> Decision[bool]:
    """Bring a partition that was never led online with its new replicas; whether that completes it."""
    came_online = yield from change_partitions(context, (tp,), PartitionMachineState.ONLINE)
    return tp in came_online and (yield from _is_complete(context, tp))


# Phase B


def _complete(context: ControllerContext, tp: TopicPartition) -> Decision[None]:
    """Move the leader to a target replica, let the others go, write the final assignment."""
    assignment = context.assignment(tp)
    final = Assignment(assignment.target)
    added = [PartitionReplica(tp, replica) for replica in assignment.adding]
    yield from change_replicas(context, added, ReplicaMachineState.ONLINE)
    context.assign(tp, final)
    yield from _move_leader(context, tp)
    if assignment.removing and not _is_led(context, tp):
        context.assign(tp, assignment)
        yield LogInfo(
            f"{tp} keeps its replicas {listed(assignment.removing)}, because none of "
            f"{listed(assignment.target)} can lead now"
        )
        return
    yield from _let_go(context, tp, assignment.removing)
    if assignment != final:
        # Last of all, so that a successor does again whatever may be missing.
        yield from _write(context, tp, assignment, final)
    yield from withdraw(context, lambda named, target: named == tp and target == final.replicas)
    yield LogInfo(f"{tp} has its replicas on {listed(final.replicas)} now")
    yield from update_metadata(context, context.brokers, (tp,))
    yield from topic_deletion.resume(context, (tp.topic,))


def _move_leader(context: ControllerContext, tp: TopicPartition) -> Decision[None]:
    """Elect a target replica if none leads; else send the replicas the assignment in a new epoch."""
    if _is_led(context, tp):
        yield from _announce(context, tp)
    elif tp in context.leaderships:
        yield from change_partitions(context, (tp,), PartitionMachineState.ONLINE, OtherElection.REASSIGN)


def _is_led(context: ControllerContext, tp: TopicPartition) -> bool:
    """Whether an online replica of the assignment leads."""
    known = context.leaderships.get(tp)
    return known is not None and known.leader_and_isr.leader in context.online_replicas(tp)


# All phases


def _is_complete(context: ControllerContext, tp: TopicPartition) -> Decision[bool]:
    """Whether all target replicas are in sync, by ZooKeeper; watches the next change."""
    yield from _read_state(context, tp)
    assignment = context.assignment(tp)
    if not assignment.is_being_reassigned:
        return True
    known = context.leaderships.get(tp)
    return known is not None and set(assignment.target) <= set(known.leader_and_isr.isr)


def _read_state(context: ControllerContext, tp: TopicPartition) -> Decision[None]:
    """Learn what the leader has written meanwhile."""
    state = (yield from ask(WatchPartitionStates((tp,)))).get(tp)
    if state is not None and state.controller_epoch <= context.epoch:
        context.leaderships[tp] = state


def _let_go(context: ControllerContext, tp: TopicPartition, replicas: Iterable[BrokerId]) -> Decision[None]:
    """Take ``replicas`` out of the ISR and have them deleted; nobody waits for the deletion, as in Kafka."""
    known = [one for one in (PartitionReplica(tp, r) for r in replicas) if one in context.replica_states]
    if not known:
        return
    for target in (
        ReplicaMachineState.OFFLINE,
        ReplicaMachineState.DELETION_STARTED,
        ReplicaMachineState.DELETION_SUCCESSFUL,
        ReplicaMachineState.NON_EXISTENT,
    ):
        yield from change_replicas(context, known, target)


def _write(
    context: ControllerContext, tp: TopicPartition, before: Assignment, after: Assignment
) -> Decision[bool]:
    """Write the assignment of ``tp``, known to be ``after`` already; False where it is gone.

    Where it cannot be written it is known to be ``before`` again, so that it is tried again. What else was
    written to the topic's node meanwhile stays.
    """
    is_written = False
    try:
        is_written = yield from _try_to_write(context, tp, before, after)
    finally:
        if not is_written:
            context.assign(tp, before)
    return is_written


def _try_to_write(
    context: ControllerContext, tp: TopicPartition, before: Assignment, after: Assignment
) -> Decision[bool]:
    standing = {**context.assignments[tp.topic], tp.partition: before}
    while True:
        change = WriteAssignment(tp.topic, standing, {**standing, tp.partition: after}, context.fence)
        if (yield from ask(change)):
            return True
        found = (yield from ask(ReadAssignments((tp.topic,)))).get(tp.topic, NO_TOPIC).partitions
        if tp.partition not in found:
            return False
        standing = dict(found)


def _join(brokers: Iterable[BrokerId]) -> str:
    return ",".join(map(str, brokers))
