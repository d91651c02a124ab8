"""The first deeds of a new controller: read the cluster, tell the brokers, run both state machines up.

Source: kafka-controller.md, 2.4 (``onControllerFailover``), in the order of steps given there.
"""

from __future__ import annotations

from collections.abc import Mapping

from cluster.model.epochs import Zxid
from cluster.model.ids import BrokerId, TopicPartition
from controller.core import deletions, partitions, reassignment_requests, replica_elections, replicas
from controller.core.batch import update_metadata
from controller.core.effects import (
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
)
from controller.core.leadership import remove_from_isr
from controller.core.log_dir_events import drop_log_dir_events
from controller.core.reasons import BouncedUnseen, ControllerReady
from controller.core.state import ControllerContext


def fail_over(context: ControllerContext) -> Decision[None]:
    """Take the cluster over."""
    yield from drop_log_dir_events(context)
    changes = yield from ask(ReadIsrChanges())
    if changes.notes:
        # All states are read below: what the notes point to is known then.
        yield from ask(DeleteIsrChanges(changes.notes, context.reign))
    written = yield from _read_cluster(context)
    for broker in context.brokers.values():
        yield OpenChannel(broker)
    yield from deletions.take_marks_over(context)
    # Brokers must know each other before any LeaderAndIsr names one as leader.
    yield from update_metadata(context, context.brokers)
    for broker_id, tps in _bounced_unseen(context, written).items():
        yield from _expel(context, broker_id, tps)
    yield from replicas.start_up(context)
    yield from partitions.start_up(context)
    count = sum(len(numbers) for numbers in context.assignments.values())
    yield Explain(ControllerReady(context.epoch, len(context.brokers), len(context.assignments), count))
    yield from reassignment_requests.take_over(context)
    yield from deletions.resume_all(context)
    yield from replica_elections.elect_by_znode(context)
    yield from replica_elections.schedule_first_rebalance(context)


def _read_cluster(context: ControllerContext) -> Decision[dict[TopicPartition, Zxid]]:
    """Read everything; the answer tells when each leadership was written."""
    context.brokers.update((yield from ask(ReadBrokers())))
    topics = yield from ask(ReadTopics())
    assignments = yield from ask(ReadAssignments(tuple(sorted(topics))))
    for topic in sorted(assignments):
        context.assignments[topic] = dict(sorted(assignments[topic].items()))
    states = yield from ask(ReadPartitionStates(tuple(context.partitions())))
    context.leaderships.update((tp, written.state) for tp, written in states.items())
    return {tp: written.zxid for tp, written in states.items()}


def _bounced_unseen(
    context: ControllerContext, written: Mapping[TopicPartition, Zxid]
) -> dict[BrokerId, list[TopicPartition]]:
    """By broker, the ISRs it is in though it registered after they were written.

    It died and came back while nobody reigned, perhaps without its log: its place in the ISR was earned in a
    former life. Where all live members have bounced none is better than the others, and all stay.
    """
    suspects: dict[BrokerId, list[TopicPartition]] = {}
    for tp, zxid in written.items():
        live = [id_ for id_ in context.leaderships[tp].leader_and_isr.isr if id_ in context.brokers]
        bounced = [id_ for id_ in live if context.brokers[id_].epoch > zxid]
        if len(bounced) < len(live):
            for id_ in bounced:
                suspects.setdefault(id_, []).append(tp)
    return suspects


def _expel(context: ControllerContext, broker_id: BrokerId, tps: list[TopicPartition]) -> Decision[None]:
    """Take a broker out of these ISRs, and out of the lead, as its death would have, had it been seen."""
    yield Explain(BouncedUnseen(broker_id, tuple(tps)))
    states, _ = yield from remove_from_isr(context, broker_id, tps)
    for tp, state in states.items():
        yield LogStateChange(context.lines.removed_from_isr(tp, state, broker_id))
