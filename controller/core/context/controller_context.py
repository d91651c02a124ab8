"""Kafka's ``ControllerContext``: what the controller knows about the cluster.

Only decisions change it, in place. On a broker that is not the controller it is empty except for
``active_controller_id`` and the epochs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from barnabas.cluster.model.brokers import Broker
from barnabas.cluster.model.epochs import NO_CONTROLLER_EPOCH, BrokerEpoch, ControllerEpoch
from barnabas.cluster.model.ids import BrokerId, TopicIdentity, TopicPartition
from barnabas.cluster.model.partition import Assignment, PartitionState
from barnabas.cluster.model.statechange import ControllerLines
from barnabas.controller.core.context.change_tracking import ChangeTrackingDict
from barnabas.controller.core.context.failures import Failures
from barnabas.controller.core.context.machines import PartitionMachineState, ReplicaMachineState
from barnabas.controller.core.context.new_replicas import NewReplicas
from barnabas.controller.core.protocol.effects import NO_CONTROLLER, NO_FENCE, ControllerFence

_NO_ASSIGNMENT = Assignment(())
_NO_NUMBERS: Mapping[int, Assignment] = MappingProxyType({})
_NO_STATES: Mapping[TopicPartition, ReplicaMachineState] = MappingProxyType({})


class PartitionReplica(NamedTuple):
    """A replica of a partition; its text is Kafka's."""

    partition: TopicPartition
    replica: BrokerId

    def __str__(self) -> str:
        topic, partition = self.partition
        return f"[Topic={topic},Partition={partition},Replica={self.replica}]"


class ReplicaStates(MutableMapping[PartitionReplica, ReplicaMachineState]):
    """The state of each replica, grouped by broker: most changes concern the replicas of one broker."""

    def __init__(self) -> None:
        self._by_broker: dict[BrokerId, dict[TopicPartition, ReplicaMachineState]] = {}

    def on(self, broker: BrokerId) -> dict[TopicPartition, ReplicaMachineState]:
        """Return the states of the replicas on ``broker``, which the caller may change."""
        return self._by_broker.setdefault(broker, {})

    def clear(self) -> None:
        """Remove all states."""
        self._by_broker.clear()

    def __getitem__(self, one: PartitionReplica) -> ReplicaMachineState:
        state = self._by_broker.get(one.replica, _NO_STATES).get(one.partition)
        if state is None:
            raise KeyError(one)
        return state

    def __setitem__(self, one: PartitionReplica, state: ReplicaMachineState) -> None:
        self.on(one.replica)[one.partition] = state

    def __delitem__(self, one: PartitionReplica) -> None:
        if one not in self:
            raise KeyError(one)
        del self._by_broker[one.replica][one.partition]

    def __iter__(self) -> Iterator[PartitionReplica]:
        for broker, states in self._by_broker.items():
            for tp in states:
                yield PartitionReplica(tp, broker)

    def __len__(self) -> int:
        return sum(map(len, self._by_broker.values()))


class Liveness:
    """A snapshot of which replicas are online, for checks of many partitions.

    Args:
        live: The live brokers.
        offline_dirs: The replicas that a live broker has reported as lying in a failed log directory.
    """

    def __init__(
        self, live: AbstractSet[BrokerId], offline_dirs: Mapping[BrokerId, AbstractSet[TopicPartition]]
    ) -> None:
        self._live = live
        self._failed = {broker: set(tps) for broker, tps in offline_dirs.items() if tps}
        self._by_replicas: dict[tuple[BrokerId, ...], tuple[BrokerId, ...]] = {}

    def offline(self, partition: TopicPartition, replicas: tuple[BrokerId, ...]) -> tuple[BrokerId, ...]:
        """Return the offline ones of ``replicas``, which are those of ``partition``."""
        if self._failed:
            return tuple(
                replica
                for replica in replicas
                if replica not in self._live or partition in self._failed.get(replica, ())
            )
        # Among many partitions, many have the same replicas.
        known = self._by_replicas.get(replicas)
        if known is None:
            known = tuple(replica for replica in replicas if replica not in self._live)
            self._by_replicas[replicas] = known
        return known


@dataclass(frozen=True, slots=True)
class Facts:
    """The broker's settings that the controller decides by.

    Attributes:
        broker_id: The broker it runs on.
        num_partitions: ``num.partitions``.
        default_replication_factor: ``default.replication.factor``.
        unclean_leader_election: ``unclean.leader.election.enable``, which a topic may override.
        traces: Whether state-change.log has the level TRACE. These lines, one for each replica of each
            request, would be most of the work of a large failover.
        delete_topic_enable: ``delete.topic.enable``.
        auto_leader_rebalance: ``auto.leader.rebalance.enable``.
        leader_imbalance_percentage: ``leader.imbalance.per.broker.percentage``.
        leader_imbalance_check_interval_s: ``leader.imbalance.check.interval.seconds``.
    """

    broker_id: BrokerId
    num_partitions: int = 1
    default_replication_factor: int = 1
    unclean_leader_election: bool = False
    traces: bool = True
    delete_topic_enable: bool = True
    auto_leader_rebalance: bool = True
    leader_imbalance_percentage: int = 10
    leader_imbalance_check_interval_s: int = 300


@dataclass(slots=True)
class ControllerContext:
    """The controller context of one broker.

    Attributes:
        facts: The broker's settings.
        active_controller_id: The controller's broker id as far as this broker knows.
        fence: The fence of its writes; `NO_FENCE` while it is not the controller.
        latest_epoch: The latest controller epoch that this broker knows.
        contests: The recent attempts of this broker to be elected.
        pauses: The pauses in a row after attempts without a result.
        settled: The broker epochs that a controller has handled, by broker (`election.bounces`).
        is_resting: Whether this broker makes no attempt until a pause ends, because its failover failed or
            its attempts led to nothing.
        brokers: The registered brokers, including those that are shutting down.
        unproven: The ``brokers`` that have started since a controller last knew their logs, and have answered
            no LeaderAndIsr since. Each may have lost its logs.
        shutting_down: The ``brokers`` that have requested a controlled shutdown.
        offline_dirs: The replicas that a live broker has reported as lying in a failed log directory.
        assignments: Topic to partition number to replicas.
        identities: The known identities of topics; earlier topics of the same name have others.
        leaderships: The leadership of each partition that has one, as last read or written.
        partition_states: The state of each partition.
        replica_states: The state of each replica.
        new_replicas: The replicas that their brokers have not confirmed.
        not_led_yet: The new partitions whose first leader has not confirmed LeaderAndIsr. UpdateMetadata
            names no leader of them, because clients could not use it.
        failures: The requests that failed on brokers and are to be sent again.
        topics_to_delete: Topics queued for deletion.
        topics_ineligible_for_deletion: The queued topics whose deletion must wait.
        topics_with_deletion_started: The queued topics whose partitions are NonExistent already.
    """

    facts: Facts
    active_controller_id: BrokerId = NO_CONTROLLER
    fence: ControllerFence = NO_FENCE
    latest_epoch: ControllerEpoch = NO_CONTROLLER_EPOCH
    is_resting: bool = False
    contests: int = 0
    pauses: int = 0
    settled: dict[BrokerId, BrokerEpoch] = field(default_factory=dict)
    brokers: dict[BrokerId, Broker] = field(default_factory=dict)
    unproven: set[BrokerId] = field(default_factory=set)
    shutting_down: set[BrokerId] = field(default_factory=set)
    offline_dirs: dict[BrokerId, set[TopicPartition]] = field(default_factory=dict)
    assignments: dict[str, dict[int, Assignment]] = field(default_factory=dict)
    identities: dict[str, TopicIdentity] = field(default_factory=dict)
    leaderships: ChangeTrackingDict[TopicPartition, PartitionState] = field(
        default_factory=ChangeTrackingDict
    )
    partition_states: ChangeTrackingDict[TopicPartition, PartitionMachineState] = field(
        default_factory=ChangeTrackingDict
    )
    replica_states: ReplicaStates = field(default_factory=ReplicaStates)
    new_replicas: NewReplicas = field(default_factory=NewReplicas)
    not_led_yet: set[TopicPartition] = field(default_factory=set)
    failures: Failures = field(default_factory=Failures)
    topics_to_delete: set[str] = field(default_factory=set)
    topics_ineligible_for_deletion: set[str] = field(default_factory=set)
    topics_with_deletion_started: set[str] = field(default_factory=set)

    # The controllership

    @property
    def is_active(self) -> bool:
        """Return whether this broker is the controller and has not resigned."""
        return self.active_controller_id == self.facts.broker_id and self.fence != NO_FENCE

    @property
    def epoch(self) -> ControllerEpoch:
        """The controller epoch; 0 while this broker is not the controller."""
        return self.fence.epoch

    @property
    def lines(self) -> ControllerLines:
        """The lines of state-change.log, with this controller's id and epoch."""
        return ControllerLines(self.facts.broker_id, self.epoch)

    def forget_cluster(self) -> None:
        """Forget the cluster and the fence."""
        self.fence = NO_FENCE
        for known in (
            self.settled,
            self.brokers,
            self.unproven,
            self.shutting_down,
            self.offline_dirs,
            self.assignments,
            self.identities,
            self.leaderships,
            self.partition_states,
            self.replica_states,
            self.new_replicas,
            self.not_led_yet,
            self.failures,
            self.topics_to_delete,
            self.topics_ineligible_for_deletion,
            self.topics_with_deletion_started,
        ):
            known.clear()

    # Brokers

    @property
    def live_brokers(self) -> set[BrokerId]:
        """The brokers that may lead and be in sync: registered and not shutting down."""
        return self.brokers.keys() - self.shutting_down

    def is_online(self, replica: BrokerId, partition: TopicPartition) -> bool:
        """Return whether the replica is on a live broker, in a log directory that has not failed."""
        return (
            replica in self.brokers
            and replica not in self.shutting_down
            and partition not in self.offline_dirs.get(replica, ())
        )

    def online_replicas(self, partition: TopicPartition) -> tuple[BrokerId, ...]:
        """Return the online replicas of ``partition`` in the order of its assignment."""
        return tuple(r for r in self.assignment(partition).replicas if self.is_online(r, partition))

    def refused_replicas(self, partition: TopicPartition) -> tuple[BrokerId, ...]:
        """Return the replicas of ``partition`` on live brokers that have answered KAFKA_STORAGE_ERROR for it.

        A replica that lost its log while it was in sync is one of them. Once it is out of the ISR it may
        start with an empty log, so it is sent the result of each election.
        """
        return tuple(
            broker
            for broker, refused in self.offline_dirs.items()
            if partition in refused
            and broker in self.live_brokers
            and broker in self.assignment(partition).replicas
        )

    def is_known_to_have_log(self, replica: BrokerId, partition: TopicPartition) -> bool:
        """Return whether the present process of a registered broker has shown its log of the replica."""
        return (
            replica in self.brokers
            and replica not in self.unproven
            and partition not in self.offline_dirs.get(replica, ())
            and self.new_replicas.is_confirmed(partition, replica)
        )

    def kept_in_sync(self, partition: TopicPartition, isr: tuple[BrokerId, ...]) -> tuple[BrokerId, ...]:
        """Return the members of ``isr`` on dead brokers that stay in the ISR.

        They stay as long as they are replicas and no live member is known to have its log. Every member of
        an ISR has all that is committed. If all but one had left the ISR, and the last one turned out to
        have lost its log, nobody would know whose log is complete.

        Args:
            partition: The partition.
            isr: Its present ISR.
        """
        for member in isr:
            if (
                member in self.brokers
                and member not in self.unproven
                and partition not in self.offline_dirs.get(member, ())
            ):
                return ()
        replicas = self.assignment(partition).replicas
        return tuple(member for member in isr if member in replicas and member not in self.brokers)

    def liveness(self) -> Liveness:
        """Return a snapshot of the online replicas, for checks of many partitions."""
        return Liveness(self.live_brokers, self.offline_dirs)

    # Partitions

    def partitions(self) -> Iterator[TopicPartition]:
        """Return all partitions, by topic."""
        for topic, numbers in self.assignments.items():
            for number in numbers:
                yield TopicPartition(topic, number)

    def assignment(self, partition: TopicPartition) -> Assignment:
        """Return the assignment of ``partition``, which is empty if the partition is unknown."""
        numbers = self.assignments.get(partition.topic)
        return _NO_ASSIGNMENT if numbers is None else numbers.get(partition.partition, _NO_ASSIGNMENT)

    def assigned(self, partitions: Iterable[TopicPartition]) -> list[Assignment]:
        """Return the assignments of ``partitions``, faster than by one call for each."""
        topics = self.assignments
        return [topics.get(topic, _NO_NUMBERS).get(number, _NO_ASSIGNMENT) for topic, number in partitions]

    def assign(self, partition: TopicPartition, assignment: Assignment) -> None:
        """Set the assignment of ``partition``."""
        self.assignments.setdefault(partition.topic, {})[partition.partition] = assignment
        # The leader may have become the preferred replica, or no longer be it.
        self.leaderships.mark_changed(partition)

    def identify(self, topic: str, identity: TopicIdentity | None) -> None:
        """Set the identity of ``topic``; None leaves a known identity."""
        if identity is not None:
            self.identities[topic] = identity

    def replicas(self, partitions: Iterable[TopicPartition]) -> list[PartitionReplica]:
        """Return all replicas of ``partitions``."""
        return [PartitionReplica(p, r) for p in partitions for r in self.assignment(p).replicas]

    def replicas_on(self, brokers: Iterable[BrokerId]) -> list[PartitionReplica]:
        """Return all replicas that lie on ``brokers``."""
        wanted = frozenset(brokers)
        return [
            PartitionReplica(partition, replica)
            for partition in self.partitions()
            for replica in self.assignment(partition).replicas
            if replica in wanted
        ]

    def is_leader_offline(self, partition: TopicPartition) -> bool:
        """Return whether ``partition`` has a leader that is not online."""
        known = self.leaderships.get(partition)
        return known is not None and not self.is_online(known.leader_and_isr.leader, partition)

    def is_being_deleted(self, topic: str) -> bool:
        """Return whether ``topic`` is queued for deletion."""
        return topic in self.topics_to_delete

    def is_being_reassigned(self, topic: str) -> bool:
        """Return whether a partition of ``topic`` is being reassigned."""
        return any(assignment.is_being_reassigned for assignment in self.assignments.get(topic, {}).values())

    def forget_topic(self, topic: str) -> None:
        """Remove everything about ``topic``."""
        for number, assignment in self.assignments.pop(topic, {}).items():
            partition = TopicPartition(topic, number)
            self.leaderships.pop(partition, None)
            self.partition_states.pop(partition, None)
            self.not_led_yet.discard(partition)
            for replica in assignment.replicas:
                self.replica_states.pop(PartitionReplica(partition, replica), None)
                self.new_replicas.forget(partition, replica)
        self.identities.pop(topic, None)
        self.topics_to_delete.discard(topic)
        self.topics_ineligible_for_deletion.discard(topic)
        self.topics_with_deletion_started.discard(topic)
