"""Brokers that restarted while no controller was active to notice it (not in Kafka).

Such a broker has only what its disk kept, perhaps without its last records. So its place in the ISR is no
longer justified. If it leads, its leader epoch must rise: otherwise it would append other records at the
offsets of those that it has lost, in the same epoch, and no follower that still has the old ones would
truncate them (KIP-101 compares epochs).

The partition states in ZooKeeper do not show a bounce: the time of a write does not say what its writer knew,
and an election or a change of the ISR hides every bounce before it. So controllers keep a record. A
controller handles each registration that it finds, and records its broker epoch, the czxid, only when that is
done and the broker has answered LeaderAndIsr (`ControllerRecord`). The next controller takes each broker
whose registration is not the recorded one for bounced: every restart has another czxid, so none is missed. A
controller that ends before it has recorded an epoch, a deleted record, or a Kafka controller in between costs
an unneeded leader epoch or a place in the ISR; both are harmless.

A bounced broker may even have lost its logs, and reports that only when it should lead or follow. Until it
has answered it is unproven: it does not count as the live member that has the log
(`ControllerContext.kept_in_sync`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from barnabas.cluster.model.epochs import BrokerEpoch
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.controller.core.context.controller_context import ControllerContext
from barnabas.controller.core.context.machines import PartitionMachineState
from barnabas.controller.core.election.effects import RecordBrokers
from barnabas.controller.core.partitions.leadership import raise_epochs, remove_from_isr
from barnabas.controller.core.protocol.attempts import attempt
from barnabas.controller.core.protocol.effects import (
    Decision,
    LogInfo,
    LogStateChange,
    ask,
    listed,
)

_ONLINE = PartitionMachineState.ONLINE


def handle_unseen_bounces(
    context: ControllerContext, tps: Sequence[TopicPartition], settled: Mapping[BrokerId, BrokerEpoch]
) -> Decision[None]:
    """Remove brokers that bounced unseen from ISRs and leaderships, as their failure would have.

    If all live members have bounced, none is better than the others: all stay, and a leader among them gets a
    new leader epoch. If the leader is not live, the election raises it anyway.

    Args:
        context: The controller context.
        tps: All partitions.
        settled: The broker epochs that former controllers have handled.
    """
    live = context.brokers.keys()
    bounced = {id_ for id_, broker in context.brokers.items() if settled.get(id_) != broker.epoch}
    if not bounced:
        return
    context.unproven |= bounced
    expelled: dict[BrokerId, list[TopicPartition]] = {}
    restarted: list[TopicPartition] = []
    for tp in tps:
        state = context.leaderships.get(tp)
        if state is None:
            continue
        known = state.leader_and_isr
        members = live & set(known.isr)
        if members - bounced:
            for id_ in members & bounced:
                expelled.setdefault(id_, []).append(tp)
        elif known.leader in bounced:
            restarted.append(tp)
    for id_, unsafe in sorted(expelled.items()):
        yield from _expel(context, id_, unsafe)
    if restarted:
        yield LogInfo(
            "all live ISR members bounced unseen, and their leader begins a new leader epoch in "
            f"{listed(restarted)}"
        )
        raised = yield from raise_epochs(context, restarted)
        for tp in sorted(raised):
            leadership = context.leaderships[tp].leader_and_isr
            yield LogStateChange(context.lines.partition_online(tp, _ONLINE, leadership))


def settle(context: ControllerContext, brokers: Iterable[BrokerId]) -> Decision[None]:
    """Record that the present broker epochs of ``brokers`` have been handled.

    An unproven broker is not recorded before it has answered: the next controller must not rely on its logs.
    """
    known = (id_ for id_ in brokers if id_ not in context.unproven)
    context.settled.update((id_, context.brokers[id_].epoch) for id_ in known)
    settled = {id_: context.settled[id_] for id_ in sorted(context.settled.keys() & context.brokers.keys())}
    context.settled = settled
    # If the write fails, the next controller assumes that they have bounced, which is safe.
    yield from attempt("the record of brokers", ask(RecordBrokers(settled, context.fence)))


def _expel(context: ControllerContext, broker_id: BrokerId, tps: list[TopicPartition]) -> Decision[None]:
    yield LogInfo(f"broker {broker_id} bounced unseen, and leaves the ISR of {listed(tps)}")
    states, _ = yield from remove_from_isr(context, broker_id, tps)
    for tp, state in states.items():
        yield LogStateChange(context.lines.removed_from_isr(tp, state, broker_id))
