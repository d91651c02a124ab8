"""The view of a cluster through ZooKeeper, and the wait for a change in it.

A wait is woken by ZooKeeper's watches on everything that was read. Some facts have no watch, such as the
end of a process or a broker's metadata; for these the wait also looks every ``TICK_S`` seconds, or as often
as its caller asks.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.zk.client.errors import ZooKeeperError
from barnabas.cluster.zk.client.operations import SessionEvent, WatchEvent
from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.cluster.zk.schema import paths
from barnabas.cluster.zk.stores.brokers import BrokerStore
from barnabas.cluster.zk.stores.controller import ControllerStore
from barnabas.cluster.zk.stores.partitions import PartitionStore
from barnabas.cluster.zk.stores.topics import TopicStore
from barnabas.testing.errors import WaitTimeoutError

T = TypeVar("T")

TICK_S = 0.1
"""Seconds between two looks of a wait without any event."""

_SESSION_TIMEOUT_MS = 20_000
_REQUEST_TIMEOUT_MS = 3_000

_LOOK_S = 5.0
"""The most seconds of one look, which may ask a broker that is paused."""


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition as ZooKeeper knows it.

    Attributes:
        leader: The leader's id; None if there is none.
        isr: The in-sync replicas, ascending.
        replicas: All replicas, the preferred leader first.
    """

    leader: int | None
    isr: tuple[int, ...]
    replicas: tuple[int, ...]

    def __str__(self) -> str:
        isr, replicas = (",".join(map(str, ids)) or "empty" for ids in (self.isr, self.replicas))
        return f"leader {'none' if self.leader is None else self.leader}, ISR {isr} of {replicas}"


@dataclass(frozen=True, slots=True)
class State:
    """The state of a cluster in ZooKeeper.

    Attributes:
        brokers: The registered brokers, ascending.
        controller: The id in ``/controller``; None if there is none.
        topics: The names of all topics.
        partitions: The partitions of the topics that were asked for, by topic and number.
    """

    brokers: tuple[int, ...] = ()
    controller: int | None = None
    topics: frozenset[str] = frozenset()
    partitions: Mapping[str, Mapping[int, Partition]] = field(default_factory=dict)

    def __str__(self) -> str:
        said = [
            f"registered are {', '.join(map(str, self.brokers)) or 'no brokers'}",
            f"the controller is {'nobody' if self.controller is None else self.controller}",
        ]
        for topic, partitions in self.partitions.items():
            said += [f"{topic}-{number}: {partition}" for number, partition in partitions.items()]
            if topic not in self.topics:
                said.append(f"there is no topic {topic}")
        return "; ".join(said)


def remaining(timeout_s: float) -> Callable[[], float]:
    """Return a function for the seconds that are left of ``timeout_s``, for waits that share them."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + timeout_s
    return lambda: max(0.0, deadline - loop.time())


class View:
    """A view of a cluster through a ZooKeeper session of its own. Everything is called on one event loop.

    Args:
        zookeeper: The connect string.
    """

    def __init__(self, zookeeper: str) -> None:
        self._zookeeper = zookeeper
        self._session: ZooKeeperSession | None = None
        self._connecting = asyncio.Lock()
        self._changed = asyncio.Event()

    async def close(self) -> None:
        """End the session."""
        if self._session is not None:
            await self._session.close()

    def wake(self) -> None:
        """Make all waits look again."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def look(self, topics: Iterable[str] = ()) -> State:
        """Read the state, with watches, and the partitions of ``topics``.

        Raises:
            ZooKeeperError: ZooKeeper does not answer.
        """
        session = await self.session()
        ids = await BrokerStore(session).ids(watch=True)
        claim = (await ControllerStore(session).look(watch=True)).claim
        names = await TopicStore(session).names(watch=True)
        partitions = {topic: await self._partitions(session, topic) for topic in topics}
        controller = None if claim is None else claim.named
        return State(tuple(sorted(ids)), controller, frozenset(names), partitions)

    async def _partitions(self, session: ZooKeeperSession, topic: str) -> dict[int, Partition]:
        assignments = (await TopicStore(session).read([topic], watch=True)).get(topic)
        if assignments is None:
            return {}
        found: dict[int, Partition] = {}
        wanted = [TopicPartition(topic, number) for number in sorted(assignments.partitions)]
        states = await PartitionStore(session).read(wanted, watch=True)
        for tp in wanted:
            replicas = assignments.partitions[tp.partition].replicas
            if tp not in states:  # only a watch on its existence reports that a state is created
                await session.exists(paths.partition_state(tp), watch=True)
                found[tp.partition] = Partition(None, (), replicas)
                continue
            known = states[tp].leader_and_isr
            leader = known.leader if known.leader >= 0 else None
            found[tp.partition] = Partition(leader, tuple(sorted(known.isr)), replicas)
        return found

    async def wait(
        self,
        look: Callable[[], Awaitable[T | None]],
        what: str,
        timeout_s: float,
        describe: Callable[[], Awaitable[str]],
        *,
        tick_s: float = TICK_S,
    ) -> T:
        """Call ``look`` at every change until it returns something, and return that.

        Args:
            look: Returns None as long as the wait goes on. ZooKeeper's errors and the operating system's
                count as None.
            what: What is awaited, for the error.
            timeout_s: Seconds.
            describe: Describes how things stand, for the error.
            tick_s: Seconds between two looks without any event.

        Raises:
            WaitTimeoutError: The time is over.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        reason = ""
        while True:
            changed = self._changed
            try:
                async with asyncio.timeout(max(TICK_S, min(_LOOK_S, deadline - loop.time()))):
                    found = await look()
            except (ZooKeeperError, OSError) as error:
                found, reason = None, f"; {type(error).__name__}: {error}"
            else:
                reason = ""
            if found is not None:
                return found
            left = deadline - loop.time()
            if left <= 0:
                raise WaitTimeoutError(f"{what}: not within {timeout_s:.3g} s; {await describe()}{reason}")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(left, tick_s)):
                    await changed.wait()

    async def session(self) -> ZooKeeperSession:
        """Return the session; connect if there is none.

        Raises:
            ZooKeeperError: ZooKeeper does not answer.
        """
        async with self._connecting:
            if self._session is None:
                self._session = await ZooKeeperSession.connect(
                    self._zookeeper,
                    session_timeout_ms=_SESSION_TIMEOUT_MS,
                    connect_timeout_ms=_REQUEST_TIMEOUT_MS,
                    request_timeout_ms=_REQUEST_TIMEOUT_MS,
                    on_event=self._on_event,
                )
            return self._session

    def _on_event(self, event: WatchEvent | SessionEvent) -> None:
        if event is SessionEvent.EXPIRED:
            self._session = None
        self.wake()
