"""Which files of a metadata log are read, and the batches in them."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.analysis.reading.files.encodings import DamagedError
from barnabas.analysis.reading.metadata.schemas import MetadataError
from barnabas.analysis.reading.metadata.segments import (
    alone_from,
    batches,
    chosen,
    is_segment,
    records,
    segments_of,
    snapshot_of,
)
from tests.unit.analysis.reading.metadata.conftest import TOPIC, batch, leader_change

Log = Callable[..., Path]


def test_records_have_offsets_and_times() -> None:
    data = batch(7, TOPIC, b"x", epoch=3) + leader_change(9, 2, 4) + b"\0" * 80
    found = [record for each in batches(io.BytesIO(data)) for record in records(each)]
    assert [(each.offset, each.epoch, each.timestamp_ms, each.control) for each in found] == [
        (7, 3, 1_000_000, None),
        (8, 3, 1_000_001, None),
        (9, 4, 1_000_000, 2),
    ]
    assert found[0].value == TOPIC


@pytest.mark.parametrize("data", [batch(0, TOPIC)[:-1], batch(0, TOPIC)[:30]])
def test_a_torn_batch_is_reported(data: bytes) -> None:
    with pytest.raises(DamagedError, match="torn"):
        list(batches(io.BytesIO(data)))


@pytest.mark.parametrize(("at", "byte"), [(16, 1), (22, 1), (8, 0x7F)])
def test_a_batch_of_another_format_is_reported(at: int, byte: int) -> None:
    data = bytearray(batch(5, TOPIC))
    data[at] = byte
    with pytest.raises(DamagedError, match="after offset 5"):
        list(batches(io.BytesIO(bytes(data))))


@pytest.mark.parametrize("at", [24, 40, -2])
def test_a_batch_whose_bytes_changed_is_reported(at: int) -> None:
    data = bytearray(batch(0, TOPIC) + batch(5, TOPIC))
    begin = len(batch(0, TOPIC))
    data[begin + at if at > 0 else at] ^= 1
    found = batches(io.BytesIO(bytes(data)))
    assert next(found).offset == 0
    with pytest.raises(DamagedError, match="the checksum of the batch at offset 5 is wrong"):
        next(found)


def test_a_record_that_contradicts_its_length_is_an_error() -> None:
    (whole,) = batches(io.BytesIO(batch(0, b"x")))
    whole = replace(whole, body=whole.body.replace(b"\x0e\0\0\0\1", b"\2\0\0\0\1"))
    with pytest.raises(MetadataError):
        list(records(whole))


def test_of_a_cluster_s_copies_the_longest_is_read(log: Log) -> None:
    short = log(leader_change(0, 1, 1), node="a")
    long = log(leader_change(0, 1, 1), leader_change(100, 1, 2), node="b")
    torn = log(leader_change(0, 1, 1) + b"x", node="c")
    other = log(leader_change(0, 1, 1), node="d", cluster="xyz")
    alone = log(b"", node="e", cluster=None)
    everything = [short, *segments_of(long.parent), torn, other, alone]
    assert all(is_segment(path) for path in everything)
    assert chosen(everything) == [long, other, alone]
    assert not is_segment(long.parent.parent / long.name)


def test_what_only_the_longest_copy_has_is_not_proven(log: Log) -> None:
    both = leader_change(0, 1, 1) + batch(1, TOPIC, TOPIC)
    long = log(both + batch(3, TOPIC, epoch=1), node="a")
    short = log(both, node="b")
    assert alone_from([long]) == []
    assert alone_from([long, short]) == [(long, 3)]
    equal = log(both + batch(3, TOPIC, epoch=1), node="c")
    assert alone_from([long, short, equal]) == []


def test_a_copy_that_went_another_way_proves_only_what_it_shares(log: Log) -> None:
    newer = log(leader_change(0, 1, 1) + leader_change(1, 2, 2) + batch(2, TOPIC, epoch=2), node="a")
    older = log(leader_change(0, 1, 1) + batch(1, TOPIC, TOPIC, TOPIC, epoch=1), node="b")
    assert chosen([older, newer]) == [newer]
    assert alone_from([older, newer]) == [(newer, 1)]
    torn = log(leader_change(0, 1, 1) + b"x", node="c", cluster="xyz")
    other = log(b"", node="d", cluster="xyz")
    assert alone_from([torn, other]) == [(torn, 0)]


def test_a_snapshot_gives_what_deleted_segments_held(log: Log) -> None:
    first = log(b"", begin=300)
    assert snapshot_of(first.parent) is None
    for offset in (200, 300, 400):
        (first.parent / f"{offset:020}-{1:010}.checkpoint").touch()
    assert snapshot_of(first.parent) == (300, first.parent / f"{300:020}-{1:010}.checkpoint")
    assert snapshot_of(log(b"", node="whole").parent) is None
