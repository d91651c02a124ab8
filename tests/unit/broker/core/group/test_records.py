"""Keys and values of ``__consumer_offsets``: bytes as Kafka writes them, and what is no such key or value."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.core.group.records import (
    DamagedRecordError,
    GroupKey,
    OffsetAndMetadata,
    OffsetKey,
    decode_group_value,
    decode_key,
    decode_offset_value,
    encode_group_key,
    encode_group_value,
    encode_offset_key,
    encode_offset_value,
)
from barnabas.broker.core.group.stored import StoredGroup, StoredMember
from barnabas.cluster.model.ids import TopicPartition

TP = TopicPartition("t", 7)
MEMBER = StoredMember("m-1", None, "c", "/127.0.0.1", 300_000, 10_000, b"sub", b"asg")
STATIC = StoredMember("m-2", "one", "c", "/::1", 60_000, 10_000, b"", b"")
GROUP = StoredGroup("consumer", 3, "range", "m-1", 1_700_000_000_000, (MEMBER, STATIC))
EMPTY = StoredGroup("consumer", 4, None, None, None, ())

texts = st.text(st.characters(codec="utf-8"), max_size=20)
numbers = st.integers(-(2**63), 2**63 - 1)
blobs = st.binary(max_size=20)


def text(value):
    return struct.pack(">h", -1) if value is None else struct.pack(">h", len(value)) + value


def compact(value):
    return bytes((0,)) if value is None else bytes((len(value) + 1,)) + value


def test_an_offset_key_has_version_1():
    key = encode_offset_key("g", TP)
    assert key == b"\x00\x01" + text(b"g") + text(b"t") + b"\x00\x00\x00\x07"
    assert decode_key(key) == OffsetKey("g", TP)
    assert decode_key(b"\x00\x00" + key[2:]) == OffsetKey("g", TP)


def test_a_group_key_has_version_2():
    assert encode_group_key("g") == b"\x00\x02" + text(b"g")
    assert decode_key(encode_group_key("g")) == GroupKey("g")


def test_an_offset_value_has_version_3():
    value = OffsetAndMetadata(42, 5, "note", 1000)
    encoded = struct.pack(">hqi", 3, 42, 5) + text(b"note") + struct.pack(">q", 1000)
    assert encode_offset_value(value) == encoded
    assert decode_offset_value(encoded) == value


def test_a_time_of_expiration_takes_version_1_which_has_no_leader_epoch():
    encoded = struct.pack(">hq", 1, 42) + text(b"") + struct.pack(">qq", 1000, 2000)
    assert encode_offset_value(OffsetAndMetadata(42, 5, "", 1000, 2000)) == encoded
    assert decode_offset_value(encoded) == OffsetAndMetadata(42, -1, "", 1000, 2000)


@pytest.mark.parametrize(
    ("encoded", "epoch"),
    [
        (struct.pack(">hq", 0, 42) + text(b"m") + struct.pack(">q", 1000), -1),
        (struct.pack(">hq", 1, 42) + text(b"m") + struct.pack(">qq", 1000, -1), -1),
        (struct.pack(">hq", 2, 42) + text(b"m") + struct.pack(">q", 1000), -1),
        # A tag that this release does not know is skipped; its length takes two bytes.
        (
            struct.pack(">hqi", 4, 42, 5)
            + compact(b"m")
            + struct.pack(">q", 1000)
            + b"\x01\x00\x82\x01"
            + bytes(130),
            5,
        ),
        # Bytes that follow do not matter, as in Kafka.
        (struct.pack(">hqi", 3, 42, 5) + text(b"m") + struct.pack(">q", 1000) + b"more", 5),
    ],
)
def test_other_versions_of_an_offset_value_are_read(encoded, epoch):
    assert decode_offset_value(encoded) == OffsetAndMetadata(42, epoch, "m", 1000)


def test_a_group_value_has_version_3():
    encoded = encode_group_value(GROUP)
    head = struct.pack(">h", 3) + text(b"consumer") + struct.pack(">i", 3) + text(b"range") + text(b"m-1")
    first = b"".join(
        (
            text(b"m-1"),
            text(None),
            text(b"c"),
            text(b"/127.0.0.1"),
            struct.pack(">ii", 300_000, 10_000),
            struct.pack(">i", 3) + b"sub",
            struct.pack(">i", 3) + b"asg",
        )
    )
    assert encoded.startswith(head + struct.pack(">qi", 1_700_000_000_000, 2) + first)
    assert decode_group_value(encoded) == GROUP


def test_an_empty_group_has_neither_protocol_nor_leader():
    encoded = encode_group_value(EMPTY)
    nulls = text(None) + text(None)
    assert encoded == b"\x00\x03" + text(b"consumer") + struct.pack(">i", 4) + nulls + struct.pack(
        ">qi", -1, 0
    )
    assert decode_group_value(encoded) == EMPTY


@pytest.mark.parametrize("version", [0, 1, 2])
def test_older_versions_of_a_group_value_are_read(version):
    encoded = (
        struct.pack(">h", version) + text(b"consumer") + struct.pack(">i", 3) + text(b"range") + text(b"m")
    )
    if version >= 2:
        encoded += struct.pack(">q", 99)
    encoded += struct.pack(">i", 1) + text(b"m") + text(b"c") + text(b"/h")
    if version >= 1:
        encoded += struct.pack(">i", 70_000)
    encoded += struct.pack(">i", 10_000) + struct.pack(">i", 1) + b"s" + struct.pack(">i", 1) + b"a"
    member = StoredMember("m", None, "c", "/h", 70_000 if version else 10_000, 10_000, b"s", b"a")
    timestamp = 99 if version >= 2 else None
    assert decode_group_value(encoded) == StoredGroup("consumer", 3, "range", "m", timestamp, (member,))


def test_a_group_value_of_version_4_is_read():
    encoded = (
        struct.pack(">h", 4) + compact(b"consumer") + struct.pack(">i", 3) + compact(b"range") + compact(b"m")
    )
    encoded += (
        struct.pack(">q", 99) + b"\x02" + compact(b"m") + compact(None) + compact(b"c") + compact(b"/h")
    )
    encoded += struct.pack(">ii", 70_000, 10_000) + compact(b"s") + compact(b"a") + b"\x00\x00"
    member = StoredMember("m", None, "c", "/h", 70_000, 10_000, b"s", b"a")
    assert decode_group_value(encoded) == StoredGroup("consumer", 3, "range", "m", 99, (member,))


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        (None, "the key is null"),
        (b"", "of 0 bytes cannot be read"),
        (b"\x00\x03" + text(b"g"), "has version 3, expected 0 to 2"),
        (b"\xff\xff" + text(b"g"), "has version -1"),
        (b"\x00\x01" + text(b"g") + text(b"t"), "of 8 bytes cannot be read"),
        (b"\x00\x02" + text(None), "a string is null"),
        (b"\x00\x02\x00\x09g", "a field of 9 bytes"),
        (b"\x00\x02\xff\xfeg", "a field of -2 bytes"),
        (b"\x00\x02" + text(b"\xff"), "cannot be read"),
    ],
)
def test_a_damaged_key_is_refused(key, reason):
    with pytest.raises(DamagedRecordError, match=reason):
        decode_key(key)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (struct.pack(">h", 5) + bytes(30), "has version 5"),
        (encode_offset_value(OffsetAndMetadata(1, 1, "abc", 1))[:-1], "cannot be read"),
        (struct.pack(">hqi", 3, 1, 1) + text(b"\xff\xff") + bytes(8), "cannot be read"),
        (struct.pack(">hqi", 3, 1, 1) + text(None) + bytes(8), "a string is null"),
        (struct.pack(">hqi", 4, 1, 1) + b"\x80\x80\x80\x80\x80\x01", "a length without end"),
        (struct.pack(">hqi", 4, 1, 1) + b"\x80", "a length without end"),
    ],
)
def test_a_damaged_offset_value_is_refused(value, reason):
    with pytest.raises(DamagedRecordError, match=reason):
        decode_offset_value(value)


@pytest.mark.parametrize("count", [-1, 1000, 2**31 - 1])
def test_an_impossible_number_of_members_is_refused(count):
    encoded = encode_group_value(EMPTY)[:-4] + struct.pack(">i", count)
    with pytest.raises(DamagedRecordError, match=f"an array of {count} elements"):
        decode_group_value(encoded)


def test_a_member_without_subscription_is_damaged():
    encoded = encode_group_value(StoredGroup("consumer", 1, "p", "m", 1, (MEMBER,)))
    nothing = encoded.replace(struct.pack(">i", 3) + b"sub", struct.pack(">i", -1))
    with pytest.raises(DamagedRecordError, match="bytes are null"):
        decode_group_value(nothing)


@given(st.builds(OffsetAndMetadata, numbers, st.integers(-1, 2**31 - 1), texts, numbers, st.none()))
def test_what_is_written_is_read(value):
    assert decode_offset_value(encode_offset_value(value)) == value


int32s = st.integers(-(2**31), 2**31 - 1)
members = st.builds(StoredMember, texts, st.none() | texts, texts, texts, int32s, int32s, blobs, blobs)
stored = st.builds(
    StoredGroup,
    texts,
    int32s,
    st.none() | texts,
    st.none() | texts,
    st.none() | st.integers(0, 2**62),
    st.lists(members, max_size=3).map(tuple),
)


@given(stored)
def test_a_group_that_is_written_is_read(group):
    assert decode_group_value(encode_group_value(group)) == group


@given(st.binary(max_size=60))
def test_junk_is_damaged_and_no_other_error(junk):
    for decode in (decode_key, decode_offset_value, decode_group_value):
        try:
            decode(junk)
        except DamagedRecordError:
            continue
