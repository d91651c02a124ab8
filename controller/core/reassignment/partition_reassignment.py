"""Kafka's ``onPartitionReassignment``: the phases in which partitions move to other brokers (KIP-455).

The topic's znode holds all that a new controller needs: the replicas, those being added and those being
removed. So every phase can be repeated. Phase U writes the reassignment. Phase A sends leader and new
replicas their state. When every target replica is in sync, phase B moves the leader and deletes the old
replicas. Unlike Kafka, it removes replicas that a new target or a cancellation leaves out before it writes
the znode, and never all that are in sync; and phase B waits if no target replica can lead. Source:
docs/kafka/topics.md, Reassignment.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

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
from barnabas.controller.core.protocol.attempts import attempt_together
from barnabas.controller.core.protocol.effects import Decision, LogInfo, LogStateChange, ask, listed
from barnabas.controller.core.replicas.replica_state_machine import change_replicas
from barnabas.controller.core.topics import topic_deletion
from barnabas.controller.core.topics.effects import NO_TOPIC, ReadAssignments, WriteAssignment
from barnabas.controller.core.topics.requested_reassignments import withdraw
from barnabas.controller.core.topics.topic_validation import Refusal

REASSIGNMENT = "the reassignment of"
"""The name of a step in the log line of its failure; its partitions follow."""


def reassign(
    context: ControllerContext, wanted: Mapping[TopicPartition, Assignment]
) -> Decision[Mapping[TopicPartition, Refusal]]:
    """Start the reassignments to ``wanted``, replacing running ones, and do their first phases.

    Each phase is done for all partitions before the next phase begins, because no phase depends on another
    partition. Kafka does one partition after the other, each with several round trips to ZooKeeper and two
    requests to each broker.

    Returns:
        The partitions that were refused, each with the reason; nothing has changed for them.
    """
    changed = {tp: after for tp, after in wanted.items() if after != context.assignment(tp)}
    refused = yield from _update(context, changed)
    yield from on_partition_reassignment(context, [tp for tp in wanted if tp not in refused])
    return refused


def on_partition_reassignment(context: ControllerContext, tps: Collection[TopicPartition]) -> Decision[None]:
    """Run phase B for each of ``tps`` whose target replicas are all in sync, and phase A for the others."""
    complete = yield from _which_are_complete(context, tps)
    incomplete = [tp for tp in tps if tp not in complete]
    if incomplete:
        yield from _send_new_assignments(context, incomplete)
        complete += yield from _initialize(
            context, [tp for tp in incomplete if tp not in context.leaderships]
        )
    yield from _complete(context, complete)


def complete_if_in_sync(context: ControllerContext, tps: Iterable[TopicPartition]) -> Decision[None]:
    """Complete the reassignments of ``tps`` whose target replicas are all in sync."""
    yield from _attempt(context, tps, _complete_if_in_sync)


def _complete_if_in_sync(context: ControllerContext, tps: Collection[TopicPartition]) -> Decision[None]:
    yield from _complete(context, (yield from _which_are_complete(context, tps)))


def continue_reassignments_to(context: ControllerContext, brokers: Collection[BrokerId]) -> Decision[None]:
    """Continue the reassignments that have a target replica on ``brokers``, which have just started."""
    arrived = [
        tp for tp in running(context) if any(broker in context.assignment(tp).target for broker in brokers)
    ]
    yield from continue_reassignments(context, arrived)


def continue_reassignments(context: ControllerContext, tps: Iterable[TopicPartition]) -> Decision[None]:
    """Continue the reassignments of ``tps``, even if one of them fails."""
    yield from _attempt(context, tps, on_partition_reassignment)


def _attempt(
    context: ControllerContext,
    tps: Iterable[TopicPartition],
    step: Callable[[ControllerContext, Collection[TopicPartition]], Decision[None]],
) -> Decision[None]:
    """Run ``step`` with those of ``tps`` that `may_go_on`."""
    going = [tp for tp in tps if may_go_on(context, tp)]
    yield from attempt_together(REASSIGNMENT, going, lambda some: step(context, some))


def may_go_on(context: ControllerContext, tp: TopicPartition) -> bool:
    """Return whether ``tp`` is being reassigned, and the deletion of its topic has not started.

    A deletion waits for a reassignment, but the return of any broker with a replica starts it nevertheless.
    From then on the partition may be sent to no replica.
    """
    is_going = tp.topic in context.topics_with_deletion_started
    return context.assignment(tp).is_being_reassigned and not is_going


def running(context: ControllerContext) -> list[TopicPartition]:
    """Return the partitions that are being reassigned, by topic and number."""
    return sorted(
        TopicPartition(topic, number)
        for topic, numbers in context.assignments.items()
        for number, assignment in numbers.items()
        if assignment.is_being_reassigned
    )


# Phase U


def _update(
    context: ControllerContext, wanted: Mapping[TopicPartition, Assignment]
) -> Decision[dict[TopicPartition, Refusal]]:
    """Remove the replicas that are not in ``wanted``, then write ``wanted``; return what was refused.

    In this order, a controller that fails in between leaves the former reassignment, which the next one
    resumes. In the other order, it would leave an ISR member, or even a leader, that is not in the
    assignment.
    """
    before = {tp: context.assignment(tp) for tp in wanted}
    left_out = {
        tp: tuple(replica for replica in before[tp].replicas if replica not in after.replicas)
        for tp, after in wanted.items()
    }
    left_out = {tp: replicas for tp, replicas in left_out.items() if replicas}
    yield from _read_states(context, left_out)
    for tp, after in wanted.items():
        context.assign(tp, after)
    taken: set[TopicPartition] = set()
    refused: dict[TopicPartition, Refusal] = {}
    try:
        for tp in (yield from _cannot_move_leaders_off(context, left_out)):
            refused[tp] = Refusal(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"None of the replicas {_join(wanted[tp].replicas)} of partition {tp} is online and in sync; "
                f"its records are on {_join(left_out[tp])} alone, expected there until another has caught up",
            )
        yield from _remove_replicas(context, {tp: some for tp, some in left_out.items() if tp not in refused})
        taken = yield from _write(context, {tp: before[tp] for tp in wanted if tp not in refused})
    finally:
        for tp in wanted.keys() - taken:
            context.assign(tp, before[tp])
    for tp in wanted.keys() - taken - refused.keys():
        message = f"The partition {tp} does not exist any more."
        refused[tp] = Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
    return refused


def _cannot_move_leaders_off(
    context: ControllerContext, left_out: Mapping[TopicPartition, Collection[BrokerId]]
) -> Decision[list[TopicPartition]]:
    """Move leaders to replicas that stay; return the partitions that cannot move without losing records."""
    concerned = []
    for tp, replicas in left_out.items():
        known = context.leaderships.get(tp)
        if known is not None and set(replicas) & {known.leader_and_isr.leader, *known.leader_and_isr.isr}:
            concerned.append(tp)
    moving = [
        tp
        for tp in concerned
        if _staying_in_sync(context, tp) and context.leaderships[tp].leader_and_isr.leader in left_out[tp]
    ]
    if moving:
        yield from change_partitions(context, moving, PartitionMachineState.ONLINE, OfflineElection())
    return [
        tp
        for tp in concerned
        if context.leaderships[tp].leader_and_isr.leader in left_out[tp] or not _staying_in_sync(context, tp)
    ]


def _staying_in_sync(context: ControllerContext, tp: TopicPartition) -> set[BrokerId]:
    return set(context.online_replicas(tp)) & set(context.leaderships[tp].leader_and_isr.isr)


# Phase A


def _send_new_assignments(context: ControllerContext, tps: Collection[TopicPartition]) -> Decision[None]:
    """Send the replicas the new assignments in new leader epochs; create the replicas being added."""
    new: list[PartitionReplica] = []
    for tp in tps:
        assignment = context.assignment(tp)
        yield LogInfo(
            f"{tp} moves to {listed(assignment.target)}: adding {listed(assignment.adding)}, removing "
            f"{listed(assignment.removing)}"
        )
        # After a failover or the return of a broker, the replicas may exist already, online or not.
        known = context.replica_states
        missing = [one for one in (PartitionReplica(tp, r) for r in assignment.adding) if one not in known]
        context.new_replicas.created(tp, (one.replica for one in missing))
        new += missing
    yield from _send_assignments(context, [tp for tp in tps if tp in context.leaderships])
    if new:
        yield from change_replicas(context, new, ReplicaMachineState.NEW)


def _send_assignments(context: ControllerContext, tps: Collection[TopicPartition]) -> Decision[None]:
    """Send the assignments to all replicas, in new leader epochs so that they accept them."""
    if not tps:
        return
    raised = yield from raise_epochs(context, tps)
    batch = RequestBatch(context)
    for tp in tps:
        assignment = context.assignment(tp)
        if tp in raised:
            recipients = (*assignment.origin, *assignment.adding)
            batch.add_leader_and_isr(recipients, tp, context.leaderships[tp])
        else:
            yield LogStateChange(context.lines.reassignment_not_sent(assignment, tp))
    if not raised:
        return
    yield from batch.flush()
    for tp in tps:
        if tp in raised:
            state = context.leaderships[tp]
            leader = state.leader_and_isr.leader
            yield LogStateChange(context.lines.reassignment_sent(state, context.assignment(tp), leader, tp))


def _initialize(
    context: ControllerContext, tps: Collection[TopicPartition]
) -> Decision[list[TopicPartition]]:
    """Bring partitions that never had a leader online; return those whose reassignment is then complete."""
    if not tps:
        return []
    came_online = yield from change_partitions(context, tps, PartitionMachineState.ONLINE)
    return (yield from _which_are_complete(context, [tp for tp in tps if tp in came_online]))


# Phase B


def _complete(context: ControllerContext, tps: Collection[TopicPartition]) -> Decision[None]:
    """Move the leaders to target replicas, remove the others, and write the final assignments."""
    if not tps:
        return
    before = {tp: context.assignment(tp) for tp in tps}
    added = [PartitionReplica(tp, replica) for tp in tps for replica in before[tp].adding]
    yield from change_replicas(context, added, ReplicaMachineState.ONLINE)
    for tp in tps:
        context.assign(tp, Assignment(before[tp].target))
    yield from _move_leaders(context, tps)
    done: dict[TopicPartition, Assignment] = {}
    for tp, assignment in before.items():
        if assignment.removing and not _is_led(context, tp):
            context.assign(tp, assignment)
            yield LogInfo(
                f"{tp} keeps its replicas {listed(assignment.removing)}, because none of "
                f"{listed(assignment.target)} can lead now"
            )
        else:
            done[tp] = assignment
    yield from _end(context, done)


def _end(context: ControllerContext, done: Mapping[TopicPartition, Assignment]) -> Decision[None]:
    """Delete the old replicas of partitions that a target replica leads; ``done`` has their assignments."""
    if not done:
        return
    final = {tp: context.assignment(tp) for tp in done}
    yield from _remove_replicas(context, {tp: assignment.removing for tp, assignment in done.items()})
    # This comes last, so that the next controller repeats whatever may be missing.
    yield from _write(context, {tp: before for tp, before in done.items() if before != final[tp]})
    yield from withdraw(context, lambda tp, target: tp in final and target == final[tp].replicas)
    for tp in done:
        yield LogInfo(f"{tp} has its replicas on {listed(final[tp].replicas)} now")
    yield from update_metadata(context, context.brokers, done)
    yield from topic_deletion.resume_deletion_for_topics(context, {tp.topic for tp in done})


def _move_leaders(context: ControllerContext, tps: Collection[TopicPartition]) -> Decision[None]:
    """Elect a target replica where none leads; else send the assignment in a new leader epoch."""
    led = [tp for tp in tps if _is_led(context, tp)]
    elected = [tp for tp in tps if tp not in led and tp in context.leaderships]
    yield from _send_assignments(context, led)
    if elected:
        yield from change_partitions(context, elected, PartitionMachineState.ONLINE, OtherElection.REASSIGN)


def _is_led(context: ControllerContext, tp: TopicPartition) -> bool:
    """Return whether an online replica of the assignment leads."""
    known = context.leaderships.get(tp)
    return known is not None and known.leader_and_isr.leader in context.online_replicas(tp)


# All phases


def _which_are_complete(
    context: ControllerContext, tps: Collection[TopicPartition]
) -> Decision[list[TopicPartition]]:
    """Return those of ``tps`` whose target replicas are all in sync; watch the states of all."""
    yield from _read_states(context, tps)
    return [tp for tp in tps if _is_complete(context, tp)]


def _is_complete(context: ControllerContext, tp: TopicPartition) -> bool:
    assignment = context.assignment(tp)
    if not assignment.is_being_reassigned:
        return True
    known = context.leaderships.get(tp)
    return known is not None and set(assignment.target) <= set(known.leader_and_isr.isr)


def _read_states(context: ControllerContext, tps: Collection[TopicPartition]) -> Decision[None]:
    """Read what the leaders may have written meanwhile."""
    if not tps:
        return
    for tp, state in (yield from ask(WatchPartitionStates(tuple(tps)))).items():
        if state.controller_epoch <= context.epoch:
            context.leaderships[tp] = state


def _remove_replicas(
    context: ControllerContext, leaving: Mapping[TopicPartition, Iterable[BrokerId]]
) -> Decision[None]:
    """Remove replicas from the ISRs and delete them without waiting for the responses, as Kafka does."""
    replicas = [PartitionReplica(tp, replica) for tp, some in leaving.items() for replica in some]
    known = [one for one in replicas if one in context.replica_states]
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
    context: ControllerContext, before: Mapping[TopicPartition, Assignment]
) -> Decision[set[TopicPartition]]:
    """Write the assignments that the context has already; return the partitions that were written.

    A topic's znode holds all its partitions, so a write for each would cost the square of their number, as in
    Kafka. For partitions that cannot be written, the context gets ``before`` again, so that the write is
    repeated later.
    """
    after = {tp: context.assignment(tp) for tp in before}
    written: set[TopicPartition] = set()
    try:
        for topic in dict.fromkeys(tp.topic for tp in before):
            of_topic = [tp for tp in before if tp.topic == topic]
            standing = {**context.assignments[topic], **{tp.partition: before[tp] for tp in of_topic}}
            wanted = {tp.partition: after[tp] for tp in of_topic}
            numbers = yield from _write_topic(context, topic, standing, wanted)
            written.update(TopicPartition(topic, number) for number in numbers)
    finally:
        for tp in before.keys() - written:
            context.assign(tp, before[tp])
    return written


def _write_topic(
    context: ControllerContext,
    topic: str,
    standing: Mapping[int, Assignment],
    wanted: Mapping[int, Assignment],
) -> Decision[Collection[int]]:
    """Write ``wanted``, and return what was written; other changes that were written meanwhile stay."""
    while wanted:
        change = WriteAssignment(topic, standing, {**standing, **wanted}, context.fence)
        if (yield from ask(change)):
            break
        standing = (yield from ask(ReadAssignments((topic,)))).get(topic, NO_TOPIC).partitions
        wanted = {number: after for number, after in wanted.items() if number in standing}
    return wanted.keys()


def _join(brokers: Iterable[BrokerId]) -> str:
    return ",".join(map(str, brokers))
