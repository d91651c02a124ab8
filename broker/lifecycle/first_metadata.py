"""A starting broker serves no client before the controller has sent it the metadata of all topics.

Kafka's brokers serve at once, and answer until then that every topic is unknown and that there is no
controller. After all brokers were killed together, this lasts as long as the old controller's session.
Clients believe the answers: librdkafka fails all messages to such a topic until its next metadata refresh
(``topic.metadata.refresh.interval.ms``, five minutes), and its admin client waits as long before it asks
again for the controller. A client that gets no answer keeps waiting or asks another broker.

The controller marks the request that completes the metadata (`UpdateMetadataRequest.is_complete`). The topics
in ZooKeeper cannot serve as the measure: no controller ever sends a topic that has no state, no partitions or
an illegal name, or that is marked for deletion.
"""

from __future__ import annotations

import structlog

from barnabas.broker.core.metadata_cache import MetadataCache
from barnabas.broker.server.metadata_purgatories import CONTROLLER, MetadataPurgatories, await_metadata

SESSIONS = 3
"""The number of session timeouts for which a start waits.

A dead controller's session ends within the first.
"""

_log = structlog.get_logger("kafka.server.KafkaServer")


async def wait_for_first_metadata(
    metadata: MetadataCache, purgatories: MetadataPurgatories, session_timeout_ms: int
) -> None:
    """Wait until ``metadata`` is complete and has a controller, for at most ``SESSIONS`` session timeouts.

    Args:
        metadata: The cache that UpdateMetadata requests fill.
        purgatories: Completed after each change of ``metadata``.
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
        _log.warning(f"Serving clients, though no controller has sent all topics; {known} are known")
