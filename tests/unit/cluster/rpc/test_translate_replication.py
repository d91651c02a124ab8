"""The hand-made half of the encoding against protobuf's own, in both directions."""

from __future__ import annotations

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.rpc import replication_pb2 as pb
from barnabas.cluster.rpc.translate_replication import (
    FetchResponse,
    PartitionData,
    fetch_response_from_bytes,
    fetch_response_to_bytes,
)

INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
RECORDS = st.binary(max_size=300) | st.integers(0, 40_000).map(bytes)

PARTITIONS = st.builds(
    PartitionData,
    topic=st.text(max_size=200),
    partition=INT32,
    error_code=INT32,
    high_watermark=INT64,
    log_start_offset=INT64,
    log_end_offset=INT64,
    records=RECORDS,
    diverging_epoch=st.none() | st.builds(pb.EpochEndOffset, epoch=INT32, end_offset=INT64),
    leader_epoch=INT32,
)
RESPONSES = st.builds(FetchResponse, error_code=INT32, partitions=st.lists(PARTITIONS, max_size=4))

FIELDS = tuple(pb.PartitionData.DESCRIPTOR.fields_by_name)


def as_message(response):
    """The same, in protobuf's own class."""
    return pb.FetchResponse(
        error_code=response.error_code,
        partitions=[
            pb.PartitionData(**{name: getattr(data, name) for name in FIELDS}) for data in response.partitions
        ],
    )


@given(RESPONSES)
def test_protobuf_reads_what_we_write(response):
    assert pb.FetchResponse.FromString(fetch_response_to_bytes(response)) == as_message(response)


@given(RESPONSES)
def test_we_read_what_protobuf_writes(response):
    assert fetch_response_from_bytes(as_message(response).SerializeToString()) == response


def test_records_are_views_of_the_answer():
    encoded = fetch_response_to_bytes(FetchResponse(partitions=[PartitionData(records=b"batches")]))
    (data,) = fetch_response_from_bytes(encoded).partitions
    assert isinstance(data.records, memoryview)
    assert data.records.obj is encoded


def test_a_later_release_may_add_fields_of_any_wire_type():
    unknown = bytes((15 << 3 | 0, 0x80, 1, 14 << 3 | 1, *range(8), 13 << 3 | 5, *range(4), 12 << 3 | 2, 1, 9))
    data = PartitionData(topic="t", records=b"r")
    inner = pb.PartitionData(topic="t", records=b"r").SerializeToString() + unknown
    encoded = unknown + bytes((2 << 3 | 2, len(inner))) + inner
    assert fetch_response_from_bytes(encoded) == FetchResponse(partitions=[data])


def test_the_last_of_two_records_fields_counts():
    inner = bytes((7 << 3 | 2, 1, 65, 7 << 3 | 2, 1, 66))
    (data,) = fetch_response_from_bytes(bytes((2 << 3 | 2, len(inner))) + inner).partitions
    assert data.records == b"B"


@pytest.mark.parametrize(
    "encoded",
    [
        bytes((2 << 3 | 2, 5, 0)),
        bytes((2 << 3 | 2,)),
        bytes((15 << 3 | 3,)),
        bytes((15 << 3 | 5, 0)),
        b"\x80" * 20,
        bytes((2 << 3 | 2, 2, 7 << 3 | 2, 9)),
    ],
    ids=["length too long", "no length", "a group", "fixed size cut", "endless varint", "records cut"],
)
def test_bytes_that_are_no_message_are_refused(encoded):
    with pytest.raises(DecodeError):
        fetch_response_from_bytes(encoded)
