"""A broker that has just started serves no client before the controller has told it which topics there are.

Kafka's brokers do, and until then call every topic unknown and name no controller. After all brokers were
killed at once that lasts as long as the old controller's session, and clients take them at their word:
librdkafka fails what waits for such a topic, and then all that is written to it until it asks again, after
``topic.metadata.refresh.interval.ms`` (five minutes); and so long its admin client waits to ask again who is
controller. A client without an answer goes on waiting, or asks another broker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Protocol

import structlog

from broker.core.metadata_cache import MetadataCache
from broker.server.metadata_purgatories import CONTROLLER, MetadataPurgatories, await_metadata

SESSIONS = 3
"""How many session timeouts the wait may last: in the first the session of a dead controller ends."""

NAMED = 10
"""How many topics are named of which nothing was told."""

_log = structlog.get_logger("kafka.server.KafkaServer")


class _Names(Protocol):
    async def names(self) -> Collection[str]: ...


class _Marks(Protocol):
    async def marked(self) -> Collection[str]: ...


async def topics_to_hear_of(topics: _Names, deletions: _Marks) -> set[str]:
    """The topics that ZooKeeper holds and nobody is deleting: of others no controller tells.

    They are asked for just before the broker registers: what was read when it began to start may be minutes
    old by then, where there were logs to recover.

    Args:
        topics: A ``cluster.zk.store_topics.TopicStore``.
        deletions: A ``cluster.zk.store_deletions.DeletionStore``.

    Raises:
        ZooKeeperError: They cannot be read.
    """
    return set(await topics.names()) - set(await deletions.marked())


async def wait_for_first_metadata(
    topics: Collection[str],
    metadata: MetadataCache,
    purgatories: MetadataPurgatories,
    session_timeout_ms: int,
) -> None:
    """Return when ``metadata`` knows a controller and these topics, or after ``SESSIONS`` session timeouts.

    Args:
        topics: As ``topics_to_hear_of``.
        metadata: What the controller has told.
        purgatories: Told of each change of ``metadata``.
        session_timeout_ms: ``zookeeper.session.timeout.ms``.
    """
    timeout_ms = SESSIONS * session_timeout_ms
    nobody, late = await asyncio.gather(
        await_metadata(
            purgatories.controller, [CONTROLLER], lambda _: metadata.controller is not None, timeout_ms
        ),
        await_metadata(
            purgatories.topics, topics, lambda topic: bool(metadata.partitions(topic)), timeout_ms
        ),
    )
    if nobody:
        _log.warning("Serving clients, though no live broker is known to be controller")
    if late:
        named = ", ".join(sorted(late)[:NAMED])
        _log.warning(f"Serving clients, though no controller has told of {len(late)} topics, such as {named}")
