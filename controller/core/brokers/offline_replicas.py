"""Kafka's ``onReplicasBecomeOffline``: leaders and ISRs when replicas are lost with a broker or a directory.

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


def lose_replicas(context: ControllerContext, replicas: Collection[PartitionReplica]) -> Decision[None]:
    """Elect new leaders where the leader is lost, then take ``replicas`` out of their ISRs.

    ``context`` holds them as offline already. The deletion of those whose topic is queued for it has failed.
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
    yield from topic_deletion.fail_replicas(context, replicas)
    if not stopped and not came_online:
        # No request went out above, and the brokers must still get the list of live brokers.
        yield from update_metadata(context, context.brokers)
