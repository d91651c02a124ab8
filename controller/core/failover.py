"""The first deeds of a new controller: read the cluster, tell the brokers, run both state machines up.

Source: kafka-controller.md, 2.4 (``onControllerFailover``), in the order of steps given there.
"""

from __future__ import annotations

from controller.core import partitions, replicas
from controller.core.batch import update_metadata
from controller.core.effects import (
    Decision,
    DeleteIsrChanges,
    Explain,
    OpenChannel,
    ReadAssignments,
    ReadBrokers,
    ReadIsrChanges,
    ReadPartitionStates,
    ReadTopics,
    ask,
)
from controller.core.reasons import ControllerReady
from controller.core.state import ControllerContext


def fail_over(context: ControllerContext) -> Decision[None]:
    """Take the cluster over."""
    changes = yield from ask(ReadIsrChanges())
    if changes.notes:
        # All states are read below: what the notes point to is known then.
        yield from ask(DeleteIsrChanges(changes.notes, context.reign))
    yield from _read_cluster(context)
    for broker in context.brokers.values():
        yield OpenChannel(broker)
    # Brokers must know each other before any LeaderAndIsr names one as leader.
    yield from update_metadata(context, context.brokers)
    yield from replicas.start_up(context)
    yield from partitions.start_up(context)
    count = sum(len(numbers) for numbers in context.assignments.values())
    yield Explain(ControllerReady(context.epoch, len(context.brokers), len(context.assignments), count))


def _read_cluster(context: ControllerContext) -> Decision[None]:
    context.brokers.update((yield from ask(ReadBrokers())))
    topics = yield from ask(ReadTopics())
    assignments = yield from ask(ReadAssignments(tuple(sorted(topics))))
    for topic in sorted(assignments):
        context.assignments[topic] = dict(sorted(assignments[topic].items()))
    states = yield from ask(ReadPartitionStates(tuple(context.partitions())))
    context.leaderships.update(states)
