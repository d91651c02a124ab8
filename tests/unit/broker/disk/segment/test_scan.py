from __future__ import annotations

import os

import pytest

from barnabas.broker.core.records.record_batch import HEADER_SIZE
from barnabas.broker.disk.errors import CorruptLogError
from barnabas.broker.disk.segment.scan import HEADER_CHUNK, scan_headers, scan_valid_batches


@pytest.fixture
def scan(tmp_path):
    def over(content, scanner, *arguments):
        path = tmp_path / "segment"
        path.write_bytes(content)
        fd = os.open(path, os.O_RDONLY)
        try:
            return list(scanner(fd, *arguments))
        finally:
            os.close(fd)

    return over


def run_of(batch, sizes, base=0):
    out = []
    for size in sizes:
        out.append(batch(2, value=b"v" * size, base_offset=base))
        base += 2
    return out


@pytest.fixture
def headers(scan, tmp_path):
    def over(content, start=0, end=None):
        end = len(content) if end is None else end
        return scan(content, scan_headers, tmp_path / "segment", 0, start, end)

    return over


def test_headers_of_all_sizes(headers, batch):
    built = run_of(batch, [1, 20_000, 5, 8_000, 8_000, 300] + [10] * 200)
    content = b"".join(built)
    found = headers(content)
    assert [h.base_offset for _, h in found] == list(range(0, 2 * len(built), 2))
    assert [p for p, _ in found] == [sum(map(len, built[:n])) for n in range(len(built))]
    start = len(built[0])
    assert headers(content, start) == found[1:]
    assert headers(content, 0, start) == found[:1]


def test_of_large_batches_hardly_more_than_the_headers_is_read(headers, batch, monkeypatch):
    content = b"".join(run_of(batch, [100_000] * 20))
    read, real = [], os.pread
    monkeypatch.setattr(os, "pread", lambda fd, size, at: read.append(size) or real(fd, size, at))
    assert len(headers(content)) == 20
    assert sum(read) == HEADER_CHUNK + 19 * HEADER_SIZE


@pytest.mark.parametrize(
    "damage", ["zeros", "end", "tail", "magic", "length", "backwards", "negative", "far"]
)
def test_a_place_without_a_batch_is_an_error(headers, batch, damage):
    first, second = batch(2), batch(2, base_offset=2)
    rest, end = {
        "zeros": (bytes(100), 100),
        "end": (b"", 100),
        "tail": (second[:60], 60),
        "magic": (second[:16] + b"\1" + second[17:], len(second)),
        "length": (second, len(second) - 1),
        "negative": (second[:23] + b"\x80" + second[24:], len(second)),
        "far": (batch(2, base_offset=2**31 - 1), len(second)),
        "backwards": (batch(2, base_offset=1), len(second)),
    }[damage]
    with pytest.raises(CorruptLogError, match=f"segment, byte {len(first)}: ") as caught:
        headers(first + rest, 0, len(first) + end)
    assert (caught.value.position, caught.value.next_offset) == (len(first), 2)


def test_batches_larger_than_a_chunk(scan, batch):
    built = run_of(batch, [10, 700_000, 1_500_000, 10])
    content = b"".join(built)
    found = scan(content, scan_valid_batches, len(content), 0)
    assert [bytes(b.data) for _, b in found] == built


@pytest.mark.parametrize("damage", ["magic", "crc", "offset", "base", "length"])
def test_valid_batches_end_before_the_first_bad_one(scan, batch, patch_batch, damage):
    bad = {
        "magic": lambda: batch(base_offset=2)[:16] + b"\1" + batch(base_offset=2)[17:],
        "crc": lambda: batch(base_offset=2)[:-1] + b"?",
        "offset": lambda: batch(base_offset=1),
        "base": lambda: batch(base_offset=2**31),
        "length": lambda: batch(base_offset=2)[:8] + bytes(4) + batch(base_offset=2)[12:],
    }[damage]()
    content = batch(base_offset=0) + bad + batch(base_offset=4)
    assert [b.header.base_offset for _, b in scan(content, scan_valid_batches, len(content), 0)] == [0]


def test_a_gap_is_believed_once_the_next_batch_begins_behind_it(scan, batch):
    def bases(*offsets):
        content = b"".join(batch(2, base_offset=offset) for offset in offsets)
        return [b.header.base_offset for _, b in scan(content, scan_valid_batches, len(content), 0)]

    assert bases(0, 2, 66, 68) == [0, 2, 66, 68]
    assert bases(3, 66) == [3, 66]
    # Flipped bits have moved the second batch: the third says so.
    assert bases(0, 66, 4, 6) == [0]
    assert bases(66, 2) == []
