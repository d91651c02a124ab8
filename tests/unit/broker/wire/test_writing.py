from __future__ import annotations

import io
import random
from dataclasses import replace

import pytest
from kio.index import load_payload_module, load_response_schema
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from barnabas.broker.wire.apis import APIS
from barnabas.broker.wire.writing import writer


def written(entity):
    pieces = []
    writer(type(entity))(pieces, entity)
    return b"".join(pieces)


def by_kio(entity):
    out = io.BytesIO()
    entity_writer(type(entity))(out, entity)
    return out.getvalue()


def test_every_served_response_is_written_as_by_kio(random_request):
    rng = random.Random(2)
    for api in APIS.values():
        for version in range(api.min_version, api.max_version + 1):
            schema = load_response_schema(api.key, version)
            for _ in range(5):
                response = random_request(rng, schema)
                assert written(response) == by_kio(response), schema


def test_every_header_is_written_as_by_kio():
    for version in (0, 1):
        headers = {load_response_schema(*of).__header_schema__ for of in ((0, 3), (0, 9))}
        for header in headers:
            assert written(header(correlation_id=version)) == by_kio(header(correlation_id=version))


@pytest.mark.parametrize("version", [8, 9])
@pytest.mark.parametrize("sign", ["a", "é"])
def test_an_error_message_is_cut_to_what_a_string_holds(version, sign):
    """It may repeat a name of the longest size: old versions had no room for it, clients of new ones fail."""
    module = load_payload_module(0, version, EntityType.response)
    message = "no such topic: " + sign * 32_767
    partition = module.PartitionProduceResponse(
        index=0, error_code=0, base_offset=0, log_append_time=None, record_errors=(), error_message=message
    )
    found, _ = entity_reader(type(partition))(memoryview(written(partition)), 0)
    assert found.error_message.startswith("no such topic: " + sign * 1_000)
    assert found.error_message.endswith(f"... ({len(message.encode())} bytes)")
    assert len(found.error_message.encode()) <= 32_767


def test_null_is_written_only_where_the_protocol_has_it():
    module = load_payload_module(0, 9, EntityType.response)
    partition = module.PartitionProduceResponse(
        index=0, error_code=0, base_offset=0, log_append_time=None, record_errors=(), error_message=None
    )
    topic = module.TopicProduceResponse(name="orders", partition_responses=(partition,))
    assert written(topic)
    with pytest.raises(TypeError, match="name is None"):
        written(replace(topic, name=None))
