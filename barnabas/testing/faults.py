"""The faults of processes, links, disks and sessions, and the common part of those in containers."""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.zk.schema import paths
from barnabas.local import metrics
from barnabas.local.expiry import expire_owner
from barnabas.local.links import HEALTHY, Condition
from barnabas.local.switches import ZOOKEEPER
from barnabas.local.zookeeper_wire import WireError
from barnabas.testing.errors import ClusterError, RefusedError, UnknownBrokerError
from barnabas.testing.options import Options
from barnabas.testing.story import Action, stamp

CLIENTS = "clients"
"""The node of a network that is all clients."""

Node = int | str
"""A broker's id, ``"zookeeper"`` or ``"clients"``."""

T = TypeVar("T")
Ways = Mapping[tuple[str, str], Condition]
"""The condition of each way by its two nodes; a way that is not listed is healthy."""

_END_S = 10.0
"""Seconds for the end of a broker that has stopped serving."""


class Faults(ABC):
    """The faults of a running cluster: of its processes, links, disks and ZooKeeper sessions.

    Args:
        options: The options of the cluster.
        zookeeper: ``host:port`` of ZooKeeper, past all switches.

    Attributes:
        options: The options of the cluster.
        ids: The ids of all brokers.
        actions: The test's actions on the cluster, in order.
    """

    def __init__(self, options: Options, zookeeper: str) -> None:
        self.options = options
        self.ids = list(range(1, options.brokers + 1))
        self.zookeeper = zookeeper
        self.actions: list[Action] = []
        self._ways: Ways = {}
        self._full: set[int] = set()
        # Brokers that were stopped and did not end in time.
        self._ending: set[int] = set()

    @abstractmethod
    async def kill(self, broker_id: int) -> None:
        """Send SIGKILL, and wait for the end of the process."""

    @abstractmethod
    async def terminate(self, broker_id: int, timeout_s: float) -> None:
        """Send SIGTERM, and wait for the end of the process."""

    @abstractmethod
    async def start_broker(self, broker_id: int, timeout_s: float) -> None:
        """Start the process if it does not run, and wait until it serves."""

    @abstractmethod
    async def pause(self, broker_id: int) -> None:
        """Make the process stop until it is resumed, and wait until it stands still."""

    @abstractmethod
    async def resume(self, broker_id: int) -> None:
        """Make the process go on."""

    @abstractmethod
    def state_of(self, broker_id: int) -> str:
        """Return ``running``, ``paused`` or ``dead``."""

    @abstractmethod
    async def change_links(self, ways: Ways) -> None:
        """Change the conditions of ways."""

    @abstractmethod
    async def write_failpoints(self, broker_id: int, failpoints: str) -> None:
        """Write the setting ``failpoints`` that the broker reads when it starts."""

    @abstractmethod
    def metrics_address(self, broker_id: int) -> str:
        """Return ``host:port`` of the broker's metrics page."""

    @abstractmethod
    async def ends(self, broker_id: int, timeout_s: float) -> bool:
        """Wait for the end of the broker's process; return False if it has not ended in time."""

    @abstractmethod
    async def on_thread(self, call: Callable[[], T]) -> T:
        """Make a call that blocks."""

    @property
    def own_failpoints(self) -> str:
        """Return the setting ``failpoints`` of the test."""
        return self.options.settings.get("failpoints", "")

    async def expire_session(self, broker_id: int) -> None:
        """End the broker's ZooKeeper session."""
        self.check_known(broker_id)
        self.note(f"expire the ZooKeeper session of broker {broker_id}")
        try:
            await asyncio.to_thread(expire_owner, self.zookeeper, paths.broker(BrokerId(broker_id)))
        except WireError as error:
            raise RefusedError(f"the session of broker {broker_id} cannot be ended: {error}") from error

    async def partition(self, node: Node, others: Collection[Node], *, one_way: bool, refuse: bool) -> None:
        """Cut or refuse what flows between ``node`` and the others."""
        await self._disturb(
            node, others, lambda was: replace(was, is_cut=not refuse, is_refused=refuse), one_way=one_way
        )

    async def slow(
        self,
        node: Node,
        others: Collection[Node],
        *,
        one_way: bool,
        delay_ms: float,
        bytes_per_second: float | None,
    ) -> None:
        """Delay and limit what flows between ``node`` and the others."""
        slowness = Condition(delay_s=delay_ms / 1000, bytes_per_second=bytes_per_second)
        if slowness == HEALTHY:
            raise ValueError("slow needs delay_ms or bytes_per_second")
        await self._disturb(
            node,
            others,
            lambda was: replace(was, delay_s=slowness.delay_s, bytes_per_second=slowness.bytes_per_second),
            one_way=one_way,
        )

    async def _disturb(
        self,
        node: Node,
        others: Collection[Node],
        change: Callable[[Condition], Condition],
        *,
        one_way: bool,
    ) -> None:
        """Change the conditions of links; what ``change`` leaves alone stays as it was."""
        self.check_links(node, others)
        names = ", ".join(map(name_of, others))
        said = describe(change(HEALTHY))
        self.note(f"network: {name_of(node)} {'->' if one_way else 'and'} {names}: {said}")
        ways = disturbed(self._ways, node, others, change, one_way=one_way)
        self._ways = {**self._ways, **ways}
        await self.change_links(ways)

    async def heal(self) -> None:
        """Set all ways to healthy."""
        self.note("heal the network")
        ways, self._ways = self._ways, {}
        await self.change_links(dict.fromkeys(ways, HEALTHY))

    async def fill_disk(self, broker_id: int) -> None:
        """Make all writes to the broker's log directories fail with ENOSPC."""
        await self._arm(broker_id, is_full=True)

    async def free_disk(self, broker_id: int) -> None:
        """Let writes succeed again."""
        await self._arm(broker_id, is_full=False)

    async def _arm(self, broker_id: int, *, is_full: bool) -> None:
        self.check_known(broker_id)
        self.note(f"{'fill' if is_full else 'free'} the disk of broker {broker_id}")
        (self._full.add if is_full else self._full.discard)(broker_id)
        faults = [self.own_failpoints, "disk.full=error" if is_full else ""]
        await self.write_failpoints(broker_id, ",".join(filter(None, faults)))
        if self.state_of(broker_id) == "dead":
            return
        address = self.metrics_address(broker_id)
        try:
            await self.on_thread(lambda: metrics.arm(address, "disk.full", "error" if is_full else "off"))
        except OSError as error:
            # A broker whose only disk is full ends by itself, and stops serving this port first. It reads
            # the setting when it is started again.
            if not await self.ends(broker_id, _END_S):
                raise RefusedError(f"broker {broker_id} does not answer: {error}") from error
        name = metrics.OFFLINE_DIRECTORIES
        if not is_full and (await self.on_thread(lambda: metrics.gauges(address, name))).get(name) != 0:
            # A write has failed, or the broker answers nobody any more: it is about to end.
            await self.ends(broker_id, _END_S)

    def disturbed_nodes(self) -> set[str]:
        """Return the nodes whose links are disturbed."""
        return {end for ends, condition in self._ways.items() if condition != HEALTHY for end in ends}

    def faults(self) -> list[str]:
        """Describe the faults that last, except those of processes."""
        links = [
            f"{a} -> {b}: {describe(condition)}"
            for (a, b), condition in sorted(self._ways.items(), key=lambda way: way[0])
            if condition != HEALTHY
        ]
        return links + [f"the disk of broker {each} is full" for each in sorted(self._full)]

    async def undo_faults(self, left: Callable[[], float]) -> None:
        """Heal the network, free disks, resume what is paused, and start what is dead."""
        if self.disturbed_nodes():
            await self.heal()
        for broker_id in self.ids:
            if self.state_of(broker_id) == "paused":
                await self.resume(broker_id)
        for broker_id in sorted(self._full):
            await self.free_disk(broker_id)
        for broker_id in sorted(self._ending):
            if not await self.ends(broker_id, left()):
                await self.kill(broker_id)
            self._ending.discard(broker_id)
        for broker_id in self.ids:
            if self.state_of(broker_id) == "dead":
                await self.start_broker(broker_id, left())

    def note(self, text: str) -> None:
        """Add an action of the test to the story."""
        self.actions.append(Action(stamp(time.time()), text))

    def check_known(self, broker_id: int) -> None:
        """Raise UnknownBrokerError if there is no such broker."""
        if broker_id not in self.ids:
            raise UnknownBrokerError(f"there is no broker {broker_id!r}; there are {self.listed()}")

    def check_runs(self, broker_id: int) -> None:
        """Raise an error if there is no such broker, or it does not run."""
        self.check_known(broker_id)
        if self.state_of(broker_id) == "dead":
            raise ClusterError(f"broker {broker_id} does not run")

    def check_links(self, node: Node, others: Collection[Node]) -> None:
        """Raise an error if there are no others, or no link to one of them."""
        if not others:
            raise ValueError(f"name at least one other node than {name_of(node)}")
        for other in others:
            self.check_link(node, other)

    def check_link(self, a: Node, b: Node) -> None:
        """Raise UnknownBrokerError if there are no such nodes, or no link between them."""
        for node in (a, b):
            if isinstance(node, int):
                self.check_known(node)
            elif node not in (ZOOKEEPER, CLIENTS):
                raise UnknownBrokerError(
                    f"there is no node {node!r}; there are {self.listed()}, {ZOOKEEPER!r} and {CLIENTS!r}"
                )
        if a == b or not (isinstance(a, int) or isinstance(b, int)):
            raise UnknownBrokerError(f"there is no link between {name_of(a)} and {name_of(b)}")

    def listed(self) -> str:
        """Return the ids of all brokers as text."""
        return ", ".join(map(str, self.ids))


def disturbed(
    was: Ways,
    node: Node,
    others: Collection[Node],
    change: Callable[[Condition], Condition],
    *,
    one_way: bool,
) -> dict[tuple[str, str], Condition]:
    """Return the new conditions of the ways between ``node`` and the others. Pure.

    Args:
        was: The conditions before.
        node: The node.
        others: The nodes at the other end.
        change: Returns a way's new condition.
        one_way: Whether only the ways from ``node`` to the others change.
    """
    there = [(str(node), str(other)) for other in others]
    back = [] if one_way else [(b, a) for a, b in there]
    return {ends: change(was.get(ends, HEALTHY)) for ends in [*there, *back]}


def describe(condition: Condition) -> str:
    """Describe the condition of a link in messages."""

    def parts() -> Iterator[str]:
        if condition.is_cut:
            yield "cut"
        if condition.is_refused:
            yield "refused"
        if condition.delay_s:
            yield f"{condition.delay_s * 1000:g} ms later"
        if condition.bytes_per_second is not None:
            yield f"{condition.bytes_per_second:g} bytes a second"

    return ", ".join(parts())


def name_of(node: Node) -> str:
    """Return the name of a node in messages."""
    return f"broker {node}" if isinstance(node, int) else node
