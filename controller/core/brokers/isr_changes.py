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
from barnabas.controller.core.reassignment.partition_reassignment import complete_if_in_sync


def process_isr_change_notification(context: ControllerContext) -> Decision[None]:
    """Read the notifications, send the states of their partitions to all brokers, delete them.

    The notifications are deleted last, so that a controller that fails in between leaves them to the next
    one.
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
        yield from complete_if_in_sync(context, known)
    yield from ask(DeleteIsrChanges(changes.notes, context.fence))
