"""The common part of every cluster for tests: the view of ZooKeeper, topics, waits, and the story.

Every coroutine runs on the loop of one ``LoopThread``. Users get a ``Cluster`` or ``AsyncCluster``, whose
methods document those of the same names here.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from barnabas.cluster.model.acls import AccessControlEntry, AclBinding, ResourcePattern
from barnabas.testing import settings, wire
from barnabas.testing.faults import Faults
from barnabas.testing.options import Options
from barnabas.testing.settings import Settings
from barnabas.testing.story import story_of
from barnabas.testing.topics import Topics
from barnabas.testing.view import View, remaining

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
        options: The options of the cluster.
        zookeeper: ``host:port`` of ZooKeeper, past all switches.
        directory: The folder of all files; None if they are not on this machine.

    Attributes:
        bootstrap_servers: ``bootstrap.servers`` for clients.
        logs_at: The place of all brokers' logs, in words for people.
        view: What ZooKeeper knows.
        topics: Topics, partitions and the waits for them.
    """

    def __init__(self, options: Options, zookeeper: str, directory: Path | None) -> None:
        super().__init__(options, zookeeper)
        self.directory = directory
        self.logs_at = f"{directory}/broker-*/logs"
        self.bootstrap_servers = ""
        self.view = View(zookeeper)
        self.topics = Topics(self.view, self.addresses, self.describe_state)

    @abstractmethod
    async def start(self, timeout_s: float) -> None:
        """Start everything, and wait until all brokers serve and know each other."""

    @abstractmethod
    async def stop(self) -> None:
        """Stop everything; what does not stop in time is killed."""

    @abstractmethod
    def address(self, broker_id: int) -> str:
        """Return ``host:port`` of a broker, past the switches."""

    @abstractmethod
    def logs(self) -> Iterable[str]:
        """Generate the lines of all brokers' state-change.log and server.log."""

    def addresses(self, *, reachable: bool = False) -> dict[int, str]:
        """Return ``host:port`` of each running broker by id; with ``reachable`` of those without a fault."""
        states = {"running"} if reachable else {"running", "paused"}
        disturbed = self.disturbed_nodes() if reachable else set()
        return {
            each: self.address(each)
            for each in self.ids
            if self.state_of(each) in states and str(each) not in disturbed
        }

    async def controller_id(self, timeout_s: float) -> int:
        """Return the controller, once there is one whose process runs."""

        async def look() -> int | None:
            found = (await self.view.look()).controller
            return found if found in self.addresses() else None

        return await self.view.wait(look, "a controller that runs", timeout_s, self.describe_state)

    async def all_serve(self, timeout_s: float) -> None:
        """Wait until all brokers serve and know each other."""
        await self.view.wait(
            self._all_serve,
            "all brokers serve and know each other",
            timeout_s,
            self.describe_state,
            tick_s=START_TICK_S,
        )

    async def _all_serve(self) -> bool | None:
        addresses = self.addresses()
        self.raise_if_ended(set(self.ids) - addresses.keys())
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
                self.raise_if_ended([broker_id])
                return None
            answer = await wire.metadata(address)
            return True if broker_id in answer.brokers and answer.controller >= 0 else None

        await self.view.wait(
            look, f"broker {broker_id} serves", timeout_s, self.describe_state, tick_s=START_TICK_S
        )

    @abstractmethod
    def raise_if_ended(self, broker_ids: Iterable[int]) -> None:
        """Raise ClusterError with the last words of a broker whose process has ended."""

    async def describe_state(self, topics: Collection[str] = ()) -> str:
        """Describe processes, faults and ZooKeeper's content, for the error of a wait."""
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

        return await self.view.wait(look, "brokers list topics and groups", timeout_s, self.describe_state)

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
            self.describe_state,
        )
        await self.view.wait(
            lambda: self._apply(written), "brokers apply the ACLs as before", left(), self.describe_state
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
        return story_of(self.actions, self.logs(), since)
