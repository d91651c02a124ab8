"""The follower's side of replication for one leader: one stream that fetches all partitions it leads.

The next request is sent as soon as an answer's batches are appended. It carries the new log end offsets, for
which the leader's high watermark, and so its producers, wait. Source: Kafka's ``AbstractFetcherThread`` and
``ReplicaFetcherThread`` of release 2.8.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeAlias

import grpc.aio
import structlog

from barnabas.broker.replicas.fetch_state import FetchState
from barnabas.broker.replicas.hosted import HostedPartitions
from barnabas.cluster.model.brokers import Endpoint
from barnabas.cluster.model.epochs import BrokerEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.rpc import replication_pb2 as pb
from barnabas.cluster.rpc.channels import open_channel
from barnabas.cluster.runtime.failpoints import FOLLOWER_FETCH, FailpointError

FETCH_METHOD = "/barnabas.replication.Replication/Fetch"
"""The path of the gRPC method, as in ``proto/replication.proto``."""

Stream: TypeAlias = "grpc.aio.StreamStreamCall[pb.FetchRequest, pb.FetchResponse]"

_log = structlog.get_logger(__name__)


class StreamLostError(Exception):
    """An error of the stream to the leader; the text says how it ended."""


class ReplicaFetcher:
    """A fetcher of the partitions that this broker follows at one leader.

    Attributes:
        leader: The leader.
        endpoint: The leader's gRPC endpoint.
        fetch_state: The fetch state of the partitions.

    Args:
        leader: The leader.
        endpoint: The leader's gRPC endpoint.
        hosted: This broker's partitions.
        broker_epoch: Returns the epoch of this broker's registration.
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
        self._is_due = False
        self._wake = asyncio.Event()
        self._sending = asyncio.Lock()
        self.fetch_state = FetchState(hosted, broker_epoch, self._fetch_now)
        self._unanswered = 0
        self._is_lost = False
        self._last_answer_s = 0.0

    def _fetch_now(self) -> None:
        self._is_due = True
        self._wake.set()

    async def run(self) -> None:
        """Fetch until cancelled; if the leader is unreachable, try every ``replica.fetch.backoff.ms``."""
        try:
            while True:
                try:
                    await self._fetch_over_one_stream()
                except (grpc.aio.AioRpcError, StreamLostError, FailpointError) as error:
                    # Logged once, and again if the stream has worked in between.
                    if not self._is_lost:
                        _log.warning(
                            "replication stream lost; trying again",
                            leader=self.leader,
                            endpoint=str(self.endpoint),
                            error=_describe(error),
                        )
                    self._is_lost = True
                await asyncio.sleep(self._settings.fetch_backoff_ms / 1000)
        finally:
            self.fetch_state.close()

    async def _fetch_over_one_stream(self) -> None:
        """Fetch over one stream, which is one session, until it ends."""
        self._unanswered = 0
        self._last_answer_s = asyncio.get_running_loop().time()
        self.fetch_state.begin_session()
        self._fetch_now()
        channel = open_channel(self.endpoint.host, self.endpoint.port, self._settings.session_timeout_ms)
        try:
            stream = channel.stream_stream(
                FETCH_METHOD,
                request_serializer=pb.FetchRequest.SerializeToString,
                response_deserializer=pb.FetchResponse.FromString,
            )()
            tasks = [
                asyncio.ensure_future(self._read_answers(stream)),
                asyncio.ensure_future(self._send_what_is_due(stream)),
                asyncio.ensure_future(self._expect_answers()),
            ]
            try:
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                stream.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            for task in done:
                task.result()
        finally:
            await channel.close()

    async def _read_answers(self, stream: Stream) -> None:
        """Append each answer and send the next request at once, which acknowledges the append.

        The next request does not wait for the answer to one that is in flight: the leader may hold it back.
        """
        loop = asyncio.get_running_loop()
        while True:
            response = await stream.read()
            if not isinstance(response, pb.FetchResponse):
                raise StreamLostError("the leader ended the stream")
            if response.error_code:
                raise StreamLostError(
                    f"the leader refused the session: {ErrorCode.from_code(response.error_code).name}"
                )
            self._last_answer_s = loop.time()
            self._unanswered -= 1
            if self._is_lost:
                # Without this line, the loss would look like the begin of the leader's absence.
                _log.info("replication stream works again", leader=self.leader, endpoint=str(self.endpoint))
                self._is_lost = False
            if FOLLOWER_FETCH.armed:
                await FOLLOWER_FETCH.hit()
            for data in response.partitions:
                self.fetch_state.take(data)
            if self._unanswered == 0 or self.fetch_state.has_changes:
                self._is_due = True
                await self._send(stream)

    async def _send_what_is_due(self, stream: Stream) -> None:
        """Send requests that need not wait for an answer, such as the first."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self._send(stream)

    async def _send(self, stream: Stream) -> None:
        async with self._sending:
            if FOLLOWER_FETCH.armed:
                await FOLLOWER_FETCH.hit()
            if not self._is_due:
                return
            self._is_due = False
            self._unanswered += 1
            try:
                await stream.write(self.fetch_state.next_request())
            except asyncio.InvalidStateError as error:
                # grpc's error for a stream that has just ended
                raise StreamLostError("the stream ended") from error

    async def _expect_answers(self) -> None:
        """End the stream if the leader is silent for ``replica.socket.timeout.ms``."""
        loop = asyncio.get_running_loop()
        left = patience_s = self._settings.socket_timeout_ms / 1000
        while left > 0:
            await asyncio.sleep(left)
            left = self._last_answer_s + patience_s - loop.time()
        raise StreamLostError(f"no answer for {self._settings.socket_timeout_ms} ms")


def _describe(error: Exception) -> str:
    if isinstance(error, grpc.aio.AioRpcError):
        return f"{error.code().name}: {error.details()}"
    return str(error) or type(error).__name__
