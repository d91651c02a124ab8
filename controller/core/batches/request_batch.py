"""Kafka's ``ControllerBrokerRequestBatch``: at most one request of each kind per broker.

Source: docs/kafka/state-machines.md, Batches (``AbstractControllerBrokerRequestBatch``).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace

from barnabas.cluster.model.epochs import EPOCH_DURING_DELETE, UNKNOWN_BROKER_EPOCH, UNKNOWN_LEADER_EPOCH
from barnabas.cluster.model.ids import LEADER_DURING_DELETE, NO_LEADER, BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment, PartitionState
from barnabas.cluster.model.requests import (
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    StopReplicaPartition,
    StopReplicaRequest,
    UpdateMetadataPartition,
    UpdateMetadataRequest,
)
from barnabas.controller.core.context.controller_context import ControllerContext
from barnabas.controller.core.protocol.effects import (
    Decision,
    LogStateChange,
    SendLeaderAndIsr,
    SendStopReplica,
    SendUpdateMetadata,
)


@dataclass(slots=True)
class RequestBatch:
    """The requests of one change of state: collected first, then sent by `flush`.

    Attributes:
        context: The controller context.
    """

    context: ControllerContext
    _leader_and_isr: dict[BrokerId, dict[TopicPartition, LeaderAndIsrPartition]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    _latest: dict[TopicPartition, LeaderAndIsrPartition] = field(default_factory=dict)
    """The latest state of each partition, one object for all brokers that get it, here and as encoded."""
    _stop_replica: dict[BrokerId, dict[TopicPartition, StopReplicaPartition]] = field(default_factory=dict)
    _metadata_brokers: dict[BrokerId, None] = field(default_factory=dict)
    _metadata_partitions: dict[TopicPartition, None] = field(default_factory=dict)
    _metadata_to_all: bool = False
    _metadata_is_complete: bool = False

    def add_leader_and_isr(
        self, brokers: Iterable[BrokerId], tp: TopicPartition, state: PartitionState, *, is_new: bool = False
    ) -> None:
        """Add ``tp`` to the LeaderAndIsr of ``brokers`` and to the UpdateMetadata of all brokers.

        A later state replaces an earlier one; ``is_new`` stays once it is set.
        """
        partition = self._shared_state(tp, state, self.context.assignment(tp), is_new=is_new)
        for broker in brokers:
            _put(self._leader_and_isr[broker], partition)
        self._metadata_to_all = True
        self._metadata_partitions[tp] = None

    def add_known_leadership(self, broker: BrokerId, tps: Collection[TopicPartition]) -> None:
        """Add those of ``tps`` that have a leadership, for one broker, as `add_leader_and_isr` does."""
        leaderships = self.context.leaderships
        for tp, assignment in zip(tps, self.context.assigned(tps), strict=True):
            state = leaderships.get(tp)
            if state is not None:
                _put(self._leader_and_isr[broker], self._shared_state(tp, state, assignment, is_new=False))
                self._metadata_partitions[tp] = None
                self._metadata_to_all = True

    def _shared_state(
        self, tp: TopicPartition, state: PartitionState, assignment: Assignment, *, is_new: bool
    ) -> LeaderAndIsrPartition:
        """Return the state of ``tp`` to send, one object for all brokers that get the same state."""
        latest = self._latest.get(tp)
        if (
            latest is None
            or latest.state is not state
            or latest.assignment is not assignment
            or latest.is_new is not is_new
        ):
            identity = self.context.identities.get(tp.topic)
            latest = LeaderAndIsrPartition(tp, state, assignment, is_new, topic_identity=identity)
            self._latest[tp] = latest
        return latest

    def add_stop_replica(self, broker: BrokerId, tp: TopicPartition, *, delete: bool) -> None:
        """Add ``tp`` to the StopReplica of ``broker``; ``delete`` stays once it is set."""
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

    def add_update_metadata(
        self, brokers: Iterable[BrokerId], tps: Iterable[TopicPartition], *, is_complete: bool = False
    ) -> None:
        """Add the live brokers, and those of ``tps`` with a leader, to the UpdateMetadata of ``brokers``.

        ``is_complete`` says that the brokers then have the state of all partitions.
        """
        self._metadata_is_complete |= is_complete
        self._metadata_brokers.update(dict.fromkeys(brokers))
        self._metadata_partitions.update(dict.fromkeys(tps))

    def flush(self, full_to: Collection[BrokerId] = ()) -> Decision[None]:
        """Send LeaderAndIsr, then UpdateMetadata, then StopReplica; brokers that are gone are skipped.

        Args:
            full_to: The brokers for which the request lists all replicas that they host. They get one even if
                it is empty.
        """
        # A. LeaderAndIsr comes first, as in Kafka: a broker changes its roles before it reports them to
        # clients. A broker that is gone gets nothing; a replica that it should have created stays unsent,
        # so the broker's next incarnation is sent it as new.
        for broker in full_to:
            self._leader_and_isr.setdefault(broker, {})
        flagged: dict[tuple[int, bool], LeaderAndIsrPartition] = {}
        for broker, partitions in self._leader_and_isr.items():
            if broker in self.context.brokers:
                sent = self.context.new_replicas.flagged(broker, partitions.values(), flagged)
                yield from self._send_leader_and_isr(broker, sent, is_full=broker in full_to)
            else:
                for tp, partition in partitions.items():
                    if partition.is_new:
                        self.context.new_replicas.created(tp, (broker,))
        # B. UpdateMetadata goes to all brokers if a leadership has changed. C. StopReplica comes last, as
        # in Kafka.
        yield from self._send_update_metadata()
        for broker, stops in self._stop_replica.items():
            if broker in self.context.brokers:
                yield from self._send_stop_replica(broker, tuple(stops.values()))
        self._metadata_to_all = self._metadata_is_complete = False
        for collected in (
            self._leader_and_isr,
            self._latest,
            self._stop_replica,
            self._metadata_brokers,
            self._metadata_partitions,
        ):
            collected.clear()

    def _send_leader_and_isr(
        self, broker: BrokerId, partitions: tuple[LeaderAndIsrPartition, ...], *, is_full: bool
    ) -> Decision[None]:
        context = self.context
        led = Counter(partition.state.leader_and_isr.leader for partition in partitions)
        if context.facts.traces:
            for partition in partitions:
                yield LogStateChange(context.lines.sending_leader_and_isr(partition, broker))
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
                is_full,
            ),
        )

    def _send_update_metadata(self) -> Decision[None]:
        context = self.context
        partitions: list[UpdateMetadataPartition] = []
        liveness = context.liveness()
        tps = self._metadata_partitions
        for tp, assignment in zip(tps, context.assigned(tps), strict=True):
            state = context.leaderships.get(tp)
            if state is not None:
                replicas = assignment.replicas
                offline = liveness.offline(tp, replicas)
                partitions.append(
                    UpdateMetadataPartition(tp, self._update_metadata_state(tp, state), replicas, offline)
                )
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
                    self._metadata_is_complete,
                ),
            )

    def _update_metadata_state(self, tp: TopicPartition, state: PartitionState) -> PartitionState:
        """Return the state that UpdateMetadata sends.

        It has no leader if the topic is being deleted, or if the first leader of a new partition has not
        confirmed that it leads. Kafka names that leader at once; a client that is faster than the leader gets
        UNKNOWN_TOPIC_OR_PARTITION from it.
        """
        if self.context.is_being_deleted(tp.topic):
            leader = LEADER_DURING_DELETE
        elif tp in self.context.not_led_yet:
            leader = NO_LEADER
        else:
            return state
        return replace(state, leader_and_isr=replace(state.leader_and_isr, leader=leader))

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


def _put(partitions: dict[TopicPartition, LeaderAndIsrPartition], partition: LeaderAndIsrPartition) -> None:
    """Replace the state of a partition; ``is_new`` stays once it is set."""
    earlier = partitions.get(partition.topic_partition)
    is_still_new = earlier is not None and earlier.is_new and not partition.is_new
    partitions[partition.topic_partition] = replace(partition, is_new=True) if is_still_new else partition


def update_metadata(
    context: ControllerContext,
    brokers: Iterable[BrokerId],
    tps: Iterable[TopicPartition] = (),
    *,
    is_complete: bool = False,
) -> Decision[None]:
    """Send ``brokers`` the live brokers and the state of ``tps``, in a batch of its own.

    Args:
        context: The controller context.
        brokers: The receivers.
        tps: The partitions; those without a leadership are left out.
        is_complete: Whether ``brokers`` then have the state of all partitions.
    """
    batch = RequestBatch(context)
    batch.add_update_metadata(brokers, tps, is_complete=is_complete)
    yield from batch.flush()
