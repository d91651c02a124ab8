"""``/config/*``, ``/cluster/id``, ``/feature`` and ``/latest_producer_id_block``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.cluster.model.ids import BrokerId, ProducerId
from barnabas.cluster.zk.schema import paths
from barnabas.cluster.zk.schema.body import Body, encode_json

PRODUCER_ID_BLOCK_SIZE = 1000
"""How many producer ids a broker takes at once."""


@dataclass(frozen=True, slots=True)
class ProducerIdBlock:
    """Producer ids that one broker may give away.

    Attributes:
        broker: The broker that took the block.
        start: The first id of it.
        end: The last id of it, inclusive.
    """

    broker: BrokerId
    start: ProducerId
    end: ProducerId


def encode_config(settings: Mapping[str, str]) -> bytes:
    """``/config/<type>/<name>``."""
    return encode_json({"version": 1, "config": dict(settings)})


def decode_config(path: str, content: bytes) -> dict[str, str]:
    """``/config/<type>/<name>``; an empty body has no settings. ``path`` is the whole path, for errors."""
    return Body(path, content).text_map("config") if content else {}


def encode_config_change(entity_path: str) -> bytes:
    """A ``config_change_<seq>`` of version 2; ``entity_path`` is like ``topics/orders``."""
    return encode_json({"version": 2, "entity_path": entity_path})


def decode_config_change(path: str, content: bytes) -> str:
    """The entity path in a ``config_change_<seq>`` of version 1 or 2; ``path`` is whole, for errors."""
    body = Body(path, content)
    if body.version == 1:
        return f"{body.text('entity_type')}/{body.text('entity_name')}"
    return body.text("entity_path")


FEATURES_DISABLED = encode_json({"version": 1, "status": 0, "features": {}})
"""``/feature`` where no features are versioned, as they are from inter.broker.protocol.version 2.7 on."""


def features_are_disabled(content: bytes) -> bool:
    """Whether ``/feature`` says as much as `FEATURES_DISABLED`; what cannot be read says something else."""
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError):
        return False
    if not isinstance(fields, dict):
        return False
    status = fields.get("status")
    # ``False`` is 0 to Python and none to Kafka.
    return type(status) is int and status == 0 and fields.get("features") == {}


def encode_cluster_id(cluster_id: str) -> bytes:
    """``/cluster/id``, whose version is a string."""
    return encode_json({"version": "1", "id": cluster_id})


def decode_cluster_id(content: bytes) -> str:
    """``/cluster/id``."""
    return Body(paths.CLUSTER_ID, content).text("id")


def encode_producer_id_block(block: ProducerIdBlock) -> bytes:
    """``/latest_producer_id_block``, whose ids are strings."""
    fields = {
        "version": 1,
        "broker": block.broker,
        "block_start": str(block.start),
        "block_end": str(block.end),
    }
    return encode_json(fields)


def decode_producer_id_block(content: bytes) -> ProducerIdBlock | None:
    """``/latest_producer_id_block``, or None while it is empty: no block was taken yet."""
    if not content:
        return None
    body = Body(paths.PRODUCER_ID_BLOCK, content)
    return ProducerIdBlock(
        BrokerId(body.int32("broker")),
        ProducerId(body.integer("block_start")),
        ProducerId(body.integer("block_end")),
    )


def next_producer_id_block(last: ProducerIdBlock | None, broker: BrokerId) -> ProducerIdBlock:
    """The block that ``broker`` takes after ``last``; the first one starts at 0."""
    start = 0 if last is None else last.end + 1
    return ProducerIdBlock(broker, ProducerId(start), ProducerId(start + PRODUCER_ID_BLOCK_SIZE - 1))
