"""The page's view of a cluster: its history, and its figures while somebody looks."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.zk.client.security import UNSECURED, ZooKeeperSecurity
from barnabas.local.client_login import ClientLogin
from barnabas.local.control import BrokerState
from barnabas.page.controls import WORDS, Action, Controls
from barnabas.page.failover import last_failover
from barnabas.page.groups import GroupReader
from barnabas.page.history import Entry, History
from barnabas.page.measure import EndOffsetReader, EndOffsets, figures
from barnabas.page.model import Change, ClusterState, Json, differences
from barnabas.page.observer import Connection, Observer
from barnabas.page.workload import Workload

PROCESS_POLL_S = 0.2
"""Seconds between two checks of the processes."""

FIGURES_S = 1.0
"""Seconds between two readings of metrics and groups."""

_MOST_WAITING = 1_000
"""The most messages that a slow browser may lag behind; beyond it the browser must read the history again."""


@dataclass(frozen=True, slots=True)
class Source:
    """The cluster that a page shows.

    Attributes:
        zookeeper: The connect string.
        bootstrap: ``bootstrap.servers``.
        metrics: The ``host:port`` of each broker's metrics by id.
        logs: The folder of each broker's logs by id.
        zookeeper_security: The login and TLS towards ZooKeeper.
        login: The login at the brokers; None if they want none.
        session_timeout_ms: ``zookeeper.session.timeout.ms`` of the brokers; None if it is unknown.
    """

    zookeeper: str
    bootstrap: str
    metrics: Mapping[int, str] = field(default_factory=dict)
    logs: Mapping[int, Path] = field(default_factory=dict)
    zookeeper_security: ZooKeeperSecurity = UNSECURED
    login: ClientLogin | None = None
    session_timeout_ms: int | None = None


@dataclass(frozen=True)
class Message:
    """A message to the browsers that follow the cluster.

    Attributes:
        event: ``changes`` or ``figures``.
        data: The content.
        number: The number of the last entry in it; None for figures.
    """

    event: str
    data: object
    number: int | None = None

    @cached_property
    def text(self) -> str:
        """The server-sent event, which is the same for all browsers and therefore made once."""
        number = "" if self.number is None else f"id: {self.number}\n"
        return f"{number}event: {self.event}\ndata: {json.dumps(self.data)}\n\n"


class LiveCluster:
    """A cluster as it changes. Everything is called on one event loop.

    Args:
        source: The cluster.
        controls: The actions on it.
    """

    def __init__(self, source: Source, controls: Controls) -> None:
        self.source = source
        self.history = History()
        self.workload = Workload(source.bootstrap, source.login)
        self._controls = controls
        self._state = ClusterState()
        self._processes: dict[int, str] = {}
        self._has_zookeeper = True
        self._followers: set[asyncio.Queue[Message | None]] = set()
        self._watched = asyncio.Event()
        self._is_over = False

    async def run(self) -> None:
        """Follow the cluster until cancelled."""
        observer = Observer(
            self.source.zookeeper,
            self._on_state,
            self._on_connection,
            self.source.zookeeper_security,
        )
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(observer.run())
            tasks.create_task(self._follow_processes())
            tasks.create_task(self._follow_figures())

    def _on_state(self, state: ClusterState, at_ms: int) -> None:
        changes = list(differences(self._state, state))
        self._state = state
        self._add(at_ms, changes)

    def _on_connection(self, connection: Connection) -> None:
        is_connected = connection is Connection.MADE
        if is_connected is self._has_zookeeper:
            return
        self._has_zookeeper = is_connected
        text = "ZooKeeper answers again" if is_connected else "ZooKeeper does not answer"
        self._add(
            _now_ms(), [Change("zookeeper", text, {"connected": is_connected}, is_bad=not is_connected)]
        )

    async def _follow_processes(self) -> None:
        while True:
            processes = self._controls.processes()
            changes = [
                Change(
                    "process",
                    f"The process of broker {broker} is {state}",
                    {"id": broker, "state": str(state)},
                    is_bad=state is not BrokerState.RUNNING and broker in self._processes,
                )
                for broker, state in processes.items()
                if self._processes.get(broker) != state
            ]
            self._processes = {broker: str(state) for broker, state in processes.items()}
            self._add(_now_ms(), changes)
            await asyncio.sleep(PROCESS_POLL_S)

    async def _follow_figures(self) -> None:
        reader = EndOffsetReader(self.source.metrics)
        groups = GroupReader(self.source.bootstrap, self.source.login)
        before: EndOffsets = {}
        before_at = time.monotonic()
        asked: asyncio.Future[list[Json] | None] | None = None
        with contextlib.closing(groups):
            while True:
                await self._watched.wait()
                after, at = await reader.read(), time.monotonic()
                said = figures(self._state, before, after, max(at - before_at, FIGURES_S / 10))
                ends = _ends_of_leaders(self._state, after)
                # A coordinator that hangs makes its groups unknown, and delays no other figure.
                asked = asked or asyncio.ensure_future(asyncio.to_thread(groups.read, ends))
                done, _ = await asyncio.wait([asked], timeout=FIGURES_S)
                said["groups"] = asked.result() if done else None
                asked = None if done else asked
                said["workload"] = self.workload.json()
                said["at"] = _now_ms()
                self._send(Message("figures", said))
                before, before_at = after, at
                await asyncio.sleep(FIGURES_S)

    async def act(self, action: Action, broker: int) -> None:
        """Carry out an action and record it.

        Raises:
            ControlError: It cannot be carried out.
        """
        at_ms = _now_ms()
        acting = asyncio.ensure_future(self._controls.act(action, broker))
        # A refused action is not part of the history; a slow action is recorded before its effects.
        await asyncio.wait([acting], timeout=PROCESS_POLL_S / 4)
        if not acting.done() or acting.exception() is None:
            self._add(
                at_ms, [Change("action", WORDS[action].format(broker), {"id": broker, "action": str(action)})]
            )
        await acting

    def snapshot(self) -> Json:
        """Return the history and the actions that the page offers."""
        return {
            **self.history.json(),
            "now": _now_ms(),
            "controls": sorted(self._controls.actions()),
            "bootstrap": self.source.bootstrap,
            "session_timeout_ms": self.source.session_timeout_ms,
        }

    def failover(self) -> Json | None:
        """Return the last failover; None if there was none."""
        base = self.history.json()["base"]
        assert isinstance(base, dict)
        failover = last_failover(base, self.history.entries())
        return None if failover is None else failover.json()

    @property
    def followers(self) -> int:
        """The number of browsers that follow the cluster."""
        return len(self._followers)

    async def follow(self, after: int) -> AsyncGenerator[Message | None]:
        """Yield the messages after an entry of the history; None if the history must be read again."""
        missed = self.history.after(after)
        if missed is None:
            yield None
            return
        queue: asyncio.Queue[Message | None] = asyncio.Queue()
        self._followers.add(queue)
        self._watched.set()
        try:
            if missed:
                yield _message(missed)
            while (message := await queue.get()) is not None:
                yield message
            if not self._is_over:
                yield None
        finally:
            self._followers.discard(queue)
            if not self._followers:
                self._watched.clear()

    def _add(self, at_ms: int, changes: list[Change]) -> None:
        if changes:
            added = self.history.add(at_ms, changes)
            self._send(_message(added))

    def end_streams(self) -> None:
        """End the streams of all browsers, which connect again by themselves."""
        self._is_over = True
        for queue in self._followers:
            _end(queue)

    def _send(self, message: Message) -> None:
        for queue in self._followers:
            if queue.qsize() < _MOST_WAITING:
                queue.put_nowait(message)
            else:
                _end(queue)


def _end(queue: asyncio.Queue[Message | None]) -> None:
    with contextlib.suppress(asyncio.QueueEmpty):
        while True:
            queue.get_nowait()
    queue.put_nowait(None)


def _message(entries: list[Entry]) -> Message:
    return Message("changes", [entry.json() for entry in entries], entries[-1].number)


def _ends_of_leaders(state: ClusterState, ends: EndOffsets) -> dict[TopicPartition, int]:
    return {
        partition: end
        for partition, view in state.partitions.items()
        if (end := ends.get(view.leader, {}).get(partition)) is not None
    }


def _now_ms() -> int:
    return int(time.time() * 1000)
