from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.model.ids import BrokerId, ProducerId
from barnabas.cluster.zk.schema.body import ZnodeDecodeError
from barnabas.cluster.zk.schema.settings import (
    FEATURES_DISABLED,
    ProducerIdBlock,
    decode_cluster_id,
    decode_config,
    decode_config_change,
    decode_producer_id_block,
    encode_cluster_id,
    encode_config,
    encode_config_change,
    encode_producer_id_block,
    features_are_disabled,
    next_producer_id_block,
)

ONE, TWO = BrokerId(1), BrokerId(2)


@pytest.mark.parametrize(
    ("content", "disabled"),
    [
        (FEATURES_DISABLED, True),
        (b'{"features":{},"status":0,"version":1}', True),
        (b'{"version":1,"status":1,"features":{}}', False),
        (b'{"version":1,"status":0,"features":{"f":{"min_version_level":1,"max_version_level":3}}}', False),
        (b'{"version":1}', False),
        (b'{"version":1,"status":false,"features":{}}', False),
        (b"[]", False),
        (b"", False),
        (b"\xff", False),
    ],
)
def test_features_are_disabled_where_the_node_says_so(content: bytes, disabled: bool) -> None:
    assert features_are_disabled(content) is disabled


def test_settings_as_kafka_writes_them() -> None:
    body = b'{"version":1,"config":{"k":"v"}}'
    assert encode_config({"k": "v"}) == body
    assert decode_config("/config/topics/t", body) == {"k": "v"}
    assert decode_config("/config/topics/t", b"") == {}
    with pytest.raises(ZnodeDecodeError, match=r"^/config/topics/t holds"):
        decode_config("/config/topics/t", b'{"version":1,"config":{"k":1}}')


def test_a_change_of_settings_in_both_versions() -> None:
    assert encode_config_change("topics/t") == b'{"version":2,"entity_path":"topics/t"}'
    assert (
        decode_config_change("/n", b'{"version":2,"entity_path":"users/u/clients/c"}') == "users/u/clients/c"
    )
    assert decode_config_change("/n", b'{"version":1,"entity_type":"topics","entity_name":"t"}') == "topics/t"


def test_the_cluster_id_has_a_version_that_is_a_string() -> None:
    body = b'{"version":"1","id":"6jTmzoXLQ3qqdmR0Nll5Pg"}'
    assert encode_cluster_id("6jTmzoXLQ3qqdmR0Nll5Pg") == body
    assert decode_cluster_id(body) == "6jTmzoXLQ3qqdmR0Nll5Pg"


def test_a_producer_id_block_as_kafka_writes_it() -> None:
    body = b'{"version":1,"broker":1,"block_start":"0","block_end":"999"}'
    block = ProducerIdBlock(ONE, ProducerId(0), ProducerId(999))
    assert encode_producer_id_block(block) == body
    assert decode_producer_id_block(body) == block
    assert decode_producer_id_block(b"") is None


@given(st.lists(st.sampled_from([ONE, TWO]), max_size=20))
def test_blocks_follow_one_another_without_gap_or_overlap(brokers: list[BrokerId]) -> None:
    last, given_away = None, []
    for broker in brokers:
        last = next_producer_id_block(last, broker)
        assert last.broker == broker
        given_away += range(last.start, last.end + 1)
    assert given_away == list(range(1000 * len(brokers)))


@given(st.dictionaries(st.text(), st.text()))
def test_settings_survive_the_round_trip(values: dict[str, str]) -> None:
    assert decode_config("/c", encode_config(values)) == values
