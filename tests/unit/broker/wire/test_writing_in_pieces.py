from __future__ import annotations

import datetime as dt
import random

import pytest
from kio.index import load_payload_module, load_response_schema
from kio.schema.errors import ErrorCode
from kio.static.constants import EntityType

from barnabas.broker.wire.apis import APIS
from barnabas.broker.wire.pieces import ELEMENTS_PER_STEP
from barnabas.broker.wire.writing_in_pieces import write_in_pieces


def drive(entity):
    """The bytes, and in how many steps they were written."""
    pieces, written, steps = [], b"", 1
    for _ in write_in_pieces(pieces, entity):
        written += b"".join(pieces)
        pieces.clear()
        steps += 1
    return written + b"".join(pieces), steps


def test_every_served_response_is_written_as_by_kio(random_request, encode_entity):
    rng = random.Random(2)
    for api in APIS.values():
        for version in range(api.min_version, api.max_version + 1):
            schema = load_response_schema(api.key, version)
            for _ in range(5):
                response = random_request(rng, schema)
                assert drive(response) == (encode_entity(response), 1), schema


def end_offsets(topics, partitions):
    module = load_payload_module(23, 4, EntityType.response)
    of_topic = tuple(module.EpochEndOffset(error_code=ErrorCode.none, partition=n) for n in range(partitions))
    return module.OffsetForLeaderEpochResponse(
        throttle_time=dt.timedelta(0),
        topics=tuple(
            module.OffsetForLeaderTopicResult(topic=f"t{n}", partitions=of_topic) for n in range(topics)
        ),
    )


@pytest.mark.parametrize(("topics", "partitions"), [(1, 5_000), (5_000, 0), (50, 100)])
def test_there_is_a_step_for_each_piece(encode_entity, topics, partitions):
    entity = end_offsets(topics, partitions)
    written, steps = drive(entity)
    assert written == encode_entity(entity)
    assert steps == 1 + (topics * (1 + partitions)) // ELEMENTS_PER_STEP
