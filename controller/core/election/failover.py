"""Kafka's ``onControllerFailover``: a new controller reads the cluster and starts both state machines.

Source: docs/kafka/controller.md, Failover, in the order of steps given there.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.cluster.model.epochs import ControllerEpoch
from barnabas.cluster.model.ids import TopicPartition
from barnabas.controller.core.batches.request_batch import update_metadata
from barnabas.controller.core.context.controller_context import ControllerContext
from barnabas.controller.core.election import bounces
from barnabas.controller.core.election.effects import RecordEpoch
from barnabas.controller.core.leader_elections import replica_elections
from barnabas.controller.core.partitions import partition_state_machine
from barnabas.controller.core.partitions.effects import ReadPartitionStates
from barnabas.controller.core.protocol.attempts import attempt
from barnabas.controller.core.protocol.broker_znodes import (
    DeleteIsrChanges,
    DeleteLogDirEvents,
    ReadBrokers,
    ReadIsrChanges,
    ReadLogDirEvents,
)
from barnabas.controller.core.protocol.effects import Decision, LogInfo, OpenChannel, ask
from barnabas.controller.core.reassignment import reassignment_requests
from barnabas.controller.core.replicas import replica_state_machine
from barnabas.controller.core.topics import topic_deletion
from barnabas.controller.core.topics.effects import ReadAssignments, ReadTopics
from barnabas.controller.core.topics.topic_changes import leave_out_illegal

LAST_EPOCH = 2**31 - 1
"""The largest controller epoch; a state that names it was written by a person."""


def on_controller_failover(context: ControllerContext) -> Decision[ControllerEpoch | None]:
    """Become the active controller: read the cluster, start both state machines, resume what was begun.

    Returns:
        None; or the controller epoch of a partition state if that is later than this controller's. Then this
        epoch must not be used, and nothing was sent or written.
    """
    settled = yield from ask(RecordEpoch(context.fence))
    yield from attempt("the notes of failed log directories", _drop_log_dir_events(context))
    yield from attempt("the notes of changed ISRs", _drop_isr_changes(context))
    tps, latest = yield from _read_cluster(context)
    if context.epoch < latest < LAST_EPOCH:
        yield LogInfo(
            f"controller epoch {context.epoch} is below {latest}, in which states were written: a later one "
            "is needed"
        )
        return latest
    for broker in context.brokers.values():
        yield OpenChannel(broker)
    yield from attempt(
        "the marks of topics to be deleted", topic_deletion.fetch_topic_deletions_in_progress(context)
    )
    # Brokers must know each other before any LeaderAndIsr names one as leader.
    yield from update_metadata(context, context.brokers)
    yield from bounces.handle_unseen_bounces(context, tps, settled)
    yield from replica_state_machine.start_up(context, tps)
    yield from partition_state_machine.start_up(context, tps)
    # A starting broker serves no client before it has all metadata, and others forget the partitions that no
    # request has named. Those with an online replica were sent above; here are the others.
    liveness = context.liveness()
    unreachable = [
        tp
        for tp, assignment in zip(tps, context.assigned(tps), strict=True)
        if len(liveness.offline(tp, assignment.replicas)) == len(assignment.replicas)
    ]
    yield from update_metadata(context, context.brokers, unreachable, is_complete=True)
    yield from bounces.settle(context, context.brokers)
    yield LogInfo(
        f"ready to serve as the controller with epoch {context.epoch}: {len(context.brokers)} brokers, "
        f"{len(context.assignments)} topics, {len(tps)} partitions"
    )
    yield from attempt("the reassignments", reassignment_requests.initialize_partition_reassignments(context))
    yield from attempt("the deletions", topic_deletion.resume_deletions(context))
    yield from attempt("the elections of preferred replicas", replica_elections.elect_by_znode(context))
    yield from replica_elections.schedule_first_rebalance(context)
    return None


def _drop_log_dir_events(context: ControllerContext) -> Decision[None]:
    """Watch and delete the notifications: a new controller sends every broker all state anyway."""
    events = yield from ask(ReadLogDirEvents())
    if events.notes:
        yield from ask(DeleteLogDirEvents(events.notes, context.fence))


def _drop_isr_changes(context: ControllerContext) -> Decision[None]:
    changes = yield from ask(ReadIsrChanges())
    if changes.notes:
        # All states are read afterwards, including those that the notifications name.
        yield from ask(DeleteIsrChanges(changes.notes, context.fence))


def _read_cluster(
    context: ControllerContext,
) -> Decision[tuple[Sequence[TopicPartition], ControllerEpoch]]:
    """Read the cluster; return all partitions and the latest controller epoch of their states."""
    context.brokers.update((yield from ask(ReadBrokers())))
    topics = yield from leave_out_illegal((yield from ask(ReadTopics())))
    assignments = yield from ask(ReadAssignments(topics))
    for topic in sorted(assignments):
        context.assignments[topic] = dict(sorted(assignments[topic].partitions.items()))
        context.identify(topic, assignments[topic].identity)
    tps = list(context.partitions())
    # These objects are the keys of the answer and of all dictionaries by partition from now on, so that
    # look-ups find the same object without comparing fields.
    states = yield from ask(ReadPartitionStates(tuple(tps)))
    context.leaderships.update(states)
    return tps, max((state.controller_epoch for state in states.values()), default=context.epoch)
