from __future__ import annotations

import os

import pytest

from broker.disk.scan import scan_headers, scan_valid_batches


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


def test_headers_of_all_sizes(scan, batch):
    built = run_of(batch, [1, 20_000, 5, 8_000, 8_000, 300] + [10] * 200)
    content = b"".join(built)
    found = scan(content, scan_headers, 0, len(content))
    assert [h.base_offset for _, h in found] == list(range(0, 2 * len(built), 2))
    assert [p for p, _ in found] == [sum(map(len, built[:n])) for n in range(len(built))]
    start = len(built[0])
    assert scan(content, scan_headers, start, len(content)) == found[1:]
    assert scan(content, scan_headers, 0, start) == found[:1]


def test_headers_end_where_there_is_none(scan, batch):
    content = batch(1)
    assert len(scan(content + bytes(100), scan_headers, 0, len(content) + 100)) == 1
    assert len(scan(content, scan_headers, 0, len(content) + 100)) == 1


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
