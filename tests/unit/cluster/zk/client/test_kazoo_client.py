from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest
from kazoo.client import KazooState, TransactionRequest
from kazoo.exceptions import (
    AuthFailedError,
    BadVersionError,
    ConnectionClosedError,
    ConnectionLoss,
    InvalidACLError,
    MarshallingError,
    NoAuthError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    RolledBackError,
    RuntimeInconsistency,
    SessionExpiredError,
)
from kazoo.protocol.serialization import ReplyHeader, write_buffer
from kazoo.protocol.states import EventType, KeeperState, WatchedEvent, ZnodeStat
from kazoo.security import ACL, Id

from barnabas.cluster.zk.client.digest_md5 import DigestMd5
from barnabas.cluster.zk.client.errors import (
    BadVersion,
    InvalidAcl,
    NoAuth,
    NodeExists,
    NoNode,
    NotEmpty,
    RequestFailed,
    RequestTooLarge,
    SessionExpired,
)
from barnabas.cluster.zk.client.kazoo_client import (
    ConnectionState,
    KazooConnection,
    TlsDialer,
    repeat_servers,
)
from barnabas.cluster.zk.client.operations import (
    MAXIMUM_REQUEST_BYTES,
    Change,
    Check,
    Create,
    Delete,
    Node,
    Set,
    Stat,
)
from barnabas.cluster.zk.client.pipeline import LOST, Request
from barnabas.cluster.zk.client.security import Login, ZooKeeperSecurity
from barnabas.cluster.zk.client.tls_socket import TlsSocket
from barnabas.cluster.zk.schema.znode_acls import PRIVATE, READABLE

STAT = ZnodeStat(11, 12, 13, 14, 3, 15, 16, 99, 17, 18, 19)
OURS = Stat(
    version=3,
    czxid=11,
    mzxid=12,
    ephemeral_owner=99,
    pzxid=19,
    ctime_ms=13,
    mtime_ms=14,
    cversion=15,
    acl_version=16,
    data_length=17,
    children=18,
)


class Heard:
    def __init__(self) -> None:
        self.states: list[ConnectionState] = []
        self.watches: list[tuple[str, Change]] = []

    def connection(self) -> KazooConnection:
        return KazooConnection(
            "127.0.0.1:1", 4.0, self.states.append, lambda path, change: self.watches.append((path, change))
        )


@pytest.fixture
def notified() -> Heard:
    return Heard()


@pytest.fixture
def answer(
    monkeypatch: pytest.MonkeyPatch, notified: Heard
) -> Callable[[Callable[[KazooConnection], Request], Any], Any]:
    """What a request makes of something that kazoo answers, without a network."""

    def outcome(make: Callable[[KazooConnection], Request], answered: Any) -> Any:
        connection = notified.connection()
        client = connection._client

        def call(_request: Any, result: Any) -> None:
            if isinstance(answered, Exception):
                result.set_exception(answered)
            else:
                result.set(answered)

        monkeypatch.setattr(client, "_call", call)
        arrived: list[Any] = []
        make(connection).send(arrived.append)
        (it,) = arrived
        return it

    return outcome


def test_reads_become_our_own_data(answer: Any) -> None:
    assert answer(lambda c: c.get("/a", watch=False), (b"x", STAT)) == Node(b"x", OURS)
    assert answer(lambda c: c.get("/a", watch=False), (None, STAT)) == Node(b"", OURS)
    assert answer(lambda c: c.exists("/a", watch=True), STAT) == OURS
    assert answer(lambda c: c.exists("/a", watch=True), None) is None
    assert answer(lambda c: c.children("/a", watch=False), ["b", "c"]) == ["b", "c"]
    assert answer(lambda c: c.multi_read(["/a", "/b"]), [None, None]) == [None, None]


@pytest.mark.parametrize(
    ("raised", "ours"),
    [
        (NoNodeError(), NoNode),
        (NodeExistsError(), NodeExists),
        (BadVersionError(), BadVersion),
        (NotEmptyError(), NotEmpty),
        (NoAuthError(), NoAuth),
        (InvalidACLError(), InvalidAcl),
        (SessionExpiredError(), SessionExpired),
    ],
)
def test_refusals_become_our_own_errors(answer: Any, raised: Exception, ours: type[Exception]) -> None:
    assert type(answer(lambda c: c.get("/a", watch=False), raised)) is ours


def test_an_error_of_no_kind_of_ours_keeps_its_name(answer: Any) -> None:
    error = answer(lambda c: c.get("/a", watch=False), MarshallingError())
    assert type(error) is RequestFailed
    assert str(error) == "/a was refused: MarshallingError"


@pytest.mark.parametrize("raised", [ConnectionLoss(), ConnectionClosedError("Connection has been closed")])
def test_a_broken_connection_is_no_answer(answer: Any, raised: Exception) -> None:
    assert answer(lambda c: c.get("/a", watch=False), raised) is LOST


OPERATIONS = (Create("/a", b"x", ephemeral=True), Set("/b", b"y", 2), Delete("/c", 3), Check("/d", 4))


def test_a_transaction_answers_operation_by_operation(answer: Any) -> None:
    results = answer(lambda c: c.transaction(OPERATIONS), ["/a", STAT, True, True])
    assert results == ["/a", OURS, None, None]


def test_a_transaction_is_sent_as_kazoo_sends_it(notified: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = notified.connection()
    client, sent = connection._client, []
    monkeypatch.setattr(client, "_call", lambda request, _result: sent.append(request))
    connection.transaction((*OPERATIONS, Create("/e", sequential=True))).send(lambda _: None)
    theirs = TransactionRequest(client)
    theirs.create("/a", b"x", ephemeral=True)
    theirs.set_data("/b", b"y", 2)
    theirs.delete("/c", 3)
    theirs.check("/d", 4)
    theirs.create("/e", sequence=True)
    theirs.commit_async()
    ours, expected = sent
    assert (ours.type, ours.serialize()) == (expected.type, expected.serialize())


def test_a_failed_transaction_names_the_operation_that_failed(answer: Any) -> None:
    results = [RolledBackError(), RolledBackError(), BadVersionError(), RuntimeInconsistency()]
    error = answer(lambda c: c.transaction(OPERATIONS), results)
    assert type(error) is BadVersion
    assert (error.path, error.operation) == ("/c", 2)


def test_what_no_server_would_take_is_not_sent(notified: Heard) -> None:
    with pytest.raises(
        RequestTooLarge, match=r"1 operations from /a on take 10000.. bytes, expected at most 1000000"
    ):
        notified.connection().transaction([Create("/a", b"x" * MAXIMUM_REQUEST_BYTES)])


def test_watch_events_have_path_and_change(notified: Heard) -> None:
    connection = notified.connection()
    for kind in (EventType.CREATED, EventType.DELETED, EventType.CHANGED, EventType.CHILD, EventType.NONE):
        connection._watch_fired(WatchedEvent(kind, KeeperState.CONNECTED, "/a"))
    assert [change for _, change in notified.watches] == [
        Change.CREATED,
        Change.DELETED,
        Change.DATA,
        Change.CHILDREN,
    ]


def test_once_lost_it_never_dials_again(notified: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = notified.connection()
    monkeypatch.setattr(connection, "_dial", lambda *_args, **_options: "a socket")
    client = connection._client
    client._session_id = 7
    client._session_callback(KeeperState.CONNECTED)
    client._session_callback(KeeperState.CONNECTING)
    assert client.handler.create_connection(("h", 1)) == "a socket"
    client._session_callback(KeeperState.EXPIRED_SESSION)
    assert client.state == KazooState.LOST
    with pytest.raises(ConnectionAbortedError):
        client.handler.create_connection(("h", 1))
    assert notified.states == [ConnectionState.CONNECTED, ConnectionState.SUSPENDED, ConnectionState.LOST]


def test_the_session_id_outlives_the_connection(notified: Heard) -> None:
    connection = notified.connection()
    assert connection.session_id == 0
    connection._client._session_id = 7
    connection._client._session_callback(KeeperState.CONNECTED)
    connection._client._session_callback(KeeperState.CONNECTING)
    assert connection.session_id == 7


async def test_it_can_be_stopped_before_it_ever_connected(notified: Heard) -> None:
    connection = notified.connection()
    connection.start()
    await asyncio.to_thread(connection.release)
    assert ConnectionState.CONNECTED not in notified.states


async def test_releasing_waits_for_the_thread_that_stops_it(
    notified: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = notified.connection()
    steps: list[str] = []
    stopping, may_stop = threading.Event(), threading.Event()

    def stop() -> None:
        stopping.set()
        may_stop.wait(10)
        steps.append("stopped")

    monkeypatch.setattr(connection._client, "stop", stop)
    monkeypatch.setattr(connection._client, "close", lambda: steps.append("closed"))
    aborting = asyncio.create_task(asyncio.to_thread(connection.stop))
    await asyncio.to_thread(stopping.wait, 10)
    releasing = asyncio.create_task(asyncio.to_thread(connection.release))
    await asyncio.sleep(0.02)
    assert steps == []
    may_stop.set()
    await asyncio.gather(aborting, releasing)
    assert steps == ["stopped", "stopped", "closed"]


@pytest.mark.parametrize(
    ("servers", "repeated"),
    [("a:1", "a:1,a:1,a:1"), ("a:1,b:2", "a:1,b:2,a:1,b:2"), ("a:1,b:2,c:3", "a:1,b:2,c:3")],
)
def test_a_handshake_without_an_answer_does_not_cost_the_session(servers: str, repeated: str) -> None:
    assert repeat_servers(servers) == repeated


async def test_what_kazoo_refuses_at_once_fails_alone() -> None:
    connection = Heard().connection()
    answers: list[Any] = []
    connection.exists("/brokers/topics/..", watch=True).send(answers.append)
    (refusal,) = answers
    assert isinstance(refusal, RequestFailed)
    assert "relative paths not allowed" in str(refusal)


def test_acls_are_read_and_written(answer: Any) -> None:
    theirs = [ACL(31, Id("auth", "")), ACL(1, Id("world", "anyone"))]
    assert answer(lambda c: c.acl("/a"), (theirs, STAT)) == READABLE
    assert answer(lambda c: c.set_acl("/a", READABLE), STAT) == OURS


def test_a_node_is_created_with_its_acl(notified: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    connection, sent = notified.connection(), []
    monkeypatch.setattr(connection._client, "_call", lambda request, _result: sent.append(request))
    connection.transaction([Create("/a", acl=PRIVATE)]).send(lambda _: None)
    (create,) = sent[0].operations
    assert create.acl == [ACL(31, Id("auth", ""))]


CHALLENGE = b'realm="zk-sasl-md5",nonce="n",charset=utf-8,algorithm=md5-sess'


@pytest.mark.parametrize(
    ("answers", "reason"),
    [
        ([(0, None)], "the server is not configured for SASL"),
        ([(0, b"nonsense")], "the server's message is malformed at character 1"),
        ([(0, CHALLENGE), (0, b"rspauth=00")], "the server does not know the password"),
        ([(0, CHALLENGE), (-115, None)], "wrong user or password"),
    ],
)
def test_a_login_that_fails_ends_the_session(
    notified: Heard, monkeypatch: pytest.MonkeyPatch, answers: list[Any], reason: str
) -> None:
    security = ZooKeeperSecurity(Login("kafka", "secret"))
    connection = KazooConnection("127.0.0.1:1", 4.0, notified.states.append, lambda *_: None, security)
    handler, sent = connection._client._connection, []
    monkeypatch.setattr(handler, "_submit", lambda request, _timeout, xid: sent.append((xid, request)))

    def read(_timeout: float) -> Any:
        error, token = answers[len(sent) - 1]
        return ReplyHeader(len(sent), 0, error), write_buffer(token), 0

    monkeypatch.setattr(handler, "_read_header", read)
    # kazoo reports the connection before the login; the session must not hear of it.
    connection._client._session_callback(KeeperState.CONNECTED)
    assert notified.states == []
    with pytest.raises(AuthFailedError):
        handler._authenticate_with_sasl("ignored", 1.0)
    assert connection.refused_login == reason
    assert notified.states == [ConnectionState.LOST]
    assert [xid for xid, _ in sent] == list(range(1, len(answers) + 1))
    assert b"secret" not in repr(sent).encode()
    with pytest.raises(ConnectionAbortedError):
        connection._client.handler.create_connection(("h", 1))


def test_a_connection_is_reported_when_it_is_authenticated(
    notified: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    security = ZooKeeperSecurity(Login("kafka", "secret"))
    connection = KazooConnection("127.0.0.1:1", 4.0, notified.states.append, lambda *_: None, security)
    client = connection._client
    monkeypatch.setattr(client._connection, "_exchange", lambda *_: CHALLENGE)
    monkeypatch.setattr(DigestMd5, "verify", lambda *_: None)
    client._session_id = 7
    client._session_callback(KeeperState.CONNECTED)
    client._connection._authenticate_with_sasl("ignored", 1.0)
    client._session_callback(KeeperState.CONNECTING)
    assert notified.states == [ConnectionState.CONNECTED, ConnectionState.SUSPENDED]


def test_tls_is_made_with_our_own_context(notified: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    dialled: list[Any] = []
    monkeypatch.setattr(TlsSocket, "dial", lambda *arguments: dialled.append(arguments))
    contexts = iter(["first", "second"])
    security = ZooKeeperSecurity(tls=lambda: next(contexts))  # type: ignore[arg-type,return-value]
    connection = KazooConnection("zk:1", 6.0, notified.states.append, lambda *_: None, security)
    dial = connection._client.handler.create_connection
    for _ in range(2):
        dial(address=("127.0.0.1", 1), hostname="zk", timeout=6.0, use_ssl=True, ca=None)
    assert dialled == [(name, "zk", ("127.0.0.1", 1), 2.0) for name in ("first", "second")]
    assert connection._client.handler.select([], [], [], 0) == ([], [], [])


def test_a_handshake_may_take_longer_after_each_that_timed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow ZooKeeper began a handshake every 1.3 s for each of its brokers, and completed none."""
    server_takes_s, allowed_s = 4.0, []

    def dial(_context: object, _host: str, _address: object, timeout_s: float) -> None:
        allowed_s.append(timeout_s)
        if timeout_s < server_takes_s:
            raise TimeoutError("the handshake operation timed out")

    monkeypatch.setattr(TlsSocket, "dial", dial)
    dialer = TlsDialer(lambda: None)  # type: ignore[arg-type, return-value]
    for _ in range(4):
        with contextlib.suppress(TimeoutError):
            dialer(("127.0.0.1", 1), hostname="zk", timeout=6.0)
    assert allowed_s == [2.0, 4.0, 2.0, 4.0]
    server_takes_s = 60.0
    for _ in range(4):
        with pytest.raises(TimeoutError):
            dialer(("127.0.0.1", 1), hostname="zk", timeout=6.0)
    assert allowed_s[4:] == [2.0, 4.0, 8.0, 8.0]


def test_why_it_cannot_connect_is_kept(notified: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    connection = notified.connection()
    assert connection.last_error == ""
    monkeypatch.setattr(
        connection, "_dial", Mock(side_effect=ConnectionRefusedError(111, "Connection refused"))
    )
    with pytest.raises(ConnectionRefusedError):
        connection._client.handler.create_connection(("h", 1))
    assert connection.last_error == "[Errno 111] Connection refused"
