from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.zk.schema.admin import (
    LogDirEvent,
    decode_isr_change,
    decode_log_dir_event,
    decode_preferred_replica_election,
    decode_reassignment,
    encode_log_dir_event,
    encode_partitions,
    encode_reassignment,
)
from barnabas.cluster.zk.schema.body import ZnodeDecodeError

TP = TopicPartition("t", 0)


def test_partitions_as_kafka_writes_them() -> None:
    body = b'{"version":1,"partitions":[{"topic":"t","partition":0}]}'
    assert encode_partitions([TP]) == body
    assert decode_isr_change("/isr_change_notification/isr_change_0000000000", body) == (TP,)
    assert decode_preferred_replica_election(body) == (TP,)


def test_a_reassignment_as_kafka_writes_it() -> None:
    body = b'{"version":1,"partitions":[{"topic":"t","partition":0,"replicas":[4,5,6]}]}'
    reassignment = {TP: (BrokerId(4), BrokerId(5), BrokerId(6))}
    assert encode_reassignment(reassignment) == body
    assert decode_reassignment(body) == reassignment


def test_of_a_partition_named_twice_the_last_word_holds() -> None:
    twice = [{"topic": "t", "partition": 0, "replicas": [n]} for n in (1, 2)]
    assert decode_reassignment(json.dumps({"version": 1, "partitions": twice}).encode()) == {TP: (2,)}


def test_a_log_dir_event_as_kafka_writes_it() -> None:
    body = b'{"version":1,"broker":1,"event":1}'
    assert encode_log_dir_event(LogDirEvent(BrokerId(1))) == body
    assert decode_log_dir_event("/log_dir_event_notification/log_dir_event_0000000000", body) == LogDirEvent(
        BrokerId(1), 1
    )


@pytest.mark.parametrize(
    "item", [{}, {"topic": "t"}, {"topic": 1, "partition": 0}, {"topic": "t", "partition": "0"}]
)
def test_a_malformed_partition_names_the_note(item: object) -> None:
    with pytest.raises(ZnodeDecodeError, match=r"^/some/note holds .* expected a 'topic'"):
        decode_isr_change("/some/note", json.dumps({"version": 1, "partitions": [item]}).encode())


def test_a_reassignment_without_replicas_is_refused() -> None:
    with pytest.raises(ZnodeDecodeError, match=r"/admin/reassign_partitions holds .*'replicas'"):
        decode_reassignment(b'{"version":1,"partitions":[{"topic":"t","partition":0}]}')


partitions = st.builds(TopicPartition, st.text(min_size=1), st.integers(0, 2**31 - 1))


@given(st.dictionaries(partitions, st.lists(st.integers(0, 99).map(BrokerId)).map(tuple)))
def test_round_trips(reassignment: dict[TopicPartition, tuple[BrokerId, ...]]) -> None:
    assert decode_reassignment(encode_reassignment(reassignment)) == reassignment
    assert decode_isr_change("/n", encode_partitions(reassignment)) == tuple(reassignment)
