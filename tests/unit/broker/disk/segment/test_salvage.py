"""The search behind damage, on files of a few batches."""

from __future__ import annotations

import os

import pytest

from barnabas.broker.core.records.record_batch import HEADER_SIZE
from barnabas.broker.disk.segment.salvage import CHUNK, Boundary, Salvage
from tests.batches import keyed_batch


def may_hold(header, expected, end_offset):
    return expected <= header.base_offset <= header.last_offset < end_offset


@pytest.fixture
def find(tmp_path):
    """Finds the first valid batch behind damage at the start of a file; also how much was read at a time."""

    def find_in(content, end_offset, expected=0):
        path = tmp_path / "segment"
        path.write_bytes(content)
        fd = os.open(path, os.O_RDONLY)
        search, steps = Salvage(fd, may_hold).find(0, expected, Boundary(len(content), end_offset)), []
        try:
            while True:
                steps.append(next(search))
        except StopIteration as end:
            return end.value, steps
        finally:
            os.close(fd)

    return find_in


def without_header(data):
    return bytes(HEADER_SIZE) + data[HEADER_SIZE:]


def test_an_intact_header_leads_to_the_next_batch(find, batch):
    first = batch(2)
    damaged = first[:-1] + b"\xff"
    assert find(damaged + batch(2, base_offset=2), 4) == (Boundary(len(first), 2), [len(first)])
    assert find(damaged, 2) == (Boundary(len(first), 2), [len(first)])


def test_without_a_valid_batch_the_next_boundary_is_found(find, batch):
    content = without_header(batch(2)) + without_header(batch(2, base_offset=2))
    assert find(content, 4)[0] == Boundary(len(content), 4)
    assert find(b"", 4) == (Boundary(0, 4), [])


def test_the_search_goes_in_small_steps_and_over_their_edges(find, batch):
    for size in range(CHUNK - 2 * HEADER_SIZE, CHUNK + 3, 7):
        end, steps = find(bytes(size) + batch(2, base_offset=5), 7)
        assert end == Boundary(size, 5)
        assert 0 < min(steps) <= max(steps) <= CHUNK


def test_what_is_left_between_two_destroyed_headers_is_found(find, batch):
    batches = [batch(2, base_offset=2 * number) for number in range(5)]
    content = b"".join([without_header(batches[0]), batches[1], without_header(batches[2]), *batches[3:]])
    assert find(content, 10)[0] == Boundary(len(batches[0]), 2)
    content = b"".join([without_header(batches[0]), batches[1], without_header(batches[2])])
    assert find(content, 6)[0] == Boundary(len(batches[0]), 2)


def test_records_that_are_damaged_do_not_cut_off_what_comes_before_them(find, batch):
    batches = [batch(2, base_offset=2 * number) for number in range(4)]
    hurt = batches[2][:-1] + b"\xff"
    content = b"".join([without_header(batches[0]), batches[1], hurt, batches[3]])
    assert find(content, 8)[0] == Boundary(len(batches[0]), 2)


@pytest.mark.parametrize("inner_offset", [2, 3, 40])
def test_a_batch_within_a_record_is_not_one_of_the_log(find, batch, inner_offset):
    """Its offsets do not fit between those around it, or are none of the segment."""
    outer = without_header(keyed_batch([(b"k", batch(2, base_offset=inner_offset)), (b"k", b"v")]))
    content = outer + batch(2, base_offset=2) + batch(2, base_offset=4)
    assert find(content, 6)[0] == Boundary(len(outer), 2)


def test_a_batch_counts_as_valid_only_where_it_may_lie(find, batch, tmp_path):
    data = batch(2, base_offset=4)
    (tmp_path / "one").write_bytes(data)
    fd = os.open(tmp_path / "one", os.O_RDONLY)
    salvage = Salvage(fd, may_hold)
    assert salvage.is_valid(0, Boundary(len(data), 6), 4).base_offset == 4
    for end, expected in [
        (Boundary(len(data) - 1, 6), 4),
        (Boundary(len(data), 5), 4),
        (Boundary(len(data), 6), 5),
    ]:
        assert salvage.is_valid(0, end, expected) is None
    assert salvage.is_valid(1, Boundary(len(data), 6), 4) is None
    assert salvage.is_valid(len(data), Boundary(len(data), 6), 4) is None
    os.close(fd)
