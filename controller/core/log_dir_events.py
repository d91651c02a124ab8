"""What happens when brokers note that a log directory of theirs has failed.

The note does not say whose replicas are gone: the broker is told again to lead or follow all of its own, and
answers ``KAFKA_STORAGE_ERROR`` for those (`controller.core.responses`). Source:
docs/kafka/controller.md, Events (``LogDirEventNotification``, ``onBrokerLogDirFailure``).
"""

from __future__ import annotations

from barnabas.controller.core.effects import Decision, LogInfo, ask, listed
from barnabas.controller.core.effects_configs import DeleteLogDirEvents, ReadLogDirEvents
from barnabas.controller.core.machines import ReplicaMachineState
from barnabas.controller.core.replicas import change_replicas
from barnabas.controller.core.state import ControllerContext


def take_log_dir_events(context: ControllerContext) -> Decision[None]:
    """Read the notes, ask the brokers that they name, then delete the notes.

    A note is deleted last, so that a controller that fails in between leaves it to its successor.
    """
    events = yield from ask(ReadLogDirEvents())
    if not events.notes:
        return
    named = tuple(broker for broker in events.brokers if broker in context.brokers)
    if named:
        yield LogInfo(f"log directories failed on brokers: {listed(named)}")
        # Those known to be offline stay so: only a restart of the broker can bring them back.
        asked = [one for one in context.replicas_on(named) if context.is_online(one.replica, one.partition)]
        yield from change_replicas(context, asked, ReplicaMachineState.ONLINE)
    yield from ask(DeleteLogDirEvents(events.notes, context.reign))


def drop_log_dir_events(context: ControllerContext) -> Decision[None]:
    """Watch the notes, and delete those that a new controller finds: it asks every broker anyway."""
    events = yield from ask(ReadLogDirEvents())
    if events.notes:
        yield from ask(DeleteLogDirEvents(events.notes, context.reign))
