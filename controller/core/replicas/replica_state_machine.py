"""Kafka's ``ReplicaStateMachine``: takes replicas to a state, by the table in `context.machines`.

Source: docs/kafka/state-machines.md, Replicas (``ZkReplicaStateMachine``, whose log lines these are).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import PartitionState
from barnabas.controller.core.batches.request_batch import RequestBatch
from barnabas.controller.core.context.controller_context import ControllerContext, PartitionReplica
from barnabas.controller.core.context.machines import (
    REPLICA_TRANSITIONS,
    ReplicaAction,
    ReplicaMachineState,
    valid_previous,
)
from barnabas.controller.core.partitions import causes
from barnabas.controller.core.partitions.leadership import remove_from_isr
from barnabas.controller.core.protocol.effects import Decision, LogInfo, LogStateChange

_ONLINE, _OFFLINE = ReplicaMachineState.ONLINE, ReplicaMachineState.OFFLINE
_INELIGIBLE, _NON_EXISTENT = ReplicaMachineState.DELETION_INELIGIBLE, ReplicaMachineState.NON_EXISTENT


def change_replicas(
    context: ControllerContext,
    replicas: Iterable[PartitionReplica],
    target: ReplicaMachineState,
    full_to: Collection[BrokerId] = (),
) -> Decision[None]:
    """Take ``replicas`` to ``target`` and notify the brokers, in one batch of requests.

    A replica whose transition is invalid or fails is logged and keeps its state.

    Args:
        context: The controller context.
        replicas: The replicas.
        target: The state to reach.
        full_to: The brokers of which ``replicas`` has all replicas.
    """
    by_broker: dict[BrokerId, list[TopicPartition]] = defaultdict(list)
    for tp, broker in replicas:
        by_broker[broker].append(tp)
    yield from _change(context, by_broker, target, full_to)


def start_up(context: ControllerContext, tps: Sequence[TopicPartition]) -> Decision[None]:
    """Set the state of every replica (``startup``): online ones are sent requests, others go offline.

    Args:
        context: The controller context.
        tps: All partitions.
    """
    online: dict[BrokerId, list[TopicPartition]] = defaultdict(list)
    offline: dict[BrokerId, list[TopicPartition]] = defaultdict(list)
    liveness = context.liveness()
    for tp, assignment in zip(tps, context.assigned(tps), strict=True):
        lost = liveness.offline(tp, assignment.replicas)
        known = context.leaderships.get(tp)
        if known is not None:
            unmoved = (r for r in assignment.replicas if r not in lost and r not in context.unproven)
            context.new_replicas.taken_over(tp, known, assignment, unmoved)
        for replica in assignment.replicas:
            (offline if replica in lost else online)[replica].append(tp)
    # As in Kafka, this does not ask whether the topic is being deleted: OfflineReplica and a retry may both
    # follow.
    for placed, state in ((online, _ONLINE), (offline, _INELIGIBLE)):
        for broker, held in placed.items():
            context.replica_states.on(broker).update(dict.fromkeys(held, state))
    batch = RequestBatch(context)
    for broker, held in online.items():
        yield from _take(context, broker, {REPLICA_TRANSITIONS[_ONLINE, _ONLINE]: held}, _ONLINE, batch)
    yield from batch.flush(full_to=context.brokers)
    yield from _change(context, offline, _OFFLINE)


def _change(
    context: ControllerContext,
    by_broker: Mapping[BrokerId, Collection[TopicPartition]],
    target: ReplicaMachineState,
    full_to: Collection[BrokerId] = (),
) -> Decision[None]:
    """Do as `change_replicas`, for these partitions of each broker."""
    batch = RequestBatch(context)
    for broker, tps in by_broker.items():
        by_action: dict[ReplicaAction, list[TopicPartition]] = {action: [] for action in ReplicaAction}
        by_source = {
            source: by_action[action]
            for (source, reached), action in REPLICA_TRANSITIONS.items()
            if reached is target
        }
        states = context.replica_states.on(broker)
        for tp in tps:
            source = states.get(tp, _NON_EXISTENT)
            if source in by_source:
                by_source[source].append(tp)
            else:
                yield from _refuse(context, PartitionReplica(tp, broker), source, target)
        yield from _take(context, broker, by_action, target, batch)
    yield from batch.flush(full_to)


def _take(
    context: ControllerContext,
    broker: BrokerId,
    by_action: Mapping[ReplicaAction, Collection[TopicPartition]],
    target: ReplicaMachineState,
    batch: RequestBatch,
) -> Decision[None]:
    """Take the replicas of these partitions on ``broker`` to ``target`` by their actions."""
    for action, chosen in by_action.items():
        match action:
            case ReplicaAction.STOP if chosen:
                yield from _stop(context, broker, chosen, batch)
            case ReplicaAction.RESUME:
                yield from _resume(context, broker, chosen, batch)
            case _:
                for tp in chosen:
                    yield from _enter(context, PartitionReplica(tp, broker), action, target, batch)


def _resume(
    context: ControllerContext, broker: BrokerId, tps: Collection[TopicPartition], batch: RequestBatch
) -> Decision[None]:
    """Take the replicas of ``tps`` on ``broker`` back to Online, the most frequent action of a failover."""
    batch.add_known_leadership(broker, tps)
    if context.facts.traces:
        for tp in tps:
            yield from _go(context, PartitionReplica(tp, broker), _ONLINE)
    else:
        context.replica_states.on(broker).update(dict.fromkeys(tps, _ONLINE))


def _enter(
    context: ControllerContext,
    one: PartitionReplica,
    action: ReplicaAction,
    target: ReplicaMachineState,
    batch: RequestBatch,
) -> Decision[None]:
    """Take one replica through an action other than STOP and RESUME."""
    tp, replica = one
    source = context.replica_states.get(one, _NON_EXISTENT)
    known = context.leaderships.get(tp)
    assignment = context.assignment(tp)
    match action:
        case ReplicaAction.CREATE if known is not None and known.leader_and_isr.leader == replica:
            cause = causes.new_replica_leads(replica, tp)
            yield LogStateChange(context.lines.replica_failed(replica, tp, source, target, cause))
            return
        case ReplicaAction.CREATE if known is not None:
            batch.add_leader_and_isr((replica,), tp, known, is_new=True)
        case ReplicaAction.JOIN if replica not in assignment.replicas:
            context.assign(tp, replace(assignment, replicas=(*assignment.replicas, replica)))
        case ReplicaAction.DELETE:
            batch.add_stop_replica(replica, tp, delete=True)
        case ReplicaAction.FORGET:
            rest = tuple(other for other in assignment.replicas if other != replica)
            context.assign(tp, replace(assignment, replicas=rest))
    yield from _go(context, one, target)
    if action is ReplicaAction.FORGET:
        del context.replica_states[one]
        context.new_replicas.forget(tp, replica)


def _stop(
    context: ControllerContext, broker: BrokerId, tps: Collection[TopicPartition], batch: RequestBatch
) -> Decision[None]:
    """Stop the replicas of ``tps`` on ``broker``, remove them from their ISRs and notify the others."""
    led = [tp for tp in tps if tp in context.leaderships]
    states, failed = yield from remove_from_isr(context, broker, led)
    for tp in tps:
        # The request has the new leader epoch: a broker ignores StopReplica in the epoch in which it follows.
        batch.add_stop_replica(broker, tp, delete=False)
    for tp, cause in failed.items():
        if context.is_being_deleted(tp.topic):
            # There is no ISR to remove it from, and a deletion must not wait for a state forever.
            yield from _go(context, PartitionReplica(tp, broker), _OFFLINE)
        else:
            source = context.replica_states[PartitionReplica(tp, broker)]
            yield LogStateChange(context.lines.replica_failed(broker, tp, source, _OFFLINE, cause))
    for tp, state in states.items():
        yield LogStateChange(context.lines.removed_from_isr(tp, state, broker))
        if not context.is_being_deleted(tp.topic):
            batch.add_leader_and_isr(_recipients(context, broker, tp, state), tp, state)
        yield from _go(context, PartitionReplica(tp, broker), _OFFLINE)
    for tp in tps:
        if tp not in context.leaderships:
            yield from _go(context, PartitionReplica(tp, broker), _OFFLINE)
            batch.add_update_metadata(context.brokers, (tp,))


def _recipients(
    context: ControllerContext, stopped: BrokerId, tp: TopicPartition, state: PartitionState
) -> Iterator[BrokerId]:
    """Return the recipients of a state from whose ISR ``stopped`` was removed: the other replicas.

    ``stopped`` itself is one of them if it refused the partition: a replica that lost its log while it was in
    sync may start with an empty one only when it is out of the ISR. If its log directory has failed, it
    refuses again.
    """
    begins_again = (
        stopped in context.refused_replicas(tp)
        and state.leader_and_isr.has_leader
        and stopped not in state.leader_and_isr.isr
    )
    return (replica for replica in context.assignment(tp).replicas if replica != stopped or begins_again)


def _go(context: ControllerContext, one: PartitionReplica, target: ReplicaMachineState) -> Decision[None]:
    source = context.replica_states.get(one, _NON_EXISTENT)
    context.replica_states[one] = target
    if context.facts.traces:
        yield LogStateChange(context.lines.replica_changed(one.replica, one.partition, source, target))


def _refuse(
    context: ControllerContext,
    one: PartitionReplica,
    source: ReplicaMachineState,
    target: ReplicaMachineState,
) -> Decision[None]:
    cause = causes.invalid_replica_move(one, source, target, valid_previous(REPLICA_TRANSITIONS, target))
    yield LogInfo(f"replica {one} cannot go from {source} to {target}")
    yield LogStateChange(context.lines.replica_failed(one.replica, one.partition, source, target, cause))
