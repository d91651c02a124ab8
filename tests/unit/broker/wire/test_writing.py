from __future__ import annotations

import datetime as dt
import io
import random
from dataclasses import replace

import pytest
from kio.schema.errors import ErrorCode
from kio.serial import entity_writer

from barnabas.broker.wire.apis import APIS
from barnabas.broker.wire.pieces import ELEMENTS_PER_STEP
from barnabas.broker.wire.schemas import RESPONSE, load_payload_module, load_schema
from barnabas.broker.wire.writing import Timestamp, cut_message, write, write_in_steps


def written(entity):
    pieces = []
    write(pieces, entity)
    return b"".join(pieces)


def by_kio(entity):
    out = io.BytesIO()
    entity_writer(type(entity))(out, entity)
    return out.getvalue()


def drive(entity):
    """The bytes, and in how many steps they were written."""
    pieces, chunks, steps = [], b"", 1
    for _ in write_in_steps(pieces, entity):
        chunks += b"".join(pieces)
        pieces.clear()
        steps += 1
    return chunks + b"".join(pieces), steps


def test_every_served_response_is_the_same_at_once_and_in_steps(random_request):
    rng = random.Random(2)
    for api in APIS.values():
        for version in range(api.min_version, api.max_version + 1):
            schema = load_schema(api.key, version, RESPONSE)
            for _ in range(5):
                response = random_request(rng, schema)
                expected = by_kio(response)
                assert written(response) == expected, schema
                assert drive(response) == (expected, 1), schema


def end_offsets(topics, partitions):
    module = load_payload_module(23, 4, RESPONSE)
    of_topic = tuple(module.EpochEndOffset(error_code=ErrorCode.none, partition=n) for n in range(partitions))
    return module.OffsetForLeaderEpochResponse(
        throttle_time=dt.timedelta(0),
        topics=tuple(
            module.OffsetForLeaderTopicResult(topic=f"t{n}", partitions=of_topic) for n in range(topics)
        ),
    )


@pytest.mark.parametrize(("topics", "partitions"), [(1, 5_000), (5_000, 0), (50, 100)])
def test_there_is_a_step_for_each_piece(topics, partitions):
    entity = end_offsets(topics, partitions)
    chunks, steps = drive(entity)
    assert chunks == by_kio(entity)
    assert steps == 1 + (topics * (1 + partitions)) // ELEMENTS_PER_STEP


@pytest.mark.parametrize("ms", [-1, 0, 1_700_000_000_001, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("version", [3, 8])
def test_a_time_that_no_datetime_holds_is_written_to_the_millisecond(version, ms):
    module = load_payload_module(0, version, RESPONSE)
    values = {"index": 0, "error_code": ErrorCode.none, "base_offset": 0, "log_append_time": Timestamp(ms)}
    if version >= 8:
        values |= {"record_errors": (), "error_message": None}
    partition = module.PartitionProduceResponse(**values)
    start = 4 + 2 + 8
    assert int.from_bytes(written(partition)[start : start + 8], "big", signed=True) == ms


@pytest.mark.parametrize("sign", ["a", "é"])
def test_an_error_message_is_cut_to_what_a_string_holds(sign):
    """It may repeat a name of the longest size: old versions had no room for it, clients of new ones fail."""
    message = "no such topic: " + sign * 32_767
    cut = cut_message(message)
    assert cut.startswith("no such topic: " + sign * 1_000)
    assert cut.endswith(f"... ({len(message.encode())} bytes)")
    assert len(cut.encode()) <= 32_767
    assert cut_message("short") == "short"


def test_long_records_are_not_copied():
    module = load_payload_module(1, 4, RESPONSE)
    records = bytearray(100_000)
    data = module.PartitionData(
        partition_index=0,
        error_code=ErrorCode.none,
        high_watermark=0,
        last_stable_offset=0,
        aborted_transactions=None,
        records=records,
    )
    pieces = []
    write(pieces, data)
    assert pieces[-1] is records


def test_a_null_that_the_protocol_does_not_have_is_refused():
    topic = load_payload_module(0, 9, RESPONSE).TopicProduceResponse(name="orders", partition_responses=())
    with pytest.raises(TypeError):
        written(replace(topic, name=None))


def test_an_entity_that_is_written_in_one_go_counts_with_what_it_holds():
    """The settings of a new topic lie beside a tagged field, so that a topic cannot be cut."""
    s = load_payload_module(19, 7, RESPONSE)
    configs = tuple(
        s.CreatableTopicConfigs(name=f"c.{n}", value="", read_only=False, config_source=5, is_sensitive=False)
        for n in range(ELEMENTS_PER_STEP - 1)
    )
    topic = s.CreatableTopicResult(
        name="t", topic_id=None, error_code=ErrorCode.none, error_message=None, num_partitions=1,
        replication_factor=1, configs=configs,
    )  # fmt: skip
    answer = s.CreateTopicsResponse(throttle_time=dt.timedelta(0), topics=(topic,) * 5)
    assert sum(1 for _ in write_in_steps([], answer)) == 5
