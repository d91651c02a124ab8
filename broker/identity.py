"""Who this broker is: its number and its cluster."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterable
from pathlib import Path

from barnabas.broker.config import BrokerConfig
from barnabas.broker.disk.checkpoints import META_PROPERTIES, read_meta_properties
from barnabas.broker.disk.errors import CorruptCheckpointError
from barnabas.broker.errors import StartError
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.zk.schema import paths
from barnabas.cluster.zk.store import ZooKeeperStore


def new_cluster_id() -> str:
    """A random UUID in 22 characters of base64url (Kafka: ``CoreUtils.generateUuidAsBase64``)."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def stored_broker_id(directories: Iterable[Path]) -> BrokerId | None:
    """The number that ``meta.properties`` of the first directory which has one gives, or None.

    Raises:
        StartError: Such a file cannot be read.
    """
    for directory in directories:
        file = directory / META_PROPERTIES
        try:
            stored = read_meta_properties(file)
        except (OSError, CorruptCheckpointError) as error:
            raise StartError(f"Cannot read {file}: {error}") from error
        if stored is not None:
            return stored.broker_id
    return None


async def broker_id_of(config: BrokerConfig, store: ZooKeeperStore) -> BrokerId:
    """``broker.id``, else the stored number, else one that no broker was ever given.

    Source: ``KafkaServer.getBrokerIdAndOfflineDirs`` and ``generateBrokerId`` of release 2.8.
    """
    configured = config.integer("broker.id")
    if configured >= 0:
        return BrokerId(configured)
    stored = stored_broker_id(config.log_dirs)
    if stored is not None:
        return stored
    written = await store.session.set(paths.BROKER_SEQUENCE_ID, b"")
    return BrokerId(config.integer("reserved.broker.max.id") + written.version)
