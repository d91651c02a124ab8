"""The store of ``/brokers/topics/<t>`` and of the settings of topics and other entities."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeVar

from barnabas.cluster.model.epochs import Zxid
from barnabas.cluster.model.partition import Assignment
from barnabas.cluster.zk.client.errors import NodeExists
from barnabas.cluster.zk.client.operations import Create, Set, Stat
from barnabas.cluster.zk.client.pipeline import value
from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.cluster.zk.schema import paths, settings, topics
from barnabas.cluster.zk.schema.body import ZnodeDecodeError
from barnabas.cluster.zk.schema.topics import TopicAssignment
from barnabas.cluster.zk.stores.fence import Fence, write, write_many

T = TypeVar("T")

_TOPIC = 1
"""The index of the topic's node in the transaction that creates it, after its settings."""

_TOPIC_BYTES = 4096
"""The usual bytes of a topic's node, for a hundred partitions and their replicas."""


_PARTITION_BYTES = 20
"""The bytes of a partition in its topic's node, at least."""

_LONG_TOPIC = 1_000
"""From so many partitions on, a topic's node is encoded and decoded on a thread: 10,000 take 40 ms."""


class EntityConfigs(NamedTuple):
    """The settings of entities.

    Attributes:
        settings: The text of each setting, for the entities that have any and can be decoded.
        unreadable: The error of each entity whose settings cannot be decoded.
    """

    settings: Mapping[str, Mapping[str, str]]
    unreadable: Mapping[str, ZnodeDecodeError]


class TopicStore:
    """The store of topics, their assignments and settings."""

    def __init__(self, session: ZooKeeperSession) -> None:
        self._session = session

    async def names(self, *, watch: bool = False) -> set[str]:
        """Return the names of all topics; the watch on ``/brokers/topics`` reports new and deleted ones."""
        return set(await self._session.get_children(paths.TOPICS, watch=watch))

    async def read(self, names: Iterable[str], *, watch: bool = False) -> dict[str, TopicAssignment]:
        """Return those of the given topics that exist.

        The watches on their nodes report changed assignments.
        """
        wanted = list(names)
        whole = [paths.topic(name) for name in wanted]
        nodes = await self._session.get_many(whole, watch=watch, expected_bytes=_TOPIC_BYTES)
        found: dict[str, TopicAssignment] = {}
        for name, node in zip(wanted, nodes, strict=True):
            if node is not None:
                is_long = len(node.data) > _LONG_TOPIC * _PARTITION_BYTES
                stat = node.stat
                found[name] = await _run(
                    is_long, topics.decode_topic, name, node.data, stat.version, Zxid(stat.czxid)
                )
                # There may be hundreds of topics with thousands of partitions each, so let the loop do other
                # work.
                await asyncio.sleep(0)
        return found

    async def tree(self) -> int | None:
        """Return the creation time of ``/brokers/topics``, in milliseconds since 1970.

        None if the node is missing.
        """
        stat = await self._session.exists(paths.TOPICS)
        return None if stat is None else stat.ctime_ms

    async def create(
        self,
        name: str,
        partitions: Mapping[int, Assignment],
        configs: Mapping[str, str],
        fence: Fence | None,
    ) -> None:
        """Create a topic with its settings, both or none, replacing settings left by a deleted topic.

        Raises:
            NodeExists: A topic of that name exists.
            ControllerMoved: The fence refused.
        """
        config, body = paths.config("topics", name), settings.encode_config(configs)
        is_long = len(partitions) > _LONG_TOPIC
        topic = Create(paths.topic(name), await _run(is_long, topics.encode_topic, partitions))
        first = await self._create(fence, Create(config, body), topic)
        if first is None:
            return
        settings_were_there = first.operation != _TOPIC
        refusal = await self._create(fence, Set(config, body), topic) if settings_were_there else first
        if refusal is None:
            return
        # After a lost connection, the existing topic may be our own creation.
        standing = (await self.read([name])).get(name) if first.resent or refusal.resent else None
        if standing is None or standing.partitions != dict(partitions):
            raise refusal

    async def set_partitions(
        self, name: str, assignment: TopicAssignment, fence: Fence | None
    ) -> TopicAssignment:
        """Write a topic's whole assignment if its version is unchanged, and return it with the new version.

        Raises:
            BadVersion: The assignment was written meanwhile.
            NoNode: The topic is gone.
            ControllerMoved: The fence refused.
        """
        is_long = len(assignment.partitions) > _LONG_TOPIC
        body = await _run(is_long, topics.encode_topic, assignment.partitions, assignment.topic_id)
        (stat,) = await write(self._session, fence, Set(paths.topic(name), body, assignment.version))
        version = stat.version if isinstance(stat, Stat) else assignment.version + 1
        return TopicAssignment(assignment.partitions, assignment.topic_id, version, assignment.czxid)

    async def configs(self, names: Iterable[str], *, entity_type: str = "topics") -> EntityConfigs:
        """Read the settings of entities; ``entity_type`` is one of ``paths.CONFIG_TYPES``.

        An entity that cannot be decoded does not affect the others.
        """
        wanted = list(names)
        whole = [paths.config(entity_type, name) for name in wanted]
        nodes = await self._session.get_many(whole, expected_bytes=512)
        readable: dict[str, Mapping[str, str]] = {}
        unreadable: dict[str, ZnodeDecodeError] = {}
        for name, path, node in zip(wanted, whole, nodes, strict=True):
            try:
                if node is not None:
                    readable[name] = settings.decode_config(path, node.data)
            except ZnodeDecodeError as error:
                unreadable[name] = error
        return EntityConfigs(readable, unreadable)

    async def _create(self, fence: Fence | None, settle: Create | Set, topic: Create) -> NodeExists | None:
        """Try to write settings and topic; return the error if one of the nodes exists, else None."""
        (outcome,) = await write_many(self._session, fence, [[settle, topic]])
        if isinstance(outcome, NodeExists):
            return outcome
        value(outcome)
        return None


async def _run(is_long: bool, work: Callable[..., T], *arguments: object) -> T:
    """Do ``work``, on a thread if it is long."""
    return await asyncio.to_thread(work, *arguments) if is_long else work(*arguments)
