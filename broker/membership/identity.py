"""The broker id and the cluster id."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterable
from pathlib import Path

from barnabas.broker.config.broker_config import BrokerConfig
from barnabas.broker.config.start_error import StartError
from barnabas.broker.disk.checkpoints import META_PROPERTIES, read_meta_properties
from barnabas.broker.disk.errors import CorruptCheckpointError
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.zk.schema import paths
from barnabas.cluster.zk.store import ZooKeeperStore


def new_cluster_id() -> str:
    """Return a random UUID in 22 characters of base64url (Kafka: ``CoreUtils.generateUuidAsBase64``)."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def stored_broker_id(directories: Iterable[Path]) -> BrokerId | None:
    """Return the broker id of the first ``meta.properties`` in ``directories``, or None if there is none.

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
    """Return ``broker.id``, else the stored id, else a generated one that no broker has had.

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
