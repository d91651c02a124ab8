"""Failed log directories that brokers report (Kafka: ``processLogDirEventNotification``).

The notification does not say whose replicas are lost. So the controller sends the broker the state of all its
replicas again, and the broker answers ``KAFKA_STORAGE_ERROR`` for those (`brokers.responses`). Source:
docs/kafka/controller.md, Events (``LogDirEventNotification``).
"""

from __future__ import annotations

from barnabas.controller.core.context.controller_context import ControllerContext
from barnabas.controller.core.context.machines import ReplicaMachineState
from barnabas.controller.core.protocol.broker_znodes import DeleteLogDirEvents, ReadLogDirEvents
from barnabas.controller.core.protocol.effects import Decision, LogInfo, ask, listed
from barnabas.controller.core.replicas.replica_state_machine import change_replicas


def process_log_dir_event_notification(context: ControllerContext) -> Decision[None]:
    """Read the notifications, send the brokers they name all state again, and delete the notifications.

    The notifications are deleted last, so that a controller that fails in between leaves them to the next
    one.
    """
    events = yield from ask(ReadLogDirEvents())
    if not events.notes:
        return
    named = tuple(broker for broker in events.brokers if broker in context.brokers)
    if named:
        yield LogInfo(f"log directories failed on brokers: {listed(named)}")
        # Replicas that are known to be offline stay so: only a restart of the broker can bring them back.
        asked = [one for one in context.replicas_on(named) if context.is_online(one.replica, one.partition)]
        yield from change_replicas(context, asked, ReplicaMachineState.ONLINE)
    yield from ask(DeleteLogDirEvents(events.notes, context.fence))
