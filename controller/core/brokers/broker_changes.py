"""Brokers that start, fail, restart or change endpoints (Kafka: ``onBrokerStartup``, ``onBrokerFailure``).

Source: docs/kafka/controller.md, Broker changes (``BrokerChange``, ``BrokerModifications``).
"""

from __future__ import annotations

from collections.abc import Collection

from barnabas.cluster.model.ids import BrokerId
from barnabas.controller.core.batches.request_batch import update_metadata
from barnabas.controller.core.brokers.offline_replicas import on_replicas_become_offline
from barnabas.controller.core.context.controller_context import ControllerContext
from barnabas.controller.core.context.machines import ReplicaMachineState
from barnabas.controller.core.election import bounces
from barnabas.controller.core.partitions.partition_state_machine import bring_online
from barnabas.controller.core.protocol.broker_znodes import ReadBrokers
from barnabas.controller.core.protocol.effects import (
    CloseChannel,
    Decision,
    LogInfo,
    OpenChannel,
    ask,
    listed,
)
from barnabas.controller.core.reassignment import partition_reassignment
from barnabas.controller.core.replicas.replica_state_machine import change_replicas
from barnabas.controller.core.topics import topic_deletion


def process_broker_change(context: ControllerContext) -> Decision[None]:
    """Read the registered brokers and handle those that are new, bounced or dead.

    A broker whose registration has a later czxid than the known one has died and returned in between. Such
    a broker is handled as one that failed and then started, because it has lost all state (KIP-380).
    """
    registered = yield from ask(ReadBrokers())
    known = context.brokers
    new = tuple(sorted(registered.keys() - known.keys()))
    dead = tuple(sorted(known.keys() - registered.keys()))
    stayed = sorted(registered.keys() & known.keys())
    bounced = tuple(id_ for id_ in stayed if registered[id_].epoch > known[id_].epoch)
    if new or dead or bounced:
        yield LogInfo(
            f"new brokers: {listed(new)}; bounced: {listed(bounced)}; dead: {listed(dead)}; all live "
            f"brokers: {listed(sorted(registered))}"
        )
    for id_ in new:
        yield OpenChannel(registered[id_])
    for id_ in bounced:
        yield CloseChannel(id_)
        yield OpenChannel(registered[id_])
    for id_ in dead:
        yield CloseChannel(id_)
    if new:
        context.brokers.update((id_, registered[id_]) for id_ in new)
        yield from _on_broker_startup(context, new)
    if bounced:
        for id_ in bounced:
            del context.brokers[id_]
        yield from _on_broker_failure(context, bounced)
        context.brokers.update((id_, registered[id_]) for id_ in bounced)
        yield from _on_broker_startup(context, bounced)
    if dead:
        for id_ in dead:
            del context.brokers[id_]
        yield from _on_broker_failure(context, dead)
    if new or bounced:
        yield from bounces.settle(context, (*new, *bounced))


def process_broker_modification(context: ControllerContext, broker_id: BrokerId) -> Decision[None]:
    """Read a broker's registration; if its endpoints have changed, notify all brokers."""
    registered = (yield from ask(ReadBrokers())).get(broker_id)
    known = context.brokers.get(broker_id)
    if registered is None or known is None or registered.epoch != known.epoch or registered == known:
        # A broker that is gone, new or bounced is handled when the list of brokers changes.
        return
    context.brokers[broker_id] = registered
    yield LogInfo(f"broker {broker_id} has other endpoints now")
    yield from update_metadata(context, context.brokers)


def _on_broker_startup(context: ControllerContext, ids: Collection[BrokerId]) -> Decision[None]:
    """Send the new brokers all state, and continue what waited for them (Kafka: ``onBrokerStartup``)."""
    for id_ in ids:
        context.offline_dirs.pop(id_, None)
    context.unproven.update(ids)
    there = [id_ for id_ in context.brokers if id_ not in ids]
    yield from update_metadata(context, there)
    led = [tp for tp in context.leaderships if not context.is_being_deleted(tp.topic)]
    yield from update_metadata(context, ids, led, is_complete=True)
    replicas = context.replicas_on(ids)
    yield from change_replicas(context, replicas, ReplicaMachineState.ONLINE, full_to=ids)
    yield from bring_online(context)
    yield from partition_reassignment.continue_reassignments_to(context, ids)
    yield from topic_deletion.resume_deletion_for_topics(context, {one.partition.topic for one in replicas})


def _on_broker_failure(context: ControllerContext, ids: Collection[BrokerId]) -> Decision[None]:
    """Take the replicas of brokers that are no longer registered offline (Kafka: ``onBrokerFailure``)."""
    for id_ in ids:
        context.offline_dirs.pop(id_, None)
        context.shutting_down.discard(id_)
        context.unproven.discard(id_)
        context.new_replicas.died(id_, lambda tp: len(context.assignment(tp).replicas) > 1)
        context.failures.forget_broker(id_)
    yield from on_replicas_become_offline(context, context.replicas_on(ids))
