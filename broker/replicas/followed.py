"""What this broker fetches from one leader: what to ask next, and what to make of the answers.

The follower's end of a fetch session, without its stream. Source: Kafka's ``AbstractFetcherThread`` and
``ReplicaFetcherThread`` of release 2.8, incremental sessions (KIP-227), truncation on fetch (KIP-595).
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping

import structlog

from barnabas.broker.core.follower_fetch import (
    FetchOn,
    Reaction,
    StartOver,
    Truncate,
    cut_on_divergence,
    on_offset_out_of_range,
    reaction,
)
from barnabas.broker.core.leader_epochs import EpochEndOffset
from barnabas.broker.core.refusals import Refusal
from barnabas.broker.disk.errors import KafkaStorageError, NoDescriptorError
from barnabas.broker.replicas.hosted import HostedPartition, HostedPartitions
from barnabas.cluster.model.epochs import UNKNOWN_LEADER_EPOCH, BrokerEpoch, LeaderEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import Offset, TopicPartition
from barnabas.cluster.rpc import replication_pb2 as pb

_log = structlog.get_logger(__name__)

FIRST_BACK_OFF_MS = 50
"""After one refusal; twice as long after each further one, up to ``replica.fetch.backoff.ms``.

Mostly a new leader has not yet heard that it leads: Kafka's constant second would be waited at every creation
of a topic whose follower was told first.
"""


class FollowedPartitions:
    """The partitions that are fetched from one leader.

    Args:
        hosted: This broker's partitions.
        broker_epoch: Gives the epoch of this broker's registration.
        on_due: Told that there is something to ask for which no answer need be waited.
    """

    def __init__(
        self,
        hosted: HostedPartitions,
        broker_epoch: Callable[[], BrokerEpoch],
        on_due: Callable[[], None],
    ) -> None:
        self._hosted = hosted
        self._settings = hosted.settings
        self._broker_epoch = broker_epoch
        self._on_due = on_due
        self._epochs: dict[TopicPartition, LeaderEpoch] = {}
        self._fetch_ids: dict[TopicPartition, int] = {}
        """Numbers each order to follow: an answer to what was asked before it may be about a former topic."""
        self._next_fetch_id = itertools.count(1)
        # Ordered sets of what the next request says.
        self._named: dict[TopicPartition, None] = {}
        self._forgotten: dict[TopicPartition, None] = {}
        self._moved: dict[TopicPartition, None] = {}
        self._told_starts: dict[TopicPartition, Offset] = {}
        """Where the leader was last told that each log starts."""
        self._backing_off: dict[TopicPartition, asyncio.TimerHandle] = {}
        self._wait_ms: dict[TopicPartition, int] = {}
        """How long those that were refused back off when they are refused again."""

    @property
    def epochs(self) -> Mapping[TopicPartition, LeaderEpoch]:
        """What is fetched from this leader, and in which epoch."""
        return self._epochs

    @property
    def has_news(self) -> bool:
        """Whether the next request would tell of a partition, as of each that has been appended to."""
        return bool(self._named or self._moved)

    def add(self, topic_partition: TopicPartition, leader_epoch: LeaderEpoch) -> None:
        """Fetch this partition too, from the end of its log; the held request is not waited for."""
        self._epochs[topic_partition] = leader_epoch
        self._fetch_ids[topic_partition] = next(self._next_fetch_id)
        self._wait_ms.pop(topic_partition, None)
        self._forgotten.pop(topic_partition, None)
        self._name(topic_partition)
        self._on_due()

    def remove(self, topic_partition: TopicPartition) -> None:
        """Fetch this partition no more; what is still under way of it is ignored."""
        if self._epochs.pop(topic_partition, None) is not None:
            del self._fetch_ids[topic_partition]
            self._named.pop(topic_partition, None)
            self._moved.pop(topic_partition, None)
            self._told_starts.pop(topic_partition, None)
            self._wait_ms.pop(topic_partition, None)
            self._stop_backing_off(topic_partition)
            self._forgotten[topic_partition] = None

    def _name(self, topic_partition: TopicPartition) -> None:
        self._stop_backing_off(topic_partition)
        self._named.pop(topic_partition, None)
        self._named[topic_partition] = None

    def _back_off(self, topic_partition: TopicPartition) -> None:
        self._stop_backing_off(topic_partition)
        longest_ms = self._settings.fetch_backoff_ms
        wait_ms = min(self._wait_ms.get(topic_partition, FIRST_BACK_OFF_MS), longest_ms)
        self._wait_ms[topic_partition] = 2 * wait_ms
        self._backing_off[topic_partition] = asyncio.get_running_loop().call_later(
            wait_ms / 1000, self._come_back, topic_partition
        )

    def _come_back(self, topic_partition: TopicPartition) -> None:
        self._name(topic_partition)
        self._on_due()

    def _stop_backing_off(self, topic_partition: TopicPartition) -> None:
        timer = self._backing_off.pop(topic_partition, None)
        if timer is not None:
            timer.cancel()

    def begin_session(self) -> None:
        """A session begins by naming every partition."""
        self._forgotten.clear()
        for topic_partition in self._epochs:
            self._name(topic_partition)

    def close(self) -> None:
        """Come back to nothing any more."""
        for topic_partition in tuple(self._backing_off):
            self._stop_backing_off(topic_partition)

    def next_request(self) -> pb.FetchRequest:
        """What has changed since the last request: partitions with their fetch offsets, and what is gone."""
        settings = self._settings
        request = pb.FetchRequest(
            replica_id=self._hosted.broker_id,
            broker_epoch=self._broker_epoch(),
            max_wait_ms=settings.fetch_wait_max_ms,
            min_bytes=settings.fetch_min_bytes,
            max_bytes=settings.fetch_response_max_bytes,
        )
        for topic, number in self._forgotten:
            request.forgotten.add(topic=topic, partition=number)
        self._forgotten.clear()
        for topic_partition in self._named:
            partition = self._hosted.get(topic_partition)
            if partition is not None:
                log = partition.log
                self._told_starts[topic_partition] = log.log_start_offset
                self._moved.pop(topic_partition, None)
                latest_epoch = log.latest_epoch
                request.partitions.add(
                    topic=topic_partition.topic,
                    partition=topic_partition.partition,
                    current_leader_epoch=self._epochs[topic_partition],
                    fetch_offset=log.log_end_offset,
                    last_fetched_epoch=UNKNOWN_LEADER_EPOCH if latest_epoch is None else latest_epoch,
                    log_start_offset=log.log_start_offset,
                    max_bytes=settings.fetch_max_bytes,
                    fetch_id=self._fetch_ids[topic_partition],
                )
        self._named.clear()
        for topic_partition in self._moved:
            partition = self._hosted.get(topic_partition)
            if partition is not None:
                start = self._told_starts[topic_partition] = partition.log.log_start_offset
                request.log_starts.add(
                    topic=topic_partition.topic, partition=topic_partition.partition, log_start_offset=start
                )
        self._moved.clear()
        return request

    def take(self, data: pb.PartitionData) -> None:
        """Act on what the leader says of one partition.

        An answer to another order to follow is dropped. It was asked in another leader epoch; or in the same
        one of a former topic of this name, which was deleted while the answer was delayed.
        """
        topic_partition = TopicPartition(data.topic, data.partition)
        epoch = self._epochs.get(topic_partition)
        partition = self._hosted.get(topic_partition)
        if epoch is None or partition is None or epoch != data.leader_epoch:
            return
        if data.fetch_id != self._fetch_ids[topic_partition]:
            return
        try:
            if data.error_code:
                self._react(partition, data, ErrorCode.from_code(data.error_code))
            elif data.HasField("diverging_epoch"):
                self._truncate_diverging(partition, data.diverging_epoch)
            else:
                self._append(partition, data)
        except NoDescriptorError as error:
            self._hosted.disk_failed(error)
            self._back_off(topic_partition)
        except KafkaStorageError as error:
            self.remove(topic_partition)
            self._hosted.disk_failed(error)

    def _append(self, partition: HostedPartition, data: pb.PartitionData) -> None:
        log = partition.log
        records = data.records  # a copy each time it is asked for
        if records:
            if data.fetch_offset != log.log_end_offset:
                _log.error(
                    "fetched records dropped: they were asked for at another offset",
                    partition=str(partition.topic_partition),
                    fetch_offset=data.fetch_offset,
                    log_end_offset=log.log_end_offset,
                )
                self._name(partition.topic_partition)
                return
            info = log.append_as_follower(records)
            if isinstance(info, Refusal):
                _log.error(
                    "fetched batch refused", partition=str(partition.topic_partition), reason=str(info)
                )
                self._back_off(partition.topic_partition)
                return
            self._name(partition.topic_partition)
        self._wait_ms.pop(partition.topic_partition, None)
        if data.log_start_offset > log.log_start_offset:
            log.raise_log_start(Offset(min(data.log_start_offset, log.log_end_offset)))
        if log.log_start_offset > self._told_starts.get(partition.topic_partition, log.log_start_offset):
            self._moved[partition.topic_partition] = None
        partition.replica.follow_high_watermark(
            Offset(data.high_watermark), log.log_start_offset, log.log_end_offset
        )
        log.forget_replicated(partition.replica.high_watermark)

    def _truncate_diverging(self, partition: HostedPartition, leader_end: pb.EpochEndOffset) -> None:
        log = partition.log
        theirs = EpochEndOffset(LeaderEpoch(leader_end.epoch), Offset(leader_end.end_offset))
        ours = log.end_offset_for(theirs.epoch)
        offset = cut_on_divergence(theirs, ours, log.log_end_offset, partition.replica.high_watermark)
        _log.info(
            "truncating to agree with the leader",
            partition=str(partition.topic_partition),
            leader_end=str(theirs),
            log_end_offset=log.log_end_offset,
            offset=offset,
        )
        self._truncate(partition, offset)

    def _truncate(self, partition: HostedPartition, offset: Offset) -> None:
        partition.log.truncate_to(offset)
        partition.replica.truncated(partition.log.log_start_offset, partition.log.log_end_offset)
        self._name(partition.topic_partition)

    def _react(self, partition: HostedPartition, data: pb.PartitionData, error: ErrorCode) -> None:
        match reaction(error):
            case Reaction.FIND_RANGE:
                self._find_range(partition, data)
            case Reaction.BACK_OFF:
                self._back_off(partition.topic_partition)

    def _find_range(self, partition: HostedPartition, data: pb.PartitionData) -> None:
        log = partition.log
        leader_start, leader_end = Offset(data.log_start_offset), Offset(data.log_end_offset)
        decision = on_offset_out_of_range(log.log_end_offset, leader_start, leader_end)
        _log.warning(
            "fetch offset out of the leader's range",
            partition=str(partition.topic_partition),
            log_end_offset=log.log_end_offset,
            leader_start=leader_start,
            leader_end=leader_end,
            decision=str(decision),
        )
        match decision:
            case Truncate(offset):
                self._truncate(partition, offset)
            case StartOver(offset):
                log.truncate_fully_and_start_at(offset)
                partition.replica.truncated(log.log_start_offset, log.log_end_offset)
                self._name(partition.topic_partition)
            case FetchOn():
                # Nothing to cut: the leader's log has changed meanwhile, or knows no epoch of ours.
                self._back_off(partition.topic_partition)
