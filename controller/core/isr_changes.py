"""What happens when leaders note that they have changed an ISR.

A leader writes the state of its partition itself and leaves a note; the controller learns the new ISR from
ZooKeeper and tells every broker. Source: docs/kafka/isr.md and docs/kafka/controller.md, Events
(``IsrChangeNotification``).
"""

from __future__ import annotations

from barnabas.controller.core.batch import update_metadata
from barnabas.controller.core.effects import (
    Decision,
    DeleteIsrChanges,
    LogInfo,
    ReadIsrChanges,
    ReadPartitionStates,
    ask,
    listed,
)
from barnabas.controller.core.reassignment import advance_if_complete
from barnabas.controller.core.state import ControllerContext


def take_notes(context: ControllerContext) -> Decision[None]:
    """Read the notes, then the states they point to; tell all brokers; then delete the notes.

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
    yield from ask(DeleteIsrChanges(changes.notes, context.reign))
