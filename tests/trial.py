"""A trial: a topic under load, a nemesis, and the check of the history."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

import confluent_kafka

from barnabas.checker.checker import Verdict, check
from barnabas.cluster.model.ids import BrokerId
from barnabas.local.observe import ClusterView, Observer
from barnabas.local.waiting import wait_until
from barnabas.workload.clients import LIBRARIES
from barnabas.workload.history import History, save
from barnabas.workload.workload import REPLICATION_FACTOR, SAFE, Workload, read_back


class Victims(Protocol):
    """Broker processes that can be signalled, such as ``barnabas.local.cluster.LocalCluster``."""

    def kill(self, broker_id: BrokerId) -> None:
        """Send SIGKILL and wait until the process is gone."""
        ...

    def pause(self, broker_id: BrokerId) -> None:
        """Send SIGSTOP and wait until the process stands still."""
        ...

    def resume(self, broker_id: BrokerId) -> None:
        """Send SIGCONT."""
        ...

    def restart(self, broker_id: BrokerId) -> None:
        """Start a dead broker again with its old directory and ports."""
        ...


class Nemesis:
    """A nemesis that tests call; it records each fault in the history before injecting it.

    Args:
        victims: The broker processes.
        look: Returns the cluster as a client sees it now.
        history: The history to which each fault is appended.
    """

    def __init__(self, victims: Victims, look: Callable[[], ClusterView], history: History) -> None:
        self._victims = victims
        self._look = look
        self._history = history

    def kill_leader_of_most(self) -> BrokerId:
        """Send SIGKILL to the broker that leads most partitions, and return its id.

        Raises:
            LookupError: No partition has a leader.
        """
        broker = self._look().leader_of_most()
        self._history.fault(f"SIGKILL broker {broker}, which leads most partitions")
        self._victims.kill(broker)
        return broker

    def kill_controller(self) -> BrokerId:
        """Send SIGKILL to the controller, and return its id.

        Raises:
            LookupError: There is no controller.
        """
        broker = self._look().controller
        if broker is None:
            raise LookupError("no broker is the controller")
        self._history.fault(f"SIGKILL broker {broker}, which is the controller")
        self._victims.kill(broker)
        return broker

    def kill(self, broker: BrokerId) -> None:
        """Send SIGKILL to a broker."""
        self._history.fault(f"SIGKILL broker {broker}")
        self._victims.kill(broker)

    def pause(self, broker: BrokerId) -> None:
        """Send SIGSTOP to a broker."""
        self._history.fault(f"SIGSTOP broker {broker}")
        self._victims.pause(broker)

    def resume(self, broker: BrokerId) -> None:
        """Send SIGCONT to a broker."""
        self._history.fault(f"SIGCONT broker {broker}")
        self._victims.resume(broker)

    def restart(self, broker: BrokerId) -> None:
        """Start a broker again."""
        self._history.fault(f"restart broker {broker}")
        self._victims.restart(broker)


class Defendant(Victims, Protocol):
    """The cluster of a trial."""

    @property
    def bootstrap(self) -> str:
        """``bootstrap.servers`` for clients."""
        ...


class Trial:
    """A trial that writes to a new topic while its ``with`` block runs; ``judge`` then reads everything back.

    Args:
        cluster: A running cluster.
        library: The client to write and read with, a key of ``LIBRARIES``.
        topic: The name of the topic, which the trial creates.
        partitions: The number of partitions.
        rate: Records per second.
        configs: The topic's settings.

    Attributes:
        observer: The client's view of the cluster.
        history: The history so far.
        nemesis: The nemesis, which records its faults.
        workload: The producer, which runs inside the block.
    """

    def __init__(
        self,
        cluster: Defendant,
        library: str = "confluent-kafka",
        *,
        topic: str = "trial",
        partitions: int = 6,
        rate: float = 1_000.0,
        configs: Mapping[str, str] = SAFE,
    ) -> None:
        self._cluster = cluster
        self._library = LIBRARIES[library]
        self._topic = topic
        self.observer = Observer(cluster.bootstrap)
        self.partitions = self.observer.create_topic(
            topic, partitions=partitions, replication_factor=REPLICATION_FACTOR, configs=dict(configs)
        )
        self.history = History(time.monotonic)
        self.nemesis = Nemesis(cluster, self.look, self.history)
        self.workload = Workload(
            self._library.producer(cluster.bootstrap), self.partitions, self.history, rate=rate
        )

    def __enter__(self) -> Self:
        self.workload.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.workload.stop()

    def look(self) -> ClusterView:
        """Return the cluster as a client sees it, with the partitions of this trial."""
        return self.observer.look(self._topic)

    def wait_for(
        self, holds: Callable[[ClusterView], bool], what: str, timeout_s: float = 60.0
    ) -> ClusterView:
        """Poll the cluster until ``holds`` is true, and return that view.

        Raises:
            TimeoutError: The time is over; the message names ``what`` and the last view.
        """
        view = ClusterView()

        def seen() -> bool:
            nonlocal view
            try:
                view = self.look()
            except confluent_kafka.KafkaException:
                return False  # the broker that was asked may be dead or paused
            return holds(view)

        wait_until(seen, what, timeout_s, last=lambda: view)
        return view

    def wait_until_in_sync(self, timeout_s: float = 60.0) -> ClusterView:
        """Wait until every partition has a leader and all replicas in sync, and return that view."""
        return self.observer.wait_until_in_sync(
            self._topic, partitions=len(self.partitions), timeout_s=timeout_s
        )

    def judge(self, keep_in: Path | None = None) -> Verdict:
        """Read everything back and check the history.

        Args:
            keep_in: The directory for ``history.jsonl``; None to keep no file.
        """
        reader = self._library.reader(self._cluster.bootstrap, self.partitions)
        read_back(reader, self.partitions, self.history)
        if keep_in is not None:
            save(keep_in / "history.jsonl", self.history.ops())
        return check(self.history.ops())
