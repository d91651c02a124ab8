import asyncio

import pytest

from broker import membership
from broker.errors import StartError
from broker.membership import Membership, Registration, SessionListeners, ZooKeeperAddress
from cluster.model.brokers import Endpoint
from cluster.zk.errors import NodeExists, SessionExpired, ZooKeeperUnavailable
from cluster.zk.operations import Change, SessionEvent, WatchEvent

ADDRESS = ZooKeeperAddress("zk:2181", 4000, 1000)
REGISTRATION = Registration(1, (Endpoint("PLAINTEXT", "here", 9092),))


class Brokers:
    def __init__(self, outcome):
        self._outcome = outcome

    async def register(self, broker_id, endpoints, rack, *, now_ms, holds_endpoints):
        assert (broker_id, endpoints, rack, holds_endpoints) == (1, REGISTRATION.endpoints, None, True)
        assert now_ms > 0
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome


class Session:
    """A session whose registration comes out as planned."""

    def __init__(self, on_event, outcome):
        self.on_event = on_event
        self.brokers = Brokers(outcome)
        self.ended = []

    async def close(self):
        self.ended.append("closed")

    def abort(self):
        self.ended.append("aborted")


@pytest.fixture
def world(monkeypatch):
    """The plan: what each opening of a session, in turn, comes to; and the sessions that were opened."""
    plan, sessions = [], []

    async def connect(_connect, *, session_timeout_ms, on_event, connect_timeout_ms):
        assert (session_timeout_ms, connect_timeout_ms) == (4000, 1000)
        outcome = plan.pop(0)
        if isinstance(outcome, (ZooKeeperUnavailable, ValueError)):
            raise outcome
        sessions.append(Session(on_event, outcome))
        return sessions[-1]

    monkeypatch.setattr(membership.ZooKeeperSession, "connect", connect)
    monkeypatch.setattr(membership, "ZooKeeperStore", lambda session: session)
    monkeypatch.setattr(membership, "RECONNECT_PAUSE_S", 0)
    return plan, sessions


class Ears:
    def __init__(self):
        self.heard = []
        self.joined_again = asyncio.Event()

    @property
    def listeners(self):
        return SessionListeners(self.heard.append, self.expired, self.joined)

    async def expired(self):
        self.heard.append("expired")

    async def joined(self, _store, epoch):
        self.heard.append(epoch)
        if len([each for each in self.heard if isinstance(each, int)]) == 2:
            self.joined_again.set()


async def test_a_zookeeper_that_is_away_keeps_the_broker_from_starting(world):
    world[0].append(ZooKeeperUnavailable("no ZooKeeper answered at zk:2181"))
    with pytest.raises(StartError, match="Cannot reach ZooKeeper: no ZooKeeper answered at zk:2181"):
        await Membership(ADDRESS).open()


async def test_a_malformed_address_is_an_error_of_the_settings(world):
    world[0].append(ValueError("zk:x is no port"))
    with pytest.raises(StartError, match=r"zookeeper\.connect: zk:x is no port"):
        await Membership(ADDRESS).open()


async def test_joining_tells_the_epoch(world):
    world[0].append(7)
    ears, place = Ears(), Membership(ADDRESS)
    assert await place.open() is place.store
    assert await place.join(REGISTRATION, ears.listeners) == 7
    assert ears.heard == [7]


async def test_a_taken_id_keeps_the_broker_from_starting(world):
    world[0].append(NodeExists("/brokers/ids/1"))
    place = Membership(ADDRESS)
    await place.open()
    with pytest.raises(StartError, match=r"Cannot register broker\.id 1: /brokers/ids/1"):
        await place.join(REGISTRATION, Ears().listeners)


async def test_watches_are_handed_on(world):
    world[0].append(7)
    ears, place = Ears(), Membership(ADDRESS)
    await place.open()
    event = WatchEvent("/controller", Change.DELETED)
    world[1][0].on_event(event)
    await place.join(REGISTRATION, ears.listeners)
    world[1][0].on_event(event)
    world[1][0].on_event(SessionEvent.DISCONNECTED)
    world[1][0].on_event(SessionEvent.RECONNECTED)
    assert ears.heard == [7, event]


async def test_after_an_expiry_it_resigns_then_opens_a_new_session_and_registers_again(world):
    world[0].extend([7, ZooKeeperUnavailable("away"), SessionExpired("again"), 9])
    ears, place = Ears(), Membership(ADDRESS)
    await place.open()
    await place.join(REGISTRATION, ears.listeners)
    staying = asyncio.create_task(place.stay(REGISTRATION))
    world[1][0].on_event(SessionEvent.EXPIRED)
    async with asyncio.timeout(60):
        await ears.joined_again.wait()
    staying.cancel()
    assert ears.heard == [7, "expired", 9]
    assert [set(session.ended) for session in world[1]] == [{"closed"}, {"closed"}, set()]
    assert place.store is world[1][-1]


async def test_an_id_that_was_taken_meanwhile_ends_it(world):
    world[0].extend([7, NodeExists("/brokers/ids/1")])
    place = Membership(ADDRESS)
    await place.open()
    await place.join(REGISTRATION, Ears().listeners)
    world[1][0].on_event(SessionEvent.EXPIRED)
    with pytest.raises(NodeExists):
        await place.stay(REGISTRATION)


async def test_it_is_closed_and_aborted_through_its_session(world):
    world[0].append(7)
    place = Membership(ADDRESS)
    place.abort()
    await place.close()
    await place.open()
    place.abort()
    await place.close()
    assert world[1][0].ended == ["aborted", "closed"]


def test_without_a_session_there_is_no_store():
    with pytest.raises(LookupError, match="no ZooKeeper session"):
        _ = Membership(ADDRESS).store
