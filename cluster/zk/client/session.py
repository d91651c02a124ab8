"""A ZooKeeper session on the asyncio loop, with deadlines and with watches that survive disconnections.

kazoo forgets all watches when the connection breaks; the session arms each again and reports each watched
path. When the session is over, its owner opens a new one.

This needs ZooKeeper 3.6 or later for bulk reads (``multi_read``).
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import structlog

from barnabas.cluster.zk.client import errors
from barnabas.cluster.zk.client.connect_string import parse_connect_string
from barnabas.cluster.zk.client.kazoo_client import ConnectionState, KazooConnection
from barnabas.cluster.zk.client.multi_read import STAT_BYTES
from barnabas.cluster.zk.client.operations import (
    ANY_VERSION,
    MAXIMUM_REQUEST_BYTES,
    Answer,
    Change,
    Create,
    Delete,
    Node,
    OnEvent,
    Operation,
    SessionEvent,
    Set,
    Stat,
    WatchEvent,
)
from barnabas.cluster.zk.client.pipeline import Pipeline, Request, value
from barnabas.cluster.zk.client.security import UNSECURED, ZooKeeperSecurity
from barnabas.cluster.zk.client.watches import Watch, Watches
from barnabas.cluster.zk.schema.paths import all_can_be, ancestors, can_be
from barnabas.cluster.zk.schema.znode_acls import ZnodeAcl, default_acl

_log = structlog.stdlib.get_logger("kafka.zookeeper.ZooKeeperClient")

REQUEST_TIMEOUT_MS = 30_000
"""The default timeout of a request in milliseconds, including resending."""

LONGEST_ABSENCE = 4
"""The number of session timeouts without a connection after which a session is given up.

A ZooKeeper that lost its data, or was restored to an earlier state, refuses each client that has seen a
later transaction, and closes its connection: that client would try to connect forever. A new client has
seen none.
"""

_RELEASE_TIMEOUT_S = 5.0
"""The seconds for which ``close`` waits for the server."""


class ZooKeeperSession:
    """A session, which ``connect`` opens.

    All methods except ``abort`` must be called on the event loop on which the session was opened. A request
    that loses its connection is sent again until it gets a response or its deadline passes. An error's
    ``resent`` records that, because a write may have been carried out before its response was lost. Every
    request raises ``ZooKeeperTimeout`` at its deadline and ``SessionExpired`` once the session is over. An
    invalid path is not sent: for reads it is a missing node, and a write raises ``InvalidPath``.

    Watches fire once: a read with ``watch=True`` leads to at most one ``WatchEvent``, and to one with
    ``Change.UNKNOWN`` after each reconnection before that. A refused read arms no watch.

    Attributes:
        session_timeout_ms: The requested timeout; the server may have granted another.
    """

    def __init__(
        self,
        connect_string: str,
        session_timeout_ms: int,
        request_timeout_ms: int,
        on_event: OnEvent,
        security: ZooKeeperSecurity = UNSECURED,
    ) -> None:
        self.session_timeout_ms = session_timeout_ms
        self._servers, self._chroot = parse_connect_string(connect_string)
        self._on_event = on_event
        self._loop = asyncio.get_running_loop()
        self._pipeline = Pipeline(request_timeout_ms / 1000)
        self._watches = Watches()
        self._was_connected = False
        self._is_over = False
        self._rearming: asyncio.Task[None] | None = None
        self._giving_up: asyncio.TimerHandle | None = None
        self._released: asyncio.Future[None] | None = None
        self._security = security
        self._connection = KazooConnection(
            self._servers, session_timeout_ms / 1000, self._on_state, self._on_watch, security
        )

    @classmethod
    async def connect(
        cls,
        connect_string: str,
        *,
        session_timeout_ms: int,
        on_event: OnEvent,
        connect_timeout_ms: int | None = None,
        request_timeout_ms: int = REQUEST_TIMEOUT_MS,
        security: ZooKeeperSecurity = UNSECURED,
    ) -> Self:
        """Open a session, and create the chroot if it is missing.

        Args:
            connect_string: ``host:port,host:port/chroot``, as in ``zookeeper.connect``; the chroot is
                optional.
            session_timeout_ms: The milliseconds without a heartbeat after which the server ends the session.
            on_event: Called on the running loop with each ``WatchEvent`` and ``SessionEvent``.
            connect_timeout_ms: The milliseconds to wait for the session; None for the session timeout.
            request_timeout_ms: The timeout of each request.
            security: The login, TLS, and whether created nodes get ACLs.

        Raises:
            ValueError: The connect string is malformed.
            ZooKeeperUnavailable: No server granted a session in time.
            ZooKeeperAuthFailed: The login failed.
            InvalidAcl: The chroot cannot get an ACL, because ZooKeeper authenticated nobody.
        """
        session = cls(connect_string, session_timeout_ms, request_timeout_ms, on_event, security)
        await session.open(session_timeout_ms if connect_timeout_ms is None else connect_timeout_ms)
        return session

    async def open(self, timeout_ms: int) -> None:
        """Open the session, as the second half of ``connect``; clean up if that fails."""
        self._connection.start()
        try:
            await self._open(timeout_ms)
        except BaseException:
            # Clean up after a cancellation too, because a client without an owner would try to connect
            # forever.
            self._end()
            self._release()
            raise

    async def _open(self, timeout_ms: int) -> None:
        if not await self._pipeline.wait_connected(timeout_ms / 1000):
            refused, login = self._connection.refused_login, self._security.login
            if refused is not None and login is not None:
                raise errors.ZooKeeperAuthFailed(
                    f"ZooKeeper at {self._servers} and user {login.username!r} do not authenticate: {refused}"
                )
            raise errors.ZooKeeperUnavailable(
                f"no ZooKeeper answered at {self._servers} within {timeout_ms} ms: "
                f"expected the host:port of a running ZooKeeper{self._last_error()}"
            )
        if self._chroot:
            secure = self._security.set_acl
            whole = [
                Create(path, acl=default_acl(path, secure=secure))
                for path in (*ancestors(self._chroot), self._chroot)
            ]
            for answer in await self._pipeline.all([self._connection.transaction([node]) for node in whole]):
                if not isinstance(answer, errors.NodeExists):
                    value(answer)

    def _last_error(self) -> str:
        error = self._connection.last_error
        return f" ({error})" if error else ""

    @property
    def id(self) -> int:
        """The session's id, which is the ``ephemeral_owner`` of its ephemeral nodes."""
        return self._connection.session_id

    @property
    def is_over(self) -> bool:
        """Return whether the session expired or was closed."""
        return self._is_over

    @property
    def is_connected(self) -> bool:
        """Return whether a server answered last, and the session has not ended."""
        return self._pipeline.is_connected

    async def get(self, path: str, *, watch: bool = False) -> Node:
        """Read a node; a missing one raises ``NoNode`` and is not watched (unlike with ``exists``)."""
        (answer,) = await self._read([path], self._connection.get, watch=watch)
        node: Node = value(answer)
        return node

    async def exists(self, path: str, *, watch: bool = False) -> Stat | None:
        """Read a node's stat; return None if it is missing. The watch also reports its creation."""
        (answer,) = await self._read([path], self._connection.exists, watch=watch)
        stat: Stat | None = None if isinstance(answer, errors.InvalidPath) else value(answer)
        return stat

    async def get_children(self, path: str, *, watch: bool = False) -> list[str]:
        """Return the names of a node's children, unordered; a missing node raises ``NoNode``, unwatched."""
        (answer,) = await self._read([path], self._connection.children, watch=watch, children=True)
        names: list[str] = value(answer)
        return names

    async def get_many(
        self, paths: Sequence[str], *, watch: bool = False, expected_bytes: int = 256
    ) -> list[Node | None]:
        """Read many nodes in the order of ``paths``; missing ones are None.

        Args:
            paths: The paths to read.
            watch: Whether to watch each node that exists. Such reads are single requests in a pipeline, which
                costs many times as much as without watches, where hundreds share a request.
            expected_bytes: The usual size of a node's data, which bounds how many nodes share a response.
        """
        if watch:
            answers = await self._read(paths, self._connection.get, watch=True)
            return [None if isinstance(answer, errors.NoNode) else value(answer) for answer in answers]
        size = max(1, MAXIMUM_REQUEST_BYTES // (expected_bytes + STAT_BYTES))
        sent = paths if all_can_be(paths) else [path for path in paths if can_be(path)]
        whole = [self._whole(path) for path in sent]
        chunks = [whole[start : start + size] for start in range(0, len(whole), size)]
        answers = await self._pipeline.all([self._connection.multi_read(chunk) for chunk in chunks])
        nodes = [node for answer in answers for node in value(answer)]
        if sent is paths:
            return nodes
        found = dict(zip(sent, nodes, strict=True))
        return [found.get(path) for path in paths]

    async def create(
        self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False
    ) -> str:
        """Create a node and return its path, which has a number appended if it is ``sequential``."""
        (created,) = await self.multi(Create(path, data, ephemeral, sequential))
        return str(created)

    async def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> Stat:
        """Set a node's data if it has this version, and return its new stat."""
        answers = await self._pipeline.one(self._transaction([Set(path, data, version)]))
        stat: Stat = answers[0]
        return stat

    async def delete(self, path: str, version: int = ANY_VERSION) -> None:
        """Delete a node without children, if it has this version."""
        await self.multi(Delete(path, version))

    async def multi(self, *operations: Operation) -> list[Answer]:
        """Carry out all operations or none, and return their results.

        Raises:
            RequestFailed: An operation was refused; ``operation`` is the index of the first such. An
                ``InvalidPath`` comes before all others.
            RequestTooLarge: The operations exceed a server's limit.
        """
        return value((await self.multi_many([operations]))[0])

    async def multi_many(
        self, transactions: Iterable[Sequence[Operation]]
    ) -> list[list[Answer] | errors.ZooKeeperError]:
        """Carry out independent transactions in a pipeline, and return their results or errors in order."""
        outcomes = await self._pipeline.all([self._transaction(operations) for operations in transactions])
        return [
            outcome if isinstance(outcome, errors.ZooKeeperError) else [self._relative(a) for a in outcome]
            for outcome in outcomes
        ]

    async def get_acl(self, path: str) -> tuple[ZnodeAcl, ...]:
        """Read a node's ACL; a missing node raises ``NoNode``."""
        acl: tuple[ZnodeAcl, ...] = await self._pipeline.one(self._to(path, self._connection.acl))
        return acl

    async def set_acls(self, acls: Mapping[str, tuple[ZnodeAcl, ...]]) -> list[Stat | errors.ZooKeeperError]:
        """Set the ACLs of nodes by path in a pipeline, and return the new stats or errors in order."""
        requests = [self._to(path, partial(self._connection.set_acl, acl=acl)) for path, acl in acls.items()]
        return await self._pipeline.all(requests)

    async def get_children_many(self, paths: Sequence[str]) -> list[list[str] | None]:
        """Return the names of the children of many nodes in the order of ``paths``; None for missing ones."""
        answers = await self._read(paths, self._connection.children, watch=False)
        return [None if isinstance(answer, errors.NoNode) else value(answer) for answer in answers]

    def watched(self) -> list[str]:
        """Return the watched paths without an event so far, sorted."""
        return self._watches.paths()

    def unwatch(self, *paths: str) -> None:
        """Stop delivering events of these paths until they are watched again."""
        self._watches.forget(*paths)

    async def close(self) -> None:
        """End the session: its ephemeral nodes are removed at once, and no more events come."""
        self._end()
        await asyncio.wait([self._release()], timeout=_RELEASE_TIMEOUT_S)

    def abort(self) -> None:
        """End the session from any thread, for a watchdog whose loop is stuck.

        The call blocks until the server confirmed or the connection failed. The loop gets
        ``SessionEvent.EXPIRED``.
        """
        self._connection.stop()

    def _on_state(self, state: ConnectionState) -> None:
        """Handle a new state, on the connection's thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._state_changed, state)

    def _state_changed(self, state: ConnectionState) -> None:
        if self._is_over:
            return
        self._stop_giving_up()
        if state is ConnectionState.CONNECTED:
            self._pipeline.connected()
            if self._was_connected:
                self._on_event(SessionEvent.RECONNECTED)
                self._rearm()
            self._was_connected = True
        elif state is ConnectionState.SUSPENDED:
            self._pipeline.disconnected()
            longest_s = LONGEST_ABSENCE * self.session_timeout_ms / 1000
            self._giving_up = self._loop.call_later(longest_s, self._give_up)
            self._on_event(SessionEvent.DISCONNECTED)
        elif self._was_connected:
            self._expire()
        else:
            self._end()  # `open` waits, and raises the error

    def _give_up(self) -> None:
        silence_ms = LONGEST_ABSENCE * self.session_timeout_ms
        _log.warning(
            f"No connection to ZooKeeper at {self._servers} for {silence_ms} ms; the session is given up. "
            "Either no server answers, or ZooKeeper has lost data and refuses clients that saw a later state."
        )
        self._expire()

    def _stop_giving_up(self) -> None:
        if self._giving_up is not None:
            self._giving_up.cancel()
            self._giving_up = None

    def _expire(self) -> None:
        self._end()
        self._release()
        self._on_event(SessionEvent.EXPIRED)

    def _end(self) -> None:
        self._is_over = True
        self._stop_giving_up()
        self._watches.clear()
        self._pipeline.end(f"the session with {self._servers} is over")
        if self._rearming is not None:
            self._rearming.cancel()

    def _release(self) -> asyncio.Future[None]:
        """Close the connection on a separate thread, because that may wait for servers that do not answer."""
        if self._released is None:
            released = self._released = self._loop.create_future()

            def stop() -> None:
                self._connection.release()
                if not self._loop.is_closed():
                    self._loop.call_soon_threadsafe(released.set_result, None)

            threading.Thread(target=stop, name="zookeeper-close", daemon=True).start()
        return self._released

    def _on_watch(self, path: str, change: Change) -> None:
        """Handle a fired watch, on a thread of the connection."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._fired, path.removeprefix(self._chroot) or "/", change)

    def _fired(self, path: str, change: Change) -> None:
        if self._watches.fire(path, change):
            self._on_event(WatchEvent(path, change))

    def _rearm(self) -> None:
        if self._rearming is not None:
            self._rearming.cancel()
        self._rearming = self._loop.create_task(self._rearm_and_report(), name="rearm ZooKeeper watches")
        self._rearming.add_done_callback(self._rearmed)

    def _rearmed(self, rearming: asyncio.Task[None]) -> None:
        """End the session if watches cannot be armed again, because their changes would be missed."""
        error = None if rearming.cancelled() else rearming.exception()
        if error is not None and not self._is_over:
            _log.error("watches cannot be armed again, the session ends", exc_info=error)
            self._expire()

    async def _rearm_and_report(self) -> None:
        """Arm each watch again, then report its path; a lost connection starts this again.

        A refused watch is dropped: the handler of the reported path reads it again and gets the error.
        """
        renewed = self._watches.renew()
        connection = self._connection
        answers = await self._pipeline.all(
            [
                (connection.children if children else connection.exists)(self._whole(path), watch=True)
                for (path, children), _ in renewed
            ]
        )
        watched = self._watches.paths()
        for (watch, claim), answer in zip(renewed, answers, strict=True):
            if isinstance(answer, errors.RequestFailed):
                self._watches.withdraw(watch, claim)
                if not isinstance(answer, errors.NoNode):
                    _log.error("a watch cannot be armed again", path=watch.path, error=str(answer))
        for path in watched:
            self._on_event(WatchEvent(path, Change.UNKNOWN))

    async def _read(
        self, paths: Sequence[str], read: Callable[..., Request], *, watch: bool, children: bool = False
    ) -> list[Any]:
        """Send reads, and return the response or error of each in order.

        A watch is recorded before its request is sent, so that an early event is recognized, and is withdrawn
        if the read is refused.
        """
        possible = [can_be(path) for path in paths]
        claims = {
            Watch(path, children): self._watches.add(path, children=children)
            for path, sent in zip(paths, possible, strict=True)
            if watch and sent
        }
        whole = [self._whole(path) for path in paths]
        answers = await self._pipeline.all(
            [
                read(path, watch=watch) if sent else _refused(errors.InvalidPath(path))
                for path, sent in zip(whole, possible, strict=True)
            ]
        )
        for path, answer in zip(paths, answers, strict=True):
            watched = Watch(path, children)
            if isinstance(answer, errors.RequestFailed) and watched in claims:
                self._watches.withdraw(watched, claims[watched])
        return answers

    def _whole(self, path: str) -> str:
        return self._chroot + path if path != "/" else self._chroot or "/"

    def _to(self, path: str, request: Callable[[str], Request]) -> Request:
        """Return a request about a node; an invalid path is not sent."""
        return request(self._whole(path)) if can_be(path) else _refused(errors.InvalidPath(path))

    def _relative(self, answer: Answer) -> Answer:
        return answer.removeprefix(self._chroot) if isinstance(answer, str) else answer

    def _transaction(self, operations: Sequence[Operation]) -> Request:
        for index, operation in enumerate(operations):
            if not can_be(operation.path):
                return _refused(errors.InvalidPath(self._whole(operation.path), index))
        if self._security.set_acl:
            operations = [_with_acl(operation) for operation in operations]
        if self._chroot:
            operations = [replace(operation, path=self._whole(operation.path)) for operation in operations]
        return self._connection.transaction(operations)


def _with_acl(operation: Operation) -> Operation:
    """Return an operation with the ACL that Kafka gives to the node, if it creates one."""
    if not isinstance(operation, Create):
        return operation
    return replace(operation, acl=default_acl(operation.path, secure=True))


def _refused(error: errors.InvalidPath) -> Request:
    """Return a request that fails without being sent."""
    return Request(error.path, lambda call_back: call_back(error))
