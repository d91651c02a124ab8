"""A running cluster of processes on this machine, with the switches between them."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from barnabas.cluster.model.ids import BrokerId
from barnabas.local.broker_process import BrokerProcess
from barnabas.local.cluster import LocalCluster
from barnabas.local.links import Links
from barnabas.local.switches import detours
from barnabas.testing.errors import ClusterError, WaitTimeoutError
from barnabas.testing.faults import CLIENTS, Ways
from barnabas.testing.options import Options
from barnabas.testing.running import Running

T = TypeVar("T")


class RunningProcesses(Running):
    """A cluster of processes.

    Args:
        options: The options of the cluster.
        local: The processes, of which none was started except ZooKeeper.
        threads: Threads for calls that block. They start the processes too, which Linux ends with them.
        launched: The start of ZooKeeper.
    """

    def __init__(
        self, options: Options, local: LocalCluster, threads: ThreadPoolExecutor, launched: Future[None]
    ) -> None:
        super().__init__(options, local.zookeeper_connect, local.directory)
        self._local = local
        self._threads = threads
        self._launched = launched
        self._links = Links()
        self._paused: set[int] = set()
        self._is_starting = True

    async def start(self, timeout_s: float) -> None:
        """Start everything, and wait until all brokers serve and know each other."""
        await self._create_switches()
        await asyncio.wrap_future(self._launched)
        await self.on_thread(self._local.launch)
        await self.all_serve(timeout_s)
        self._is_starting = False

    async def stop(self) -> None:
        """Stop everything; what does not stop in time is killed."""
        self._links.heal()
        await self.view.close()
        await self.on_thread(self._local.stop)
        await self._links.stop()
        self._threads.shutdown(wait=False)

    async def _create_switches(self) -> None:
        """Create the switches, and the settings that lead each broker through its own."""
        advertised, brokers = [], self._local.brokers.values()
        for broker in brokers:
            clients = await self._links.join(CLIENTS, str(broker.id), broker.kafka)
            broker.own_settings |= {
                "advertised.listeners": f"PLAINTEXT://{clients},GRPC://{broker.grpc}",
                **await detours(self._links, broker, brokers, self.zookeeper, lambda: self._is_starting),
            }
            if self.options.racks:
                broker.own_settings["broker.rack"] = self.options.racks[broker.id - 1]
            advertised.append(clients)
        self.bootstrap_servers = ",".join(advertised)

    def raise_if_ended(self, broker_ids: Iterable[int]) -> None:
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
        await self.on_thread(lambda: self._local.kill(broker.id))
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
        if not await self.on_thread(lambda: broker.wait(timeout_s)):
            state = await self.describe_state()
            raise WaitTimeoutError(
                f"broker {broker_id} ends after SIGTERM: not within {timeout_s:g} s; {state}"
            )
        self._ending.discard(broker_id)
        self.view.wake()

    async def start_broker(self, broker_id: int, timeout_s: float) -> None:
        """Start the process if it does not run, and wait until it serves."""
        broker = self._broker(broker_id)
        if broker.pid is None:
            self.note(f"start broker {broker_id}")
            self._local.write_properties(broker.id)
            await self.on_thread(broker.start)
        await self.serves(broker_id, timeout_s)

    async def pause(self, broker_id: int) -> None:
        """Send SIGSTOP, and wait until the process stands still."""
        self.check_runs(broker_id)
        self.note(f"SIGSTOP to broker {broker_id}")
        self._paused.add(broker_id)
        await self.on_thread(self._broker(broker_id).pause)

    async def resume(self, broker_id: int) -> None:
        """Send SIGCONT."""
        self.check_runs(broker_id)
        self.note(f"SIGCONT to broker {broker_id}")
        self._broker(broker_id).signal(signal.SIGCONT)
        self._paused.discard(broker_id)

    async def change_links(self, ways: Ways) -> None:
        """Change the conditions of ways."""
        for ends, condition in ways.items():
            self._links.change(*ends, condition)

    async def write_failpoints(self, broker_id: int, failpoints: str) -> None:
        """Keep the setting for the properties that a start writes."""
        self._broker(broker_id).own_settings["failpoints"] = failpoints

    def metrics_address(self, broker_id: int) -> str:
        """Return ``host:port`` of the broker's metrics page."""
        return self._broker(broker_id).metrics

    async def ends(self, broker_id: int, timeout_s: float) -> bool:
        """Wait for the end of the process."""
        return await self.on_thread(lambda: self._broker(broker_id).wait(timeout_s))

    def address(self, broker_id: int) -> str:
        """Return ``host:port`` of a broker, past the switches."""
        return self._broker(broker_id).kafka

    def state_of(self, broker_id: int) -> str:
        """Return ``running``, ``paused`` or ``dead``."""
        if self._broker(broker_id).pid is None:
            return "dead"
        return "paused" if broker_id in self._paused else "running"

    def logs(self) -> Iterator[str]:
        """Generate the lines of all brokers' state-change.log and server.log."""
        for broker in self._local.brokers.values():
            # A log is rolled every hour.
            for file in sorted(broker.state_change_log.parent.glob("s*.log*")):
                with file.open(encoding="utf-8", errors="replace") as log:
                    yield from log

    def _broker(self, broker_id: int) -> BrokerProcess:
        self.check_known(broker_id)
        return self._local.brokers[BrokerId(broker_id)]

    async def on_thread(self, call: Callable[[], T]) -> T:
        """Make a call that blocks on one of the threads."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)
