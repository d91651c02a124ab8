"""A broker that has just started serves no client before the controller has told it which topics there are.

Kafka's brokers do, and until then call every topic unknown. After all brokers were killed at once that lasts
as long as the old controller's session, and clients take them at their word: librdkafka fails what waits for
such a topic, and then all that is written to it until it asks again, after
``topic.metadata.refresh.interval.ms`` (five minutes). A client without an answer goes on waiting, or asks
another broker.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

import structlog

from broker.core.metadata_cache import MetadataCache
from broker.core.purgatory import DelayedOperationPurgatory
from broker.server.metadata_purgatories import await_metadata

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
    purgatory: DelayedOperationPurgatory[str],
    session_timeout_ms: int,
) -> None:
    """Return when ``metadata`` knows these topics, or after ``SESSIONS`` session timeouts.

    Args:
        topics: As ``topics_to_hear_of``.
        metadata: What the controller has told.
        purgatory: Told of each change of ``metadata``, by topic.
        session_timeout_ms: ``zookeeper.session.timeout.ms``.
    """
    late = await await_metadata(
        purgatory, topics, lambda topic: bool(metadata.partitions(topic)), SESSIONS * session_timeout_ms
    )
    if late:
        named = ", ".join(sorted(late)[:NAMED])
        _log.warning(f"Serving clients, though no controller has told of {len(late)} topics, such as {named}")
