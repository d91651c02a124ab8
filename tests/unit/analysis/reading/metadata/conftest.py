"""Metadata logs made by hand, byte by byte, as KIP-482 and KIP-631 define them."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from crc32c import crc32c

ID_BYTES = bytes(range(16))
TOPIC_ID = "AAECAwQFBgcICQoLDA0ODw"


def varint(number: int) -> bytes:
    found = b""
    while number > 0x7F:
        found, number = found + bytes([number & 0x7F | 0x80]), number >> 7
    return found + bytes([number])


def zigzag(number: int) -> bytes:
    return varint(number << 1 if number >= 0 else (-number << 1) - 1)


def text(value: str) -> bytes:
    return varint(len(value) + 1) + value.encode()


def int32s(*values: int) -> bytes:
    return varint(len(values) + 1) + struct.pack(f">{len(values)}i", *values)


def value(key: int, version: int, body: bytes, **tags: bytes) -> bytes:
    """The value of a record, with its tagged fields as ``t1=…``."""
    tagged = b"".join(varint(int(name[1:])) + varint(len(data)) + data for name, data in tags.items())
    return varint(1) + varint(key) + varint(version) + body + varint(len(tags)) + tagged


def record(data: bytes, number: int, key: bytes | None = None) -> bytes:
    keyed = zigzag(-1) if key is None else zigzag(len(key)) + key
    body = b"\0" + zigzag(number) + zigzag(number) + keyed + zigzag(len(data)) + data + zigzag(0)
    return zigzag(len(body)) + body


def batch(
    offset: int, *values: bytes, epoch: int = 1, time_ms: int = 1_000_000, control: int | None = None
) -> bytes:
    key = None if control is None else struct.pack(">hh", 0, control)
    body = b"".join(record(data, number, key) for number, data in enumerate(values))
    attributes = 0 if control is None else 0x20
    covered = (
        struct.pack(
            ">hiqqqhii", attributes, len(values) - 1, time_ms, time_ms + len(values) - 1, -1, -1, -1,
            len(values),
        ) + body
    )  # fmt: skip
    return struct.pack(">qiibI", offset, len(body) + 49, epoch, 2, crc32c(covered)) + covered


def in_order(data: bytes, first: int = 0) -> bytes:
    """The batches in ``data`` with the offsets that follow from their numbers of records; none is missing."""
    found, offset = bytearray(data), first
    at = 0
    while at < len(found):
        struct.pack_into(">q", found, at, offset)
        offset += struct.unpack_from(">i", found, at + 57)[0]
        at += 12 + struct.unpack_from(">i", found, at + 8)[0]
    return bytes(found)


def leader_change(offset: int, leader: int, epoch: int) -> bytes:
    return batch(offset, struct.pack(">hi", 0, leader) + b"\1\1\0", epoch=epoch, control=2)


TOPIC = value(2, 0, text("a-b") + ID_BYTES)


def partition(leader: int, *isr: int, epoch: int = 0) -> bytes:
    body = struct.pack(">i", 0) + ID_BYTES + int32s(1, 2, 3) + int32s(*isr) + int32s() + int32s()
    return value(3, 0, body + struct.pack(">iii", leader, epoch, epoch))


def change(version: int = 0, **tags: bytes) -> bytes:
    return value(5, version, struct.pack(">i", 0) + ID_BYTES, **tags)


def number(each: int) -> bytes:
    return struct.pack(">i", each)


def register(broker: int, epoch: int, *, is_leaving: bool = False, incarnation: bytes = ID_BYTES) -> bytes:
    body = number(broker) + b"\0" + incarnation + struct.pack(">q", epoch) + b"\1" + b"\1" + b"\0\1"
    return value(0, 3, body + bytes([is_leaving]), t0=b"\2" + ID_BYTES)


def registration_change(broker: int, epoch: int, **tags: bytes) -> bytes:
    return value(17, 2, number(broker) + struct.pack(">q", epoch), **tags)


@pytest.fixture
def log(tmp_path: Path) -> Callable[..., Path]:
    """Writes a metadata log, ``log(batches, …)`` a segment each, and returns its first segment."""

    def write(*segments: bytes, node: str = "kafka-1", cluster: str | None = "abc", begin: int = 0) -> Path:
        folder = tmp_path / node / "__cluster_metadata-0"
        folder.mkdir(parents=True)
        if cluster is not None:
            (tmp_path / node / "meta.properties").write_text(f"version=1\ncluster.id={cluster}\n")
        for index, data in enumerate(segments):
            (folder / f"{begin + index * 100:020}.log").write_bytes(data)
        return folder / f"{begin:020}.log"

    return write
