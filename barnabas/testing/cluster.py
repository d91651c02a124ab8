"""A cluster of real brokers for a test, which can be killed, paused, cut off and filled up.

>>> with Cluster(brokers=3) as cluster:
...     cluster.create_topic("orders", partitions=6)
...     with cluster.killed(cluster.leader_of("orders", 0)):
...         ...  # the application under test writes to cluster.bootstrap_servers

Methods that wait have a time limit, and the error says what was awaited and how things stand.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from barnabas.testing.aio import AsyncCluster
from barnabas.testing.handle import READY_TIMEOUT_S, WAIT_TIMEOUT_S, Facts, Handle, on_this_machine

if TYPE_CHECKING:  # these imports take longer than the start of the processes
    from barnabas.testing.faults import Node
    from barnabas.testing.running import Checkpoint
    from barnabas.testing.view import State

__tracebackhide__ = True
"""pytest shows the line of the test that called, and no frames of this module."""


class Cluster(Facts):
    """A cluster whose methods block; any thread may call them. ``on_this_machine`` describes the arguments.

    Attributes:
        aio: The same cluster for async code.
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
        handle = handle or on_this_machine(
            brokers,
            settings=settings,
            session_timeout_ms=session_timeout_ms,
            racks=racks,
            directory=directory,
        )
        super().__init__(handle)
        self.aio = AsyncCluster(handle=handle)

    def __enter__(self) -> Self:
        try:
            self._handle.thread.run(self._running.start(READY_TIMEOUT_S))
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop everything; what does not stop in time is killed."""
        self._handle.thread.run(self._handle.stop())
        self._handle.close()

    def controller_id(self, timeout_s: float = WAIT_TIMEOUT_S) -> int:
        """Return the controller's id, once there is one whose process runs.

        Raises:
            WaitTimeoutError: There is none in time.
        """
        return self._handle.thread.run(self._running.controller_id(timeout_s))

    def leader_of(self, topic: str, partition: int = 0, timeout_s: float = WAIT_TIMEOUT_S) -> int:
        """Return a partition's leader, once it has one whose process runs.

        Raises:
            UnknownTopicError: There is no such topic or partition.
            WaitTimeoutError: It has none in time.
        """
        return self._handle.thread.run(self._running.leader_of(topic, partition, timeout_s))

    def isr_of(self, topic: str, partition: int = 0) -> tuple[int, ...]:
        """Return a partition's in-sync replicas at the moment, ascending.

        Raises:
            UnknownTopicError: There is no such topic or partition.
        """
        return self._handle.thread.run(self._running.isr_of(topic, partition))

    def replicas_of(self, topic: str, partition: int = 0) -> tuple[int, ...]:
        """Return a partition's replicas, the preferred leader first.

        Raises:
            UnknownTopicError: There is no such topic or partition.
        """
        return self._handle.thread.run(self._running.replicas_of(topic, partition))

    def state(self, topics: Iterable[str] = ()) -> State:
        """Return what ZooKeeper knows: registered brokers, the controller, and the partitions of ``topics``.

        Raises:
            ZooKeeperError: ZooKeeper does not answer.
        """
        return self._handle.thread.run(self._running.look(topics))

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        replication_factor: int | None = None,
        *,
        configs: Mapping[str, str] | None = None,
        assignment: Mapping[int, Sequence[int]] | None = None,
        timeout_s: float = WAIT_TIMEOUT_S,
    ) -> None:
        """Create a topic, and wait until all brokers that can be reached know its leaders, and it is in sync.

        Args:
            name: The topic.
            partitions: The number of partitions.
            replication_factor: The replicas of each; None for three, or as many as there are brokers.
            configs: The topic's settings.
            assignment: The replicas of each partition by number, instead of the two numbers above.
            timeout_s: Seconds.

        Raises:
            RefusedError: The controller refused; the message has Kafka's error.
            WaitTimeoutError: It is not so in time.
        """
        self._handle.thread.run(
            self._running.create_topic(
                name,
                partitions=partitions,
                replication_factor=replication_factor,
                configs=configs or {},
                assignment=assignment or {},
                timeout_s=timeout_s,
            )
        )

    def delete_topic(self, name: str, timeout_s: float = WAIT_TIMEOUT_S) -> None:
        """Delete a topic, and wait until it is gone; that needs all brokers with its replicas.

        Raises:
            UnknownTopicError: There is no such topic.
            RefusedError: The controller refused.
            WaitTimeoutError: It is not gone in time.
        """
        self._handle.thread.run(self._running.topics.delete([name], timeout_s))

    def kill(self, broker: int) -> None:
        """Send SIGKILL to a broker, and wait for the end of its process.

        The others notice it when its ZooKeeper session expires. A dead broker stays dead without an error.

        Raises:
            UnknownBrokerError: There is no such broker.
        """
        self._handle.thread.run(self._running.kill(broker))

    def terminate(self, broker: int, timeout_s: float = WAIT_TIMEOUT_S) -> None:
        """Stop a broker cleanly with SIGTERM: it hands over its leaderships, and the process ends.

        Raises:
            UnknownBrokerError: There is no such broker.
            WaitTimeoutError: The process did not end in time.
        """
        self._handle.thread.run(self._running.terminate(broker, timeout_s))

    def start(self, broker: int, timeout_s: float = READY_TIMEOUT_S) -> None:
        """Start a broker with its data, unless it runs, and wait until it serves.

        Raises:
            UnknownBrokerError: There is no such broker.
            ClusterError: The process ended; the message has its last words.
            WaitTimeoutError: It does not serve in time.
        """
        self._handle.thread.run(self._running.start_broker(broker, timeout_s))

    def pause(self, broker: int) -> None:
        """Pause a broker with SIGSTOP: its connections stay open and silent, and its session expires.

        Raises:
            UnknownBrokerError: There is no such broker.
            ClusterError: It does not run, or did not stop in time.
        """
        self._handle.thread.run(self._running.pause(broker))

    def resume(self, broker: int) -> None:
        """Resume a paused broker with SIGCONT.

        Raises:
            UnknownBrokerError: There is no such broker.
            ClusterError: It does not run.
        """
        self._handle.thread.run(self._running.resume(broker))

    def expire_session(self, broker: int) -> None:
        """End a broker's ZooKeeper session, as if it had expired; the broker opens the next one.

        Raises:
            UnknownBrokerError: There is no such broker.
            RefusedError: The broker is not registered at the moment.
        """
        self._handle.thread.run(self._running.expire_session(broker))

    def partition(self, node: Node, *others: Node, one_way: bool = False, refuse: bool = False) -> None:
        """Cut a node off from others until ``heal``.

        A node is a broker's id, ``"zookeeper"`` or ``"clients"``. Nothing arrives and nothing is
        refused, as in a network that drops packets. What is sent meanwhile arrives after ``heal``, if the
        connection lives. An idle follower that is cut off from its leader stays in the ISR until a record is
        written, as in Kafka (``Partition.isFollowerOutOfSync``).

        Args:
            node: The node.
            others: The nodes that it is cut off from.
            one_way: Cut only what flows from ``node`` to the others.
            refuse: Reset connections and refuse new ones instead.

        Raises:
            UnknownBrokerError: There is no such node, or no link between two of them.
            ValueError: There are no others.
        """
        self._handle.thread.run(self._running.partition(node, others, one_way=one_way, refuse=refuse))

    def slow(
        self,
        node: Node,
        *others: Node,
        delay_ms: float = 0.0,
        bytes_per_second: float | None = None,
        one_way: bool = False,
    ) -> None:
        """Slow down what flows between a node and others until ``heal``.

        Args:
            node: The node, as for ``partition``.
            others: The nodes at the other end.
            delay_ms: Milliseconds by which everything arrives later, in each direction.
            bytes_per_second: The bandwidth of each direction; None for no limit.
            one_way: Slow down only what flows from ``node`` to the others.

        Raises:
            UnknownBrokerError: There is no such node, or no link between two of them.
            ValueError: There are no others, or no delay and no bandwidth above 0.
        """
        self._handle.thread.run(
            self._running.slow(
                node, others, one_way=one_way, delay_ms=delay_ms, bytes_per_second=bytes_per_second
            )
        )

    def heal(self) -> None:
        """Heal the whole network: undo every ``partition`` and ``slow``."""
        self._handle.thread.run(self._running.heal())

    def fill_disk(self, broker: int) -> None:
        """Make all writes to a broker's log directories fail with ENOSPC, also after a restart.

        As in Kafka the first failed write takes its log directory offline, and a broker without another one
        ends. ``free_disk`` undoes this.

        Raises:
            UnknownBrokerError: There is no such broker.
            RefusedError: The broker runs and does not answer.
        """
        self._handle.thread.run(self._running.fill_disk(broker))

    def free_disk(self, broker: int) -> None:
        """Let writes to a broker's log directories succeed again; what is offline needs a restart.

        Raises:
            UnknownBrokerError: There is no such broker.
            RefusedError: The broker runs and does not answer.
        """
        self._handle.thread.run(self._running.free_disk(broker))

    def wait_until_isr(
        self,
        topic: str,
        partition: int | None = None,
        *,
        isr: Iterable[int] | None = None,
        timeout_s: float = WAIT_TIMEOUT_S,
    ) -> dict[int, tuple[int, ...]]:
        """Wait until the in-sync replicas of a partition, or of all, are these.

        Args:
            topic: The topic.
            partition: The number of the partition; None for all.
            isr: The ids, in any order; None for all replicas.
            timeout_s: Seconds.

        Returns:
            The ISR of each partition by number.

        Raises:
            UnknownBrokerError: There is no such broker.
            UnknownTopicError: There is no such topic or partition.
            WaitTimeoutError: They are others in the end.
        """
        return self._handle.thread.run(self._running.wait_until_isr(topic, partition, isr, timeout_s))

    def wait_until_led(
        self,
        topic: str,
        partition: int | None = None,
        *,
        by: int | None = None,
        timeout_s: float = WAIT_TIMEOUT_S,
    ) -> dict[int, int]:
        """Wait until a partition, or all, is led by a broker that runs, or by ``by``.

        Returns:
            The leader of each partition by number.

        Raises:
            UnknownBrokerError: There is no such broker.
            UnknownTopicError: There is no such topic or partition.
            WaitTimeoutError: It is not so in time.
        """
        return self._handle.thread.run(self._running.wait_until_led(topic, partition, by, timeout_s))

    def checkpoint(self, timeout_s: float = WAIT_TIMEOUT_S) -> Checkpoint:
        """Return the topics and consumer groups that exist, ACLs and settings, for ``restore``.

        Raises:
            WaitTimeoutError: A broker that no fault concerns does not answer in time.
        """
        return self._handle.thread.run(self._running.checkpoint(timeout_s))

    def restore(self, checkpoint: Checkpoint, timeout_s: float = READY_TIMEOUT_S) -> None:
        """Undo all faults, start what is dead, and delete the topics and groups that came after a checkpoint.

        Groups that have members stay. ACLs, quotas, SCRAM users and the settings of brokers and topics are
        changed back in ZooKeeper. All brokers apply the ACLs before this returns, the others soon after it.

        Raises:
            WaitTimeoutError: It is not so in time.
        """
        self._handle.thread.run(self._running.restore(checkpoint, timeout_s))

    @contextmanager
    def killed(self, broker: int) -> Iterator[int]:
        """Kill a broker, and start it again at the end."""
        self.kill(broker)
        try:
            yield broker
        finally:
            self.start(broker)

    @contextmanager
    def terminated(self, broker: int) -> Iterator[int]:
        """Stop a broker cleanly, and start it again at the end."""
        self.terminate(broker)
        try:
            yield broker
        finally:
            self.start(broker)

    @contextmanager
    def paused(self, broker: int) -> Iterator[int]:
        """Pause a broker, and resume it at the end."""
        self.pause(broker)
        try:
            yield broker
        finally:
            self.resume(broker)

    @contextmanager
    def partitioned(
        self, node: Node, *others: Node, one_way: bool = False, refuse: bool = False
    ) -> Iterator[None]:
        """Cut a node off from others, and heal the whole network at the end."""
        self.partition(node, *others, one_way=one_way, refuse=refuse)
        try:
            yield
        finally:
            self.heal()

    @contextmanager
    def disk_filled(self, broker: int) -> Iterator[int]:
        """Fill a broker's disk; at the end free it, and start the broker if it ended."""
        self.fill_disk(broker)
        try:
            yield broker
        finally:
            self.free_disk(broker)
            self.start(broker)
