"""Writes of leader and ISR to ZooKeeper: fenced, conditional, and repeated after a conflict.

The state of a partition has two writers, the controller and the partition's leader, so the controller may
know an older state than ZooKeeper holds. A write expects the version that the controller knows. If the leader
wrote meanwhile, the write fails; the controller reads the state and decides again. If an election fails by
the known state, the state is read once, and the election is tried again. Kafka:
``doElectLeaderForPartitions`` of ``PartitionStateMachine``, ``doRemoveReplicasFromIsr`` of
``ReplicaStateMachine``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from barnabas.cluster.model.epochs import LeaderEpoch
from barnabas.cluster.model.ids import NO_LEADER, BrokerId, TopicPartition
from barnabas.cluster.model.partition import LeaderAndIsr, PartitionState
from barnabas.controller.core.context.controller_context import ControllerContext
from barnabas.controller.core.context.machines import PartitionMachineState
from barnabas.controller.core.partitions import causes, elections
from barnabas.controller.core.partitions.effects import (
    ReadPartitionStates,
    ReadTopicConfigs,
    WritePartitionStates,
)
from barnabas.controller.core.partitions.elections import (
    Elected,
    NoLeader,
    OfflineElection,
    OtherElection,
    Strategy,
)
from barnabas.controller.core.protocol.effects import (
    Decision,
    LogElection,
    LogInfo,
    ask,
    listed,
)

UNCLEAN_LEADER_ELECTION = "unclean.leader.election.enable"
"""The topic setting that overrides the broker's of the same name."""


@dataclass(slots=True)
class Elections:
    """The result of a round of elections.

    Attributes:
        elected: The partitions with a new leader, written and remembered, each with the brokers to notify.
        failed: The others, each with the cause as state-change.log prints it.
    """

    elected: dict[TopicPartition, Elected] = field(default_factory=dict)
    failed: dict[TopicPartition, str] = field(default_factory=dict)


def elect_leaders(
    context: ControllerContext, tps: Iterable[TopicPartition], strategy: Strategy
) -> Decision[Elections]:
    """Elect a leader for each of ``tps`` and write it; a partition that fails is unchanged."""
    result = Elections()
    remaining = [tp for tp in tps if tp in context.leaderships]
    doubtful = [tp for tp in tps if tp not in context.leaderships]
    confirmed: set[TopicPartition] = set()
    while remaining or doubtful:
        chosen = yield from _choose(context, remaining, strategy)
        winners = {tp: choice for tp, choice in chosen.items() if isinstance(choice, Elected)}
        for tp, choice in chosen.items():
            if isinstance(choice, NoLeader) and tp in confirmed:
                yield LogInfo(f"{tp}: no leader by {strategy}, because {choice.value}")
                result.failed[tp] = causes.no_leader(tp, strategy)
            elif isinstance(choice, NoLeader):
                doubtful.append(tp)
        written = yield from write(context, {tp: choice.leader_and_isr for tp, choice in winners.items()})
        for tp in written.done:
            yield LogElection(tp, str(strategy), winners[tp].leader_and_isr, unclean=winners[tp].unclean)
            result.elected[tp] = winners[tp]
        result.failed |= written.failed
        doubtful.extend(written.conflicts)
        unreadable = yield from refresh(context, doubtful)
        result.failed |= unreadable
        confirmed.update(doubtful)
        remaining = [tp for tp in doubtful if tp not in unreadable]
        doubtful = []
    return result


def remove_from_isr(
    context: ControllerContext, replica: BrokerId, tps: Collection[TopicPartition]
) -> Decision[tuple[dict[TopicPartition, PartitionState], dict[TopicPartition, str]]]:
    """Remove ``replica`` from the ISR of each of ``tps``, and from the leadership where it leads.

    The last member of an ISR stays in it, so that the partition has a leader again when it returns. So does
    each dead member as long as no live one is known to have its log (`ControllerContext.kept_in_sync`). If
    the replica is not in an ISR, nothing is written.

    Returns:
        The present state of each partition, or the cause of the failure as state-change.log prints it.
    """
    states: dict[TopicPartition, PartitionState] = {}
    failed: dict[TopicPartition, str] = {}
    remaining = list(tps)
    confirmed: set[TopicPartition] = set()
    while remaining:
        changes: dict[TopicPartition, LeaderAndIsr] = {}
        doubtful: list[TopicPartition] = []
        for tp in remaining:
            known = context.leaderships.get(tp)
            if known is not None and replica in known.leader_and_isr.isr:
                is_kept = replica in context.kept_in_sync(tp, known.leader_and_isr.isr)
                if is_kept and replica != known.leader_and_isr.leader and len(known.leader_and_isr.isr) > 1:
                    states[tp] = known
                else:
                    changes[tp] = without(known.leader_and_isr, replica, is_kept=is_kept)
            elif known is not None and tp in confirmed:
                states[tp] = known
            else:
                doubtful.append(tp)
        written = yield from write(context, changes)
        states |= {tp: context.leaderships[tp] for tp in written.done}
        failed |= written.failed
        doubtful.extend(written.conflicts)
        unreadable = yield from refresh(context, doubtful)
        failed |= {tp: causes.no_isr(replica, tp) for tp in unreadable}
        confirmed.update(doubtful)
        remaining = [tp for tp in doubtful if tp not in unreadable]
    return states, failed


def raise_epochs(
    context: ControllerContext, tps: Collection[TopicPartition]
) -> Decision[set[TopicPartition]]:
    """Raise the leader epoch of ``tps``, without other changes, and return those that were written."""
    done: set[TopicPartition] = set()
    remaining = list(tps)
    while remaining:
        changes = {tp: context.leaderships[tp].leader_and_isr.new_epoch() for tp in remaining}
        written = yield from write(context, changes)
        done.update(written.done)
        unreadable = yield from refresh(context, written.conflicts)
        remaining = [tp for tp in written.conflicts if tp not in unreadable]
    return done


def without(known: LeaderAndIsr, replica: BrokerId, *, is_kept: bool = False) -> LeaderAndIsr:
    """Return ``known`` in the next leader epoch without ``replica``, unless that is the last or kept."""
    leader = NO_LEADER if known.leader == replica else known.leader
    stays = is_kept or known.isr == (replica,)
    isr = known.isr if stays else tuple(member for member in known.isr if member != replica)
    return LeaderAndIsr(leader, LeaderEpoch(known.leader_epoch + 1), isr, known.version)


@dataclass(slots=True)
class Written:
    """The outcome of a write.

    Attributes:
        done: The partitions that were written.
        conflicts: The partitions that somebody else changed meanwhile.
        failed: The partitions that cannot be written, each with the cause.
    """

    done: list[TopicPartition] = field(default_factory=list)
    conflicts: list[TopicPartition] = field(default_factory=list)
    failed: dict[TopicPartition, str] = field(default_factory=dict)


def write(context: ControllerContext, changes: Mapping[TopicPartition, LeaderAndIsr]) -> Decision[Written]:
    """Write ``changes``, fenced and each conditional on the version it carries; update the context."""
    result = Written()
    if not changes:
        return result
    states = {tp: PartitionState(change, context.epoch) for tp, change in changes.items()}
    answer = yield from ask(WritePartitionStates(states, context.fence))
    for tp, change in changes.items():
        if tp in answer.versions:
            written = change.written_as(answer.versions[tp])
            context.leaderships[tp] = PartitionState(written, context.epoch)
            result.done.append(tp)
        elif tp in answer.conflicts:
            result.conflicts.append(tp)
        else:
            result.failed[tp] = answer.failures[tp]
    if result.conflicts:
        yield LogInfo(f"changed meanwhile by their leaders, read again: {listed(result.conflicts)}")
    return result


def refresh(
    context: ControllerContext, tps: Collection[TopicPartition]
) -> Decision[dict[TopicPartition, str]]:
    """Read the states of ``tps`` into the context.

    Returns:
        The partitions without a state that this controller may change, each with the cause.
    """
    if not tps:
        return {}
    states = yield from ask(ReadPartitionStates(tuple(tps)))
    failed: dict[TopicPartition, str] = {}
    for tp in tps:
        state = states.get(tp)
        if state is None:
            source = context.partition_states.get(tp, PartitionMachineState.NON_EXISTENT)
            failed[tp] = causes.no_leadership(tp, source)
        elif state.controller_epoch > context.epoch:
            failed[tp] = causes.other_controller(context.epoch, state.controller_epoch)
        else:
            context.leaderships[tp] = state
    return failed


def _choose(
    context: ControllerContext, tps: Iterable[TopicPartition], strategy: Strategy
) -> Decision[dict[TopicPartition, Elected | NoLeader]]:
    """Elect by ``strategy``, from the known states."""
    chosen = {tp: _choose_one(context, tp, strategy) for tp in tps}
    if not isinstance(strategy, OfflineElection):
        return chosen
    # The settings of a topic are read only if no member of the ISR is live.
    stuck = [tp for tp, choice in chosen.items() if choice is NoLeader.NO_LIVE_ISR_MEMBER]
    if stuck:
        configs = yield from ask(ReadTopicConfigs(tuple(dict.fromkeys(tp.topic for tp in stuck))))
        for tp in stuck:
            if tp.topic in configs and _is_unclean_allowed(context, configs[tp.topic]):
                chosen[tp] = _choose_offline(context, tp, unclean=True)
    return chosen


def _is_unclean_allowed(context: ControllerContext, overrides: Mapping[str, str]) -> bool:
    override = overrides.get(UNCLEAN_LEADER_ELECTION)
    return context.facts.unclean_leader_election if override is None else override.strip().lower() == "true"


def _choose_offline(context: ControllerContext, tp: TopicPartition, *, unclean: bool) -> Elected | NoLeader:
    known = context.leaderships[tp].leader_and_isr
    return elections.offline(
        known,
        context.assignment(tp),
        context.online_replicas(tp),
        unclean_allowed=unclean,
        kept=context.kept_in_sync(tp, known.isr),
    )


def _choose_one(context: ControllerContext, tp: TopicPartition, strategy: Strategy) -> Elected | NoLeader:
    known, assignment = context.leaderships[tp].leader_and_isr, context.assignment(tp)
    match strategy:
        case OfflineElection(allow_unclean):
            return _choose_offline(context, tp, unclean=allow_unclean)
        case OtherElection.REASSIGN:
            return elections.reassign(known, assignment, context.online_replicas(tp))
        case OtherElection.PREFERRED:
            return elections.preferred(known, assignment, context.online_replicas(tp))
        case OtherElection.DAMAGED_LEADER:
            return elections.damaged_leader(known, assignment, context.online_replicas(tp))
        case OtherElection.CONTROLLED_SHUTDOWN:
            leaving = context.shutting_down
            reachable = tuple(r for r in assignment.replicas if r in leaving or context.is_online(r, tp))
            return elections.controlled_shutdown(known, assignment, reachable, leaving)
        case unknown:
            assert_never(unknown)
