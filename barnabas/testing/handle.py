"""The common part of ``Cluster`` and ``AsyncCluster``: the processes, their event loop, and facts."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.local.forks import Forks
from barnabas.testing.errors import ClusterError
from barnabas.testing.options import Options

if TYPE_CHECKING:
    from barnabas.testing.running import Running

READY_TIMEOUT_S = 60.0
"""Seconds for the start of a cluster or a broker."""

WAIT_TIMEOUT_S = 30.0
"""Seconds for every other wait."""

_THREADS = 8
"""The number of threads for calls that block."""

LIVE: list[AnyCluster] = []
"""The clusters of this process that run, for reports of failed tests."""


class Handle:
    """A running cluster with the thread of its event loop.

    Args:
        running: The cluster.
        temporary: A folder that is deleted in the end.

    Attributes:
        running: The cluster.
        thread: The thread.
    """

    def __init__(self, running: Running, temporary: tempfile.TemporaryDirectory[str] | None = None) -> None:
        from barnabas.local.loop_thread import LoopThread

        self.running = running
        self.thread = LoopThread("barnabas-cluster")
        self._temporary = temporary
        self._is_over = False

    def close(self) -> None:
        """End the thread, and delete a temporary folder."""
        self.thread.stop()
        if self._temporary is not None:
            self._temporary.cleanup()

    async def stop(self) -> None:
        """Stop the cluster once; must be called on its loop."""
        if not self._is_over:
            self._is_over = True
            LIVE[:] = [each for each in LIVE if each._running is not self.running]  # noqa: SLF001  # of AnyCluster
            await self.running.stop()


def on_this_machine(options: Options, directory: Path | str | None) -> Handle:
    """Create a cluster of processes: an embedded ZooKeeper and brokers 1 to n, on free ports of loopback.

    No process outlives this one, however that ends.

    Args:
        options: The options of the cluster.
        directory: The folder for data and logs, which is kept; None for a temporary one, which is deleted
            when the cluster stops.

    Raises:
        PortError: There are no free ports.
    """
    temporary: tempfile.TemporaryDirectory[str] | None = None
    if directory is None:
        temporary = tempfile.TemporaryDirectory(prefix="barnabas-", ignore_cleanup_errors=True)
        directory = temporary.name
    place = Path(directory).resolve()
    place.mkdir(parents=True, exist_ok=True)
    # The process that forks brokers needs the longest, so it starts before anything else is imported.
    forks = Forks(place)
    forks.warm()
    from barnabas.local.cluster import LocalCluster

    # A test survives no power cut, and ZooKeeper writes some dozen times before a cluster serves.
    local = LocalCluster(
        place, options.brokers, overrides=options.all_settings(), children=forks, force_sync=False
    )
    threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="barnabas-blocking")
    assert local.zookeeper is not None
    launched = threads.submit(local.zookeeper.launch)
    # ZooKeeper and the process that forks brokers start meanwhile; kazoo's import takes as long.
    from barnabas.testing.processes import RunningProcesses

    return Handle(RunningProcesses(options, local, threads, launched), temporary)


class AnyCluster:
    """The common part of ``Cluster`` and ``AsyncCluster``: construction, and facts that need no wait.

    Args:
        brokers: The number of brokers; their ids are 1 to this.
        settings: Settings of every broker, over those for tests (``barnabas.testing.options``).
        session_timeout_ms: ``zookeeper.session.timeout.ms``, at least 1000: the milliseconds after which the
            others notice that a broker was killed or cut off.
        racks: The ``broker.rack`` of broker 1, 2 and so on; empty for none.
        directory: The folder for data and logs, which is kept; None for a temporary one, which is deleted
            when the cluster stops.
        handle: A cluster that exists already; the other arguments do not count then.

    Raises:
        ValueError: An option is not possible, or brokers have no such setting or refuse its value.
        PortError: There are no free ports.
    """

    def __init__(
        self,
        brokers: int = 3,
        *,
        settings: Mapping[str, str] | None = None,
        session_timeout_ms: int = 3_000,
        racks: Sequence[str] = (),
        directory: Path | str | None = None,
        handle: Handle | None = None,
    ) -> None:
        if handle is None:
            options = Options(brokers, dict(settings or {}), session_timeout_ms, tuple(racks))
            handle = on_this_machine(options, directory)
        self._handle = handle
        self._running = handle.running
        if all(each._running is not self._running for each in LIVE):  # noqa: SLF001  # of this class
            LIVE.append(self)

    @property
    def bootstrap_servers(self) -> str:
        """``bootstrap.servers`` for clients: all brokers, including dead ones."""
        return self._running.bootstrap_servers

    @property
    def zookeeper(self) -> str:
        """``host:port`` of ZooKeeper, for tools that ask for ``zookeeper.connect``."""
        return self._running.zookeeper

    @property
    def brokers(self) -> list[int]:
        """The ids of all brokers, including dead ones."""
        return self._running.ids

    @property
    def directory(self) -> Path:
        """The folder of all files; ``broker-1/logs`` has the logs of broker 1.

        Raises:
            ClusterError: The files are in containers.
        """
        if self._running.directory is None:
            raise ClusterError(f"there is no folder of all files here: the logs are in {self.logs_at}")
        return self._running.directory

    @property
    def logs_at(self) -> str:
        """The place of all brokers' logs, in words for people."""
        return self._running.logs_at

    def state_of(self, broker: int) -> str:
        """Return the state of a broker's process: ``running``, ``paused`` or ``dead``.

        Raises:
            UnknownBrokerError: There is no such broker.
        """
        return self._running.state_of(broker)

    def story(self, since: str = "") -> list[str]:
        """Return a line for each fault, and for each change of controller, leader or ISR.

        Args:
            since: The time from which on, as ``barnabas.testing.story.stamp`` returns it; all by default.
        """
        return self._running.story(since)
