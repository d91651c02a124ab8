"""The first deeds of a new controller: read the cluster, tell the brokers, run both state machines up.

Source: kafka-controller.md, 2.4 (``onControllerFailover``), in the order of steps given there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cluster.model.epochs import UNKNOWN_BROKER_EPOCH
from cluster.model.ids import BrokerId, TopicPartition
from cluster.model.partition import WrittenState
from controller.core import deletions, partitions, reassignment_requests, replica_elections, replicas
from controller.core.attempts import attempt
from controller.core.batch import update_metadata
from controller.core.effects import (
    BREATHE,
    Decision,
    DeleteIsrChanges,
    Explain,
    LogStateChange,
    OpenChannel,
    ReadAssignments,
    ReadBrokers,
    ReadIsrChanges,
    ReadPartitionStates,
    ReadTopics,
    ask,
    breaths,
)
from controller.core.leadership import remove_from_isr
from controller.core.log_dir_events import drop_log_dir_events
from controller.core.reasons import BouncedUnseen, ControllerReady
from controller.core.state import ControllerContext
from controller.core.topic_changes import leave_out_illegal


def fail_over(context: ControllerContext) -> Decision[None]:
    """Take the cluster over."""
    yield from attempt("the notes of failed log directories", drop_log_dir_events(context))
    yield from attempt("the notes of changed ISRs", _drop_isr_changes(context))
    tps, written = yield from _read_cluster(context)
    for broker in context.brokers.values():
        yield OpenChannel(broker)
    yield from attempt("the marks of topics to be deleted", deletions.take_marks_over(context))
    # Brokers must know each other before any LeaderAndIsr names one as leader.
    yield from update_metadata(context, context.brokers)
    bounced = yield from _bounced_unseen(context, written)
    for broker_id, unsafe in bounced.items():
        yield from _expel(context, broker_id, unsafe)
    yield from replicas.start_up(context, tps)
    yield from partitions.start_up(context, tps)
    yield Explain(ControllerReady(context.epoch, len(context.brokers), len(context.assignments), len(tps)))
    yield from attempt("the reassignments", reassignment_requests.take_over(context))
    yield from attempt("the deletions", deletions.resume_all(context))
    yield from attempt("the elections of preferred replicas", replica_elections.elect_by_znode(context))
    yield from replica_elections.schedule_first_rebalance(context)


def _drop_isr_changes(context: ControllerContext) -> Decision[None]:
    changes = yield from ask(ReadIsrChanges())
    if changes.notes:
        # All states are read later: what the notes point to is known then.
        yield from ask(DeleteIsrChanges(changes.notes, context.reign))


def _read_cluster(
    context: ControllerContext,
) -> Decision[tuple[Sequence[TopicPartition], Mapping[TopicPartition, WrittenState]]]:
    """Read everything; all partitions, and the leaderships with the time at which each was written."""
    context.brokers.update((yield from ask(ReadBrokers())))
    topics = yield from leave_out_illegal((yield from ask(ReadTopics())))
    assignments = yield from ask(ReadAssignments(topics))
    for topic in sorted(assignments):
        context.assignments[topic] = dict(sorted(assignments[topic].items()))
        yield BREATHE
    tps: list[TopicPartition] = []
    for some in breaths(context.partitions()):
        tps += some
        yield BREATHE
    # The answer, and all that is kept by partition from now on, has these objects for its keys: what is the
    # same is found without being compared.
    states = yield from ask(ReadPartitionStates(tuple(tps)))
    for found in breaths(states.items()):
        context.leaderships.update((tp, written.state) for tp, written in found)
        yield BREATHE
    return tps, states


def _bounced_unseen(
    context: ControllerContext, states: Mapping[TopicPartition, WrittenState]
) -> Decision[dict[BrokerId, list[TopicPartition]]]:
    """By broker, the ISRs it is in though it registered after they were written.

    It died and came back while nobody reigned, perhaps without its log: its place in the ISR was earned in a
    former life. Where all live members have bounced none is better than the others, and all stay.
    """
    suspects: dict[BrokerId, list[TopicPartition]] = {}
    registered = {id_: broker.epoch for id_, broker in context.brokers.items()}
    latest = max(registered.values(), default=UNKNOWN_BROKER_EPOCH)
    for some in breaths(states.items()):
        for tp, written in some:
            if latest < written.zxid:
                continue
            live = [id_ for id_ in written.state.leader_and_isr.isr if id_ in registered]
            bounced = [id_ for id_ in live if registered[id_] > written.zxid]
            if len(bounced) < len(live):
                for id_ in bounced:
                    suspects.setdefault(id_, []).append(tp)
        yield BREATHE
    return suspects


def _expel(context: ControllerContext, broker_id: BrokerId, tps: list[TopicPartition]) -> Decision[None]:
    """Take a broker out of these ISRs, and out of the lead, as its death would have, had it been seen."""
    yield Explain(BouncedUnseen(broker_id, tuple(tps)))
    states, _ = yield from remove_from_isr(context, broker_id, tps)
    for tp, state in states.items():
        yield LogStateChange(context.lines.removed_from_isr(tp, state, broker_id))
