"""ISR changes that leaders report (Kafka: ``processIsrChangeNotification``).

A leader writes the state of its partition itself and creates a notification. The controller then reads the
state and sends it to every broker. Source: docs/kafka/isr.md and docs/kafka/controller.md, Events
(``IsrChangeNotification``).
"""

from __future__ import annotations

from barnabas.controller.core.batches.request_batch import update_metadata
from barnabas.controller.core.context.controller_context import ControllerContext
from barnabas.controller.core.partitions.effects import ReadPartitionStates
from barnabas.controller.core.protocol.broker_znodes import DeleteIsrChanges, ReadIsrChanges
from barnabas.controller.core.protocol.effects import Decision, LogInfo, ask, listed
from barnabas.controller.core.reassignment.partition_reassignment import advance_if_complete


def take_notes(context: ControllerContext) -> Decision[None]:
    """Read the notes, then the states they point to; notify all brokers; then delete the notes.

    A note is deleted last, so that a controller that fails in between leaves it to its successor.
    """
    changes = yield from ask(ReadIsrChanges())
    if not changes.notes:
        return
    known = tuple(tp for tp in changes.partitions if context.assignment(tp).replicas)
    if known:
        states = yield from ask(ReadPartitionStates(known))
        context.leaderships.update(states)
        yield LogInfo(f"ISR changes noted by leaders: {listed(known)}")
        yield from update_metadata(context, context.brokers, known)
        yield from advance_if_complete(context, known)
    yield from ask(DeleteIsrChanges(changes.notes, context.fence))
