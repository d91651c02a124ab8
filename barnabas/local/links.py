"""Links between nodes that can be cut, refused, delayed and slowed without root.

A node is a broker (``1``), ``zookeeper`` or ``clients``. Each node reaches each server by an address of its
own, which is a TCP proxy here; so the address of a connection identifies its node. Data from a to b travels
over connections that a opened to b, and over connections that b opened to a; both belong to the *way* from
a to b. A cut way is silent, as a network that drops packets: nothing is refused, connections stay open, and
data arrives after the way is healed, because TCP sends it again.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from barnabas.local.ports import HOST

_CHUNK = 64 * 1024
_IN_FLIGHT = 256
"""The most delayed chunks of one direction of a connection; beyond it the sender is stopped."""

_RETRY_S = 0.01


@dataclass(frozen=True, slots=True)
class Condition:
    """The condition of a way.

    Attributes:
        is_cut: Whether nothing arrives.
        is_refused: Whether connections are reset, those that exist and new ones.
        delay_s: Seconds by which everything arrives later.
        bytes_per_second: The bandwidth; None for no limit.

    Raises:
        ValueError: The delay is negative, or the bandwidth not positive.
    """

    is_cut: bool = False
    is_refused: bool = False
    delay_s: float = 0.0
    bytes_per_second: float | None = None

    def __post_init__(self) -> None:
        if self.delay_s < 0:
            raise ValueError(f"the delay is {self.delay_s * 1000:g} ms, expected at least 0")
        if self.bytes_per_second is not None and self.bytes_per_second <= 0:
            raise ValueError(
                f"bytes_per_second is {self.bytes_per_second:g}, expected more than 0; partition cuts a link"
            )


HEALTHY = Condition()


class Way:
    """The data from one node to another, over all of their connections."""

    def __init__(self) -> None:
        self._condition = HEALTHY
        self._open = asyncio.Event()
        self._open.set()
        self._free_at = 0.0

    @property
    def condition(self) -> Condition:
        """The condition at the moment."""
        return self._condition

    def change(self, condition: Condition) -> None:
        """Change the condition; must be called on the loop."""
        self._condition = condition
        if condition.is_cut:
            self._open.clear()
        else:
            self._open.set()

    async def until_open(self) -> None:
        """Wait until the way is not cut."""
        await self._open.wait()

    def due(self, size: int) -> float:
        """Return the loop's time at which ``size`` bytes that are sent now arrive."""
        now = asyncio.get_running_loop().time()
        if self._condition.bytes_per_second is None:
            return now + self._condition.delay_s
        self._free_at = max(now, self._free_at) + size / self._condition.bytes_per_second
        return self._free_at + self._condition.delay_s


class Switch:
    """The address by which one node reaches a server of another.

    Args:
        target: ``host:port`` of the server.
        there: The way from the node that connects to the one that serves.
        back: The way of the answers.
        waits_for_server: Whether a connection waits until the server listens, instead of being reset.
    """

    def __init__(
        self, target: str, there: Way, back: Way, waits_for_server: Callable[[], bool] = lambda: False
    ) -> None:
        self._host, _, port = target.rpartition(":")
        self._port = int(port)
        self._there, self._back = there, back
        self._waits_for_server = waits_for_server
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self.address = ""

    async def start(self, host: str, port: int) -> None:
        """Listen, on a free port if ``port`` is 0, and set ``address``."""
        self._server = await asyncio.start_server(self._accept, host, port, backlog=1024)
        host, port = self._server.sockets[0].getsockname()
        self.address = f"{host}:{port}"

    def stop(self) -> None:
        """Close the listener, and reset all connections; ``until_stopped`` waits until their tasks ended."""
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        self.reset()

    async def until_stopped(self) -> None:
        """Wait until no task of a connection runs; a cut way holds them up."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def reset(self) -> None:
        """Reset all connections."""
        for writer in self._connections:
            writer.transport.abort()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._connections.add(writer)
        try:
            await self._join(reader, writer)
        except asyncio.CancelledError:
            pass  # the switch is stopped; asyncio would log it
        finally:
            self._tasks.discard(task)
            self._connections.discard(writer)
            writer.transport.abort()

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._there.condition.is_refused or self._back.condition.is_refused:
            return
        # TCP's handshake needs both ways.
        await self._there.until_open()
        await self._back.until_open()
        far = await self._connect()
        if far is None:
            return
        far_reader, far_writer = far
        self._connections.add(far_writer)
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(_carry(reader, far_writer, self._there))
                both.create_task(_carry(far_reader, writer, self._back))
        except* OSError:
            pass  # one side is gone, so the other is reset
        finally:
            self._connections.discard(far_writer)
            far_writer.transport.abort()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        while True:
            try:
                return await asyncio.open_connection(self._host, self._port)
            except OSError:
                if not self._waits_for_server():
                    return None
                await asyncio.sleep(_RETRY_S)


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: Way) -> None:
    """Carry what is read to the other side, in order, as the way's condition says."""
    queue: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(_IN_FLIGHT)

    async def deliver() -> None:
        loop = asyncio.get_running_loop()
        while True:
            due, data = await queue.get()
            if due > loop.time():
                await asyncio.sleep(due - loop.time())
            await way.until_open()
            if not data:
                with contextlib.suppress(RuntimeError):  # the transport has been closed
                    writer.write_eof()
                return
            writer.write(data)
            await writer.drain()

    delivering = asyncio.create_task(deliver())
    try:
        while True:
            data = await reader.read(_CHUNK)
            await queue.put((way.due(len(data)), data))
            if not data:
                await delivering
                return
            if delivering.done():
                delivering.result()
    except BaseException:
        await way.until_open()  # a reset does not pass a cut either
        raise
    finally:
        delivering.cancel()
        await asyncio.gather(delivering, return_exceptions=True)


class Links:
    """All ways of a cluster, and the switches on them. Everything is called on one event loop."""

    def __init__(self) -> None:
        self._ways: dict[tuple[str, str], Way] = {}
        self._switches: dict[tuple[str, str], Switch] = {}

    async def join(
        self,
        source: str,
        server: str,
        target: str,
        waits_for_server: Callable[[], bool] = lambda: False,
        *,
        listen: tuple[str, int] = (HOST, 0),
    ) -> str:
        """Create the address by which the node ``source`` reaches ``target``, which the node ``server`` owns.

        Args:
            source: The node that connects.
            server: The node that owns ``target``.
            target: ``host:port``.
            waits_for_server: Whether a connection waits until the server listens, instead of being reset.
            listen: The host and port of the new address; port 0 stands for a free one.

        Returns:
            ``host:port``.
        """
        switch = Switch(target, self._way(source, server), self._way(server, source), waits_for_server)
        await switch.start(*listen)
        self._switches[source, server] = switch
        return switch.address

    def change(self, source: str, target: str, condition: Condition) -> None:
        """Change the condition of the way from ``source`` to ``target``."""
        self._ways[source, target].change(condition)
        if condition.is_refused:
            for ends in ((source, target), (target, source)):
                if ends in self._switches:
                    self._switches[ends].reset()

    def condition(self, source: str, target: str) -> Condition:
        """Return the condition of what flows from ``source`` to ``target``."""
        return self._ways[source, target].condition

    def heal(self) -> None:
        """Set all ways to healthy."""
        for way in self._ways.values():
            way.change(HEALTHY)

    def disturbed(self) -> list[tuple[str, str, Condition]]:
        """Return the ways that are not healthy, sorted."""
        return sorted((*ends, way.condition) for ends, way in self._ways.items() if way.condition != HEALTHY)

    async def stop(self) -> None:
        """Close everything, and wait until no task of a connection runs.

        A loop that is closed while such a task waits destroys it, and asyncio logs that as an error.
        """
        for switch in self._switches.values():
            switch.stop()
        self.heal()  # what waited for a way that was cut finds its connection reset
        for switch in self._switches.values():
            await switch.until_stopped()

    def _way(self, source: str, target: str) -> Way:
        return self._ways.setdefault((source, target), Way())
