"""Anybody may write a znode: of whatever bytes, each decoder makes a value or ``ZnodeDecodeError``."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from barnabas.cluster.model.epochs import BrokerEpoch
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.zk.schema import admin, brokers, topics
from barnabas.cluster.zk.schema import settings as entities
from barnabas.cluster.zk.schema.body import ZnodeDecodeError

DECODERS: dict[str, Callable[[bytes], Any]] = {
    "controller": brokers.decode_controller,
    "controller epoch": brokers.decode_controller_epoch,
    "broker": lambda content: brokers.decode_broker(BrokerId(1), content, BrokerEpoch(1)),
    "topic": lambda content: topics.decode_topic("t", content),
    "state": lambda content: topics.decode_state(TopicPartition("t", 0), content, 0),
    "preferred": admin.decode_preferred_replica_election,
    "isr change": lambda content: admin.decode_isr_change("/n", content),
    "reassignment": admin.decode_reassignment,
    "log dir event": lambda content: admin.decode_log_dir_event("/n", content),
    "config": lambda content: entities.decode_config("/n", content),
    "config change": lambda content: entities.decode_config_change("/n", content),
    "cluster id": entities.decode_cluster_id,
    "producer ids": entities.decode_producer_id_block,
}

_NUMBER_KEYS = (
    "version",
    "brokerid",
    "port",
    "leader",
    "leader_epoch",
    "controller_epoch",
    "broker",
    "event",
)
_TEXT_KEYS = ("host", "timestamp", "rack", "topic_id", "entity_path", "entity_type", "entity_name", "id")
_LIST_KEYS = ("endpoints", "isr", "replicas", "partitions", "adding_replicas", "removing_replicas")
_OTHER_KEYS = (
    "listener_security_protocol_map",
    "config",
    "topic",
    "partition",
    "block_start",
    "block_end",
    "0",
)
KEYS = st.sampled_from(_NUMBER_KEYS + _TEXT_KEYS + _LIST_KEYS + _OTHER_KEYS) | st.text(max_size=3)
NUMBERS = st.sampled_from([-3, -2, -1, 0, 1, 65536, 2**31 - 1, 2**31, 2**63, 10**400]) | st.floats()
TEXTS = st.sampled_from(
    ["A://h:1", "A://h:99999", "A://[::1]:" + "9" * 5000, "9" * 5000, "\ud800", "topics/.."]
)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
BODIES = st.dictionaries(KEYS, VALUES, max_size=5).map(
    lambda fields: json.dumps({"version": 1} | fields, separators=(",", ":")).encode()
)


@pytest.mark.parametrize("kind", DECODERS)
@given(st.binary(max_size=30) | BODIES)
@example(b'{"version":1e999}')
@example(b'{"version":1,"partitions":' + b"[" * 100_000)
@example(b"9" * 5000)
@example(b'{"version":1,"brokerid":' + b"9" * 5000 + b"}")
def test_whatever_is_written_is_read_or_refused(kind: str, content: bytes) -> None:
    with contextlib.suppress(ZnodeDecodeError):
        DECODERS[kind](content)


@pytest.mark.parametrize("kind", DECODERS)
def test_what_was_read_can_be_passed_on(kind: str) -> None:
    """No lone surrogate comes through: it could be sent to nobody."""
    text = r'"\ud800"'
    fields = ",".join(
        f'"{key}":{value}'
        for key, value in {
            "version": "1",
            "brokerid": text,
            "host": text,
            "port": "1",
            "partitions": f'[{{"topic":{text},"partition":0,"replicas":[1]}}]',
            "leader": text,
            "broker": text,
            "config": f'{{"k":{text}}}',
            "entity_type": '"topics"',
            "entity_name": text,
            "id": text,
        }.items()
    )
    with pytest.raises(ZnodeDecodeError):
        DECODERS[kind](f"{{{fields}}}".encode())
