"""The requests that one call of a state machine leaves behind, merged: one of each kind for each broker.

Source: kafka-controller.md, 3.3 (``AbstractControllerBrokerRequestBatch``).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from cluster.model.epochs import EPOCH_DURING_DELETE, UNKNOWN_BROKER_EPOCH, UNKNOWN_LEADER_EPOCH
from cluster.model.ids import LEADER_DURING_DELETE, BrokerId, TopicPartition
from cluster.model.partition import PartitionState
from cluster.model.requests import (
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    StopReplicaPartition,
    StopReplicaRequest,
    UpdateMetadataPartition,
    UpdateMetadataRequest,
)
from controller.core.effects import (
    BREATHE,
    Decision,
    LogStateChange,
    SendLeaderAndIsr,
    SendStopReplica,
    SendUpdateMetadata,
    breaths,
)
from controller.core.state import ControllerContext


@dataclass(slots=True)
class RequestBatch:
    """Collects what brokers are to be told, then tells them.

    Attributes:
        context: Where brokers, assignments and leaderships are looked up.
    """

    context: ControllerContext
    _leader_and_isr: dict[BrokerId, dict[TopicPartition, LeaderAndIsrPartition]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    _latest: dict[TopicPartition, LeaderAndIsrPartition] = field(default_factory=dict)
    """What was last said of each partition: brokers that are told the same share it, here and as encoded."""
    _stop_replica: dict[BrokerId, dict[TopicPartition, StopReplicaPartition]] = field(default_factory=dict)
    _metadata_brokers: dict[BrokerId, None] = field(default_factory=dict)
    _metadata_partitions: dict[TopicPartition, None] = field(default_factory=dict)
    _metadata_to_all: bool = False

    def add_leader_and_isr(
        self, brokers: Iterable[BrokerId], tp: TopicPartition, state: PartitionState, *, is_new: bool = False
    ) -> None:
        """Tell ``brokers`` to lead or follow ``tp``, and everybody who leads it.

        A later state replaces an earlier one; ``is_new`` stays once it is set.
        """
        assignment = self.context.assignment(tp)
        latest = self._latest.get(tp)
        if (
            latest is None
            or latest.state is not state
            or latest.assignment is not assignment
            or latest.is_new is not is_new
        ):
            latest = self._latest[tp] = LeaderAndIsrPartition(tp, state, assignment, is_new)
        for broker in brokers:
            partitions = self._leader_and_isr[broker]
            earlier = partitions.get(tp)
            is_still_new = earlier is not None and earlier.is_new and not is_new
            partitions[tp] = replace(latest, is_new=True) if is_still_new else latest
        self._metadata_to_all = True
        self._metadata_partitions[tp] = None

    def add_stop_replica(self, broker: BrokerId, tp: TopicPartition, *, delete: bool) -> None:
        """Tell ``broker`` to stop its replica of ``tp``; ``delete`` stays once it is set."""
        partitions = self._stop_replica.setdefault(broker, {})
        earlier = partitions.get(tp)
        sticky = delete or (earlier is not None and earlier.delete)
        known = self.context.leaderships.get(tp)
        if self.context.is_being_deleted(tp.topic):
            leader_epoch = EPOCH_DURING_DELETE
        elif known is None:
            leader_epoch = UNKNOWN_LEADER_EPOCH
        else:
            leader_epoch = known.leader_and_isr.leader_epoch
        partitions[tp] = StopReplicaPartition(tp, leader_epoch, sticky)

    def add_update_metadata(self, brokers: Iterable[BrokerId], tps: Iterable[TopicPartition]) -> None:
        """Tell ``brokers`` who is live, and of ``tps`` those that have a leadership."""
        self._metadata_brokers.update(dict.fromkeys(brokers))
        self._metadata_partitions.update(dict.fromkeys(tps))

    def flush(self) -> Decision[None]:
        """Send LeaderAndIsr, then UpdateMetadata, then StopReplica; brokers that are gone are skipped."""
        for broker, partitions in self._leader_and_isr.items():
            if broker in self.context.brokers:
                yield from self._send_leader_and_isr(broker, tuple(partitions.values()))
        yield from self._send_update_metadata()
        for broker, stops in self._stop_replica.items():
            if broker in self.context.brokers:
                yield from self._send_stop_replica(broker, tuple(stops.values()))
        self._metadata_to_all = False
        for collected in (
            self._leader_and_isr,
            self._latest,
            self._stop_replica,
            self._metadata_brokers,
            self._metadata_partitions,
        ):
            collected.clear()

    def _send_leader_and_isr(
        self, broker: BrokerId, partitions: tuple[LeaderAndIsrPartition, ...]
    ) -> Decision[None]:
        context = self.context
        led: Counter[BrokerId] = Counter()
        for some in breaths(partitions):
            led.update(partition.state.leader_and_isr.leader for partition in some)
            if context.facts.traces:
                for partition in some:
                    yield LogStateChange(context.lines.sending_leader_and_isr(partition, broker))
            yield BREATHE
        yield LogStateChange(
            context.lines.sending_leader_and_isr_batch(broker, led[broker], len(partitions) - led[broker])
        )
        yield SendLeaderAndIsr(
            broker,
            LeaderAndIsrRequest(
                context.facts.broker_id,
                context.epoch,
                context.brokers[broker].epoch,
                partitions,
                tuple(context.brokers[leader] for leader in led if leader in context.brokers),
            ),
        )

    def _send_update_metadata(self) -> Decision[None]:
        context = self.context
        partitions: list[UpdateMetadataPartition] = []
        for some in breaths(self._metadata_partitions):
            states = ((tp, context.leaderships.get(tp)) for tp in some)
            partitions += [self._metadata_of(tp, known) for tp, known in states if known is not None]
            yield BREATHE
        if self._metadata_to_all:
            self._metadata_brokers.update(dict.fromkeys(context.brokers))
        live = [broker for broker in self._metadata_brokers if broker in context.brokers]
        recipients = {broker: context.brokers[broker].epoch for broker in live}
        yield LogStateChange(context.lines.sending_update_metadata_batch(recipients, len(partitions)))
        if recipients:
            yield SendUpdateMetadata(
                recipients,
                UpdateMetadataRequest(
                    context.facts.broker_id,
                    context.epoch,
                    UNKNOWN_BROKER_EPOCH,
                    tuple(partitions),
                    tuple(context.brokers[id_] for id_ in sorted(context.brokers)),
                ),
            )

    def _metadata_of(self, tp: TopicPartition, state: PartitionState) -> UpdateMetadataPartition:
        if self.context.is_being_deleted(tp.topic):
            state = replace(state, leader_and_isr=replace(state.leader_and_isr, leader=LEADER_DURING_DELETE))
        replicas = self.context.assignment(tp).replicas
        offline = tuple(replica for replica in replicas if not self.context.is_online(replica, tp))
        return UpdateMetadataPartition(tp, state, replicas, offline)

    def _send_stop_replica(
        self, broker: BrokerId, partitions: tuple[StopReplicaPartition, ...]
    ) -> Decision[None]:
        context = self.context
        if context.facts.traces:
            for partition in partitions:
                yield LogStateChange(context.lines.sending_stop_replica(partition, broker))
        yield LogStateChange(context.lines.sending_stop_replica_batch(len(partitions), broker))
        yield SendStopReplica(
            broker,
            StopReplicaRequest(
                context.facts.broker_id, context.epoch, context.brokers[broker].epoch, partitions
            ),
        )


def update_metadata(
    context: ControllerContext, brokers: Iterable[BrokerId], tps: Iterable[TopicPartition] = ()
) -> Decision[None]:
    """Tell ``brokers`` who is live and how ``tps`` stand, in a batch of its own."""
    batch = RequestBatch(context)
    batch.add_update_metadata(brokers, tps)
    yield from batch.flush()
