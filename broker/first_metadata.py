"""A broker that has just started serves no client before the controller has told it which topics there are.

Kafka's brokers do, and until then call every topic unknown and name no controller. After all brokers were
killed at once that lasts as long as the old controller's session, and clients take them at their word:
librdkafka fails what waits for such a topic, and then all that is written to it until it asks again, after
``topic.metadata.refresh.interval.ms`` (five minutes); and so long its admin client waits to ask again who is
controller. A client without an answer goes on waiting, or asks another broker.

The controller says when it has told of all (`UpdateMetadataRequest.is_complete`). What ZooKeeper holds is no
measure: of a topic without a state, without partitions, with an illegal name or marked for deletion no
controller ever tells.
"""

from __future__ import annotations

import structlog

from barnabas.broker.core.metadata_cache import MetadataCache
from barnabas.broker.server.metadata_purgatories import CONTROLLER, MetadataPurgatories, await_metadata

SESSIONS = 3
"""How many session timeouts the wait may last: in the first the session of a dead controller ends."""

_log = structlog.get_logger("kafka.server.KafkaServer")


async def wait_for_first_metadata(
    metadata: MetadataCache, purgatories: MetadataPurgatories, session_timeout_ms: int
) -> None:
    """Return when ``metadata`` is complete and knows a controller, or after ``SESSIONS`` session timeouts.

    Args:
        metadata: What the controller has told.
        purgatories: Told of each change of ``metadata``.
        session_timeout_ms: ``zookeeper.session.timeout.ms``.
    """
    late = await await_metadata(
        purgatories.controller,
        [CONTROLLER],
        lambda _: metadata.controller is not None and metadata.is_complete,
        SESSIONS * session_timeout_ms,
    )
    if late and metadata.controller is None:
        _log.warning("Serving clients, though no live broker is known to be controller")
    if late and not metadata.is_complete:
        known = len(metadata.topics)
        _log.warning(f"Serving clients, though no controller has told of all topics; {known} are known")
