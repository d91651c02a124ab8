"""Puts logs aside that no replica of this broker owns: strays.

The first LeaderAndIsr to a registration, and the first of a controller, names all that this broker hosts
(KIP-516, LeaderAndIsr of type FULL). What lies in the log directories beside that is suspected. The list
alone decides nothing: a controller may not know a topic whose znode it cannot read, and an old one may know
less than there is. ZooKeeper is asked about each suspect, and a log is a stray only if its topic is not
there, or is there and names no replica on this broker. While ZooKeeper does not answer, or knows no topic
at all, as after its content was lost, all logs stay where they are, and ZooKeeper is asked again. Where it
knows no topic, no suspect is led or followed any more: what a leader acknowledged that nobody has elected
would be put aside with its log as soon as a topic of its name is created.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import structlog

from barnabas.broker.disk.errors import KafkaStorageError
from barnabas.broker.disk.log import Log
from barnabas.broker.replicas.hosted import HostedPartition, HostedPartitions
from barnabas.cluster.model.epochs import UNKNOWN_LEADER_EPOCH, LeaderEpoch
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.partition import Assignment
from barnabas.cluster.zk.errors import NoNode, ZooKeeperError

_log = structlog.get_logger("kafka.server.ReplicaManager")

PAUSE_S = 5.0
"""Between two questions to a ZooKeeper that does not answer or knows no topic, seconds."""


class TopicReader(Protocol):
    """What is asked of ZooKeeper (``broker.membership.leader_store.LeaderStore``)."""

    async def topic_names(self) -> Collection[str]:
        """Return the topics that there are.

        Raises:
            ZooKeeperError: They cannot be read.
        """
        ...

    async def assignments_of(self, topic: str) -> Mapping[int, Assignment] | None:
        """Return the replicas of a topic's partitions, or None if it has none that can be read.

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
        """Return the logs that ``told``, all that the controller says this broker hosts, does not name."""
        found: dict[TopicPartition, Suspect] = {}
        for tp, log in self._logs().items():
            if tp not in told:
                hosted = self._hosted.get(tp)
                epoch = UNKNOWN_LEADER_EPOCH if hosted is None else hosted.replica.leader_epoch
                found[tp] = Suspect(log, hosted, epoch)
        return found

    async def put_aside(self, suspects: Mapping[TopicPartition, Suspect]) -> None:
        """Ask ZooKeeper about ``suspects``, until it answers, and put aside those that are strays."""
        is_said = False
        while suspects:
            unknown = await self._ask(suspects)
            if unknown is None:
                return
            if not is_said:
                _log.warning(f"{len(suspects)} logs that may be strays are kept for now: {unknown}")
                is_said = True
            await asyncio.sleep(PAUSE_S)
            suspects = {
                tp: suspect if self._hosted.get(tp) else replace(suspect, hosted=None)
                for tp, suspect in suspects.items()
            }
            suspects = {tp: suspect for tp, suspect in suspects.items() if self._is_unchanged(tp, suspect)}

    async def _ask(self, suspects: Mapping[TopicPartition, Suspect]) -> str | None:
        """Put aside what is a stray by ZooKeeper's answers; None, or why there are none."""
        try:
            names = await self._names()
            if not names:
                async with self._orders:
                    self._stop_hosting(suspects)
                return "ZooKeeper knows no topic"
            for topic in sorted({tp.topic for tp in suspects}):
                known = await self._topics().assignments_of(topic) if topic in names else {}
                if known is None:
                    continue
                strays = [tp for tp in suspects if tp.topic == topic and not self._is_assigned(tp, known)]
                async with self._orders:
                    for tp in strays:
                        self._put_one_aside(tp, suspects[tp], "is not there" if topic not in names else "")
        except ZooKeeperError as error:
            return f"ZooKeeper does not say: {error}"
        return None

    async def _names(self) -> Collection[str]:
        """Return the topics that ZooKeeper knows: none, too, where all that it held was deleted."""
        try:
            return await self._topics().topic_names()
        except NoNode:
            return ()

    def _stop_hosting(self, suspects: Mapping[TopicPartition, Suspect]) -> None:
        """Lead and follow the suspects no more; their logs stay."""
        for tp, suspect in suspects.items():
            if suspect.hosted is not None and self._is_unchanged(tp, suspect):
                self._stop_fetching((tp,))
                self._hosted.remove(tp, delete=False)

    def _is_assigned(self, tp: TopicPartition, known: Mapping[int, Assignment]) -> bool:
        assignment = known.get(tp.partition)
        return assignment is not None and self._hosted.broker_id in assignment.replicas

    def _is_unchanged(self, tp: TopicPartition, suspect: Suspect) -> bool:
        """Return whether the log is there, and in no other leader epoch than when it was suspected."""
        hosted = self._hosted.get(tp)
        if self._logs().get(tp) is not suspect.log or hosted is not suspect.hosted:
            return False
        return hosted is None or hosted.replica.leader_epoch == suspect.leader_epoch

    def _put_one_aside(self, tp: TopicPartition, suspect: Suspect, because: str) -> None:
        """Put a stray aside, unless the controller has spoken of it since it was suspected."""
        if not self._is_unchanged(tp, suspect):
            return
        why = f"topic {tp.topic} {because}" if because else "it is not assigned to this broker"
        self._stop_fetching((tp,))
        try:
            self._hosted.put_aside(tp, why)
        except KafkaStorageError as error:
            self._hosted.disk_failed(error)
