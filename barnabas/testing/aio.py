"""A cluster of real brokers for async tests, which can be killed, paused, cut off and filled up.

The cluster runs on a thread of its own, so one ``AsyncCluster`` may be used from several event loops, one
after the other or at once. ``barnabas.testing.cluster`` makes the methods that block from those here.
Methods that wait have a time limit, and the error says what was awaited and how things stand.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from barnabas.testing.handle import READY_TIMEOUT_S, WAIT_TIMEOUT_S, AnyCluster

if TYPE_CHECKING:  # these imports take longer than the start of the processes
    from barnabas.testing.faults import Node
    from barnabas.testing.running import Checkpoint
    from barnabas.testing.view import State

T = TypeVar("T")

__tracebackhide__ = True
"""pytest shows the line of the test that called, and no frames of this module."""


class AsyncCluster(AnyCluster):
    """A cluster whose methods are awaited. ``AnyCluster`` describes the arguments.

    >>> async with AsyncCluster(brokers=3) as cluster:
    ...     await cluster.create_topic("orders")
    """

    async def __aenter__(self) -> Self:
        try:
            await self._on_loop(self._running.start(READY_TIMEOUT_S))
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def _on_loop(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the cluster's own loop, and await its result on the caller's."""
        return await self._handle.thread.on(work)

    async def stop(self) -> None:
        """Stop everything; what does not stop in time is killed."""
        await self._on_loop(self._handle.stop())
        from asyncio import to_thread

        await to_thread(self._handle.close)

    async def controller_id(self, timeout_s: float = WAIT_TIMEOUT_S) -> int:
        """Return the controller's id, once there is one whose process runs.

        Raises:
            WaitTimeoutError: There is none in time.
        """
        return await self._on_loop(self._running.controller_id(timeout_s))

    async def leader_of(self, topic: str, partition: int = 0, timeout_s: float = WAIT_TIMEOUT_S) -> int:
        """Return a partition's leader, once it has one whose process runs.

        Raises:
            UnknownTopicError: There is no such topic or partition.
            WaitTimeoutError: It has none in time.
        """
        return (await self.wait_until_led(topic, partition, timeout_s=timeout_s))[partition]

    async def isr_of(self, topic: str, partition: int = 0) -> tuple[int, ...]:
        """Return a partition's in-sync replicas at the moment, ascending.

        Raises:
            UnknownTopicError: There is no such topic or partition.
        """
        return (await self._on_loop(self._running.topics.partition(topic, partition))).isr

    async def replicas_of(self, topic: str, partition: int = 0) -> tuple[int, ...]:
        """Return a partition's replicas, the preferred leader first.

        Raises:
            UnknownTopicError: There is no such topic or partition.
        """
        return (await self._on_loop(self._running.topics.partition(topic, partition))).replicas

    async def state(self, topics: Iterable[str] = ()) -> State:
        """Return what ZooKeeper knows: registered brokers, the controller, and the partitions of ``topics``.

        Raises:
            ZooKeeperError: ZooKeeper does not answer.
        """
        return await self._on_loop(self._running.view.look(topics))

    async def create_topic(
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
        replicas = min(3, len(self.brokers)) if replication_factor is None else replication_factor
        await self._on_loop(
            self._running.topics.create(
                name,
                partitions=partitions,
                replication_factor=replicas,
                configs=configs or {},
                assignment=assignment or {},
                timeout_s=timeout_s,
            )
        )

    async def delete_topic(self, name: str, timeout_s: float = WAIT_TIMEOUT_S) -> None:
        """Delete a topic, and wait until it is gone; that needs all brokers with its replicas.

        Raises:
            UnknownTopicError: There is no such topic.
            RefusedError: The controller refused.
            WaitTimeoutError: It is not gone in time.
        """
        await self._on_loop(self._running.topics.delete([name], timeout_s))

    async def kill(self, broker: int) -> None:
        """Send SIGKILL to a broker, and wait for the end of its process.

        The others notice it when its ZooKeeper session expires. A dead broker stays dead without an error.

        Raises:
            UnknownBrokerError: There is no such broker.
        """
        await self._on_loop(self._running.kill(broker))

    async def terminate(self, broker: int, timeout_s: float = WAIT_TIMEOUT_S) -> None:
        """Stop a broker cleanly with SIGTERM: it threads over its leaderships, and the process ends.

        Raises:
            UnknownBrokerError: There is no such broker.
            WaitTimeoutError: The process did not end in time.
        """
        await self._on_loop(self._running.terminate(broker, timeout_s))

    async def start(self, broker: int, timeout_s: float = READY_TIMEOUT_S) -> None:
        """Start a broker with its data, unless it runs, and wait until it serves.

        Raises:
            UnknownBrokerError: There is no such broker.
            ClusterError: The process ended; the message has its last words.
            WaitTimeoutError: It does not serve in time.
        """
        await self._on_loop(self._running.start_broker(broker, timeout_s))

    async def pause(self, broker: int) -> None:
        """Pause a broker with SIGSTOP: its connections stay open and silent, and its session expires.

        Raises:
            UnknownBrokerError: There is no such broker.
            ClusterError: It does not run, or did not stop in time.
        """
        await self._on_loop(self._running.pause(broker))

    async def resume(self, broker: int) -> None:
        """Resume a paused broker with SIGCONT.

        Raises:
            UnknownBrokerError: There is no such broker.
            ClusterError: It does not run.
        """
        await self._on_loop(self._running.resume(broker))

    async def expire_session(self, broker: int) -> None:
        """End a broker's ZooKeeper session, as if it had expired; the broker opens the next one.

        Raises:
            UnknownBrokerError: There is no such broker.
            RefusedError: The broker is not registered at the moment.
        """
        await self._on_loop(self._running.expire_session(broker))

    async def partition(self, node: Node, *others: Node, one_way: bool = False, refuse: bool = False) -> None:
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
        await self._on_loop(self._running.partition(node, others, one_way=one_way, refuse=refuse))

    async def slow(
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
        await self._on_loop(
            self._running.slow(
                node, others, one_way=one_way, delay_ms=delay_ms, bytes_per_second=bytes_per_second
            )
        )

    async def heal(self) -> None:
        """Heal the whole network: undo every ``partition`` and ``slow``."""
        await self._on_loop(self._running.heal())

    async def fill_disk(self, broker: int) -> None:
        """Make all writes to a broker's log directories fail with ENOSPC, also after a restart.

        As in Kafka the first failed write takes its log directory offline, and a broker without another one
        ends. ``free_disk`` undoes this.

        Raises:
            UnknownBrokerError: There is no such broker.
            RefusedError: The broker runs and does not answer.
        """
        await self._on_loop(self._running.fill_disk(broker))

    async def free_disk(self, broker: int) -> None:
        """Let writes to a broker's log directories succeed again; what is offline needs a restart.

        Raises:
            UnknownBrokerError: There is no such broker.
            RefusedError: The broker runs and does not answer.
        """
        await self._on_loop(self._running.free_disk(broker))

    async def wait_until_isr(
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
        wanted = None if isr is None else sorted(isr)
        for broker in wanted or ():
            self._running.check_known(broker)
        return await self._on_loop(self._running.topics.wait_until_isr(topic, partition, wanted, timeout_s))

    async def wait_until_led(
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
        if by is not None:
            self._running.check_known(by)
        return await self._on_loop(self._running.topics.wait_until_led(topic, partition, by, timeout_s))

    async def checkpoint(self, timeout_s: float = WAIT_TIMEOUT_S) -> Checkpoint:
        """Return the topics and consumer groups that exist, ACLs and settings, for ``restore``.

        Raises:
            WaitTimeoutError: A broker that no fault concerns does not answer in time.
        """
        return await self._on_loop(self._running.checkpoint(timeout_s))

    async def restore(self, checkpoint: Checkpoint, timeout_s: float = READY_TIMEOUT_S) -> None:
        """Undo all faults, start what is dead, and delete the topics and groups that came after a checkpoint.

        Groups that have members stay. ACLs, quotas, SCRAM users and the settings of brokers and topics are
        changed back in ZooKeeper. All brokers apply the ACLs before this returns, the others soon after it.

        Raises:
            WaitTimeoutError: It is not so in time.
        """
        await self._on_loop(self._running.restore(checkpoint, timeout_s))

    @asynccontextmanager
    async def killed(self, broker: int) -> AsyncIterator[int]:
        """Kill a broker, and start it again at the end."""
        await self.kill(broker)
        try:
            yield broker
        finally:
            await self.start(broker)

    @asynccontextmanager
    async def terminated(self, broker: int) -> AsyncIterator[int]:
        """Stop a broker cleanly, and start it again at the end."""
        await self.terminate(broker)
        try:
            yield broker
        finally:
            await self.start(broker)

    @asynccontextmanager
    async def paused(self, broker: int) -> AsyncIterator[int]:
        """Pause a broker, and resume it at the end."""
        await self.pause(broker)
        try:
            yield broker
        finally:
            await self.resume(broker)

    @asynccontextmanager
    async def partitioned(
        self, node: Node, *others: Node, one_way: bool = False, refuse: bool = False
    ) -> AsyncIterator[None]:
        """Cut a node off from others, and heal the whole network at the end."""
        await self.partition(node, *others, one_way=one_way, refuse=refuse)
        try:
            yield
        finally:
            await self.heal()

    @asynccontextmanager
    async def disk_filled(self, broker: int) -> AsyncIterator[int]:
        """Fill a broker's disk; at the end free it, and start the broker if it ended."""
        await self.fill_disk(broker)
        try:
            yield broker
        finally:
            await self.free_disk(broker)
            await self.start(broker)
