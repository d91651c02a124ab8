"""The faults of links and disks, the same for processes and containers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from barnabas.local import metrics
from barnabas.local.links import HEALTHY, Condition
from barnabas.testing.errors import RefusedError
from barnabas.testing.running import Node, Running, name_of

T = TypeVar("T")
Ways = Mapping[tuple[str, str], Condition]
"""The condition of each way by its two nodes; a way that is not listed is healthy."""

_END_S = 10.0
"""Seconds for the end of a broker that has stopped serving."""


class Disturbed(Running):
    """A cluster whose links and disks can be disturbed."""

    def __init__(self, ids: Iterable[int], zookeeper: str, directory: Path | None) -> None:
        super().__init__(ids, zookeeper, directory)
        self._ways: Ways = {}
        self._full: set[int] = set()

    @abstractmethod
    async def change_links(self, ways: Ways) -> None:
        """Change the conditions of ways."""

    @abstractmethod
    def own_failpoints(self) -> str:
        """Return the setting ``failpoints`` of the test."""

    @abstractmethod
    async def keep_failpoints(self, broker_id: int, failpoints: str) -> None:
        """Write the setting ``failpoints`` that the broker reads when it starts."""

    @abstractmethod
    def metrics_address(self, broker_id: int) -> str:
        """Return ``host:port`` of the broker's metrics page."""

    @abstractmethod
    async def ends(self, broker_id: int, timeout_s: float) -> bool:
        """Wait for the end of the broker's process; return False if it has not ended in time."""

    @abstractmethod
    async def hand(self, call: Callable[[], T]) -> T:
        """Make a call that blocks."""

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
        faults = [self.own_failpoints(), "disk.full=error" if is_full else ""]
        await self.keep_failpoints(broker_id, ",".join(filter(None, faults)))
        if self.state_of(broker_id) == "dead":
            return
        address = self.metrics_address(broker_id)
        try:
            await self.hand(lambda: metrics.arm(address, "disk.full", "error" if is_full else "off"))
        except OSError as error:
            # A broker whose only disk is full ends by itself, and stops serving this port first. It reads
            # the setting when it is started again.
            if not await self.ends(broker_id, _END_S):
                raise RefusedError(f"broker {broker_id} does not answer: {error}") from error
        name = metrics.OFFLINE_DIRECTORIES
        if not is_full and (await self.hand(lambda: metrics.gauges(address, name))).get(name) != 0:
            # A write has failed, or the broker answers nobody any more: it is about to end.
            await self.ends(broker_id, _END_S)

    def touched(self) -> set[str]:
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
        if self.touched():
            await self.heal()
        for broker_id in self.ids:
            if self.state_of(broker_id) == "paused":
                await self.resume(broker_id)
        for broker_id in sorted(self._full):
            await self.free_disk(broker_id)
        await self.end_stopped(left)
        for broker_id in self.ids:
            if self.state_of(broker_id) == "dead":
                await self.start_broker(broker_id, left())

    async def end_stopped(self, left: Callable[[], float]) -> None:
        """Wait for brokers that were stopped and have not ended; by default there are none."""


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
