"""What brokers answer to control requests. An error never leads to a resend: its cause comes as an event.

Source: kafka-controller.md, 2.3 (``LeaderAndIsrResponseReceived``, ``UpdateMetadataResponseReceived``).
"""

from __future__ import annotations

from cluster.model.errors import ErrorCode
from controller.core.effects import Decision, Explain, LogStateChange
from controller.core.inputs import LeaderAndIsrResponseReceived, UpdateMetadataResponseReceived
from controller.core.offline_replicas import lose_replicas
from controller.core.reasons import RequestRefused
from controller.core.state import ControllerContext, PartitionReplica


def hear_leader_and_isr(context: ControllerContext, heard: LeaderAndIsrResponseReceived) -> Decision[None]:
    """Note which replicas lie in a failed log directory, and which do so no longer."""
    broker, response = heard.broker_id, heard.response
    if response.error is not ErrorCode.NONE:
        yield LogStateChange(context.lines.leader_and_isr_error(response.error, response, broker))
        yield Explain(RequestRefused(broker, "LeaderAndIsr", response.error))
        return
    known = context.brokers.get(broker)
    if known is None or known.epoch != heard.broker_epoch:
        # Said in a former life: whatever was wrong with its disks then, its return tells anew.
        return
    marked = context.offline_dirs.get(broker, set())
    failed = {tp for tp, error in response.partition_errors.items() if error is ErrorCode.KAFKA_STORAGE_ERROR}
    works = {tp for tp, error in response.partition_errors.items() if error is ErrorCode.NONE}
    new = sorted(failed - marked)
    remaining = (marked | failed) - works
    if remaining:
        context.offline_dirs[broker] = remaining
    else:
        context.offline_dirs.pop(broker, None)
    if new:
        yield LogStateChange(context.lines.replicas_offline(new, broker))
        yield from lose_replicas(context, [PartitionReplica(tp, broker) for tp in new])


def hear_update_metadata(context: ControllerContext, heard: UpdateMetadataResponseReceived) -> Decision[None]:
    """Log a refusal."""
    error = heard.response.error
    if error is not ErrorCode.NONE:
        yield LogStateChange(context.lines.update_metadata_error(error, heard.response, heard.broker_id))
        yield Explain(RequestRefused(heard.broker_id, "UpdateMetadata", error))
