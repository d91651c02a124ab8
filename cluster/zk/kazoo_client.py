"""kazoo, the ZooKeeper client library, behind plain data: the only file that speaks it.

kazoo runs its connection, with the heartbeats, on threads of its own. One habit of it is mended here: when a
session has expired it would open another by itself; a ``KazooConnection`` is one session and no more.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import Any

from kazoo.client import KazooClient, KazooState, TransactionRequest
from kazoo.exceptions import (
    BadVersionError,
    ConnectionClosedError,
    ConnectionLoss,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    RolledBackError,
    RuntimeInconsistency,
    SessionExpiredError,
)
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol.states import EventType, WatchedEvent, ZnodeStat
from kazoo.retry import KazooRetry

from barnabas.cluster.zk import errors
from barnabas.cluster.zk.multi_read import MultiRead
from barnabas.cluster.zk.operations import (
    MAXIMUM_REQUEST_BYTES,
    Answer,
    Change,
    Check,
    Create,
    Delete,
    Node,
    Operation,
    Set,
    Stat,
    request_bytes,
)
from barnabas.cluster.zk.pipeline import LOST, Request

_REFUSALS: dict[type[Exception], type[errors.RequestFailed]] = {
    NoNodeError: errors.NoNode,
    NodeExistsError: errors.NodeExists,
    BadVersionError: errors.BadVersion,
    NotEmptyError: errors.NotEmpty,
}
_HANDSHAKES_PER_SESSION = 3
_UNDONE = (RolledBackError, RuntimeInconsistency)
_CHANGES = {
    EventType.CREATED: Change.CREATED,
    EventType.DELETED: Change.DELETED,
    EventType.CHANGED: Change.DATA,
    EventType.CHILD: Change.CHILDREN,
}


class ConnectionState(Enum):
    """Where a session stands: CONNECTED and SUSPENDED take turns, LOST is its end."""

    CONNECTED = auto()
    SUSPENDED = auto()
    LOST = auto()


_STATES = {
    KazooState.CONNECTED: ConnectionState.CONNECTED,
    KazooState.SUSPENDED: ConnectionState.SUSPENDED,
    KazooState.LOST: ConnectionState.LOST,
}


class KazooConnection:
    """The connection of one session: makes requests for a ``Pipeline`` and reports states and watch events.

    Args:
        servers: ``host:port`` of each server, separated by commas.
        session_timeout_s: The session timeout to ask for.
        on_state: Called with each new state, on kazoo's connection thread.
        on_watch: Called with the whole path and the change when a watch fires, on kazoo's callback thread.

    Attributes:
        session_id: The session's number; 0 before it is known.
    """

    def __init__(
        self,
        servers: str,
        session_timeout_s: float,
        on_state: Callable[[ConnectionState], None],
        on_watch: Callable[[str, Change], None],
    ) -> None:
        self._on_state = on_state
        self._on_watch = on_watch
        self.session_id = 0
        self._lost = threading.Event()
        self._stopping = threading.Lock()
        handler = SequentialThreadingHandler()
        self._dial = handler.create_connection
        # Where kazoo passes before it opens its next session.
        handler.create_connection = self._dial_unless_lost
        redial = KazooRetry(max_tries=-1, delay=0.05, backoff=2, max_jitter=0.4, max_delay=0.5)
        self._client = _Client(
            repeat_servers(servers), timeout=session_timeout_s, handler=handler, connection_retry=redial
        )
        self._client.add_listener(self._state_changed)

    def start(self) -> None:
        """Begin to connect; does not block."""
        self._client.start_async()

    def stop(self) -> None:
        """End the session, from any thread; blocks until the server was told or the connection gave up."""
        self._lost.set()
        with self._stopping:
            self._client.stop()

    def release(self) -> None:
        """Stop, and free the sockets; blocks as ``stop``, also while another thread stops it."""
        self.stop()
        self._client.close()

    def get(self, path: str, *, watch: bool) -> Request:
        """Read a node: ``Node``."""
        return _request(path, lambda: self._client.get_async(path, self._watcher(watch=watch)), _node)

    def exists(self, path: str, *, watch: bool) -> Request:
        """Read a node's stat: ``Stat``, or None where it is missing."""
        send = self._client.exists_async
        return _request(path, lambda: send(path, self._watcher(watch=watch)), _stat_or_none)

    def children(self, path: str, *, watch: bool) -> Request:
        """Read a node's children: their names."""
        return _request(path, lambda: self._client.get_children_async(path, self._watcher(watch=watch)), list)

    def multi_read(self, paths: Sequence[str]) -> Request:
        """Read the data of many nodes in one request: ``Node`` or None for each."""
        return _request(paths[0], lambda: self._client.multi_read_async(paths), list)

    def transaction(self, operations: Sequence[Operation]) -> Request:
        """Carry out all operations or none: their answers, or the error of the one that failed.

        Raises:
            RequestTooLarge: A server would not take them, and drop the connection.
        """
        size = request_bytes(*operations)
        if size > MAXIMUM_REQUEST_BYTES:
            raise errors.RequestTooLarge(
                f"{len(operations)} operations from {operations[0].path} on take {size} bytes, "
                f"expected at most {MAXIMUM_REQUEST_BYTES}"
            )

        def send() -> Any:
            transaction = TransactionRequest(self._client)
            for operation in operations:
                _add(transaction, operation)
            return transaction.commit_async()

        return _request(operations[0].path, send, lambda results: _answers(operations, results))

    def _dial_unless_lost(self, *args: Any, **options: Any) -> Any:
        if self._lost.is_set():
            raise ConnectionAbortedError("the session is over")
        return self._dial(*args, **options)

    def _state_changed(self, state: str) -> None:
        identity = self._client.client_id
        if state == KazooState.CONNECTED and identity is not None:
            self.session_id = int(identity[0])
        elif state == KazooState.LOST:
            self._lost.set()
        self._on_state(_STATES[state])

    def _watcher(self, *, watch: bool) -> Callable[[WatchedEvent], None] | None:
        return self._watch_fired if watch else None

    def _watch_fired(self, event: WatchedEvent) -> None:
        """An event of no known type is kazoo's word that it forgot the watch."""
        change = _CHANGES.get(event.type)
        if change is not None:
            self._on_watch(event.path, change)


def repeat_servers(servers: str) -> str:
    """The servers, named so often that kazoo tries several handshakes within one session timeout.

    A ZooKeeper that just starts accepts connections before it can answer, and may never close them. kazoo
    waits for the first answer as long as the session timeout divided by the number of servers it was given:
    with one server named once, the session would expire over a single such connection.
    """
    times = math.ceil(_HANDSHAKES_PER_SESSION / len(servers.split(",")))
    return ",".join([servers] * times)


class _Client(KazooClient):  # type: ignore[misc]  # kazoo has no types
    """kazoo's client with the one request that it lacks."""

    def multi_read_async(self, paths: Sequence[str]) -> Any:
        """Read many nodes in one request; an asynchronous result as of kazoo's own methods."""
        answer = self.handler.async_result()
        self._call(MultiRead(paths), answer)
        return answer


def _request(path: str, send: Callable[[], Any], receive: Callable[[Any], Any]) -> Request:
    """Bind an asynchronous call of kazoo's to the pipeline; a call that kazoo refuses at once fails alone."""

    def outcome_of(result: Any) -> Any:
        return receive(result.value) if result.successful() else _error(path, result.exception)

    def sent(call_back: Callable[[Any], None]) -> None:
        try:
            answer = send()
        except (TypeError, ValueError) as refusal:
            call_back(_error(path, refusal))
        else:
            answer.rawlink(lambda result: call_back(outcome_of(result)))

    return Request(path, sent)


def _error(path: str, error: Exception, operation: int = 0) -> Any:
    """What kazoo raised, as our own error or ``LOST``."""
    if isinstance(error, ConnectionLoss | ConnectionClosedError):
        return LOST
    if isinstance(error, SessionExpiredError):
        return errors.SessionExpired("the server says that the session has expired")
    refusal = _REFUSALS.get(type(error))
    if refusal is not None:
        return refusal(path, operation)
    return errors.RequestFailed(path, operation, detail=f"{type(error).__name__} {error}".strip())


def _add(transaction: TransactionRequest, operation: Operation) -> None:
    match operation:
        case Create(path, data, ephemeral, sequential):
            transaction.create(path, data, ephemeral=ephemeral, sequence=sequential)
        case Set(path, data, version):
            transaction.set_data(path, data, version)
        case Delete(path, version):
            transaction.delete(path, version)
        case Check(path, version):
            transaction.check(path, version)


def _answers(operations: Sequence[Operation], results: Sequence[Any]) -> Any:
    """The answers of a transaction, or the error of the operation that made it fail (not of those undone)."""
    failures = [(index, result) for index, result in enumerate(results) if isinstance(result, Exception)]
    if failures:
        causes = [failure for failure in failures if not isinstance(failure[1], _UNDONE)]
        index, error = (causes or failures)[0]
        return _error(operations[index].path, error, index)
    return [_answer(result) for result in results]


def _answer(result: Any) -> Answer:
    if isinstance(result, str):
        return result
    return _stat(result) if isinstance(result, ZnodeStat) else None


def _stat(stat: ZnodeStat) -> Stat:
    return Stat(
        stat.version,
        stat.czxid,
        stat.mzxid,
        stat.ephemeralOwner,
        stat.pzxid,
        stat.ctime,
        stat.mtime,
        stat.cversion,
        stat.aversion,
        stat.dataLength,
        stat.numChildren,
    )


def _stat_or_none(stat: ZnodeStat | None) -> Stat | None:
    return None if stat is None else _stat(stat)


def _node(answer: tuple[bytes | None, ZnodeStat]) -> Node:
    return Node(answer[0] or b"", _stat(answer[1]))
