"""Topics of a test's cluster: creation, deletion, leaders, ISRs, and the waits for them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.topic_names import INTERNAL_TOPICS
from barnabas.testing import wire
from barnabas.testing.errors import RefusedError, UnknownTopicError
from barnabas.testing.view import Partition, State, View, remaining

T = TypeVar("T")

_REQUEST_MS = 10_000


class Addresses(Protocol):
    """The addresses of the running brokers; with ``reachable`` of those that no fault concerns."""

    def __call__(self, *, reachable: bool = False) -> Mapping[int, str]:
        """Return ``host:port`` by id."""
        ...


class Topics:
    """The topics. Everything is called on one event loop.

    Args:
        view: The view of ZooKeeper.
        addresses: The running brokers.
        describe: Describes the cluster with some topics, for the error of a wait.
    """

    def __init__(
        self,
        view: View,
        addresses: Addresses,
        describe: Callable[[Collection[str]], Awaitable[str]],
    ) -> None:
        self._view = view
        self._addresses = addresses
        self._describe = describe

    async def partitions(self, topic: str) -> Mapping[int, Partition]:
        """Return the partitions of a topic by number.

        Raises:
            UnknownTopicError: There is no such topic.
        """
        return _partitions(await self._view.look([topic]), topic)

    async def partition(self, topic: str, number: int) -> Partition:
        """Return a partition.

        Raises:
            UnknownTopicError: There is no such topic or partition.
        """
        return _partition(await self.partitions(topic), topic, number)

    async def create(
        self,
        name: str,
        *,
        partitions: int,
        replication_factor: int,
        configs: Mapping[str, str],
        assignment: Mapping[int, Sequence[int]],
        timeout_s: float,
    ) -> None:
        """Create a topic, and wait until it is led, in sync, and known to all brokers that can be reached.

        Raises:
            RefusedError: The controller refused.
            WaitTimeoutError: It is not so in time.
        """
        tries = 0

        async def created() -> bool | None:
            nonlocal tries
            tries += 1
            code, said = await wire.create_topic(
                await self._controller(),
                name,
                partitions=-1 if assignment else partitions,
                replication_factor=-1 if assignment else replication_factor,
                configs=configs,
                assignment=assignment,
                timeout_ms=_REQUEST_MS,
            )
            if code == ErrorCode.TOPIC_ALREADY_EXISTS and tries > 1:
                return True  # the answer to an earlier try was lost
            _refuse(code, said, f"topic {name!r} was not created", retry=ErrorCode.NOT_CONTROLLER)
            return True if code == ErrorCode.NONE else None

        left = remaining(timeout_s)
        await self._wait(created, f"topic {name} is created", left(), [name])
        await self.wait_until_isr(name, None, None, left())
        await self._wait(lambda: self._is_known(name), f"brokers know topic {name}", left(), [name])

    async def delete(self, names: Sequence[str], timeout_s: float) -> None:
        """Delete topics, and wait until they are gone.

        Raises:
            UnknownTopicError: One does not exist.
            RefusedError: The controller refused.
            WaitTimeoutError: They are not gone in time.
        """
        state = await self._view.look()
        for name in names:
            if name not in state.topics:
                raise _unknown(state, name)
        left = set(names)

        async def deleted() -> bool | None:
            codes = await wire.delete_topics(await self._controller(), sorted(left), _REQUEST_MS)
            for name, code in codes.items():
                _refuse(code, "", f"topic {name!r} was not deleted", retry=ErrorCode.NOT_CONTROLLER)
                if code != ErrorCode.NOT_CONTROLLER:
                    left.discard(name)
            return None if left else True

        async def gone() -> bool | None:
            return None if (await self._view.look()).topics & set(names) else True

        seconds = remaining(timeout_s)
        await self._wait(deleted, f"topics {', '.join(names)} are being deleted", seconds(), names)
        await self._wait(gone, f"topics {', '.join(names)} are gone", seconds(), names)

    async def wait_until_isr(
        self, topic: str, number: int | None, isr: Iterable[int] | None, timeout_s: float
    ) -> dict[int, tuple[int, ...]]:
        """Wait until the ISR of a partition, or of all, is ``isr``; None for all replicas.

        Returns:
            The ISR of each partition.
        """
        wanted = None if isr is None else tuple(sorted(isr))

        def is_so(partition: Partition) -> bool:
            expected = tuple(sorted(partition.replicas)) if wanted is None else wanted
            return partition.leader is not None and partition.isr == expected

        what = "all replicas" if wanted is None else ",".join(map(str, wanted))
        found = await self._until(
            topic, number, is_so, f"the ISR of {_of(topic, number)} is {what}", timeout_s
        )
        return {each: partition.isr for each, partition in found.items()}

    async def wait_until_led(
        self, topic: str, number: int | None, by: int | None, timeout_s: float
    ) -> dict[int, int]:
        """Wait until a partition, or all, has a leader that runs, or the leader ``by``.

        Returns:
            The leader of each partition.
        """

        def is_so(partition: Partition) -> bool:
            return partition.leader in self._addresses() and by in (None, partition.leader)

        who = "a broker that runs" if by is None else f"broker {by}"
        found = await self._until(topic, number, is_so, f"{_of(topic, number)} is led by {who}", timeout_s)
        return {each: partition.leader for each, partition in found.items() if partition.leader is not None}

    async def _until(
        self,
        topic: str,
        number: int | None,
        is_so: Callable[[Partition], bool],
        what: str,
        timeout_s: float,
    ) -> dict[int, Partition]:
        async def look() -> dict[int, Partition] | None:
            partitions = await self.partitions(topic)
            found = dict(partitions)
            if number is not None:
                found = {number: _partition(partitions, topic, number)}
            return found if all(map(is_so, found.values())) else None

        return await self._wait(look, what, timeout_s, [topic])

    async def _is_known(self, name: str) -> bool | None:
        """Return True if all brokers that can be reached know the topic's leaders."""
        numbers = await self.partitions(name)
        answers = await asyncio.gather(*map(wire.metadata, self._addresses(reachable=True).values()))
        whole = all(each.leaders.get((name, number), -1) >= 0 for each in answers for number in numbers)
        return True if whole else None

    async def groups(self) -> dict[str, list[str]]:
        """Return the consumer groups, by the address of the coordinator of each."""
        addresses = list(self._addresses(reachable=True).values())
        return dict(zip(addresses, await asyncio.gather(*map(wire.groups, addresses)), strict=True))

    async def delete_all_but(
        self, topics: Collection[str], groups: Collection[str], left: Callable[[], float]
    ) -> None:
        """Delete all topics and groups but these and the internal ones; groups with members stay.

        Raises:
            WaitTimeoutError: It is not done in the seconds that are ``left``.
        """
        new = (await self._view.look()).topics - set(topics) - INTERNAL_TOPICS
        if new:
            await self.delete(sorted(new), left())

        async def deleted() -> bool:
            for address, known in (await self.groups()).items():
                unwanted = sorted(set(known) - set(groups))
                if unwanted:
                    await wire.delete_groups(address, unwanted)
            return True

        await self._wait(deleted, "consumer groups are deleted", left(), ())

    async def _controller(self) -> str:
        """Return the controller's address.

        Raises:
            ConnectionError: There is none that runs.
        """
        controller = (await self._view.look()).controller
        address = None if controller is None else self._addresses().get(controller)
        if address is None:
            raise ConnectionError("there is no controller that runs")
        return address

    async def _wait(
        self, look: Callable[[], Awaitable[T | None]], what: str, timeout_s: float, topics: Collection[str]
    ) -> T:
        return await self._view.wait(look, what, timeout_s, lambda: self._describe(topics))


def _refuse(code: ErrorCode, said: str, what: str, *, retry: ErrorCode) -> None:
    if code not in (ErrorCode.NONE, retry):
        raise RefusedError(f"{what}: {code.name}: {said or code.meaning}")


def _partitions(state: State, topic: str) -> Mapping[int, Partition]:
    if topic not in state.topics:
        raise _unknown(state, topic)
    return state.partitions[topic]


def _partition(partitions: Mapping[int, Partition], topic: str, number: int) -> Partition:
    if number not in partitions:
        listed = ", ".join(map(str, sorted(partitions)))
        raise UnknownTopicError(f"topic {topic!r} has no partition {number}; it has {listed}")
    return partitions[number]


def _unknown(state: State, topic: str) -> UnknownTopicError:
    listed = ", ".join(sorted(state.topics)) or "none"
    return UnknownTopicError(f"there is no topic {topic!r}; there are: {listed}")


def _of(topic: str, number: int | None) -> str:
    return f"every partition of {topic}" if number is None else f"{topic}-{number}"
