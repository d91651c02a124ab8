"""The follower's side of replication for one leader: one stream that fetches all partitions led there.

The next request goes out as soon as an answer's batches are in the logs: it carries the new log end offsets,
on which the leader's high watermark, and the producers behind it, wait. Source: Kafka's
``AbstractFetcherThread`` and ``ReplicaFetcherThread`` of release 2.8, with truncation on fetch (KIP-595).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import grpc.aio
import structlog

from broker.core.follower_fetch import (
    FetchOn,
    Reaction,
    StartOver,
    Truncate,
    cut_on_divergence,
    on_offset_out_of_range,
    reaction,
)
from broker.core.leader_epochs import EpochEndOffset
from broker.core.refusals import Refusal
from broker.disk.errors import KafkaStorageError
from broker.replicas.hosted import HostedPartition, HostedPartitions
from cluster.model.brokers import Endpoint
from cluster.model.epochs import UNKNOWN_LEADER_EPOCH, BrokerEpoch, LeaderEpoch
from cluster.model.errors import ErrorCode
from cluster.model.ids import BrokerId, Offset, TopicPartition
from cluster.rpc import replication_pb2 as pb
from cluster.rpc.channels import open_channel
from cluster.rpc.translate_replication import FetchResponse, PartitionData, fetch_response_from_bytes
from cluster.runtime.failpoints import FOLLOWER_FETCH, FailpointError

FETCH_METHOD = "/barnabas.replication.Replication/Fetch"
"""The stream's name, as ``proto/replication.proto`` gives it."""

_log = structlog.get_logger(__name__)


class StreamLostError(Exception):
    """The stream to the leader ended; the text says how."""


class LeaderFetcher:
    """Fetches from one leader what this broker follows there.

    Args:
        leader: The leader.
        endpoint: Where its peers reach it.
        hosted: This broker's partitions.
        broker_epoch: Gives the epoch of this broker's registration.
    """

    def __init__(
        self,
        leader: BrokerId,
        endpoint: Endpoint,
        hosted: HostedPartitions,
        broker_epoch: Callable[[], BrokerEpoch],
    ) -> None:
        self.leader = leader
        self.endpoint = endpoint
        self._hosted = hosted
        self._settings = hosted.settings
        self._broker_epoch = broker_epoch
        self._epochs: dict[TopicPartition, LeaderEpoch] = {}
        # Ordered sets of what the next request says.
        self._named: dict[TopicPartition, None] = {}
        self._forgotten: dict[TopicPartition, None] = {}
        self._backing_off: dict[TopicPartition, asyncio.TimerHandle] = {}
        self._due = asyncio.Event()
        self._unanswered = 0
        self._answered = False

    @property
    def partitions(self) -> Mapping[TopicPartition, LeaderEpoch]:
        """What is fetched from this leader, and in which epoch."""
        return self._epochs

    def add(self, topic_partition: TopicPartition, leader_epoch: LeaderEpoch) -> None:
        """Fetch this partition too, from the end of its log; the held request is not waited for."""
        self._epochs[topic_partition] = leader_epoch
        self._forgotten.pop(topic_partition, None)
        self._name(topic_partition)
        self._due.set()

    def remove(self, topic_partition: TopicPartition) -> None:
        """Fetch this partition no more; what is still under way of it is ignored."""
        if self._epochs.pop(topic_partition, None) is not None:
            self._named.pop(topic_partition, None)
            self._stop_backing_off(topic_partition)
            self._forgotten[topic_partition] = None

    def _name(self, topic_partition: TopicPartition) -> None:
        self._stop_backing_off(topic_partition)
        self._named.pop(topic_partition, None)
        self._named[topic_partition] = None

    def _back_off(self, topic_partition: TopicPartition) -> None:
        self._stop_backing_off(topic_partition)
        self._backing_off[topic_partition] = asyncio.get_running_loop().call_later(
            self._settings.fetch_backoff_ms / 1000, self._come_back, topic_partition
        )

    def _come_back(self, topic_partition: TopicPartition) -> None:
        self._name(topic_partition)
        self._due.set()

    def _stop_backing_off(self, topic_partition: TopicPartition) -> None:
        timer = self._backing_off.pop(topic_partition, None)
        if timer is not None:
            timer.cancel()

    async def run(self) -> None:
        """Fetch until cancelled; a leader that is away is dialled every ``replica.fetch.backoff.ms``."""
        told = False
        try:
            while True:
                try:
                    await self._fetch_over_one_stream()
                except (grpc.aio.AioRpcError, StreamLostError, FailpointError, TimeoutError) as error:
                    if self._answered or not told:
                        _log.warning(
                            "replication stream lost; trying again",
                            leader=self.leader,
                            endpoint=str(self.endpoint),
                            error=_describe(error),
                        )
                    # Told once, and again after it has worked in between.
                    told = True
                await asyncio.sleep(self._settings.fetch_backoff_ms / 1000)
        finally:
            for topic_partition in tuple(self._backing_off):
                self._stop_backing_off(topic_partition)

    async def _fetch_over_one_stream(self) -> None:
        """One stream is one session: it begins by naming every partition."""
        self._unanswered = 0
        self._answered = False
        self._forgotten.clear()
        for topic_partition in self._epochs:
            self._name(topic_partition)
        self._due.set()
        channel = open_channel(self.endpoint.host, self.endpoint.port, self._settings.session_timeout_ms)
        try:
            stream = channel.stream_stream(
                FETCH_METHOD,
                request_serializer=pb.FetchRequest.SerializeToString,
                response_deserializer=fetch_response_from_bytes,
            )()
            writing = asyncio.ensure_future(self._write_requests(stream))
            reading = asyncio.ensure_future(self._read_answers(stream))
            try:
                done, _ = await asyncio.wait((writing, reading), return_when=asyncio.FIRST_COMPLETED)
            finally:
                writing.cancel()
                reading.cancel()
                stream.cancel()
                await asyncio.gather(writing, reading, return_exceptions=True)
            for task in done:
                task.result()
        finally:
            await channel.close()

    async def _write_requests(
        self, stream: grpc.aio.StreamStreamCall[pb.FetchRequest, FetchResponse]
    ) -> None:
        while True:
            await self._due.wait()
            self._due.clear()
            if FOLLOWER_FETCH.armed:
                await FOLLOWER_FETCH.hit()
            self._unanswered += 1
            try:
                await stream.write(self._next_request())
            except asyncio.InvalidStateError as error:
                # What grpc says of a stream that ended a moment ago.
                raise StreamLostError("the stream ended") from error

    async def _read_answers(self, stream: grpc.aio.StreamStreamCall[pb.FetchRequest, FetchResponse]) -> None:
        while True:
            async with asyncio.timeout(self._settings.socket_timeout_ms / 1000):
                response = await stream.read()
            if not isinstance(response, FetchResponse):
                raise StreamLostError("the leader ended the stream")
            if response.error_code:
                raise StreamLostError(
                    f"the leader refused the session: {ErrorCode.from_code(response.error_code).name}"
                )
            self._answered = True
            self._unanswered -= 1
            for data in response.partitions:
                self._take(data)
            if self._unanswered == 0:
                self._due.set()

    def _next_request(self) -> pb.FetchRequest:
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
                latest_epoch = log.latest_epoch
                request.partitions.add(
                    topic=topic_partition.topic,
                    partition=topic_partition.partition,
                    current_leader_epoch=self._epochs[topic_partition],
                    fetch_offset=log.log_end_offset,
                    last_fetched_epoch=UNKNOWN_LEADER_EPOCH if latest_epoch is None else latest_epoch,
                    log_start_offset=log.log_start_offset,
                    max_bytes=settings.fetch_max_bytes,
                )
        self._named.clear()
        return request

    def _take(self, data: PartitionData) -> None:
        """Act on what the leader says of one partition, unless it was asked in another epoch."""
        topic_partition = TopicPartition(data.topic, data.partition)
        epoch = self._epochs.get(topic_partition)
        partition = self._hosted.get(topic_partition)
        if epoch is None or partition is None or epoch != data.leader_epoch:
            return
        try:
            if data.error_code:
                self._react(partition, data, ErrorCode.from_code(data.error_code))
            elif data.diverging_epoch is not None:
                self._truncate_diverging(partition, data.diverging_epoch)
            else:
                self._append(partition, data)
        except KafkaStorageError as error:
            self.remove(topic_partition)
            self._hosted.disk_failed(error)

    def _append(self, partition: HostedPartition, data: PartitionData) -> None:
        log = partition.log
        if data.records:
            info = log.append_as_follower(data.records)
            if isinstance(info, Refusal):
                _log.error(
                    "fetched batch refused", partition=str(partition.topic_partition), reason=str(info)
                )
                self._back_off(partition.topic_partition)
                return
            self._name(partition.topic_partition)
        if data.log_start_offset > log.log_start_offset:
            log.raise_log_start(Offset(min(data.log_start_offset, log.log_end_offset)))
        partition.replica.follow_high_watermark(
            Offset(data.high_watermark), log.log_start_offset, log.log_end_offset
        )

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

    def _react(self, partition: HostedPartition, data: PartitionData, error: ErrorCode) -> None:
        match reaction(error):
            case Reaction.FIND_RANGE:
                self._find_range(partition, data)
            case Reaction.DROP:
                self.remove(partition.topic_partition)
            case Reaction.BACK_OFF:
                self._back_off(partition.topic_partition)

    def _find_range(self, partition: HostedPartition, data: PartitionData) -> None:
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


def _describe(error: Exception) -> str:
    if isinstance(error, grpc.aio.AioRpcError):
        return f"{error.code().name}: {error.details()}"
    return str(error) or type(error).__name__
