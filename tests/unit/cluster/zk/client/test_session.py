from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
from structlog.testing import capture_logs

from barnabas.cluster.zk.client import session as session_module
from barnabas.cluster.zk.client.errors import (
    InvalidPath,
    NoNode,
    RequestFailed,
    SessionExpired,
    ZooKeeperAuthFailed,
    ZooKeeperUnavailable,
)
from barnabas.cluster.zk.client.kazoo_client import ConnectionState
from barnabas.cluster.zk.client.operations import (
    Change,
    Create,
    Node,
    Operation,
    SessionEvent,
    Set,
    Stat,
    WatchEvent,
)
from barnabas.cluster.zk.client.pipeline import Request
from barnabas.cluster.zk.client.security import UNSECURED, Login, ZooKeeperSecurity
from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.cluster.zk.schema.znode_acls import OPEN, PRIVATE, READABLE, ZnodeAcl

CONNECTED, SUSPENDED, LOST = ConnectionState.CONNECTED, ConnectionState.SUSPENDED, ConnectionState.LOST


class Connection:
    """A connection without a network: answers from a table and notes what it was asked."""

    def __init__(
        self,
        servers: str,
        session_timeout_s: float,
        on_state: Callable[[ConnectionState], None],
        on_watch: Callable[[str, Change], None],
        security: ZooKeeperSecurity,
    ) -> None:
        self.security = security
        self.refused_login: str | None = None
        self.last_error = ""
        self.servers, self.session_timeout_s = servers, session_timeout_s
        self.on_state, self.on_watch = on_state, on_watch
        self.session_id = 7
        self.answers: dict[str, Any] = {}
        self.asked: list[tuple[Any, ...]] = []
        self.connects = True
        self.stopped = self.released = False

    def start(self) -> None:
        if self.connects:
            self.on_state(CONNECTED)

    def stop(self) -> None:
        self.stopped = True
        self.on_state(LOST)

    def release(self) -> None:
        self.released = True

    def get(self, path: str, *, watch: bool) -> Request:
        return self._request(("get", path, watch), path)

    def exists(self, path: str, *, watch: bool) -> Request:
        return self._request(("exists", path, watch), path)

    def children(self, path: str, *, watch: bool) -> Request:
        return self._request(("children", path, watch), path)

    def multi_read(self, paths: Sequence[str]) -> Request:
        return self._request(("multi_read", *paths), "multi_read")

    def transaction(self, operations: Sequence[Operation]) -> Request:
        return self._request(("transaction", *operations), "transaction")

    def acl(self, path: str) -> Request:
        return self._request(("acl", path), path)

    def set_acl(self, path: str, acl: tuple[ZnodeAcl, ...]) -> Request:
        return self._request(("set_acl", path, acl), path)

    def _request(self, question: tuple[Any, ...], key: str) -> Request:
        def send(call_back: Callable[[Any], None]) -> None:
            self.asked.append(question)
            answer = self.answers.get(key, [])
            call_back(answer(question) if callable(answer) else answer)

        return Request(key, send)


@pytest.fixture
async def opened(
    monkeypatch: pytest.MonkeyPatch,
) -> AsyncIterator[tuple[ZooKeeperSession, Connection, list[Any]]]:
    monkeypatch.setattr(session_module, "KazooConnection", Connection)
    events: list[Any] = []
    session = await ZooKeeperSession.connect("h:1/root", session_timeout_ms=4000, on_event=events.append)
    connection: Any = session._connection
    connection.asked.clear()
    yield session, connection, events
    await session.close()


async def loop_turns(count: int = 5) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def test_the_chroot_is_created_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "KazooConnection", Connection)
    session = await ZooKeeperSession.connect("h:1/a/b", session_timeout_ms=4000, on_event=print)
    connection: Any = session._connection
    assert (connection.servers, connection.session_timeout_s) == ("h:1", 4.0)
    assert connection.asked == [("transaction", Create("/a")), ("transaction", Create("/a/b"))]
    await session.close()
    assert connection.released


async def test_without_a_server_it_says_where_and_how_long(monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent(Connection):
        def start(self) -> None:
            self.last_error = "certificate verify failed"

    monkeypatch.setattr(session_module, "KazooConnection", Silent)
    with pytest.raises(
        ZooKeeperUnavailable, match=r"answered at h:1,g:2 within 20 ms: .* \(certificate verify failed\)"
    ):
        await ZooKeeperSession.connect(
            "h:1,g:2/kafka", session_timeout_ms=4000, on_event=print, connect_timeout_ms=20
        )


async def test_who_gives_up_while_it_opens_leaves_no_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """KAFKA-8121: the broker stops while it waits for its next session; nobody dials on."""
    released = threading.Event()

    class Unanswered(Connection):
        def start(self) -> None:
            pass

        def release(self) -> None:
            released.set()

    monkeypatch.setattr(session_module, "KazooConnection", Unanswered)
    opening = asyncio.create_task(
        ZooKeeperSession.connect("h:1", session_timeout_ms=4000, on_event=lambda event: None)
    )
    await loop_turns()
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert await asyncio.to_thread(released.wait, 10)


async def test_paths_are_below_the_chroot(opened: Any) -> None:
    session, connection, _ = opened
    node = Node(b"x", Stat(1, 2, 3))
    connection.answers = {
        "/root/a": node,
        "multi_read": [node, None],
        "transaction": lambda question: [f"{question[1].path}0000000001"],
    }
    assert await session.get("/a") == node
    assert await session.get_many(["/a", "/b"]) == [node, None]
    assert await session.create("/s_", b"", sequential=True) == "/s_0000000001"
    assert connection.asked == [
        ("get", "/root/a", False),
        ("multi_read", "/root/a", "/root/b"),
        ("transaction", Create("/root/s_", b"", sequential=True)),
    ]


async def test_long_nodes_share_fewer_answers(opened: Any) -> None:
    session, connection, _ = opened
    connection.answers = {"multi_read": lambda question: [None] * (len(question) - 1)}
    assert await session.get_many([f"/{n}" for n in range(25)], expected_bytes=100_000) == [None] * 25
    assert [len(question) - 1 for question in connection.asked] == [9, 9, 7]


async def test_one_of_many_transactions_may_fail(opened: Any) -> None:
    session, connection, _ = opened
    failure = NoNode("/root/b")
    connection.answers = {"transaction": lambda q: failure if q[1].path == "/root/b" else [Stat(1, 2, 3)]}
    assert await session.multi_many([[Set("/a", b"")], [Set("/b", b"")]]) == [[Stat(1, 2, 3)], failure]
    assert await session.set("/a", b"") == Stat(1, 2, 3)
    with pytest.raises(NoNode):
        await session.set("/b", b"")


async def test_only_what_is_watched_is_reported_and_once(opened: Any) -> None:
    session, connection, events = opened
    await session.exists("/a", watch=True)
    await session.get_children("/", watch=True)
    assert session.watched() == ["/", "/a"]
    for _ in range(2):
        connection.on_watch("/root/a", Change.CREATED)
        connection.on_watch("/root", Change.CHILDREN)
        connection.on_watch("/root/other", Change.DATA)
    await loop_turns()
    assert events == [WatchEvent("/a", Change.CREATED), WatchEvent("/", Change.CHILDREN)]
    assert session.watched() == []
    assert connection.asked == [("exists", "/root/a", True), ("children", "/root", True)]


async def test_after_a_reconnection_each_watch_is_set_again_and_each_path_reported_once(opened: Any) -> None:
    session, connection, events = opened
    await session.get("/a", watch=True)
    await session.get_children("/a", watch=True)
    await session.exists("/b", watch=True)
    await session.exists("/fired", watch=True)
    await session.exists("/forgotten", watch=True)
    connection.on_watch("/root/fired", Change.CREATED)
    session.unwatch("/forgotten")
    await loop_turns()
    events.clear()
    connection.asked.clear()
    connection.on_state(SUSPENDED)
    connection.on_state(CONNECTED)
    await loop_turns(10)
    assert connection.asked == [
        ("exists", "/root/a", True),
        ("children", "/root/a", True),
        ("exists", "/root/b", True),
    ]
    assert events == [
        SessionEvent.DISCONNECTED,
        SessionEvent.RECONNECTED,
        WatchEvent("/a", Change.UNKNOWN),
        WatchEvent("/b", Change.UNKNOWN),
    ]


async def reconnected(connection: Connection) -> None:
    connection.asked.clear()
    connection.on_state(SUSPENDED)
    connection.on_state(CONNECTED)
    await loop_turns(10)


IMPOSSIBLE = ("/brokers/topics/..", "/a/./b", "/a//b", "/a/", "/a\0", "/\ud800", "a", "")


@pytest.mark.parametrize("path", IMPOSSIBLE)
async def test_a_path_that_no_node_can_have_is_neither_asked_for_nor_watched(opened: Any, path: str) -> None:
    session, connection, events = opened
    connection.answers = {"multi_read": [Node(b"x", Stat(1, 2, 3))]}
    with pytest.raises(InvalidPath, match="can be no node's path"):
        await session.get(path, watch=True)
    with pytest.raises(InvalidPath):
        await session.get_children(path, watch=True)
    assert await session.exists(path, watch=True) is None
    assert await session.get_many([path], watch=True) == [None]
    assert await session.get_many([path, "/a", path]) == [None, Node(b"x", Stat(1, 2, 3)), None]
    with pytest.raises(InvalidPath) as caught:
        await session.multi(Create("/a"), Create(path))
    assert caught.value.operation == 1
    assert connection.asked == [("multi_read", "/root/a")]
    await reconnected(connection)
    assert connection.asked == []
    assert events == [SessionEvent.DISCONNECTED, SessionEvent.RECONNECTED]


@pytest.mark.parametrize("refusal", [NoNode("/root/a"), RequestFailed("/root/a", detail="NoAuthError")])
async def test_a_read_that_is_refused_watches_nothing(opened: Any, refusal: RequestFailed) -> None:
    session, connection, events = opened
    connection.answers = {"/root/a": refusal}
    with pytest.raises(type(refusal)):
        await session.get("/a", watch=True)
    with pytest.raises(type(refusal)):
        await session.get_children("/a", watch=True)
    await reconnected(connection)
    assert connection.asked == []
    assert events == [SessionEvent.DISCONNECTED, SessionEvent.RECONNECTED]


async def test_a_refused_read_leaves_the_watch_that_another_has_armed(opened: Any) -> None:
    """Whoever watches for a creation, and reads when there is something, hears of the deletion in between."""
    session, connection, events = opened
    await session.exists("/a", watch=True)
    connection.answers = {"/root/a": NoNode("/root/a")}
    with pytest.raises(NoNode):
        await session.get("/a", watch=True)
    connection.on_watch("/root/a", Change.DELETED)
    await loop_turns()
    assert events == [WatchEvent("/a", Change.DELETED)]


async def test_a_watch_that_cannot_be_set_again_is_reported_and_does_not_stop_the_others(opened: Any) -> None:
    session, connection, events = opened
    for path in ("/a", "/b", "/c"):
        await session.get_children(path, watch=True)
    connection.answers = {"/root/a": RequestFailed("/root/a", detail="refused"), "/root/b": NoNode("/root/b")}
    await reconnected(connection)
    assert [question[1] for question in connection.asked] == ["/root/a", "/root/b", "/root/c"]
    assert events[2:] == [WatchEvent(path, Change.UNKNOWN) for path in ("/a", "/b", "/c")]
    await reconnected(connection)
    assert connection.asked == [("children", "/root/c", True)]


async def test_a_session_whose_watches_cannot_be_armed_again_ends(
    opened: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, connection, events = opened
    await session.exists("/a", watch=True)

    def refuse(path: str, *, watch: bool) -> Request:
        raise ValueError(path)

    monkeypatch.setattr(connection, "exists", refuse)
    await reconnected(connection)
    assert session.is_over
    assert events == [SessionEvent.DISCONNECTED, SessionEvent.RECONNECTED, SessionEvent.EXPIRED]


@pytest.mark.parametrize("returns", [False, True])
async def test_a_session_that_finds_no_server_for_too_long_is_given_up(
    opened: Any, monkeypatch: pytest.MonkeyPatch, *, returns: bool
) -> None:
    """A ZooKeeper that lost its data refuses this client for ever, and takes a new one."""
    monkeypatch.setattr(session_module, "LONGEST_ABSENCE", 0)
    session, connection, events = opened
    connection.on_state(SUSPENDED)
    if returns:
        connection.on_state(CONNECTED)
    with capture_logs() as lines:
        await loop_turns()
    assert session.is_over is not returns
    assert events == [
        SessionEvent.DISCONNECTED,
        SessionEvent.RECONNECTED if returns else SessionEvent.EXPIRED,
    ]
    assert ["ZooKeeper has lost data" in line["event"] for line in lines] == ([] if returns else [True])


async def test_the_end_is_reported_once_and_last(opened: Any) -> None:
    session, connection, events = opened
    await session.exists("/a", watch=True)
    connection.on_state(LOST)
    connection.on_watch("/root/a", Change.CREATED)
    connection.on_state(SUSPENDED)
    connection.on_state(LOST)
    await loop_turns()
    assert events == [SessionEvent.EXPIRED]
    assert session.is_over
    with pytest.raises(SessionExpired, match="the session with h:1 is over"):
        await session.get("/a")


async def test_closing_it_is_no_expiry(opened: Any) -> None:
    session, connection, events = opened
    await session.close()
    connection.on_state(LOST)
    await loop_turns()
    assert events == []
    assert session.is_over
    assert connection.released


async def test_a_watchdog_ends_it_without_the_loop(opened: Any) -> None:
    session, connection, events = opened
    assert session.id == 7
    await asyncio.to_thread(session.abort)
    assert connection.stopped
    await loop_turns()
    assert events == [SessionEvent.EXPIRED]


SECURED = ZooKeeperSecurity(Login("kafka", "secret"), set_acl=True)


async def test_nodes_get_the_acls_of_their_paths_if_it_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_module, "KazooConnection", Connection)
    for security, expected in ((UNSECURED, (OPEN, OPEN, OPEN)), (SECURED, (READABLE, PRIVATE, OPEN))):
        session = await ZooKeeperSession.connect(
            "h:1/config", session_timeout_ms=4000, on_event=print, security=security
        )
        connection: Any = session._connection
        assert connection.security is security
        connection.answers = {"transaction": ["/config/config/users", Stat(1, 1, 1), "/config/consumers"]}
        await session.multi(Create("/config/users"), Set("/a", b""), Create("/consumers", ephemeral=True))
        # The chroot is no part of what decides, except for its own node.
        assert connection.asked == [
            ("transaction", Create("/config", acl=expected[0])),
            (
                "transaction",
                Create("/config/config/users", acl=expected[1]),
                Set("/config/a", b""),
                Create("/config/consumers", ephemeral=True, acl=expected[2]),
            ),
        ]
        await session.close()


async def test_acls_are_read_and_set_below_the_chroot(opened: Any) -> None:
    session, connection, _ = opened
    stat = Stat(1, 2, 3)
    connection.answers = {"/root/a": PRIVATE, "/root": stat, "/root/b": NoNode("/root/b")}
    assert await session.get_acl("/a") == PRIVATE
    outcomes = await session.set_acls({"/": READABLE, "/b": PRIVATE, "/c/": OPEN})
    assert outcomes[0] == stat
    assert [type(outcome) for outcome in outcomes[1:]] == [NoNode, InvalidPath]
    assert connection.asked == [
        ("acl", "/root/a"),
        ("set_acl", "/root", READABLE),
        ("set_acl", "/root/b", PRIVATE),
    ]


async def test_many_nodes_are_listed_at_once(opened: Any) -> None:
    session, connection, _ = opened
    connection.answers = {"/root/a": ["x"], "/root/b": NoNode("/root/b")}
    assert await session.get_children_many(["/a", "/b", "/c"]) == [["x"], None, []]


async def test_a_login_that_fails_is_told_from_a_server_that_is_silent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Refused(Connection):
        def start(self) -> None:
            self.refused_login = "wrong user or password"
            self.on_state(LOST)

    monkeypatch.setattr(session_module, "KazooConnection", Refused)
    events: list[Any] = []
    with pytest.raises(
        ZooKeeperAuthFailed, match="h:1 and user 'kafka' do not authenticate: wrong"
    ) as caught:
        await ZooKeeperSession.connect(
            "h:1", session_timeout_ms=4000, on_event=events.append, security=SECURED
        )
    assert "secret" not in str(caught.value)
    assert events == []
