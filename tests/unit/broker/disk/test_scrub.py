"""A segment's checksums, against every byte of it that may be damaged."""

from __future__ import annotations

import pytest

from barnabas.broker.core.log_config import LogConfig
from barnabas.broker.disk.scrub import DamagedRange, SegmentCheck, SegmentSpan
from barnabas.broker.disk.segment import LogSegment

BATCHES = 8
CONFIG = LogConfig(index_interval_bytes=100)


@pytest.fixture
def segment(tmp_path, batch):
    """Eight batches of two records each, an index entry for every second one; it is sealed."""
    made = LogSegment(tmp_path, 0, CONFIG, 0)
    for number in range(BATCHES):
        data = batch(2, base_offset=2 * number)
        position = made.write([data], len(data))
        made.index(position, len(data), 2 * number + 1, number, CONFIG.index_interval_bytes)
    made.end()
    made.store_indexes()
    yield made
    made.close()


def check(segment, piece=1 << 20, end_offset=2 * BATCHES, latest_epoch=None):
    span = SegmentSpan(segment.path, 0, end_offset, segment.size, 0, latest_epoch)
    checking, steps = SegmentCheck(span), 0
    while checking.read_on(piece):
        steps += 1
    checking.close()
    return checking.damaged, steps


def damage(segment, position, data=b"\xff"):
    with segment.path.open("r+b") as file:
        file.seek(position)
        file.write(data)


def test_a_right_segment_is_checked_in_pieces(segment):
    assert check(segment) == ([], 1)
    assert check(segment, piece=1) == ([], BATCHES)


@pytest.mark.parametrize("byte", [11, 16, 17, 23, 60, 65])
@pytest.mark.parametrize("number", range(BATCHES))
def test_any_damaged_byte_under_the_checksum_or_of_the_frame_is_found(segment, number, byte):
    size = segment.size // BATCHES
    damage(segment, number * size + byte)
    found, _ = check(segment)
    # The index leads to the next batch that has an entry: each that begins behind 100 bytes more.
    entries = [each.position for each in segment.offset_index.all_entries()]
    end = next((each for each in entries if each > number * size), segment.size)
    assert found == [DamagedRange(number * size, end, 2 * number, 2 * end // size)]
    assert str(found[0]).endswith(f"offsets {2 * number} to {2 * end // size - 1}")


def test_several_ranges_are_found(segment):
    size = segment.size // BATCHES
    damage(segment, 30)
    damage(segment, 7 * size + 30)
    found, _ = check(segment)
    assert [each.first_offset for each in found] == [0, 14]


def test_zeros_to_the_end_are_one_range(segment):
    size = segment.size // BATCHES
    damage(segment, 3 * size, bytes(5 * size))
    assert check(segment)[0] == [DamagedRange(3 * size, segment.size, 6, 2 * BATCHES)]


def test_a_file_that_was_cut_lacks_its_end(segment):
    size = segment.size // BATCHES
    with segment.path.open("r+b") as file:
        file.truncate(5 * size + 20)
    assert check(segment)[0] == [DamagedRange(5 * size, segment.size, 10, 2 * BATCHES)]


def test_offsets_beyond_the_segment_are_damage_though_the_checksum_does_not_cover_them(segment):
    assert check(segment, end_offset=15)[0] == [
        DamagedRange(segment.size // BATCHES * 7, segment.size, 14, 15)
    ]


def stamp_epochs(segment, *epochs):
    size = segment.size // BATCHES
    for number, epoch in enumerate(epochs):
        damage(segment, number * size + 12, epoch.to_bytes(4, "big", signed=True))


def first_damaged(segment, **known):
    return [each.first_offset for each in check(segment, **known)[0]][:1]


def test_an_epoch_that_no_leader_has_had_is_damage_though_the_checksum_does_not_cover_it(segment):
    stamp_epochs(segment, 3, 3, 3, 13, 13, 14, 14, 14)
    assert check(segment, latest_epoch=14) == ([], 1)
    stamp_epochs(segment, 3, 3, 3, 13 + (1 << 20), 13, 14, 14, 14)
    assert first_damaged(segment, latest_epoch=14) == [6]
    assert first_damaged(segment) == [8]  # what follows has an epoch that is over


def test_an_epoch_below_that_of_the_batch_before_is_damage(segment):
    stamp_epochs(segment, 3, 3, 3, 13, 12, 14, 14, 14)
    assert first_damaged(segment, latest_epoch=14) == [8]


def test_batches_without_an_epoch_are_right_anywhere(segment):
    stamp_epochs(segment, -1, 3, -1, 3, 4, -1, 4, 4)
    assert check(segment, latest_epoch=4) == ([], 1)


def test_a_segment_that_has_gone_meanwhile_is_nothing(segment):
    segment.path.unlink()
    assert check(segment) == ([], 0)


def test_without_an_index_the_rest_counts_as_damaged(segment):
    segment.offset_index.path.unlink()
    damage(segment, 30)
    assert check(segment)[0] == [DamagedRange(0, segment.size, 0, 2 * BATCHES)]
