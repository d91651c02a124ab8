"""The wrapper of kazoo, the ZooKeeper client library; no other module uses kazoo.

kazoo runs its connection and heartbeats on its own threads. When a session expires, kazoo would open another
one by itself; a ``KazooConnection`` prevents that, so that it is exactly one session.
"""

from __future__ import annotations

import math
import secrets
import ssl
import threading
from collections.abc import Callable, Sequence
from enum import Enum, auto
from functools import cache, partial
from typing import Any

from kazoo.client import KazooClient, KazooState
from kazoo.exceptions import (
    EXCEPTIONS,
    AuthFailedError,
    BadVersionError,
    ConnectionClosedError,
    ConnectionLoss,
    InvalidACLError,
    NoAuthError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    RolledBackError,
    RuntimeInconsistency,
    SessionExpiredError,
)
from kazoo.handlers.threading import SequentialThreadingHandler
from kazoo.protocol import serialization
from kazoo.protocol.connection import ConnectionHandler
from kazoo.protocol.states import EventType, KeeperState, WatchedEvent, ZnodeStat
from kazoo.retry import KazooRetry
from kazoo.security import ACL, Id

from barnabas.cluster.zk.client import errors
from barnabas.cluster.zk.client.digest_md5 import DigestMd5, DigestMd5Error
from barnabas.cluster.zk.client.multi_read import MultiRead
from barnabas.cluster.zk.client.operations import (
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
from barnabas.cluster.zk.client.pipeline import LOST, Request
from barnabas.cluster.zk.client.security import UNSECURED, Login, ZooKeeperSecurity
from barnabas.cluster.zk.client.tls_socket import TlsSocket, select_with_data
from barnabas.cluster.zk.schema.znode_acls import ZnodeAcl

_REFUSALS: dict[type[Exception], type[errors.RequestFailed]] = {
    NoNodeError: errors.NoNode,
    NodeExistsError: errors.NodeExists,
    BadVersionError: errors.BadVersion,
    NotEmptyError: errors.NotEmpty,
    NoAuthError: errors.NoAuth,
    InvalidACLError: errors.InvalidAcl,
}
_HANDSHAKES_PER_SESSION = 3
_LONGEST_HANDSHAKE = 4
"""The largest factor by which a handshake may take longer, after others have timed out."""
_EPHEMERAL, _SEQUENTIAL = 1, 2  # flags of a Create (ZooKeeper's CreateMode)
_UNDONE = (RolledBackError, RuntimeInconsistency)
_CHANGES = {
    EventType.CREATED: Change.CREATED,
    EventType.DELETED: Change.DELETED,
    EventType.CHANGED: Change.DATA,
    EventType.CHILD: Change.CHILDREN,
}


class ConnectionState(Enum):
    """The states of a session: CONNECTED and SUSPENDED alternate, LOST is the end."""

    CONNECTED = auto()
    SUSPENDED = auto()
    LOST = auto()


_STATES = {
    KazooState.CONNECTED: ConnectionState.CONNECTED,
    KazooState.SUSPENDED: ConnectionState.SUSPENDED,
    KazooState.LOST: ConnectionState.LOST,
}


class KazooConnection:
    """The connection of a session, which creates requests for a ``Pipeline`` and reports states and watches.

    Args:
        servers: ``host:port`` of each server, separated by commas.
        session_timeout_s: The session timeout to request in seconds.
        on_state: Called with each new state, on kazoo's connection thread.
        on_watch: Called with the whole path and the change when a watch fires, on kazoo's callback thread.
        security: The login and TLS.

    Attributes:
        session_id: The session's id; 0 before it is known.
        last_error: Why the last attempt to connect failed; empty if none has.
        refused_login: Why ZooKeeper or its client gave up the login, which ended the session; else None.
    """

    def __init__(
        self,
        servers: str,
        session_timeout_s: float,
        on_state: Callable[[ConnectionState], None],
        on_watch: Callable[[str, Change], None],
        security: ZooKeeperSecurity = UNSECURED,
    ) -> None:
        self._on_state = on_state
        self._on_watch = on_watch
        self.session_id = 0
        self.last_error = ""
        self.refused_login: str | None = None
        self._lost = threading.Event()
        self._stopping = threading.Lock()
        handler = SequentialThreadingHandler()
        self._dial = handler.create_connection
        if security.tls is not None:
            self._dial = TlsDialer(security.tls)
            handler.select = partial(select_with_data, handler.select)
        # kazoo calls this before it opens its next session.
        handler.create_connection = self._dial_unless_lost
        redial = KazooRetry(max_tries=-1, delay=0.05, backoff=2, max_jitter=0.4, max_delay=0.5)
        self._client = _Client(
            security.login,
            self._login_refused,
            hosts=repeat_servers(servers),
            timeout=session_timeout_s,
            handler=handler,
            connection_retry=redial,
            use_ssl=security.tls is not None,  # this is for kazoo's log; `TlsDialer` sets up TLS
        )
        self._client.add_listener(self._state_changed)

    def start(self) -> None:
        """Start connecting, without blocking."""
        self._client.start_async()

    def stop(self) -> None:
        """End the session from any thread; block until the server confirmed or the connection failed."""
        self._lost.set()
        with self._stopping:
            self._client.stop()

    def release(self) -> None:
        """Stop and close the sockets; block as ``stop``, even while another thread stops the session."""
        self.stop()
        self._client.close()

    def get(self, path: str, *, watch: bool) -> Request:
        """Create a request to read a node, with a ``Node`` as response."""
        return _request(path, lambda: self._client.get_async(path, self._watcher(watch=watch)), _node)

    def exists(self, path: str, *, watch: bool) -> Request:
        """Create a request to read a node's ``Stat``; the response is None for a missing node."""
        send = self._client.exists_async
        return _request(path, lambda: send(path, self._watcher(watch=watch)), _stat_or_none)

    def children(self, path: str, *, watch: bool) -> Request:
        """Create a request for the names of a node's children."""
        return _request(path, lambda: self._client.get_children_async(path, self._watcher(watch=watch)), list)

    def multi_read(self, paths: Sequence[str]) -> Request:
        """Create a request to read many nodes at once; the response has a ``Node`` or None for each."""
        return _request(paths[0], lambda: self._client.multi_read_async(paths), list)

    def transaction(self, operations: Sequence[Operation]) -> Request:
        """Create a request for a transaction; the response has all results, or the first error.

        Raises:
            RequestTooLarge: A server would refuse the size and drop the connection.
        """
        size = request_bytes(*operations)
        if size > MAXIMUM_REQUEST_BYTES:
            raise errors.RequestTooLarge(
                f"{len(operations)} operations from {operations[0].path} on take {size} bytes, "
                f"expected at most {MAXIMUM_REQUEST_BYTES}"
            )

        send = partial(self._client.transaction_async, operations)
        return _request(operations[0].path, send, lambda results: _answers(operations, results))

    def acl(self, path: str) -> Request:
        """Create a request for the ACL of a node, a tuple of ``ZnodeAcl``."""
        return _request(path, lambda: self._client.get_acls_async(path), _znode_acl)

    def set_acl(self, path: str, acl: tuple[ZnodeAcl, ...]) -> Request:
        """Create a request to set the ACL of a node, with its ``Stat`` as response."""
        return _request(path, lambda: self._client.set_acls_async(path, _kazoo_acl(acl)), _stat)

    def _dial_unless_lost(self, *args: Any, **options: Any) -> Any:
        if self._lost.is_set():
            raise ConnectionAbortedError("the session is over")
        try:
            return self._dial(*args, **options)
        except OSError as error:
            self.last_error = str(error)
            raise

    def _state_changed(self, state: str) -> None:
        identity = self._client.client_id
        if state == KazooState.CONNECTED and identity is not None:
            self.session_id = int(identity[0])
        elif state == KazooState.LOST:
            self._lost.set()
        self._on_state(_STATES[state])

    def _login_refused(self, reason: str) -> None:
        """End the session, on kazoo's connection thread; kazoo does not report it before a connection."""
        self.refused_login = reason
        self._lost.set()
        self._on_state(ConnectionState.LOST)

    def _watcher(self, *, watch: bool) -> Callable[[WatchedEvent], None] | None:
        return self._watch_fired if watch else None

    def _watch_fired(self, event: WatchedEvent) -> None:
        """Report a watch event.

        One without a known type means that kazoo forgot the watch, so it is dropped.
        """
        change = _CHANGES.get(event.type)
        if change is not None:
            self._on_watch(event.path, change)


class TlsDialer:
    """Connects with our own context: kazoo's trusts the system's authorities, and knows no protocols.

    A handshake may take a part of kazoo's timeout, which is that of the session; see `repeat_servers` for
    what is accepted and not answered. After each one that timed out the next may take twice as long: a slow
    server would begin one after the other for its brokers, and complete none.

    Args:
        context: Returns the context of a connection.
    """

    def __init__(self, context: Callable[[], ssl.SSLContext]) -> None:
        self._context = context
        self._longer = 1

    def __call__(
        self, address: tuple[str, int], *, hostname: str, timeout: float, **_options: Any
    ) -> TlsSocket:
        """Connect to an address, as kazoo's ``create_connection`` does.

        Raises:
            OSError: There was no connection, or the handshake failed.
        """
        timeout_s = timeout * self._longer / _HANDSHAKES_PER_SESSION
        try:
            connected = TlsSocket.dial(self._context(), hostname, address, timeout_s)
        except TimeoutError:
            self._longer = min(2 * self._longer, _LONGEST_HANDSHAKE)
            raise
        self._longer = 1
        return connected


def repeat_servers(servers: str) -> str:
    """Repeat the servers so often that kazoo tries several handshakes within one session timeout.

    A starting ZooKeeper accepts connections before it can answer, and may never close them. kazoo waits for
    the first response for the session timeout divided by the number of servers. With one server named once, a
    single such connection would take the whole session timeout.
    """
    times = math.ceil(_HANDSHAKES_PER_SESSION / len(servers.split(",")))
    return ",".join([servers] * times)


class _Client(KazooClient):  # type: ignore[misc]  # kazoo has no types
    """A kazoo client with multiRead, which kazoo lacks, transactions of whole paths, and a login.

    With a login it reports a connection when that is authenticated. kazoo itself does so before.
    """

    def __init__(self, login: Login | None, login_refused: Callable[[str], None], **options: Any) -> None:
        super().__init__(**options)
        self._login = login
        if login is not None:
            retry = self._conn_retry.copy()
            self._connection = _LoginConnection(self, retry, self.logger, login, login_refused)

    def logged_in(self) -> None:
        """Report the connection, which is authenticated."""
        super()._session_callback(KeeperState.CONNECTED)

    def _session_callback(self, state: str) -> None:
        if self._login is None or state != KeeperState.CONNECTED:
            super()._session_callback(state)

    def transaction_async(self, operations: Sequence[Operation]) -> Any:
        """Carry out a transaction, and return an asynchronous result as kazoo's methods do.

        kazoo's own ``TransactionRequest`` splits and joins each path to normalize it. Our paths need that no
        more than they need its chroot, and it was 7 % of a controller's CPU time in a failover.
        """
        answer = self.handler.async_result()
        self._call(serialization.Transaction([_kazoo_operation(each) for each in operations]), answer)
        return answer

    def multi_read_async(self, paths: Sequence[str]) -> Any:
        """Read many nodes in one request, and return an asynchronous result as kazoo's methods do."""
        answer = self.handler.async_result()
        self._call(MultiRead(paths), answer)
        return answer


class _LoginConnection(ConnectionHandler):  # type: ignore[misc]  # kazoo has no types
    """kazoo's connection with our own DIGEST-MD5 instead of that of ``pure-sasl``."""

    def __init__(
        self, client: _Client, retry: Any, logger: Any, login: Login, refused: Callable[[str], None]
    ) -> None:
        super().__init__(client, retry, logger, sasl_options={"mechanism": "DIGEST-MD5"})
        self._login = login
        self._refused = refused

    def _authenticate_with_sasl(self, _host: str, timeout: float) -> None:
        """Authenticate; kazoo calls this on each connection, before its first request."""
        digest = DigestMd5(self._login, secrets.token_hex(16))
        try:
            challenge = self._exchange(b"", 1, timeout)
            digest.verify(self._exchange(digest.respond(challenge), 2, timeout))
        except DigestMd5Error as error:
            self._refused(str(error))
            raise AuthFailedError(str(error)) from error
        except AuthFailedError:
            self._refused("wrong user or password")
            raise
        self.client.logged_in()

    def _exchange(self, token: bytes, xid: int, timeout: float) -> bytes:
        """Send a token and return the server's.

        Raises:
            AuthFailedError: The server refuses it.
            DigestMd5Error: The server has no SASL.
        """
        self._submit(serialization.SASL(token), timeout, xid)
        header, answer, offset = self._read_header(timeout)
        if header.err:
            refusal: Exception = EXCEPTIONS[header.err]()
            raise refusal
        reply, _ = serialization.SASL.deserialize(answer, offset)
        if reply is None:
            raise DigestMd5Error("the server is not configured for SASL")
        return bytes(reply)


def _request(path: str, send: Callable[[], Any], receive: Callable[[Any], Any]) -> Request:
    """Wrap an asynchronous call of kazoo as a request; a call that kazoo refuses at once fails alone."""

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
    """Translate kazoo's exception to our own error or ``LOST``."""
    if isinstance(error, ConnectionLoss | ConnectionClosedError):
        return LOST
    if isinstance(error, SessionExpiredError):
        return errors.SessionExpired("the server says that the session has expired")
    refusal = _REFUSALS.get(type(error))
    if refusal is not None:
        return refusal(path, operation)
    return errors.RequestFailed(path, operation, detail=f"{type(error).__name__} {error}".strip())


def _kazoo_operation(operation: Operation) -> Any:
    """Return the operation as kazoo serializes it; the most frequent kind comes first."""
    match operation:
        case Set(path, data, version):
            return serialization.SetData(path, data, version)
        case Create(path, data, ephemeral, sequential, acl):
            flags = _EPHEMERAL * ephemeral | _SEQUENTIAL * sequential
            return serialization.Create(path, data, _kazoo_acl(acl), flags)
        case Delete(path, version):
            return serialization.Delete(path, version)
        case Check(path, version):
            return serialization.CheckVersion(path, version)


@cache  # the cache has a handful of ACLs
def _kazoo_acl(acl: tuple[ZnodeAcl, ...]) -> list[ACL]:
    return [ACL(entry.permissions, Id(entry.scheme, entry.id)) for entry in acl]


def _znode_acl(answer: tuple[Sequence[ACL], ZnodeStat]) -> tuple[ZnodeAcl, ...]:
    return tuple(ZnodeAcl(entry.perms, entry.id.scheme, entry.id.id) for entry in answer[0])


def _answers(operations: Sequence[Operation], results: Sequence[Any]) -> Any:
    """Return the results of a transaction, or the error of the operation that made it fail."""
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
