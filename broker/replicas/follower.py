"""The follower's side of replication for one leader: one stream that fetches all partitions led there.

The next request goes out as soon as an answer's batches are in the logs: it carries the new log end offsets,
on which the leader's high watermark, and the producers behind it, wait. Source: Kafka's
``AbstractFetcherThread`` and ``ReplicaFetcherThread`` of release 2.8.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import grpc.aio
import structlog

from broker.replicas.followed import FollowedPartitions
from broker.replicas.hosted import HostedPartitions
from cluster.model.brokers import Endpoint
from cluster.model.epochs import BrokerEpoch
from cluster.model.errors import ErrorCode
from cluster.model.ids import BrokerId
from cluster.rpc import replication_pb2 as pb
from cluster.rpc.channels import open_channel
from cluster.rpc.translate_replication import FetchResponse, fetch_response_from_bytes
from cluster.runtime.failpoints import FOLLOWER_FETCH, FailpointError

FETCH_METHOD = "/barnabas.replication.Replication/Fetch"
"""The stream's name, as ``proto/replication.proto`` gives it."""

_log = structlog.get_logger(__name__)


class StreamLostError(Exception):
    """The stream to the leader ended; the text says how."""


class LeaderFetcher:
    """Fetches from one leader what this broker follows there.

    Attributes:
        leader: The leader.
        endpoint: Where its peers reach it.
        followed: What is fetched.

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
        self._settings = hosted.settings
        self._due = asyncio.Event()
        self.followed = FollowedPartitions(hosted, broker_epoch, self._due.set)
        self._unanswered = 0
        self._answered = False

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
            self.followed.close()

    async def _fetch_over_one_stream(self) -> None:
        """One stream is one session."""
        self._unanswered = 0
        self._answered = False
        self.followed.begin_session()
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
                await stream.write(self.followed.next_request())
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
                self.followed.take(data)
            if self._unanswered == 0:
                self._due.set()


def _describe(error: Exception) -> str:
    if isinstance(error, grpc.aio.AioRpcError):
        return f"{error.code().name}: {error.details()}"
    return str(error) or type(error).__name__
