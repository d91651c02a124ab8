"""Controlled shutdown: moves the leaders of a stopping broker and removes it from all ISRs.

From then on, until its registration is gone, the broker counts as dead and is not elected. Source:
``doControlledShutdown`` of ``KafkaController``; docs/kafka/topics.md, Controlled shutdown.

Beyond Kafka, a partition stays as it is, and the broker is to ask again, while no other ISR member is known
to have its log: right after the topic's creation, or after an outage of all brokers. If the ISR shrank to
such members and the controller then ended, the next one could not tell a log that was never created from one
that was lost (`context.new_replicas`), and nobody could lead. In Kafka such a replica leads with an empty
log.
"""

from __future__ import annotations

from barnabas.cluster.model.commands.command import Refused
from barnabas.cluster.model.commands.shutdown import ControlledShutdown, ControlledShutdownResult
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.controller.core.context.controller_context import ControllerContext, PartitionReplica
from barnabas.controller.core.context.machines import PartitionMachineState, ReplicaMachineState
from barnabas.controller.core.partitions.elections import OtherElection
from barnabas.controller.core.partitions.partition_state_machine import change_partitions
from barnabas.controller.core.protocol.effects import Decision, LogInfo, listed
from barnabas.controller.core.protocol.inputs import CommandReceived
from barnabas.controller.core.replicas.replica_state_machine import change_replicas


def do_controlled_shutdown(
    context: ControllerContext, request: CommandReceived[ControlledShutdown]
) -> Decision[ControlledShutdownResult | Refused]:
    """Move the broker's leaders, remove it from the ISRs, and return the partitions that must wait.

    These are the ones that it still leads, and those in which no other ISR member is known to have its log.
    Partitions with one replica stay and are not returned, because no other broker can lead them.
    """
    broker = request.command.broker_id
    refusal = _refusal(context, request)
    if refusal is not None:
        yield LogInfo(
            f"controlled shutdown of broker {broker} refused with {refusal.error.name}: {refusal.message}"
        )
        return refusal
    context.shutting_down.add(broker)
    shared = [tp for tp in _held(context, broker) if len(context.assignment(tp).replicas) > 1]
    waiting = {tp for tp in shared if not _has_successor(context, broker, tp)}
    led = [tp for tp in shared if _leads(context, broker, tp)]
    moving = [tp for tp in led if tp not in waiting]
    followed = [
        PartitionReplica(tp, broker) for tp in shared if not _leads(context, broker, tp) and tp not in waiting
    ]
    strategy = OtherElection.CONTROLLED_SHUTDOWN
    yield from change_partitions(context, moving, PartitionMachineState.ONLINE, strategy)
    yield from change_replicas(context, followed, ReplicaMachineState.OFFLINE)
    still_led = [tp for tp in led if _leads(context, broker, tp)]
    yield LogInfo(
        f"broker {broker} is about to stop: {len(led) - len(still_led)} of {len(led)} leaders moved, "
        f"{len(followed)} followers stopped; it still leads: {listed(still_led)}"
    )
    if waiting:
        yield LogInfo(
            f"broker {broker} must wait, because no other in-sync replica is known to have its log yet, in "
            f"{listed(tp for tp in shared if tp in waiting)}"
        )
    return ControlledShutdownResult(tuple(dict.fromkeys((*still_led, *sorted(waiting)))))


def _refusal(context: ControllerContext, request: CommandReceived[ControlledShutdown]) -> Refused | None:
    broker, epoch = request.command.broker_id, request.command.broker_epoch
    known = context.brokers.get(broker)
    if known is None:
        return Refused(ErrorCode.BROKER_NOT_AVAILABLE, f"Broker id {broker} does not exist.")
    if epoch < known.epoch:
        return Refused(
            ErrorCode.STALE_BROKER_EPOCH,
            f"Broker {broker} has broker epoch {known.epoch}, and the request has {epoch}.",
        )
    return None


def _held(context: ControllerContext, broker: BrokerId) -> list[TopicPartition]:
    """Return the partitions with a leadership and a replica on ``broker``, except those being deleted."""
    return [
        tp
        for tp, _ in context.replicas_on((broker,))
        if tp in context.leaderships and not context.is_being_deleted(tp.topic)
    ]


def _has_successor(context: ControllerContext, broker: BrokerId, tp: TopicPartition) -> bool:
    """Return whether a member that stays in the ISR is known to have its log, or none stays."""
    leaving = context.shutting_down if _leads(context, broker, tp) else {broker}
    staying = [member for member in context.leaderships[tp].leader_and_isr.isr if member not in leaving]
    return not staying or any(context.is_known_to_have_log(member, tp) for member in staying)


def _leads(context: ControllerContext, broker: BrokerId, tp: TopicPartition) -> bool:
    return context.leaderships[tp].leader_and_isr.leader == broker
