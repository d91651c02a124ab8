"""The fetch sessions of all followers: one per follower, as long as its gRPC stream.

An answer is held back while there is nothing to send. The hold is a delayed operation in the fetch purgatory,
which data, the next request on the stream or a timeout completes.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

import structlog

from barnabas.broker.core.metadata_cache import MetadataCache
from barnabas.broker.core.purgatory import DelayedOperation
from barnabas.broker.replicas.fetch_session import FetchSession, OnFollowerMayJoin, OnFollowerMustLeave
from barnabas.broker.replicas.hosted import HostedPartitions
from barnabas.broker.replicas.ranges import MOST_BYTES
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.rpc import replication_pb2 as pb
from barnabas.cluster.runtime.line_limit import LINES

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """A request that is not answered yet.

    Attributes:
        request: The request.
        session: The session that has processed it, or None if the stream is refused.
    """

    request: pb.FetchRequest
    session: FetchSession | None


class Inbox:
    """The requests of one stream that are not answered yet, in order."""

    def __init__(self) -> None:
        self._asked: deque[PendingRequest | None] = deque()
        self._arrival = asyncio.Event()

    def __bool__(self) -> bool:
        return bool(self._asked)

    def put(self, asked: PendingRequest | None) -> None:
        """Add a request; None marks the end of the stream."""
        self._asked.append(asked)
        self._arrival.set()

    async def get(self) -> PendingRequest | None:
        """Return the next request, or None at the stream's end."""
        while not self._asked:
            self._arrival.clear()
            await self._arrival.wait()
        return self._asked.popleft()


class DelayedFollowerFetch(DelayedOperation):
    """A follower's fetch that is held back until there is something to send."""

    __slots__ = ("_ended", "_inbox", "_min_bytes", "_on_expired", "_session")

    def __init__(
        self,
        session: FetchSession,
        inbox: Inbox,
        min_bytes: int,
        ended: asyncio.Future[None],
        on_expired: Callable[[], None],
    ) -> None:
        super().__init__()
        self._session = session
        self._inbox = inbox
        self._min_bytes = min_bytes
        self._ended = ended
        self._on_expired = on_expired

    def is_satisfied(self) -> bool:
        """Return whether there is enough to send, or the follower has sent a new request."""
        return bool(self._inbox) or self._session.has_enough(self._min_bytes)

    def on_complete(self) -> None:
        """Let the stream answer."""
        if not self._ended.done():
            self._ended.set_result(None)

    def on_expiration(self) -> None:
        """Count a fetch that timed out before there was enough."""
        self._on_expired()


class FetchSessions:
    """The server of the streams of this broker's followers."""

    def __init__(
        self,
        hosted: HostedPartitions,
        metadata: MetadataCache,
        on_may_join: OnFollowerMayJoin,
        on_expired: Callable[[], None] = lambda: None,
        on_must_leave: OnFollowerMustLeave = lambda _: None,
    ) -> None:
        """Create the server; ``on_expired`` is called for each fetch that timed out."""
        self._hosted = hosted
        self._on_must_leave = on_must_leave
        self._on_expired = on_expired
        self._metadata = metadata
        self._on_may_join = on_may_join
        self._sessions: dict[BrokerId, FetchSession] = {}

    async def serve(self, requests: AsyncIterator[pb.FetchRequest]) -> AsyncIterator[pb.FetchResponse]:
        """Answer the requests of one stream in their order, until it ends or its follower opens another."""
        inbox = Inbox()
        gathering = asyncio.ensure_future(self._gather(requests, inbox))
        try:
            while (asked := await inbox.get()) is not None:
                session, request = asked.session, asked.request
                if session is None:
                    yield pb.FetchResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
                    return
                await self._hold(session, inbox, request)
                if session.is_closed:
                    return
                yield session.answer(min(request.max_bytes, MOST_BYTES))
            if gathering.done() and not gathering.cancelled():
                gathering.result()
        finally:
            gathering.cancel()

    async def _gather(self, requests: AsyncIterator[pb.FetchRequest], inbox: Inbox) -> None:
        """Process each request as it comes: its acknowledgement must not wait until an answer is due."""
        session: FetchSession | None = None
        try:
            async for request in requests:
                if session is None:
                    if self._is_stale(request):
                        inbox.put(PendingRequest(request, None))
                        return
                    session = self._open(BrokerId(request.replica_id))
                if session.is_closed:
                    return
                session.take(request)
                inbox.put(PendingRequest(request, session))
                self._hosted.fetches.check_and_complete(session)
        finally:
            inbox.put(None)
            if session is not None:
                self._close(session)

    def _is_stale(self, request: pb.FetchRequest) -> bool:
        """Return whether the stream belongs to an earlier incarnation of the follower."""
        known = self._metadata.broker(BrokerId(request.replica_id))
        return known is not None and 0 <= request.broker_epoch < known.epoch

    def _open(self, replica_id: BrokerId) -> FetchSession:
        former = self._sessions.get(replica_id)
        if former is not None:
            self._close(former)
        session = FetchSession(replica_id, self._hosted, self._on_may_join, self._on_must_leave)
        self._sessions[replica_id] = session
        if LINES.allow("follower opened a fetch session"):
            _log.info("follower opened a fetch session", replica=replica_id)
        return session

    def _close(self, session: FetchSession) -> None:
        session.close()
        self._hosted.fetches.check_and_complete(session)
        if self._sessions.get(session.replica_id) is session:
            del self._sessions[session.replica_id]

    async def _hold(self, session: FetchSession, inbox: Inbox, request: pb.FetchRequest) -> None:
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        hold = DelayedFollowerFetch(session, inbox, request.min_bytes, ended, self._on_expired)
        if not self._hosted.fetches.try_complete_else_watch(hold, (session,), request.max_wait_ms):
            await ended
