"""A running cluster of processes on this machine, with the switches between them."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

from barnabas.cluster.model.ids import BrokerId
from barnabas.local.broker_process import BrokerProcess
from barnabas.local.cluster import LocalCluster
from barnabas.local.links import HEALTHY, Condition, Links
from barnabas.local.switches import detours
from barnabas.testing.errors import ClusterError, RefusedError, WaitTimeoutError
from barnabas.testing.options import Options
from barnabas.testing.running import CLIENTS, Node, Running, name_of

T = TypeVar("T")

_OFFLINE_DIRECTORIES = "kafka_log_LogManager_OfflineLogDirectoryCount"
_END_S = 10.0
"""Seconds for the end of a broker that has stopped serving."""


class RunningProcesses(Running):
    """A cluster of processes.

    Args:
        options: What it is made of.
        local: The processes, of which none was started except ZooKeeper.
        hands: Threads for calls that block. They start the processes too, which Linux ends with them.
        launched: The start of ZooKeeper.
    """

    def __init__(
        self, options: Options, local: LocalCluster, hands: ThreadPoolExecutor, launched: Future[None]
    ) -> None:
        super().__init__(map(int, local.brokers), local.zookeeper_connect, local.directory)
        self._options = options
        self._local = local
        self._hands = hands
        self._launched = launched
        self._links = Links()
        self._paused: set[int] = set()
        self._full: set[int] = set()
        self._ending: set[int] = set()
        self._is_starting = True

    async def start(self, timeout_s: float) -> None:
        """Start everything, and wait until all brokers serve and know each other."""
        await self._wire()
        await asyncio.wrap_future(self._launched)
        await self._hand(self._local.launch)
        await self.all_serve(timeout_s)
        self._is_starting = False

    async def stop(self) -> None:
        """Stop everything; what does not stop in time is killed."""
        self._links.heal()
        await self.view.close()
        await self._hand(self._local.stop)
        self._links.stop()
        self._hands.shutdown(wait=False)

    async def _wire(self) -> None:
        """Create the switches, and tell each broker its own addresses of the others."""
        advertised, brokers = [], self._local.brokers.values()
        for broker in brokers:
            clients = await self._links.join(CLIENTS, str(broker.id), broker.kafka)
            broker.own_settings |= {
                "advertised.listeners": f"PLAINTEXT://{clients},GRPC://{broker.grpc}",
                **await detours(self._links, broker, brokers, self.zookeeper, lambda: self._is_starting),
            }
            if self._options.racks:
                broker.own_settings["broker.rack"] = self._options.racks[broker.id - 1]
            advertised.append(clients)
        self.bootstrap_servers = ",".join(advertised)

    def refuse_ends(self, broker_ids: Iterable[int]) -> None:
        """Raise ClusterError with the last words of a broker whose process has ended."""
        for broker in map(self._broker, broker_ids):
            raise ClusterError(
                f"broker {broker.id} ended with status {broker.exit_status}: {broker.last_words()} "
                f"(see {broker.console})"
            )

    async def kill(self, broker_id: int) -> None:
        """Send SIGKILL, and wait for the end of the process."""
        broker = self._broker(broker_id)
        self.note(f"SIGKILL to broker {broker_id}")
        await self._hand(lambda: self._local.kill(broker.id))
        self._paused.discard(broker_id)
        self.view.wake()

    async def terminate(self, broker_id: int, timeout_s: float) -> None:
        """Send SIGTERM, and wait for the end of the process."""
        broker = self._broker(broker_id)
        self.note(f"SIGTERM to broker {broker_id}")
        broker.signal(signal.SIGCONT)
        self._paused.discard(broker_id)
        broker.signal(signal.SIGTERM)
        self._ending.add(broker_id)
        if not await self._hand(lambda: broker.wait(timeout_s)):
            raise WaitTimeoutError(
                f"broker {broker_id} ends after SIGTERM: not within {timeout_s:g} s; {await self.standing()}"
            )
        self._ending.discard(broker_id)
        self.view.wake()

    async def start_broker(self, broker_id: int, timeout_s: float) -> None:
        """Start the process if it does not run, and wait until it serves."""
        broker = self._broker(broker_id)
        if broker.pid is None:
            self.note(f"start broker {broker_id}")
            self._local.write_properties(broker.id)
            await self._hand(broker.start)
        await self.serves(broker_id, timeout_s)

    async def pause(self, broker_id: int) -> None:
        """Send SIGSTOP."""
        self.check_runs(broker_id)
        self.note(f"SIGSTOP to broker {broker_id}")
        self._broker(broker_id).signal(signal.SIGSTOP)
        self._paused.add(broker_id)

    async def resume(self, broker_id: int) -> None:
        """Send SIGCONT."""
        self.check_runs(broker_id)
        self.note(f"SIGCONT to broker {broker_id}")
        self._broker(broker_id).signal(signal.SIGCONT)
        self._paused.discard(broker_id)

    async def fill_disk(self, broker_id: int) -> None:
        """Make all writes to the broker's log directories fail with ENOSPC."""
        await self._arm(self._broker(broker_id), is_full=True)

    async def free_disk(self, broker_id: int) -> None:
        """Let writes succeed again."""
        await self._arm(self._broker(broker_id), is_full=False)

    async def _arm(self, broker: BrokerProcess, *, is_full: bool) -> None:
        self.note(f"{'fill' if is_full else 'free'} the disk of broker {broker.id}")
        (self._full.add if is_full else self._full.discard)(int(broker.id))
        faults = [self._options.settings.get("failpoints", ""), "disk.full=error" if is_full else ""]
        broker.own_settings["failpoints"] = ",".join(filter(None, faults))
        if broker.pid is not None:
            try:
                await self._hand(lambda: broker.arm("disk.full", "error" if is_full else "off"))
            except OSError as error:
                # A broker whose only disk is full ends by itself, and stops serving this port first. It reads
                # the setting when it is started again.
                if not await self._hand(lambda: broker.wait(_END_S)):
                    raise RefusedError(f"broker {broker.id} does not answer: {error}") from error
            if not is_full and await self._hand(lambda: broker.gauge(_OFFLINE_DIRECTORIES)) != 0:
                # A write has failed, or the broker answers nobody any more: it is about to end.
                await self._hand(lambda: broker.wait(_END_S))

    async def partition(self, node: Node, others: Collection[Node], *, one_way: bool, refuse: bool) -> None:
        """Cut or refuse what flows between ``node`` and the others."""
        self._disturb(
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
        self._disturb(
            node,
            others,
            lambda was: replace(was, delay_s=slowness.delay_s, bytes_per_second=slowness.bytes_per_second),
            one_way=one_way,
        )

    def _disturb(
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
        for other in others:
            a, b = str(node), str(other)
            for ends in [(a, b)] if one_way else [(a, b), (b, a)]:
                self._links.change(*ends, change(self._links.condition(*ends)))

    async def heal(self) -> None:
        """Set all ways to healthy."""
        self.note("heal the network")
        self._links.heal()

    def addresses(self, *, reachable: bool = False) -> dict[int, str]:
        """Return ``host:port`` of each running broker, past the switches, by id.

        Args:
            reachable: Leave out those that are paused or that a link is disturbed to.
        """
        touched = {end for *ends, _ in self._links.disturbed() for end in ends} if reachable else set()
        return {
            int(broker.id): broker.kafka
            for broker in self._local.brokers.values()
            if broker.pid is not None
            and not (reachable and (broker.id in self._paused or str(broker.id) in touched))
        }

    def state_of(self, broker_id: int) -> str:
        """Return ``running``, ``paused`` or ``dead``."""
        if self._broker(broker_id).pid is None:
            return "dead"
        return "paused" if broker_id in self._paused else "running"

    def faults(self) -> list[str]:
        """Describe the faults that last, except those of processes."""
        disturbed = [f"{a} -> {b}: {describe(condition)}" for a, b, condition in self._links.disturbed()]
        return disturbed + [f"the disk of broker {each} is full" for each in sorted(self._full)]

    def logs(self) -> Iterator[str]:
        """Generate the lines of all brokers' state-change.log and server.log."""
        for broker in self._local.brokers.values():
            # A log is rolled every hour.
            for file in sorted(broker.state_change_log.parent.glob("s*.log*")):
                with file.open(encoding="utf-8", errors="replace") as log:
                    yield from log

    async def undo_faults(self, left: Callable[[], float]) -> None:
        """Heal the network, free disks, resume what is paused, and start what is dead."""
        if self._links.disturbed():
            await self.heal()
        for broker_id in sorted(self._paused):
            await self.resume(broker_id)
        for broker_id in sorted(self._full):
            await self.free_disk(broker_id)
        for broker_id in sorted(self._ending):
            await self._end(broker_id, left())
        for broker_id in self.ids:
            if self.state_of(broker_id) == "dead":
                await self.start_broker(broker_id, left())

    async def _end(self, broker_id: int, seconds: float) -> None:
        """Wait until a broker has ended that was stopped but not waited for; kill it if it is late."""
        if not await self._hand(lambda: self._broker(broker_id).wait(seconds)):
            await self.kill(broker_id)
        self._ending.discard(broker_id)

    def _broker(self, broker_id: int) -> BrokerProcess:
        self.check_known(broker_id)
        return self._local.brokers[BrokerId(broker_id)]

    async def _hand(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._hands, call)


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
