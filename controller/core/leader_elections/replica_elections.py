"""Leader elections without a failure: by request, by znode, by schedule, by a changed setting.

Source: docs/kafka/topics.md, Rebalance (``processReplicaLeaderElection``, ``onReplicaElection``,
``checkAndTriggerAutoLeaderRebalance``, ``processTopicUncleanLeaderElectionEnable`` of release 2.8).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from enum import Enum

from barnabas.cluster.model.commands.elections import (
    ElectionResult,
    ElectionType,
    ElectLeaders,
    ElectLeadersResult,
)
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import NO_LEADER, BrokerId, TopicPartition
from barnabas.controller.core.context.controller_context import ControllerContext
from barnabas.controller.core.context.machines import PartitionMachineState
from barnabas.controller.core.leader_elections.effects import (
    DeletePreferredReplicaElection,
    ReadPreferredReplicaElection,
    ScheduleLeaderRebalance,
)
from barnabas.controller.core.leader_elections.rebalance import Led, find_imbalances, is_any_reassigned
from barnabas.controller.core.partitions import causes
from barnabas.controller.core.partitions.elections import OfflineElection, OtherElection, Strategy
from barnabas.controller.core.partitions.partition_state_machine import bring_online, try_partitions
from barnabas.controller.core.protocol.effects import Decision, LogInfo, ask, listed
from barnabas.controller.core.protocol.inputs import CommandReceived, UncleanLeaderElectionEnable

FIRST_REBALANCE_S = 5.0
"""The seconds from a failover to the first check of the leaders; as in Kafka, there is no setting."""

_STRATEGIES: Mapping[ElectionType, Strategy] = {
    ElectionType.PREFERRED: OtherElection.PREFERRED,
    ElectionType.UNCLEAN: OfflineElection(allow_unclean=True),
    ElectionType.DAMAGED_LEADER: OtherElection.DAMAGED_LEADER,
}

_UNAVAILABLE = {
    ElectionType.PREFERRED: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
    ElectionType.UNCLEAN: ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
    ElectionType.DAMAGED_LEADER: ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
}


class Trigger(Enum):
    """The cause of an election; the values are the words that Kafka prints."""

    AUTO = "AutoTriggered"
    ZNODE = "ZkTriggered"
    REQUEST = "AdminClientTriggered"


def elect_on_request(
    context: ControllerContext, requested: CommandReceived[ElectLeaders]
) -> Decision[ElectLeadersResult]:
    """Elect leaders by the strategy of the command, and return the result for each partition."""
    command = requested.command
    results = yield from _elect(
        context, command.partitions, command.election_type, Trigger.REQUEST, command.damaged
    )
    return ElectLeadersResult(results)


def elect_by_znode(context: ControllerContext) -> Decision[None]:
    """Elect the preferred replicas of the partitions in ``/admin/preferred_replica_election``.

    The node is deleted after the elections, so that a controller that fails in between leaves it to the next
    one. Then it is read again, because the next request may have been written at once.
    """
    while (named := (yield from ask(ReadPreferredReplicaElection()))) is not None:
        results = yield from _elect(context, named, ElectionType.PREFERRED, Trigger.ZNODE)
        yield _ended(results)
        yield from ask(DeletePreferredReplicaElection(context.fence))


def check_and_trigger_auto_leader_rebalance(context: ControllerContext) -> Decision[None]:
    """Elect the preferred replicas of brokers with too many partitions that others lead."""
    if not is_any_reassigned(context.assignments):
        percentage = context.facts.leader_imbalance_percentage
        led = _list_led(context)
        for found in find_imbalances(led, percentage, context.is_online):
            imbalanced = len(found.imbalanced)
            yield LogInfo(
                f"others lead {imbalanced} of the {found.preferred} partitions that broker "
                f"{found.broker_id} should lead, more than {percentage} %: {_remedy(len(found.candidates))}"
            )
            if found.candidates:
                results = yield from _elect(context, found.candidates, ElectionType.PREFERRED, Trigger.AUTO)
                yield _ended(results)
    yield from schedule_next_rebalance(context)


def _remedy(candidates: int) -> str:
    if not candidates:
        return "it is not elected, as it is not alive or in the ISR of none of them"
    return f"it is elected again for {candidates} of them"


def schedule_first_rebalance(context: ControllerContext) -> Decision[None]:
    """Schedule the first check of the leaders, if ``auto.leader.rebalance.enable`` is true."""
    if context.facts.auto_leader_rebalance:
        yield ScheduleLeaderRebalance(FIRST_REBALANCE_S)


def schedule_next_rebalance(context: ControllerContext) -> Decision[None]:
    """Schedule the next check after ``leader.imbalance.check.interval.seconds``."""
    yield ScheduleLeaderRebalance(context.facts.leader_imbalance_check_interval_s)


def _list_led(context: ControllerContext) -> list[Led]:
    led: list[Led] = []
    for tp in context.partitions():
        if not context.is_being_deleted(tp.topic):
            known = context.leaderships.get(tp)
            led.append(Led(tp, context.assignment(tp), None if known is None else known.leader_and_isr))
    return led


def process_unclean_leader_election_enable(
    context: ControllerContext, change: UncleanLeaderElectionEnable
) -> Decision[None]:
    """Apply the changed setting of this broker; if it now allows unclean elections, try those that failed.

    Every broker records it, because it may become the controller.
    """
    context.facts = replace(context.facts, unclean_leader_election=change.enabled)
    if change.enabled and context.is_active:
        yield LogInfo("unclean leader election is enabled now for all topics")
        yield from bring_online(context)


def process_topic_unclean_leader_election_enable(context: ControllerContext, topic: str) -> Decision[None]:
    """Try the failed elections of a topic that now allows unclean ones."""
    yield LogInfo(f"unclean leader election is enabled now for {topic}")
    yield from bring_online(context, topic)


def _elect(
    context: ControllerContext,
    tps: Iterable[TopicPartition],
    kind: ElectionType,
    trigger: Trigger,
    damaged: BrokerId = NO_LEADER,
) -> Decision[dict[TopicPartition, ElectionResult]]:
    """Run elections, and return the result for each of ``tps`` (Kafka: ``onReplicaElection``)."""
    results = {tp: _refusal(context, tp, kind, damaged) for tp in tps}
    electable = tuple(tp for tp, refusal in results.items() if refusal is None)
    for refusal in dict.fromkeys(refusal for refusal in results.values() if refusal is not None):
        refused = tuple(tp for tp, each in results.items() if each == refusal)
        because = refusal.message or refusal.error.meaning
        line = f"no leader election for partitions {listed(refused)}, because {because}"
        yield LogInfo(line, client_kind="no leader election")
    outcomes: Mapping[TopicPartition, str | None] = {}
    if electable:
        yield LogInfo(
            f"leader election ({kind.name}) triggered by {trigger.value} for partitions {listed(electable)}"
        )
        online = PartitionMachineState.ONLINE
        outcomes = yield from try_partitions(context, electable, online, _STRATEGIES[kind])
    return {
        tp: _result(context, tp, kind, outcomes[tp]) if refusal is None else refusal
        for tp, refusal in results.items()
    }


def _refusal(
    context: ControllerContext, tp: TopicPartition, kind: ElectionType, damaged: BrokerId
) -> ElectionResult | None:
    """Return why the partition has no election, or None if it has one."""
    replicas = context.assignment(tp).replicas
    if not replicas:
        return ElectionResult(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
    if context.is_being_deleted(tp.topic):
        return ElectionResult(ErrorCode.INVALID_TOPIC_EXCEPTION, "The topic is being deleted")
    known = context.leaderships.get(tp)
    if known is None:
        return None
    leader = known.leader_and_isr.leader
    is_right = {
        ElectionType.PREFERRED: leader == replicas[0],
        ElectionType.UNCLEAN: leader in context.live_brokers,
        ElectionType.DAMAGED_LEADER: leader != damaged,
    }[kind]
    return ElectionResult(ErrorCode.ELECTION_NOT_NEEDED) if is_right else None


def _result(
    context: ControllerContext, tp: TopicPartition, kind: ElectionType, cause: str | None
) -> ElectionResult:
    if cause is None:
        return ElectionResult(ErrorCode.NONE, leader=context.leaderships[tp].leader_and_isr.leader)
    error = _UNAVAILABLE[kind] if causes.is_failed_change(cause) else ErrorCode.UNKNOWN_SERVER_ERROR
    return ElectionResult(error, causes.message_of(cause))


def _ended(results: Mapping[TopicPartition, ElectionResult]) -> LogInfo:
    """Return the log line about elections that no caller waits for."""
    right = {ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED}
    completed = tuple(tp for tp, result in results.items() if result.error in right)
    failed = tuple(tp for tp, result in results.items() if result.error not in right)
    return LogInfo(
        f"preferred replicas lead partitions {listed(completed)}; they could not be elected for partitions "
        f"{listed(failed)}"
    )
