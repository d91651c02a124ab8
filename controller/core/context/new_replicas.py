"""New replicas: those that are sent as new, and those that may already have a log.

A replica is sent ``isNew`` once. If that request is lost, with its broker or with the controller, the broker
finds no log of a partition that is not new. A broker that leads such a partition, or is in its ISR, refuses
it (`broker.core.log_expectation`), because it looks like an emptied disk. So the controller remembers what it
created until the broker answers:

* unsent: no request has named the replica yet. The first one is sent as new, so a log that exists is a stray.
* unconfirmed: the request that created it was not answered. A log may or may not exist.

In both states the broker may start with an empty log although it leads or is in sync. That is safe only for a
process that has run since the partition was created: it knows what it hosts. A process that started later may
find an emptied disk where its predecessor had a log, and acknowledged records from it. So its replicas must
have their logs, even if a request was not answered. A partition with one replica is the exception under a
controller that knows that its request was not answered: there is no other log that could be erased.

A new controller knows nothing of the requests of others, but a state of version 0 shows it. The state has
never changed since it was created. A member of its ISR that no controller has missed since
(`election.bounces`) is the process that was there then, as every bounce that a controller deals with changes
the states. No other replica has ever been in sync.

A replica stays refused only if its broker dies between the write of the first state and its answer, and so do
the brokers of all other ISR members, or if the ISR has shrunk to such members and the controller ends before
they answer. A controlled shutdown does not shrink it so (`brokers.controlled_shutdown`). Then the topic is
deleted and created again, or, where another replica is live, an unclean election gives it a leader.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import INITIAL_VERSION, Assignment, PartitionState
from barnabas.cluster.model.requests import LeaderAndIsrPartition

CONFIRMED = frozenset({ErrorCode.NONE, ErrorCode.STALE_CONTROLLER_EPOCH})
"""The answers of a broker that hosts the replica: it obeyed, or it is in that leader epoch or a later one.

A broker that hosts a replica of a former topic of the same name removes it before it compares leader epochs
(``broker.replicas.control_requests``), so the second answer is about this topic, too.
"""


@dataclass(slots=True)
class NewReplicas:
    """The replicas that are unsent or unconfirmed, by broker."""

    _unsent: dict[BrokerId, set[TopicPartition]] = field(default_factory=dict)
    _unconfirmed: dict[BrokerId, set[TopicPartition]] = field(default_factory=dict)

    def created(self, tp: TopicPartition, brokers: Iterable[BrokerId]) -> None:
        """Remember that the replicas of ``tp`` on ``brokers`` are unsent."""
        for broker in brokers:
            self._unsent.setdefault(broker, set()).add(tp)

    def taken_over(
        self,
        tp: TopicPartition,
        state: PartitionState,
        assignment: Assignment,
        alive_since: Iterable[BrokerId],
    ) -> None:
        """Derive which replicas of ``tp`` are unconfirmed from the ``state`` that a former controller wrote.

        Args:
            tp: The partition.
            state: Its state.
            assignment: Its replicas. A replica that is being added may have a log; it may start empty as long
                as it is not in sync.
            alive_since: The live brokers that have not restarted since former controllers handled them.
                Another ISR member may have a log, and is neither unsent nor unconfirmed.
        """
        known = state.leader_and_isr
        if known.version != INITIAL_VERSION or known.leader_epoch:
            return
        self.created(tp, (replica for replica in assignment.origin if replica not in known.isr))
        for broker in alive_since:
            if broker in known.isr:
                self._unconfirmed.setdefault(broker, set()).add(tp)

    def flagged(
        self,
        broker: BrokerId,
        partitions: Iterable[LeaderAndIsrPartition],
        shared: dict[tuple[int, bool], LeaderAndIsrPartition],
    ) -> tuple[LeaderAndIsrPartition, ...]:
        """Set the flags of ``partitions`` for ``broker``; those sent as new become unconfirmed.

        Args:
            broker: The receiver.
            partitions: The states for it, before the flags are set.
            shared: The objects sent to other brokers, by the id of the partition and whether it is new.
                Brokers that get the same state share one object.
        """
        unsent, unconfirmed = self._unsent.get(broker, set()), self._unconfirmed.setdefault(broker, set())
        flagged: list[LeaderAndIsrPartition] = []
        for partition in partitions:
            tp = partition.topic_partition
            sent = partition
            if partition.is_new or tp in unsent:
                unsent.discard(tp)
                unconfirmed.add(tp)
                if not partition.is_new:
                    sent = shared.setdefault((id(partition), True), replace(partition, is_new=True))
            elif tp in unconfirmed:
                sent = shared.get((id(partition), False)) or shared.setdefault(
                    (id(partition), False), replace(partition, is_unconfirmed=True)
                )
            flagged.append(sent)
        return tuple(flagged)

    def is_confirmed(self, tp: TopicPartition, broker: BrokerId) -> bool:
        """Return whether the replica of ``tp`` on ``broker`` is neither unsent nor unconfirmed."""
        return tp not in self._unsent.get(broker, ()) and tp not in self._unconfirmed.get(broker, ())

    def answered(self, broker: BrokerId, errors: Mapping[TopicPartition, ErrorCode]) -> None:
        """Forget the replicas that ``broker`` has confirmed."""
        unconfirmed = self._unconfirmed.get(broker)
        if unconfirmed:
            unconfirmed.difference_update(tp for tp, error in errors.items() if error in CONFIRMED)

    def died(self, broker: BrokerId, has_others: Callable[[TopicPartition], bool]) -> None:
        """Assume that a dead ``broker`` has created its unconfirmed replicas.

        Args:
            broker: Whose process has ended. The broker may have carried out requests that it did not answer.
            has_others: Whether a partition has other replicas, whose logs an empty one could erase.
        """
        unconfirmed = self._unconfirmed.get(broker, set())
        unconfirmed.difference_update([tp for tp in unconfirmed if has_others(tp)])

    def forget(self, tp: TopicPartition, broker: BrokerId) -> None:
        """Forget the replica, which is gone."""
        for kind in (self._unsent, self._unconfirmed):
            kind.get(broker, set()).discard(tp)

    def clear(self) -> None:
        """Forget all replicas."""
        self._unsent.clear()
        self._unconfirmed.clear()
