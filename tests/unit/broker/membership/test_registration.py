import asyncio
from dataclasses import replace

import pytest

from barnabas.broker.config.start_error import StartError
from barnabas.broker.membership import registration
from barnabas.broker.membership.registration import (
    InconsistentClusterIdError,
    Membership,
    Registration,
    SessionListeners,
    ZooKeeperAddress,
)
from barnabas.cluster.model.brokers import Endpoint
from barnabas.cluster.zk.client.errors import (
    NodeExists,
    NoNode,
    SessionExpired,
    ZooKeeperAuthFailed,
    ZooKeeperUnavailable,
)
from barnabas.cluster.zk.client.operations import Change, SessionEvent, Stat, WatchEvent
from barnabas.cluster.zk.client.security import Login, ZooKeeperSecurity

SECURITY = ZooKeeperSecurity(Login("kafka", "secret"), set_acl=True)
ADDRESS = ZooKeeperAddress("zk:2181", 4000, 1000, SECURITY)
LOCKS = frozenset({"a lock"})
REGISTRATION = Registration(1, (Endpoint("PLAINTEXT", "here", 9092),), None, "the cluster", lambda: LOCKS)
PATH = "/brokers/ids/1"
GONE = WatchEvent(PATH, Change.DELETED)


class Session:
    """A session whose registrations come out as planned; it is its own store and all its rooms.

    Attributes:
        outcomes: What each registration comes to; a number is an epoch, and with it the node stands.
        stands: Whether the node stands, as this session's own.
        done: What was asked of it, in order.
    """

    def __init__(self, number, on_event, *outcomes):
        self.id = number
        self.on_event = on_event
        self.outcomes = list(outcomes)
        self.stands = False
        self.done, self.ended = [], []
        self.kept_cluster_id = "the cluster"
        self.missing = []

    session = brokers = controller = cluster = property(lambda self: self)

    async def register(self, broker_id, endpoints, rack, *, now_ms, log_dir_locks, former_session):
        assert (broker_id, endpoints, rack, log_dir_locks) == (1, REGISTRATION.endpoints, None, LOCKS)
        assert now_ms > 0
        self.done.append(("register", former_session))
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        self.stands = True
        return outcome

    async def exists(self, path, *, watch):
        assert (path, watch) == (PATH, True)
        return Stat(0, 0, 0, self.id) if self.stands else None

    async def give_up(self):
        self.done.append("gave /controller up")

    async def create_persistent_paths(self):
        self.done.append("made parents")
        self.missing = []

    async def missing_paths(self):
        return list(self.missing)

    async def cluster_id(self, proposed):
        assert proposed == "the cluster"
        return self.kept_cluster_id

    async def close(self):
        self.ended.append("closed")

    def abort(self):
        self.ended.append("aborted")


@pytest.fixture
def world(monkeypatch):
    """The plan: what each opening of a session, in turn, comes to; and the sessions that were opened."""
    plan, sessions = [], []

    async def connect(_connect, *, session_timeout_ms, on_event, connect_timeout_ms, security):
        assert (session_timeout_ms, connect_timeout_ms, security) == (4000, 1000, SECURITY)
        outcome = plan.pop(0)
        if isinstance(outcome, (ZooKeeperUnavailable, ValueError)):
            raise outcome
        sessions.append(Session(len(sessions) + 1, on_event, outcome))
        return sessions[-1]

    monkeypatch.setattr(registration.ZooKeeperSession, "connect", connect)
    monkeypatch.setattr(registration, "ZooKeeperStore", lambda session: session)
    monkeypatch.setattr(registration, "RECONNECT_PAUSE_S", 0)
    return plan, sessions


class Recorder:
    def __init__(self):
        self.notified = []
        self.joined_again = asyncio.Event()

    @property
    def listeners(self):
        return SessionListeners(self.notified.append, self.left, self.joined)

    async def left(self):
        self.notified.append("left")

    async def joined(self, _store, epoch):
        self.notified.append(epoch)
        if len([each for each in self.notified if isinstance(each, int)]) == 2:
            self.joined_again.set()


async def test_a_zookeeper_that_is_away_keeps_the_broker_from_starting(world):
    world[0].append(ZooKeeperUnavailable("no ZooKeeper answered at zk:2181"))
    with pytest.raises(
        StartError, match=r"Cannot reach ZooKeeper of zookeeper\.connect: no ZooKeeper answered at zk:2181"
    ):
        await Membership(ADDRESS).open()


async def test_a_broker_that_another_process_supervises_waits_for_a_late_zookeeper(world):
    away = ZooKeeperUnavailable("no ZooKeeper answered at zk:2181")
    world[0].extend([away, away, 7])
    membership = Membership(replace(ADDRESS, waits=True))
    assert await membership.open() is membership.store
    assert world[0] == []


async def test_a_refused_login_is_not_waited_for(world):
    world[0].append(ZooKeeperAuthFailed("user 'kafka' does not authenticate"))
    with pytest.raises(StartError, match="user 'kafka' does not authenticate"):
        await Membership(replace(ADDRESS, waits=True)).open()


async def test_a_malformed_address_is_an_error_of_the_settings(world):
    world[0].append(ValueError("zk:x is no port"))
    with pytest.raises(StartError, match=r"zookeeper\.connect: zk:x is no port"):
        await Membership(ADDRESS).open()


async def test_joining_tells_the_epoch(world):
    world[0].append(7)
    recorder, membership = Recorder(), Membership(ADDRESS)
    assert await membership.open() is membership.store
    assert await membership.join(REGISTRATION, recorder.listeners) == 7
    assert recorder.notified == [7]


async def test_a_taken_id_keeps_the_broker_from_starting(world):
    world[0].append(NodeExists("/brokers/ids/1"))
    membership = Membership(ADDRESS)
    await membership.open()
    with pytest.raises(StartError, match=r"Cannot register broker\.id 1: /brokers/ids/1"):
        await membership.join(REGISTRATION, Recorder().listeners)


async def test_a_session_that_expires_before_the_first_registration_is_replaced(world):
    """The logs were recovered meanwhile, or the machine was too busy to keep the session."""
    plan, sessions = world
    plan += [SessionExpired("over"), ZooKeeperUnavailable("away"), 12]
    member, recorder = Membership(ADDRESS), Recorder()
    await member.open()
    sessions[0].on_event(SessionEvent.EXPIRED)
    assert await member.join(REGISTRATION, recorder.listeners) == 12
    assert recorder.notified == [12]
    assert set(sessions[0].ended) == {"closed"}
    assert sessions[1].done == ["made parents", ("register", None)]
    # The event of the session before leads to a look at the registration, which stands.
    staying = asyncio.ensure_future(member.stay(REGISTRATION))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert len(sessions) == 2
    staying.cancel()


async def test_an_id_that_is_taken_in_the_second_session_keeps_the_broker_from_starting(world):
    plan, _ = world
    plan += [SessionExpired("over"), NodeExists(PATH)]
    member = Membership(ADDRESS)
    await member.open()
    with pytest.raises(StartError, match=r"Cannot register broker\.id 1"):
        await member.join(REGISTRATION, Recorder().listeners)


async def test_watches_are_handed_on(world):
    world[0].append(7)
    recorder, membership = Recorder(), Membership(ADDRESS)
    await membership.open()
    event = WatchEvent("/controller", Change.DELETED)
    world[1][0].on_event(event)
    await membership.join(REGISTRATION, recorder.listeners)
    world[1][0].on_event(event)
    world[1][0].on_event(SessionEvent.DISCONNECTED)
    world[1][0].on_event(SessionEvent.RECONNECTED)
    assert recorder.notified == [7, event]


async def test_after_an_expiry_it_resigns_then_opens_a_new_session_and_registers_again(world):
    world[0].extend([7, ZooKeeperUnavailable("away"), SessionExpired("again"), 9])
    recorder, membership = Recorder(), Membership(ADDRESS)
    await membership.open()
    await membership.join(REGISTRATION, recorder.listeners)
    staying = asyncio.create_task(membership.stay(REGISTRATION))
    world[1][0].on_event(SessionEvent.EXPIRED)
    async with asyncio.timeout(60):
        await recorder.joined_again.wait()
    staying.cancel()
    assert recorder.notified == [7, "left", 9]
    assert [set(session.ended) for session in world[1]] == [{"closed"}, {"closed"}, set()]
    assert membership.store is world[1][-1]


async def test_a_registration_that_vanished_is_made_again_in_the_same_session(world):
    world[0].append(7)
    recorder, membership = Recorder(), Membership(ADDRESS)
    await membership.open()
    await membership.join(REGISTRATION, recorder.listeners)
    (session,) = world[1]
    session.outcomes += [NoNode("/brokers/ids"), 9]
    staying = asyncio.create_task(membership.stay(REGISTRATION))
    session.stands = False
    session.on_event(GONE)
    async with asyncio.timeout(60):
        await recorder.joined_again.wait()
    staying.cancel()
    assert recorder.notified == [7, GONE, "left", 9]
    again = ["gave /controller up", "made parents", ("register", 1)]
    assert session.done == [("register", None), *again, *again]
    assert session.ended == []


async def test_parents_that_vanished_are_made_again(world):
    """The controller's watches are gone with them: it has to take over again."""
    world[0].append(7)
    recorder, membership = Recorder(), Membership(ADDRESS)
    await membership.open()
    await membership.join(REGISTRATION, recorder.listeners)
    (session,) = world[1]
    session.outcomes.append(7)
    session.missing = ["/brokers/topics"]
    staying = asyncio.create_task(membership.stay(REGISTRATION))
    gone = WatchEvent("/brokers/topics", Change.DELETED)
    session.on_event(gone)
    async with asyncio.timeout(60):
        await recorder.joined_again.wait()
    staying.cancel()
    assert recorder.notified == [7, gone, "left", 7]
    assert session.done[1:] == ["gave /controller up", "made parents", ("register", 1)]


async def test_a_registration_that_stands_is_left_alone(world):
    world[0].append(7)
    recorder, membership = Recorder(), Membership(ADDRESS)
    await membership.open()
    await membership.join(REGISTRATION, recorder.listeners)
    staying = asyncio.create_task(membership.stay(REGISTRATION))
    world[1][0].on_event(WatchEvent(PATH, Change.UNKNOWN))
    for _ in range(10):
        await asyncio.sleep(0)
    staying.cancel()
    assert [each for each in recorder.notified if not isinstance(each, WatchEvent)] == [7]


async def test_a_registration_that_vanished_at_once_is_noticed(world):
    """No watch was armed yet."""
    world[0].append(7)
    recorder, membership = Recorder(), Membership(ADDRESS)
    await membership.open()
    (session,) = world[1]
    stands = [None, Stat(0, 0, 0, session.id)]

    async def exists(_path, *, watch):
        assert watch
        return stands.pop(0) if len(stands) > 1 else stands[0]

    session.exists = exists
    session.outcomes.append(9)
    stands.insert(0, None)
    await membership.join(REGISTRATION, recorder.listeners)
    staying = asyncio.create_task(membership.stay(REGISTRATION))
    async with asyncio.timeout(60):
        await recorder.joined_again.wait()
    staying.cancel()
    assert recorder.notified == [7, "left", 9]


async def test_a_zookeeper_of_another_cluster_ends_it(world):
    world[0].append(7)
    membership = Membership(ADDRESS)
    await membership.open()
    await membership.join(REGISTRATION, Recorder().listeners)
    world[1][0].stands = False
    world[1][0].kept_cluster_id = "another"
    world[1][0].on_event(GONE)
    with pytest.raises(InconsistentClusterIdError, match="The Cluster ID another doesn't match stored"):
        await membership.stay(REGISTRATION)


async def test_an_id_that_was_taken_meanwhile_ends_it(world):
    world[0].extend([7, NodeExists("/brokers/ids/1")])
    membership = Membership(ADDRESS)
    await membership.open()
    await membership.join(REGISTRATION, Recorder().listeners)
    world[1][0].on_event(SessionEvent.EXPIRED)
    with pytest.raises(NodeExists):
        await membership.stay(REGISTRATION)


async def test_it_is_closed_and_aborted_through_its_session(world):
    world[0].append(7)
    membership = Membership(ADDRESS)
    membership.abort()
    await membership.close()
    await membership.open()
    membership.abort()
    await membership.close()
    assert world[1][0].ended == ["aborted", "closed"]


def test_without_a_session_there_is_no_store():
    with pytest.raises(LookupError, match="no ZooKeeper session"):
        _ = Membership(ADDRESS).store
