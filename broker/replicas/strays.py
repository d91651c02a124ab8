"""Puts logs aside that no replica of this broker owns: strays.

The first LeaderAndIsr to a registration, and the first of a controller, names all that this broker hosts
(KIP-516, LeaderAndIsr of type FULL). What lies in the log directories beside that is suspected. The list
alone decides nothing: a controller may not know a topic whose znode it cannot read, and an old one may know
less than there is. ZooKeeper is asked about each suspect, and a log is a stray only if its topic is not
there, or is there and names no replica on this broker. Where ZooKeeper does not answer, or knows no topic
at all, as after its content was lost, everything stays.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

import structlog

from barnabas.broker.disk.errors import KafkaStorageError
from barnabas.broker.disk.log import Log
from barnabas.broker.replicas.hosted import HostedPartition, HostedPartitions
from barnabas.cluster.model.epochs import UNKNOWN_LEADER_EPOCH, LeaderEpoch
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.partition import Assignment
from barnabas.cluster.zk.errors import ZooKeeperError

_log = structlog.get_logger("kafka.server.ReplicaManager")


class TopicReader(Protocol):
    """What is asked of ZooKeeper (``broker.membership.leader_store.LeaderStore``)."""

    async def topic_names(self) -> Collection[str]:
        """The topics that there are.

        Raises:
            ZooKeeperError: They cannot be read.
        """
        ...

    async def assignments_of(self, topic: str) -> Mapping[int, Assignment] | None:
        """The replicas of a topic's partitions, or None where it has none that can be read.

        Raises:
            ZooKeeperError: They cannot be read now.
        """
        ...


@dataclass(frozen=True, slots=True)
class Suspect:
    """A log that the controller's list did not name, as it was then.

    Attributes:
        log: The log.
        hosted: The partition, if it was hosted, say by order of a former controller.
        leader_epoch: Its leader epoch.
    """

    log: Log
    hosted: HostedPartition | None
    leader_epoch: LeaderEpoch


class Strays:
    """Finds strays and puts them aside.

    Args:
        hosted: This broker's partitions.
        logs: Gives the open logs.
        topics: Gives the topics of the current ZooKeeper session.
        orders: Held while an order of the controller is carried out.
        stop_fetching: Ends the fetching of partitions.
    """

    def __init__(
        self,
        hosted: HostedPartitions,
        logs: Callable[[], Mapping[TopicPartition, Log]],
        topics: Callable[[], TopicReader],
        orders: asyncio.Lock,
        stop_fetching: Callable[[Collection[TopicPartition]], None],
    ) -> None:
        self._hosted = hosted
        self._logs = logs
        self._topics = topics
        self._orders = orders
        self._stop_fetching = stop_fetching

    def suspects(self, told: Collection[TopicPartition]) -> dict[TopicPartition, Suspect]:
        """The logs that ``told``, all that the controller says this broker hosts, does not name."""
        found: dict[TopicPartition, Suspect] = {}
        for tp, log in self._logs().items():
            if tp not in told:
                hosted = self._hosted.get(tp)
                epoch = UNKNOWN_LEADER_EPOCH if hosted is None else hosted.replica.leader_epoch
                found[tp] = Suspect(log, hosted, epoch)
        return found

    async def put_aside(self, suspects: Mapping[TopicPartition, Suspect]) -> None:
        """Ask ZooKeeper about ``suspects`` and put aside those that are strays."""
        if not suspects:
            return
        try:
            names = await self._topics().topic_names()
            if not names:
                _log.error(
                    f"{len(suspects)} logs belong to no topic, and ZooKeeper knows none: they are kept"
                )
                return
            for topic in sorted({tp.topic for tp in suspects}):
                known = await self._topics().assignments_of(topic) if topic in names else {}
                if known is None:
                    continue
                strays = [tp for tp in suspects if tp.topic == topic and not self._is_assigned(tp, known)]
                async with self._orders:
                    for tp in strays:
                        self._put_one_aside(tp, suspects[tp], "is not there" if topic not in names else "")
                    self._hosted.checkpoint_removals()
        except ZooKeeperError as error:
            _log.warning(f"Logs that may be strays are kept, ZooKeeper does not say: {error}")

    def _is_assigned(self, tp: TopicPartition, known: Mapping[int, Assignment]) -> bool:
        assignment = known.get(tp.partition)
        return assignment is not None and self._hosted.broker_id in assignment.replicas

    def _put_one_aside(self, tp: TopicPartition, suspect: Suspect, because: str) -> None:
        """Put a stray aside, unless the controller has spoken of it since it was suspected."""
        hosted = self._hosted.get(tp)
        if self._logs().get(tp) is not suspect.log or hosted is not suspect.hosted:
            return
        if hosted is not None and hosted.replica.leader_epoch != suspect.leader_epoch:
            return
        why = f"topic {tp.topic} {because}" if because else "it is not assigned to this broker"
        self._stop_fetching((tp,))
        try:
            self._hosted.put_aside(tp, why)
        except KafkaStorageError as error:
            self._hosted.disk_failed(error)
