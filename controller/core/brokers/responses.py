"""The responses of brokers to control requests.

The cause of most errors arrives as an event of its own. Beyond Kafka, a request that failed with an
unexpected error is sent again (`brokers.resends`). A controller that gets ``STALE_CONTROLLER_EPOCH`` resigns;
if ``/controller_epoch`` was lowered, it is elected again with a later epoch, which brokers accept. Source:
docs/kafka/controller.md, Events (``LeaderAndIsrResponseReceived``, ``UpdateMetadataResponseReceived``).
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.controller.core.batches.request_batch import update_metadata
from barnabas.controller.core.brokers import resends
from barnabas.controller.core.brokers.offline_replicas import on_replicas_become_offline
from barnabas.controller.core.context.controller_context import ControllerContext, PartitionReplica
from barnabas.controller.core.context.machines import ReplicaMachineState
from barnabas.controller.core.context.new_replicas import CONFIRMED
from barnabas.controller.core.election import bounces, controller_election
from barnabas.controller.core.protocol.effects import Decision, LogInfo, LogStateChange
from barnabas.controller.core.protocol.inputs import (
    LeaderAndIsrResponseReceived,
    TopicDeletionStopReplicaResponseReceived,
    UpdateMetadataResponseReceived,
)
from barnabas.controller.core.replicas.replica_state_machine import change_replicas
from barnabas.controller.core.topics import topic_deletion


def process_leader_and_isr_response(
    context: ControllerContext, received: LeaderAndIsrResponseReceived
) -> Decision[None]:
    """Update which replicas lie in a failed log directory."""
    broker, response = received.broker_id, received.response
    if response.error is not ErrorCode.NONE:
        yield LogStateChange(context.lines.leader_and_isr_error(response.error, response, broker))
        yield LogInfo(f"broker {broker} answered LeaderAndIsr with {response.error.name}")
    if not _is_current(context, received):
        return
    if response.error is ErrorCode.STALE_CONTROLLER_EPOCH:
        yield from _yield_to_a_later(context, broker)
        return
    if response.error is not ErrorCode.NONE:
        errors = dict.fromkeys(received.requested, response.error)
        yield from resends.fail_leaderships(context, broker, errors)
        return
    yield from resends.fail_leaderships(context, broker, response.partition_errors)
    context.new_replicas.answered(broker, response.partition_errors)
    yield from _announce_new_leader(context, broker, response.partition_errors)
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
        lost = [PartitionReplica(tp, broker) for tp in new]
        # If a replica's deletion has started meanwhile, the response to that counts.
        deleting = ReplicaMachineState.DELETION_STARTED
        yield from on_replicas_become_offline(
            context, [one for one in lost if context.replica_states.get(one) != deleting]
        )
    is_last = not received.parts_to_follow and broker not in context.failures.leaderships
    if broker in context.unproven and is_last:
        # The first request to a broker epoch names all replicas that the broker hosts, so the responses to
        # all its parts cover all. Those that failed are sent again.
        context.unproven.discard(broker)
        yield from _lose_the_kept(context)
        yield from bounces.settle(context, (broker,))


def _is_current(
    context: ControllerContext,
    received: LeaderAndIsrResponseReceived
    | TopicDeletionStopReplicaResponseReceived
    | UpdateMetadataResponseReceived,
) -> bool:
    """Return whether a response answers this controller, and is from the present incarnation of the broker.

    The next incarnation reports its log directories itself, and gets failed deletions again. So does each
    broker to a controller that was elected again while the response waited: its first request names all.
    """
    known = context.brokers.get(received.broker_id)
    return (
        known is not None
        and known.epoch == received.broker_epoch
        and received.controller_epoch in (None, context.epoch)
    )


def _announce_new_leader(
    context: ControllerContext, broker: BrokerId, errors: Mapping[TopicPartition, ErrorCode]
) -> Decision[None]:
    """Send all brokers the new partitions that ``broker`` has confirmed to lead.

    A leader that failed for an unforeseen reason, such as too many open files, is asked again later; the
    creation of the topic does not wait for it.
    """
    led = [
        tp
        for tp in errors
        if tp in context.not_led_yet
        and (errors[tp] in CONFIRMED or errors[tp] is resends.UNFORESEEN)
        and context.leaderships[tp].leader_and_isr.leader == broker
    ]
    if led:
        context.not_led_yet.difference_update(led)
        yield from update_metadata(context, context.brokers, led)


def _lose_the_kept(context: ControllerContext) -> Decision[None]:
    """Remove dead members from ISRs in which a live member has now proved that it has its log."""
    gone: list[PartitionReplica] = []
    for tp, state in list(context.leaderships.items()):
        isr = state.leader_and_isr.isr
        dead = [member for member in isr if member not in context.brokers]
        if dead and not context.kept_in_sync(tp, isr) and not context.is_being_deleted(tp.topic):
            gone += [PartitionReplica(tp, member) for member in dead]
    if gone:
        yield from change_replicas(context, gone, ReplicaMachineState.OFFLINE)


def process_stop_replica_response(
    context: ControllerContext, received: TopicDeletionStopReplicaResponseReceived
) -> Decision[None]:
    """Handle which replicas a broker has deleted, and which it could not delete."""
    if not _is_current(context, received):
        return
    yield from topic_deletion.process_deletions(context, received.broker_id, received.partition_errors)
    yield from resends.fail_deletions(context, received.broker_id, received.partition_errors)


def process_update_metadata_response(
    context: ControllerContext, received: UpdateMetadataResponseReceived
) -> Decision[None]:
    """Log an error, and resign or send the metadata again."""
    error, broker = received.response.error, received.broker_id
    if error is not ErrorCode.NONE:
        yield LogStateChange(context.lines.update_metadata_error(error, received.response, broker))
        yield LogInfo(f"broker {broker} answered UpdateMetadata with {error.name}")
    if _is_current(context, received):
        if error is ErrorCode.STALE_CONTROLLER_EPOCH:
            yield from _yield_to_a_later(context, broker)
        elif error is resends.UNFORESEEN:
            yield from resends.fail_metadata(context, broker)


def _yield_to_a_later(context: ControllerContext, broker: BrokerId) -> Decision[None]:
    yield from controller_election.rest(context, f"broker {broker} obeys a later controller epoch")
