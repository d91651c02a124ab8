"""The answers on a replication stream <-> bytes, as ``replication.proto`` has them, records uncopied.

protobuf copies a ``bytes`` field whenever it is set, read, encoded or decoded; of a stream whose messages are
nearly all records that is half of what an answer costs. Here protobuf encodes and decodes everything but the
records, which stand beside it: they are copied once on their way out, into the message, and not at all on
their way in. The bytes are those of the schema; any protobuf library reads and writes the same.
Source of the encoding: protobuf.dev, "Encoding".
"""

from __future__ import annotations

from dataclasses import dataclass, field

from google.protobuf.message import DecodeError

from barnabas.cluster.rpc import replication_pb2 as pb
from barnabas.cluster.rpc.framing import LENGTH_DELIMITED, head, tag

Buffer = bytes | bytearray | memoryview

_SIZES = {1: 8, 5: 4}
"""The wire types of fixed size, in bytes."""

_MAX_VARINT_SHIFT = 63

_PARTITIONS_TAG = tag(pb.FetchResponse.PARTITIONS_FIELD_NUMBER)
_RECORDS_TAG = tag(pb.PartitionData.RECORDS_FIELD_NUMBER)


@dataclass(slots=True)
class PartitionData:
    """What the leader says of one partition; the fields are those of the message of this name.

    Attributes:
        topic: The topic's name.
        partition: The partition's number.
        error_code: Kafka's, 0 where the fetch is served.
        high_watermark: The leader's.
        log_start_offset: The leader's.
        log_end_offset: The leader's.
        records: Whole batches; one that came in is a view of its answer's bytes.
        diverging_epoch: Where the logs part, or None where they agree.
        leader_epoch: The epoch in which the follower asked.
        fetch_id: The follower's number of what it asked.
        fetch_offset: The offset that it asked for.
    """

    topic: str = ""
    partition: int = 0
    error_code: int = 0
    high_watermark: int = 0
    log_start_offset: int = 0
    log_end_offset: int = 0
    records: Buffer = b""
    diverging_epoch: pb.EpochEndOffset | None = None
    leader_epoch: int = 0
    fetch_id: int = 0
    fetch_offset: int = 0


@dataclass(slots=True)
class FetchResponse:
    """One answer on a replication stream.

    Attributes:
        error_code: Kafka's, of the session as a whole; 0 where there is none.
        partitions: Those that have something to say.
    """

    error_code: int = 0
    partitions: list[PartitionData] = field(default_factory=list)


def fetch_response_to_bytes(response: FetchResponse) -> bytes:
    """The message, encoded."""
    chunks: list[Buffer] = [pb.FetchResponse(error_code=response.error_code).SerializeToString()]
    for data in response.partitions:
        about = pb.PartitionData(
            topic=data.topic,
            partition=data.partition,
            error_code=data.error_code,
            high_watermark=data.high_watermark,
            log_start_offset=data.log_start_offset,
            log_end_offset=data.log_end_offset,
            diverging_epoch=data.diverging_epoch,
            leader_epoch=data.leader_epoch,
            fetch_id=data.fetch_id,
            fetch_offset=data.fetch_offset,
        ).SerializeToString()
        records = data.records
        if records:
            about += head(_RECORDS_TAG, len(records))
        chunks += (head(_PARTITIONS_TAG, len(about) + len(records)), about, records)
    return b"".join(chunks)


def fetch_response_from_bytes(encoded: bytes) -> FetchResponse:
    """The message that ``encoded`` holds; its records are views of it.

    Raises:
        DecodeError: The bytes are no such message.
    """
    about, partitions = _taken_out(memoryview(encoded), _PARTITIONS_TAG)
    return FetchResponse(
        pb.FetchResponse.FromString(about).error_code, [_partition_data(found) for found in partitions]
    )


def _partition_data(encoded: memoryview) -> PartitionData:
    about, records = _taken_out(encoded, _RECORDS_TAG)
    message = pb.PartitionData.FromString(about)
    return PartitionData(
        message.topic,
        message.partition,
        message.error_code,
        message.high_watermark,
        message.log_start_offset,
        message.log_end_offset,
        # Of a field that occurs twice the last one counts.
        records[-1] if records else b"",
        message.diverging_epoch if message.HasField("diverging_epoch") else None,
        message.leader_epoch,
        message.fetch_id,
        message.fetch_offset,
    )


def _taken_out(message: memoryview, tag_: int) -> tuple[bytes, list[memoryview]]:
    """A message without its length-delimited fields of that tag, and the contents of those."""
    rest: list[memoryview] = []
    found: list[memoryview] = []
    kept_from = at = 0
    try:
        while at < len(message):
            start = at
            key, at = _varint(message, at)
            wire_type = key & 7
            if wire_type == LENGTH_DELIMITED:
                size, at = _varint(message, at)
                content, at = at, at + size
                if key == tag_:
                    rest.append(message[kept_from:start])
                    found.append(message[content:at])
                    kept_from = at
            elif wire_type == 0:
                _, at = _varint(message, at)
            else:
                at += _SIZES[wire_type]
    except (IndexError, KeyError) as error:
        raise DecodeError(f"{len(message)} bytes that are no message: {error!r} at byte {at}") from error
    if at != len(message):
        raise DecodeError(f"a field ends at byte {at} of a message of {len(message)} bytes")
    rest.append(message[kept_from:])
    return b"".join(rest), found


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    """A base-128 number, and the position behind it."""
    byte = data[at]
    if byte < 0x80:
        return byte, at + 1
    value, shift = byte & 0x7F, 7
    while True:
        at += 1
        byte = data[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at + 1
        shift += 7
        if shift > _MAX_VARINT_SHIFT:
            raise DecodeError(f"varint of more than 10 bytes, the last of them at byte {at}")
