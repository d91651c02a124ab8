"""The logs in this broker's directories that belong to no replica of it: strays.

The first LeaderAndIsr to a registration, and the first of a controller, lists all partitions that this broker
hosts (KIP-516, LeaderAndIsr of type FULL). Every other log is a suspect. The list alone decides nothing: a
controller may lack a topic whose znode it cannot read, and a former controller's state may be outdated. So
ZooKeeper is read for each suspect, and a log is a stray only if its topic does not exist, or has no replica
on this broker.

While ZooKeeper does not answer, or has no topic at all, as after its content was lost, all logs stay, and
ZooKeeper is read again later. If it has no topic, the suspects are no longer led or followed: a leader that
no controller has elected could acknowledge records, and its log would be put aside as soon as a topic of its
name is created.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace

import structlog

from barnabas.broker.disk.errors import KafkaStorageError
from barnabas.broker.disk.log.log import Log
from barnabas.broker.replicas.hosted import HostedPartition, HostedPartitions
from barnabas.broker.replicas.leader_store import LeaderStore
from barnabas.cluster.model.epochs import UNKNOWN_LEADER_EPOCH, LeaderEpoch
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.partition import Assignment
from barnabas.cluster.zk.client.errors import NoNode, ZooKeeperError

_log = structlog.get_logger("kafka.server.ReplicaManager")

PAUSE_S = 5.0
"""The pause in seconds between two reads of a ZooKeeper that does not answer or has no topic."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """A log that was not in the controller's list, with its state at that time.

    Attributes:
        log: The log.
        hosted: The partition, if it was hosted, for instance because of a former controller's request.
        leader_epoch: Its leader epoch.
    """

    log: Log
    hosted: HostedPartition | None
    leader_epoch: LeaderEpoch


class Strays:
    """The search for strays, which are put aside.

    Args:
        hosted: This broker's partitions.
        logs: Returns the open logs.
        store: Returns the store of the current ZooKeeper session.
        orders: Held while a request of the controller is handled.
        stop_fetching: Stops the fetching of partitions.
    """

    def __init__(
        self,
        hosted: HostedPartitions,
        logs: Callable[[], Mapping[TopicPartition, Log]],
        store: Callable[[], LeaderStore],
        orders: asyncio.Lock,
        stop_fetching: Callable[[Collection[TopicPartition]], None],
    ) -> None:
        self._hosted = hosted
        self._logs = logs
        self._store = store
        self._orders = orders
        self._stop_fetching = stop_fetching

    def suspects(self, full_list: Collection[TopicPartition]) -> dict[TopicPartition, Suspect]:
        """Return the logs missing from ``full_list``, the controller's list of all that this broker hosts."""
        found: dict[TopicPartition, Suspect] = {}
        for tp, log in self._logs().items():
            if tp not in full_list:
                hosted = self._hosted.get(tp)
                epoch = UNKNOWN_LEADER_EPOCH if hosted is None else hosted.replica.leader_epoch
                found[tp] = Suspect(log, hosted, epoch)
        return found

    async def put_aside(self, suspects: Mapping[TopicPartition, Suspect]) -> None:
        """Read ZooKeeper for the topics of ``suspects``, until it answers, and put the strays aside."""
        is_logged = False
        while suspects:
            unknown = await self._put_strays_aside(suspects)
            if unknown is None:
                return
            if not is_logged:
                _log.warning(f"{len(suspects)} logs that may be strays are kept for now: {unknown}")
                is_logged = True
            await asyncio.sleep(PAUSE_S)
            suspects = {
                tp: suspect if self._hosted.get(tp) else replace(suspect, hosted=None)
                for tp, suspect in suspects.items()
            }
            suspects = {tp: suspect for tp, suspect in suspects.items() if self._is_unchanged(tp, suspect)}

    async def _put_strays_aside(self, suspects: Mapping[TopicPartition, Suspect]) -> str | None:
        """Put the strays aside; return None, or why ZooKeeper's answers did not suffice."""
        try:
            names = await self._names()
            if not names:
                async with self._orders:
                    self._stop_hosting(suspects)
                return "ZooKeeper knows no topic"
            for topic in sorted({tp.topic for tp in suspects}):
                known = await self._store().assignments_of(topic) if topic in names else {}
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
        """Return the topics in ZooKeeper; none if even their parent was deleted."""
        try:
            return await self._store().topic_names()
        except NoNode:
            return ()

    def _stop_hosting(self, suspects: Mapping[TopicPartition, Suspect]) -> None:
        """Stop leading and following the suspects; their logs stay."""
        for tp, suspect in suspects.items():
            if suspect.hosted is not None and self._is_unchanged(tp, suspect):
                self._stop_fetching((tp,))
                self._hosted.remove(tp, delete=False)

    def _is_assigned(self, tp: TopicPartition, known: Mapping[int, Assignment]) -> bool:
        assignment = known.get(tp.partition)
        return assignment is not None and self._hosted.broker_id in assignment.replicas

    def _is_unchanged(self, tp: TopicPartition, suspect: Suspect) -> bool:
        """Return whether log and leader epoch are the same as when the log was suspected."""
        hosted = self._hosted.get(tp)
        if self._logs().get(tp) is not suspect.log or hosted is not suspect.hosted:
            return False
        return hosted is None or hosted.replica.leader_epoch == suspect.leader_epoch

    def _put_one_aside(self, tp: TopicPartition, suspect: Suspect, because: str) -> None:
        """Put a stray aside, unless a request of the controller has changed it since it was suspected."""
        if not self._is_unchanged(tp, suspect):
            return
        why = f"topic {tp.topic} {because}" if because else "it is not assigned to this broker"
        self._stop_fetching((tp,))
        try:
            self._hosted.put_aside(tp, why)
        except KafkaStorageError as error:
            self._hosted.disk_failed(error)
