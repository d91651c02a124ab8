"""The bodies of ``/config/*``, ``/cluster/id``, ``/feature`` and ``/latest_producer_id_block``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.cluster.model.ids import BrokerId, ProducerId
from barnabas.cluster.zk.schema import paths
from barnabas.cluster.zk.schema.body import Body, encode_json

PRODUCER_ID_BLOCK_SIZE = 1000
"""The number of producer ids that a broker takes at once."""


@dataclass(frozen=True, slots=True)
class ProducerIdBlock:
    """A block of producer ids that a broker may assign.

    Attributes:
        broker: The broker that took the block.
        start: The first id of the block.
        end: The last id of the block.
    """

    broker: BrokerId
    start: ProducerId
    end: ProducerId


def encode_config(settings: Mapping[str, str]) -> bytes:
    """Encode ``/config/<type>/<name>``."""
    return encode_json({"version": 1, "config": dict(settings)})


def decode_config(path: str, content: bytes) -> dict[str, str]:
    """Decode ``/config/<type>/<name>``; an empty body has no settings. ``path`` is for errors."""
    return Body(path, content).text_map("config") if content else {}


def encode_config_change(entity_path: str) -> bytes:
    """Encode a ``config_change_<seq>`` of version 2 for an ``entity_path`` such as ``topics/orders``."""
    return encode_json({"version": 2, "entity_path": entity_path})


def decode_config_change(path: str, content: bytes) -> str:
    """Decode the entity path in a ``config_change_<seq>`` of version 1 or 2; ``path`` is for errors."""
    body = Body(path, content)
    if body.version == 1:
        return f"{body.text('entity_type')}/{body.text('entity_name')}"
    return body.text("entity_path")


FEATURES_DISABLED = encode_json({"version": 1, "status": 0, "features": {}})
"""The content of ``/feature`` before inter.broker.protocol.version 2.7, without versioned features."""


def features_are_disabled(content: bytes) -> bool:
    """Return whether ``/feature`` is equivalent to `FEATURES_DISABLED`; unreadable content is not."""
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError):
        return False
    if not isinstance(fields, dict):
        return False
    status = fields.get("status")
    # In Python ``False`` equals 0; in Kafka it does not.
    return type(status) is int and status == 0 and fields.get("features") == {}


def encode_cluster_id(cluster_id: str) -> bytes:
    """Encode ``/cluster/id``, whose version is a string."""
    return encode_json({"version": "1", "id": cluster_id})


def decode_cluster_id(content: bytes) -> str:
    """Decode ``/cluster/id``."""
    return Body(paths.CLUSTER_ID, content).text("id")


def encode_producer_id_block(block: ProducerIdBlock) -> bytes:
    """Encode ``/latest_producer_id_block``, whose ids are strings."""
    fields = {
        "version": 1,
        "broker": block.broker,
        "block_start": str(block.start),
        "block_end": str(block.end),
    }
    return encode_json(fields)


def decode_producer_id_block(content: bytes) -> ProducerIdBlock | None:
    """Decode ``/latest_producer_id_block``; return None if it is empty because no block was taken yet."""
    if not content:
        return None
    body = Body(paths.PRODUCER_ID_BLOCK, content)
    return ProducerIdBlock(
        BrokerId(body.int32("broker")),
        ProducerId(body.integer("block_start")),
        ProducerId(body.integer("block_end")),
    )


def next_producer_id_block(last: ProducerIdBlock | None, broker: BrokerId) -> ProducerIdBlock:
    """Return the block that ``broker`` takes after ``last``; the first one starts at 0."""
    start = 0 if last is None else last.end + 1
    return ProducerIdBlock(broker, ProducerId(start), ProducerId(start + PRODUCER_ID_BLOCK_SIZE - 1))
