"""Replicas that go offline with a broker or a log directory (Kafka: ``onReplicasBecomeOffline``).

Source: docs/kafka/controller.md, Broker changes.
"""

from __future__ import annotations

from collections.abc import Collection

from barnabas.controller.core.batches.request_batch import update_metadata
from barnabas.controller.core.context.controller_context import ControllerContext, PartitionReplica
from barnabas.controller.core.context.machines import PartitionMachineState, ReplicaMachineState
from barnabas.controller.core.partitions.partition_state_machine import bring_online, change_partitions
from barnabas.controller.core.protocol.effects import Decision
from barnabas.controller.core.replicas.replica_state_machine import change_replicas
from barnabas.controller.core.topics import topic_deletion


def on_replicas_become_offline(
    context: ControllerContext, replicas: Collection[PartitionReplica]
) -> Decision[None]:
    """Elect new leaders for partitions whose leader is offline, then remove ``replicas`` from their ISRs.

    In ``context`` the replicas are offline already. If their topic is being deleted, their deletion fails.
    """
    leaderless = [
        tp
        for tp in context.leaderships
        if context.is_leader_offline(tp) and not context.is_being_deleted(tp.topic)
    ]
    yield from change_partitions(context, leaderless, PartitionMachineState.OFFLINE)
    came_online = yield from bring_online(context)
    stopped = [one for one in replicas if not context.is_being_deleted(one.partition.topic)]
    yield from change_replicas(context, stopped, ReplicaMachineState.OFFLINE)
    yield from topic_deletion.fail_replica_deletion(context, replicas)
    if not stopped and not came_online:
        # No request was sent above, but the brokers must still get the list of live brokers.
        yield from update_metadata(context, context.brokers)
