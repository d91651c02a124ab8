"""Kafka's ``PartitionStateMachine``: takes partitions to a state, by the table in `context.machines`.

Source: docs/kafka/state-machines.md, Partitions (``ZkPartitionStateMachine``, whose log lines these are).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import assert_never

from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.partition import LeaderAndIsr, PartitionState
from barnabas.controller.core.batches.request_batch import RequestBatch
from barnabas.controller.core.context.controller_context import ControllerContext, Liveness
from barnabas.controller.core.context.machines import (
    PARTITION_TRANSITIONS,
    PartitionAction,
    PartitionMachineState,
    valid_previous,
)
from barnabas.controller.core.partitions import causes
from barnabas.controller.core.partitions.effects import CreatePartitionStates
from barnabas.controller.core.partitions.elections import OfflineElection, Strategy
from barnabas.controller.core.partitions.leadership import elect_leaders
from barnabas.controller.core.protocol.effects import Decision, LogInfo, LogStateChange, ask

_NEW, _ONLINE = PartitionMachineState.NEW, PartitionMachineState.ONLINE
_OFFLINE, _NON_EXISTENT = PartitionMachineState.OFFLINE, PartitionMachineState.NON_EXISTENT


def change_partitions(
    context: ControllerContext,
    tps: Iterable[TopicPartition],
    target: PartitionMachineState,
    strategy: Strategy | None = None,
) -> Decision[set[TopicPartition]]:
    """Take ``tps`` to ``target`` and notify the brokers, in one batch of requests.

    A partition whose transition is invalid or fails is logged and keeps its state.

    Args:
        context: The controller context.
        tps: The partitions.
        target: The state to reach.
        strategy: The election strategy for OnlinePartition; the offline strategy if None.

    Returns:
        The partitions that have reached ``target``.
    """
    outcomes = yield from try_partitions(context, tps, target, strategy)
    return {tp for tp, cause in outcomes.items() if cause is None}


def try_partitions(
    context: ControllerContext,
    tps: Iterable[TopicPartition],
    target: PartitionMachineState,
    strategy: Strategy | None = None,
) -> Decision[Mapping[TopicPartition, str | None]]:
    """Do as `change_partitions`; return the logged cause for each of ``tps``, None for a success."""
    batch = RequestBatch(context)
    by_action: dict[PartitionAction, list[TopicPartition]] = {}
    outcomes: dict[TopicPartition, str | None] = {}
    for tp in tps:
        source = context.partition_states.get(tp, _NON_EXISTENT)
        action = PARTITION_TRANSITIONS.get((source, target))
        if action is None:
            outcomes[tp] = yield from _refuse(context, tp, source, target)
        else:
            by_action.setdefault(action, []).append(tp)
    for action, chosen in by_action.items():
        match action:
            case PartitionAction.NOTE:
                yield from _note(context, chosen, target)
                outcomes.update(dict.fromkeys(chosen))
            case PartitionAction.INITIALIZE:
                outcomes.update((yield from _initialize(context, chosen, batch)))
            case PartitionAction.ELECT:
                outcomes.update((yield from _elect(context, chosen, strategy or OfflineElection(), batch)))
            case unknown:
                assert_never(unknown)
    yield from batch.flush()
    return outcomes


def bring_online(context: ControllerContext, topic: str | None = None) -> Decision[set[TopicPartition]]:
    """Try to bring New and Offline partitions Online, but not those of topics queued for deletion.

    Args:
        context: The controller context.
        topic: Only partitions of this topic; None for all topics.

    Returns:
        The partitions that are Online now.
    """
    waiting = [
        tp
        for tp, state in context.partition_states.items()
        if (state is _NEW or state is _OFFLINE)  # tested first, because few of many partitions need it
        and topic in {None, tp.topic}
        and not context.is_being_deleted(tp.topic)
    ]
    return (yield from change_partitions(context, waiting, _ONLINE, OfflineElection()))


def start_up(context: ControllerContext, tps: Iterable[TopicPartition]) -> Decision[None]:
    """Set the state of every partition by its leadership, then bring all Online that can be (``startup``).

    Args:
        context: The controller context.
        tps: All partitions.
    """
    liveness = context.liveness()
    context.partition_states.update((tp, _placed(context, tp, liveness)) for tp in tps)
    yield from bring_online(context)


def _placed(context: ControllerContext, tp: TopicPartition, liveness: Liveness) -> PartitionMachineState:
    known = context.leaderships.get(tp)
    if known is None:
        return _NEW
    return _OFFLINE if liveness.offline(tp, (known.leader_and_isr.leader,)) else _ONLINE


def _note(
    context: ControllerContext, tps: Iterable[TopicPartition], target: PartitionMachineState
) -> Decision[None]:
    for tp in tps:
        source = context.partition_states.get(tp, _NON_EXISTENT)
        if target is _NEW:
            yield LogStateChange(context.lines.partition_new(tp, source, context.assignment(tp).replicas))
        else:
            yield LogStateChange(context.lines.partition_down(tp, source, target))
        context.partition_states[tp] = target
        if target is _NON_EXISTENT:
            del context.partition_states[tp]


def _initialize(
    context: ControllerContext, tps: Iterable[TopicPartition], batch: RequestBatch
) -> Decision[dict[TopicPartition, str | None]]:
    """Write the first leaderships: the first online replica leads, all online replicas are in sync."""
    states: dict[TopicPartition, PartitionState] = {}
    outcomes: dict[TopicPartition, str | None] = {}
    for tp in tps:
        online = context.online_replicas(tp)
        if online:
            states[tp] = PartitionState(LeaderAndIsr.initial(online[0], online), context.epoch)
        else:
            outcomes[tp] = yield from _fail(context, tp, _ONLINE, _no_replica_alive(context, tp))
    if not states:
        return outcomes
    answer = yield from ask(CreatePartitionStates(states, context.fence))
    outcomes.update(answer)
    for tp, state in states.items():
        cause = answer[tp]
        if cause is not None:
            yield from _fail(context, tp, _ONLINE, cause)
            continue
        context.leaderships[tp] = state
        context.not_led_yet.add(tp)
        in_sync = state.leader_and_isr.isr
        absent = (replica for replica in context.assignment(tp).replicas if replica not in in_sync)
        context.new_replicas.created(tp, absent)
        batch.add_leader_and_isr(state.leader_and_isr.isr, tp, state, is_new=True)
        yield from _go_online(context, tp)
    return outcomes


def _elect(
    context: ControllerContext, tps: Collection[TopicPartition], strategy: Strategy, batch: RequestBatch
) -> Decision[dict[TopicPartition, str | None]]:
    result = yield from elect_leaders(context, tps, strategy)
    for tp, cause in result.failed.items():
        yield from _fail(context, tp, _ONLINE, cause)
    for tp, elected in result.elected.items():
        context.not_led_yet.discard(tp)
        recipients = (*elected.recipients, *context.refused_replicas(tp))
        batch.add_leader_and_isr(recipients, tp, context.leaderships[tp])
        yield from _go_online(context, tp)
    return {**result.failed, **dict.fromkeys(result.elected)}


def _go_online(context: ControllerContext, tp: TopicPartition) -> Decision[None]:
    source = context.partition_states[tp]
    context.partition_states[tp] = _ONLINE
    yield LogStateChange(context.lines.partition_online(tp, source, context.leaderships[tp].leader_and_isr))


def _no_replica_alive(context: ControllerContext, tp: TopicPartition) -> str:
    return causes.no_replica_alive(
        tp,
        context.assignment(tp).replicas,
        sorted(context.live_brokers),
        context.facts.broker_id,
        context.epoch,
    )


def _fail(
    context: ControllerContext, tp: TopicPartition, target: PartitionMachineState, cause: str
) -> Decision[str]:
    source = context.partition_states.get(tp, _NON_EXISTENT)
    yield LogStateChange(context.lines.partition_failed(tp, source, target, cause))
    return cause


def _refuse(
    context: ControllerContext,
    tp: TopicPartition,
    source: PartitionMachineState,
    target: PartitionMachineState,
) -> Decision[str]:
    cause = causes.invalid_partition_move(tp, source, target, valid_previous(PARTITION_TRANSITIONS, target))
    yield LogInfo(f"partition {tp} cannot go from {source} to {target}")
    return (yield from _fail(context, tp, target, cause))
