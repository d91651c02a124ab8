"""A session against a real ZooKeeper: requests, watches, lost connections, expiry."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from kazoo.client import KazooClient

from barnabas.cluster.zk.client.errors import (
    BadVersion,
    NodeExists,
    NoNode,
    NotEmpty,
    RequestTooLarge,
    SessionExpired,
    ZooKeeperTimeout,
    ZooKeeperUnavailable,
)
from barnabas.cluster.zk.client.operations import (
    Change,
    Check,
    Create,
    Delete,
    SessionEvent,
    Set,
    WatchEvent,
    ZooKeeperEvent,
)
from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.local.zookeeper import EmbeddedZooKeeper


class Events:
    """What a session reported, awaitable."""

    def __init__(self) -> None:
        self.seen: list[ZooKeeperEvent] = []
        self._news = asyncio.Event()

    def __call__(self, event: ZooKeeperEvent) -> None:
        self.seen.append(event)
        self._news.set()

    async def until(self, condition: Callable[[list[ZooKeeperEvent]], bool]) -> None:
        async with asyncio.timeout(60):
            while not condition(self.seen):
                self._news.clear()
                await self._news.wait()

    async def until_seen(self, event: ZooKeeperEvent) -> None:
        await self.until(lambda seen: event in seen)


@pytest.fixture
def events() -> Events:
    return Events()


@contextlib.asynccontextmanager
async def opened(
    connect: str, events: Events | None = None, **options: Any
) -> AsyncIterator[ZooKeeperSession]:
    options = {"session_timeout_ms": 6000, "connect_timeout_ms": 15_000, **options}
    session = await ZooKeeperSession.connect(connect, on_event=events or Events(), **options)
    try:
        yield session
    finally:
        await session.close()


@pytest.fixture
async def zk(zk_connect: str, events: Events) -> AsyncIterator[ZooKeeperSession]:
    async with opened(zk_connect, events) as session:
        yield session


async def expire(session: ZooKeeperSession, address: str) -> None:
    """End a session as a server does: whoever knows its id and password can take it over and close it."""
    identity = session._connection._client.client_id
    thief = KazooClient(address, client_id=identity, timeout=6.0)
    await asyncio.to_thread(thief.start)
    await asyncio.to_thread(thief.stop)
    await asyncio.to_thread(thief.close)


async def test_reads_what_it_wrote(zk: ZooKeeperSession) -> None:
    assert await zk.create("/a", b"1") == "/a"
    assert (await zk.get("/a")).data == b"1"
    stat = await zk.set("/a", b"2", version=0)
    assert stat.version == 1
    assert (await zk.get("/a")).stat == stat
    assert await zk.exists("/a") == stat
    assert await zk.get_children("/") == ["a"]
    await zk.delete("/a", version=1)
    assert await zk.exists("/a") is None


async def test_refusals_are_our_own(zk: ZooKeeperSession) -> None:
    await zk.create("/a")
    await zk.create("/a/b")
    with pytest.raises(NodeExists, match="/a exists already"):
        await zk.create("/a")
    with pytest.raises(NoNode):
        await zk.get("/missing")
    with pytest.raises(NoNode):
        await zk.create("/missing/child")
    with pytest.raises(BadVersion):
        await zk.set("/a", b"", version=7)
    with pytest.raises(NotEmpty):
        await zk.delete("/a")


async def test_a_transaction_is_carried_out_whole_or_not_at_all(zk: ZooKeeperSession) -> None:
    path, stat, deleted, checked = await zk.multi(
        Create("/a", b"x"), Set("/a", b"y", 0), Delete("/a", 1), Check("/", 0)
    )
    assert path == "/a"
    assert stat.version == 1
    assert (deleted, checked) == (None, None)
    with pytest.raises(BadVersion) as caught:
        await zk.multi(Create("/b"), Check("/", 99), Create("/c"))
    assert caught.value.operation == 1
    assert not caught.value.resent
    assert await zk.get_children("/") == []


async def test_many_transactions_stand_for_themselves(zk: ZooKeeperSession) -> None:
    await zk.create("/taken")
    answers = await zk.multi_many([[Create("/x")], [Create("/taken")], [Create("/y"), Set("/y", b"1", 0)]])
    assert answers[0] == ["/x"]
    assert isinstance(answers[1], NodeExists)
    assert sorted(await zk.get_children("/")) == ["taken", "x", "y"]


async def test_sequential_and_ephemeral_nodes(zk: ZooKeeperSession, zk_connect: str) -> None:
    assert await zk.create("/note_", b"", sequential=True) == "/note_0000000000"
    async with opened(zk_connect) as other:
        await other.create("/mine", ephemeral=True)
        stat = await zk.exists("/mine")
        assert stat is not None
        assert stat.ephemeral_owner == other.id
    assert await zk.exists("/mine") is None


@pytest.mark.parametrize("watch", [False, True])
async def test_reads_many_in_order_across_requests(zk: ZooKeeperSession, watch: bool) -> None:
    wanted = [f"/n{number}" for number in range(2500)]
    there = wanted[::2]
    for start in range(0, len(there), 500):
        await zk.multi(*(Create(path, path.encode()) for path in there[start : start + 500]))
    nodes = await zk.get_many(wanted, watch=watch)
    assert [node and node.data for node in nodes] == [
        path.encode() if number % 2 == 0 else None for number, path in enumerate(wanted)
    ]
    assert await zk.get_many([]) == []


async def test_a_request_too_large_is_not_sent(zk: ZooKeeperSession) -> None:
    with pytest.raises(RequestTooLarge, match="expected at most"):
        await zk.create("/big", b"x" * 1_000_001)
    await zk.create("/fits", b"x" * 990_000)
    assert len((await zk.get("/fits")).data) == 990_000


async def test_a_watch_reports_once(zk: ZooKeeperSession, events: Events) -> None:
    assert await zk.exists("/a", watch=True) is None
    await zk.get_children("/", watch=True)
    await zk.create("/a")
    await events.until(lambda seen: len(seen) == 2)
    assert set(events.seen) == {WatchEvent("/a", Change.CREATED), WatchEvent("/", Change.CHILDREN)}
    await zk.get("/a", watch=True)
    await zk.get_children("/a", watch=True)
    await zk.set("/a", b"1")
    await zk.set("/a", b"2")
    await events.until_seen(WatchEvent("/a", Change.DATA))
    await zk.get("/a", watch=True)
    await zk.delete("/a")
    await events.until_seen(WatchEvent("/a", Change.DELETED))
    assert len(events.seen) == 4


async def test_what_is_no_longer_watched_is_not_reported(zk: ZooKeeperSession, events: Events) -> None:
    await zk.exists("/a", watch=True)
    await zk.exists("/b", watch=True)
    zk.unwatch("/a")
    await zk.create("/a")
    await zk.create("/b")
    await events.until_seen(WatchEvent("/b", Change.CREATED))
    assert events.seen == [WatchEvent("/b", Change.CREATED)]


async def test_a_cut_connection_keeps_the_session_and_its_watches(
    zk: ZooKeeperSession, zk_connect: str, zk_proxy: Any
) -> None:
    chroot = zk_connect.partition("/")[2]
    await zk.create("/a")
    events = Events()
    async with opened(f"{zk_proxy.address}/{chroot}", events) as cut:
        number = cut.id
        await cut.create("/mine", ephemeral=True)
        await cut.get("/a", watch=True)
        await cut.exists("/later", watch=True)
        await cut.get_children("/", watch=True)
        zk_proxy.cut()
        await events.until_seen(SessionEvent.DISCONNECTED)
        await zk.set("/a", b"changed while nobody watched")
        waiting = asyncio.ensure_future(cut.get("/a"))
        zk_proxy.mend()
        await events.until(lambda seen: len(seen) == 5)
        assert events.seen == [
            SessionEvent.DISCONNECTED,
            SessionEvent.RECONNECTED,
            WatchEvent("/", Change.UNKNOWN),
            WatchEvent("/a", Change.UNKNOWN),
            WatchEvent("/later", Change.UNKNOWN),
        ]
        assert (await waiting).data == b"changed while nobody watched"
        assert cut.id == number
        assert await zk.exists("/mine") is not None
        # The watches are armed again, without another read.
        await zk.create("/later")
        await zk.set("/a", b"again")
        await events.until(lambda seen: len(seen) == 8)
        assert set(events.seen[5:]) == {
            WatchEvent("/later", Change.CREATED),
            WatchEvent("/", Change.CHILDREN),
            WatchEvent("/a", Change.DATA),
        }


async def test_connections_cut_again_and_again_lose_no_event(
    zk: ZooKeeperSession, zk_connect: str, zk_proxy: Any
) -> None:
    """A reader that follows events only always ends at the last value."""
    chroot = zk_connect.partition("/")[2]
    await zk.create("/a", b"0")
    news: asyncio.Queue[ZooKeeperEvent] = asyncio.Queue()
    session = await ZooKeeperSession.connect(
        f"{zk_proxy.address}/{chroot}", session_timeout_ms=6000, on_event=news.put_nowait
    )
    last = (await session.get("/a", watch=True)).data

    async def follow() -> None:
        nonlocal last
        while last != b"20":
            event = await news.get()
            assert event is not SessionEvent.EXPIRED
            if isinstance(event, WatchEvent):
                last = (await session.get("/a", watch=True)).data

    following = asyncio.ensure_future(follow())
    for number in range(1, 21):
        await zk.set("/a", str(number).encode())
        if number % 4 == 0:
            zk_proxy.cut()
            zk_proxy.mend()
    async with asyncio.timeout(60):
        await following
    await session.close()


async def test_an_expired_session_is_over_for_good(
    zookeeper: EmbeddedZooKeeper, zk_connect: str, zk_proxy: Any
) -> None:
    """KAFKA-8121: the thread that dealt with an expiry revived the client."""
    events = Events()
    through_proxy = f"{zk_proxy.address}/{zk_connect.partition('/')[2]}"
    async with opened(through_proxy, events) as session, opened(zk_connect) as witness:
        await session.create("/mine", ephemeral=True)
        await session.exists("/watched", watch=True)
        # Otherwise it would take itself back from the thief.
        zk_proxy.cut()
        await expire(session, zookeeper.address)
        zk_proxy.mend()
        await events.until_seen(SessionEvent.EXPIRED)
        assert session.is_over
        with pytest.raises(SessionExpired):
            await session.get("/")
        assert await witness.exists("/mine") is None
        await witness.create("/watched")
        assert session._released is not None
        async with asyncio.timeout(60):
            await session._released
        # Nothing more was heard, and kazoo holds no second session.
        assert events.seen[-1] is SessionEvent.EXPIRED
        assert events.seen.count(SessionEvent.EXPIRED) == 1
        assert session._connection._client.client_id is None


async def test_requests_that_wait_when_the_session_ends_fail(zk_connect: str, zk_proxy: Any) -> None:
    events = Events()
    async with opened(zk_proxy.address, events) as session:
        zk_proxy.cut()
        await events.until_seen(SessionEvent.DISCONNECTED)
        waiting = [asyncio.ensure_future(session.get("/")) for _ in range(3)]
        await asyncio.sleep(0)
        await session.close()
        assert all(
            isinstance(r, SessionExpired) for r in await asyncio.gather(*waiting, return_exceptions=True)
        )


async def test_a_request_has_a_deadline(zk_proxy: Any) -> None:
    events = Events()
    async with opened(zk_proxy.address, events, request_timeout_ms=200) as session:
        zk_proxy.cut()
        await events.until_seen(SessionEvent.DISCONNECTED)
        with pytest.raises(ZooKeeperTimeout, match=r"about / within 0\.2 s"):
            await session.get("/")


async def test_another_thread_can_end_the_session(zk_connect: str) -> None:
    events = Events()
    async with opened(zk_connect, events) as session, opened(zk_connect) as witness:
        await session.create("/mine", ephemeral=True)
        await asyncio.to_thread(session.abort)
        await events.until_seen(SessionEvent.EXPIRED)
        assert await witness.exists("/mine") is None


async def test_zookeeper_away_at_the_start_is_one_clear_line() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    with pytest.raises(ZooKeeperUnavailable, match=f"no ZooKeeper answered at {address} within 300 ms"):
        await ZooKeeperSession.connect(
            f"{address}/kafka", session_timeout_ms=6000, on_event=Events(), connect_timeout_ms=300
        )


async def test_zookeeper_that_goes_and_comes_back_costs_nothing_but_time(tmp_path: Any) -> None:
    events = Events()
    with EmbeddedZooKeeper(tmp_path) as server:
        async with opened(f"{server.address}/deep/chroot", events, session_timeout_ms=10_000) as session:
            await session.create("/kept", b"1")
            await session.create("/mine", ephemeral=True)
            server.kill()
            await events.until_seen(SessionEvent.DISCONNECTED)
            pending = asyncio.ensure_future(session.set("/kept", b"2"))
            server.start()
            assert (await pending).version == 1
            assert await session.exists("/mine") is not None
            assert SessionEvent.EXPIRED not in events.seen


async def test_a_server_that_accepts_but_does_not_answer_costs_a_third_of_the_session(
    zookeeper: EmbeddedZooKeeper, zk_connect: str
) -> None:
    """As a ZooKeeper does that is just starting: the first connection is accepted and left alone."""
    host, port = zookeeper.address.split(":")
    accepted = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal accepted
        accepted += 1
        if accepted == 1:
            await reader.read()
            writer.close()
            return
        far_reader, far_writer = await asyncio.open_connection(host, int(port))
        await asyncio.gather(pump(reader, far_writer), pump(far_reader, writer))

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    front = server.sockets[0].getsockname()[1]
    chroot = zk_connect.partition("/")[2]
    async with opened(
        f"127.0.0.1:{front}/{chroot}", session_timeout_ms=9000, connect_timeout_ms=8700
    ) as session:
        assert await session.get_children("/") == []
    assert accepted == 2
    server.close()
