"""The common part of every cluster for tests: the view of ZooKeeper, topics, waits, and the story.

Every coroutine runs on the loop of one ``LoopThread``. Users get a ``Cluster`` or ``AsyncCluster``, whose
methods document those here.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from barnabas.cluster.model.acls import AccessControlEntry, AclBinding, ResourcePattern
from barnabas.testing import settings, wire
from barnabas.testing.faults import Faults
from barnabas.testing.settings import Settings
from barnabas.testing.story import tell
from barnabas.testing.topics import Topics
from barnabas.testing.view import State, View, remaining

START_TICK_S = 0.02
"""Seconds between two looks at brokers that start, because a start is the wait of every test run."""

LOOK_S = 2.0
"""Seconds in which ZooKeeper must answer to be described."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The names of the topics and consumer groups that existed at a time, with the ACLs and settings."""

    topics: frozenset[str]
    groups: frozenset[str]
    settings: Settings


class Running(Faults):
    """A running cluster.

    Args:
        ids: The ids of all brokers.
        zookeeper: ``host:port`` of ZooKeeper, past all switches.
        directory: The folder of all files; None if they are not on this machine.

    Attributes:
        bootstrap_servers: ``bootstrap.servers`` for clients.
        logs_at: The place of all brokers' logs, in words for people.
        view: What ZooKeeper knows.
        topics: Topics, partitions and the waits for them.
    """

    def __init__(self, ids: Iterable[int], zookeeper: str, directory: Path | None) -> None:
        super().__init__(ids, zookeeper)
        self.directory = directory
        self.logs_at = f"{directory}/broker-*/logs"
        self.bootstrap_servers = ""
        self.view = View(zookeeper)
        self.topics = Topics(self.view, self.addresses, self.standing)

    @abstractmethod
    async def start(self, timeout_s: float) -> None:
        """Start everything, and wait until all brokers serve and know each other."""

    @abstractmethod
    async def stop(self) -> None:
        """Stop everything; what does not stop in time is killed."""

    @abstractmethod
    def addresses(self, *, reachable: bool = False) -> Mapping[int, str]:
        """Return ``host:port`` of each running broker by id; with ``reachable`` those without a fault."""

    @abstractmethod
    def logs(self) -> Iterable[str]:
        """Generate the lines of all brokers' state-change.log and server.log."""

    async def look(self, topics: Iterable[str] = ()) -> State:
        """Return what ZooKeeper knows."""
        return await self.view.look(topics)

    async def controller_id(self, timeout_s: float) -> int:
        """Return the controller, once there is one whose process runs."""

        async def look() -> int | None:
            found = (await self.view.look()).controller
            return found if found in self.addresses() else None

        return await self.view.wait(look, "a controller that runs", timeout_s, self.standing)

    async def leader_of(self, topic: str, partition: int, timeout_s: float) -> int:
        """Return a partition's leader, once it has one whose process runs."""
        return (await self.topics.wait_until_led(topic, partition, None, timeout_s))[partition]

    async def isr_of(self, topic: str, partition: int) -> tuple[int, ...]:
        """Return the in-sync replicas of a partition."""
        return (await self.topics.partition(topic, partition)).isr

    async def replicas_of(self, topic: str, partition: int) -> tuple[int, ...]:
        """Return the replicas of a partition."""
        return (await self.topics.partition(topic, partition)).replicas

    async def wait_until_isr(
        self, topic: str, partition: int | None, isr: Iterable[int] | None, timeout_s: float
    ) -> dict[int, tuple[int, ...]]:
        """Wait until the ISR of a partition, or of all, is ``isr``; None for all replicas."""
        wanted = None if isr is None else sorted(isr)
        for broker_id in wanted or ():
            self.check_known(broker_id)
        return await self.topics.wait_until_isr(topic, partition, wanted, timeout_s)

    async def wait_until_led(
        self, topic: str, partition: int | None, by: int | None, timeout_s: float
    ) -> dict[int, int]:
        """Wait until a partition, or all, has a leader that runs, or the leader ``by``."""
        if by is not None:
            self.check_known(by)
        return await self.topics.wait_until_led(topic, partition, by, timeout_s)

    async def create_topic(
        self,
        name: str,
        *,
        partitions: int,
        replication_factor: int | None,
        configs: Mapping[str, str],
        assignment: Mapping[int, Sequence[int]],
        timeout_s: float,
    ) -> None:
        """Create a topic; without a replication factor it has up to three replicas."""
        replicas = min(3, len(self.ids)) if replication_factor is None else replication_factor
        await self.topics.create(
            name,
            partitions=partitions,
            replication_factor=replicas,
            configs=configs,
            assignment=assignment,
            timeout_s=timeout_s,
        )

    async def all_serve(self, timeout_s: float) -> None:
        """Wait until all brokers serve and know each other."""
        await self.view.wait(
            self._all_serve,
            "all brokers serve and know each other",
            timeout_s,
            self.standing,
            tick_s=START_TICK_S,
        )

    async def _all_serve(self) -> bool | None:
        addresses = self.addresses()
        self.refuse_ends(set(self.ids) - addresses.keys())
        state = await self.view.look()
        if list(state.brokers) != self.ids or state.controller is None:
            return None
        answers = await asyncio.gather(*map(wire.metadata, addresses.values()))
        return all(each.brokers == set(self.ids) and each.controller >= 0 for each in answers) or None

    async def serves(self, broker_id: int, timeout_s: float) -> None:
        """Wait until a broker serves."""

        async def look() -> bool | None:
            address = self.addresses().get(broker_id)
            if address is None:
                self.refuse_ends([broker_id])
                return None
            answer = await wire.metadata(address)
            return True if broker_id in answer.brokers and answer.controller >= 0 else None

        await self.view.wait(
            look, f"broker {broker_id} serves", timeout_s, self.standing, tick_s=START_TICK_S
        )

    @abstractmethod
    def refuse_ends(self, broker_ids: Iterable[int]) -> None:
        """Raise ClusterError with the last words of a broker whose process has ended."""

    async def standing(self, topics: Collection[str] = ()) -> str:
        """Describe the present state, for the error of a wait."""
        processes = ", ".join(f"{each} is {self.state_of(each)}" for each in self.ids)
        try:
            async with asyncio.timeout(LOOK_S):
                known = str(await self.view.look(topics))
        except Exception as error:  # noqa: BLE001  # whatever it is, it must not hide the wait's own error
            known = f"ZooKeeper does not answer ({type(error).__name__})"
        return "; ".join([f"broker {processes}", *self.faults(), known, f"logs in {self.logs_at}"])

    async def checkpoint(self, timeout_s: float) -> Checkpoint:
        """Return the topics and groups that there are, the ACLs and the settings."""

        async def look() -> Checkpoint:
            state, groups = await asyncio.gather(self.view.look(), self.topics.groups())
            found = frozenset(name for names in groups.values() for name in names)
            return Checkpoint(state.topics, found, await settings.read(await self.view.session()))

        return await self.view.wait(look, "brokers tell topics and groups", timeout_s, self.standing)

    async def restore(self, checkpoint: Checkpoint, timeout_s: float) -> None:
        """Undo all faults, and delete or change back what came after the checkpoint.

        ACLs are first: they can forbid the requests that delete topics and groups.
        """
        left = remaining(timeout_s)
        await self.undo_faults(left)
        await self.all_serve(left())
        written: dict[ResourcePattern, frozenset[AccessControlEntry]] = {}
        await self.view.wait(
            lambda: self._change_back(checkpoint, written),
            "ACLs and settings are as before",
            left(),
            self.standing,
        )
        await self.view.wait(
            lambda: self._apply(written), "brokers apply the ACLs as before", left(), self.standing
        )
        await self.topics.delete_all_but(checkpoint.topics, checkpoint.groups, left)

    async def _change_back(
        self, checkpoint: Checkpoint, written: dict[ResourcePattern, frozenset[AccessControlEntry]]
    ) -> bool:
        session, topics = await self.view.session(), (await self.view.look()).topics
        now = await settings.read(session)
        changes = settings.undo(checkpoint.settings, now, topics & checkpoint.topics)
        written.update({resource: entries for resource, (entries, _) in changes.acls.items()})
        await settings.write(session, changes)
        return True

    async def _apply(self, written: Mapping[ResourcePattern, frozenset[AccessControlEntry]]) -> bool | None:
        """Return True if all brokers apply exactly these ACLs to these resources."""
        if not written:
            return True
        wanted = {AclBinding(resource, entry) for resource, entries in written.items() for entry in entries}
        answers = await asyncio.gather(*map(wire.acls, self.addresses().values()))
        return (
            all({each for each in found if each.resource in written} == wanted for found in answers) or None
        )

    def story(self, since: str) -> list[str]:
        """Return the lines of the story from ``since`` on."""
        return tell(self.deeds, self.logs(), since)
