"""A segment's checksums, against every byte of it that may be damaged."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.core.records.record_batch import HEADER_SIZE
from barnabas.broker.disk.segment.index import OFFSET_ENTRY
from barnabas.broker.disk.segment.scrub import DamagedRange, SegmentCheck, SegmentSpan
from barnabas.broker.disk.segment.segment import LogSegment
from tests.batches import keyed_batch

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
    end = (number + 1) * size  # the next batch, whether or not the index has an entry of it
    assert found == [DamagedRange(number * size, end, 2 * number, 2 * number + 2)]
    assert str(found[0]).endswith(f"offsets {2 * number} to {2 * number + 1}")


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


def test_a_base_offset_that_is_too_high_costs_the_next_batch_nothing(segment):
    size = segment.size // BATCHES
    damage(segment, 3 * size, (7).to_bytes(8, "big"))
    assert check(segment)[0] == [DamagedRange(3 * size, 4 * size, 6, 8)]


def test_batches_without_an_epoch_are_right_anywhere(segment):
    stamp_epochs(segment, -1, 3, -1, 3, 4, -1, 4, 4)
    assert check(segment, latest_epoch=4) == ([], 1)


def test_a_segment_that_has_gone_meanwhile_is_nothing(segment):
    segment.path.unlink()
    assert check(segment) == ([], 0)


def test_what_follows_the_damage_is_found_without_an_index(segment):
    size = segment.size // BATCHES
    segment.offset_index.path.unlink()
    damage(segment, 30)
    damage(segment, 3 * size, bytes(size))
    damage(segment, 5 * size, bytes(2 * size))
    ranges = [(0, 1), (3, 4), (5, 7)]
    assert check(segment)[0] == [DamagedRange(a * size, b * size, 2 * a, 2 * b) for a, b in ranges]
    assert check(segment, piece=1)[0] == check(segment)[0]


def test_an_index_that_leads_past_valid_batches_costs_none_of_them(segment):
    """Its only entry is right but far from the damage, and those before it lead nowhere."""
    size = segment.size // BATCHES
    wrong = [(5, 2 * size + 7), (9, 3 * size + 1), (15, 7 * size)]
    segment.offset_index.path.write_bytes(b"".join(OFFSET_ENTRY.pack(*each) for each in wrong))
    damage(segment, 2 * size, bytes(size))
    assert check(segment)[0] == [DamagedRange(2 * size, 3 * size, 4, 6)]


def test_a_batch_in_a_record_of_the_damaged_batch_is_not_taken_for_one_of_the_log(tmp_path, batch):
    """Its offset is too high for that place, though the segment has it."""
    inner = batch(2, base_offset=4)
    made = LogSegment(tmp_path, 0, CONFIG, 0)
    for number, value in enumerate([inner, b"v", b"v", b"v"]):
        data = keyed_batch([(b"k", value), (b"l", b"w")], base_offset=2 * number)
        made.write([data], len(data))
        if number == 0:
            size = len(data)
    made.close()
    damage(made, 0, bytes(HEADER_SIZE))
    assert check(made, end_offset=8)[0] == [DamagedRange(0, size, 0, 2)]
    damage(made, size, bytes(HEADER_SIZE))
    assert check(made, end_offset=8)[0][0].first_offset == 0


def test_a_batch_between_two_whose_base_offsets_are_damaged_is_kept(segment):
    size = segment.size // BATCHES
    damage(segment, 2 * size, b"\x01")
    # Offset 8 became 4, where a batch is missing: it may begin there. The index has an entry of it.
    damage(segment, 4 * size + 7, b"\x04")
    found, _ = check(segment)
    assert found == [
        DamagedRange(2 * size, 3 * size, 4, 6),
        DamagedRange(4 * size, 5 * size, 8, 10),
    ]


def test_batches_before_one_whose_base_offset_is_too_high_are_kept_without_an_index(segment):
    size = segment.size // BATCHES
    segment.offset_index.path.unlink()
    damage(segment, 0, b"\x01")
    damage(segment, 4 * size + 7, b"\x0c")
    found, _ = check(segment)
    assert found == [DamagedRange(0, size, 0, 2), DamagedRange(4 * size, 5 * size, 8, 10)]


@settings(max_examples=300)
@given(st.data())
def test_no_batch_that_is_intact_lies_in_a_damaged_range(tmp_path_factory, batch, data):
    """Bytes are overwritten in a segment with gaps, or a base offset; the index may be wrong or missing."""
    made = LogSegment(tmp_path_factory.mktemp("segment"), 0, CONFIG, 0)
    places, offset = [], 0
    for _ in range(data.draw(st.integers(1, 12))):
        count = data.draw(st.integers(1, 3))
        content = batch(count, base_offset=offset)
        position = made.write([content], len(content))
        made.index(position, len(content), offset + count - 1, position, CONFIG.index_interval_bytes)
        places.append((position, len(content), offset))
        offset += count + data.draw(st.sampled_from([0, 0, 0, 2]))
    made.end()
    made.store_indexes()
    hurt = data.draw(
        st.lists(st.tuples(st.integers(0, made.size - 1), st.binary(min_size=1, max_size=150)), max_size=4)
    )
    before = made.path.read_bytes()
    for at, content in hurt:
        damage(made, at, content[: made.size - at])
    index = data.draw(st.sampled_from(["right", "missing", "wrong"]))
    if index == "missing":
        made.offset_index.path.unlink()
    elif index == "wrong":
        entries = st.tuples(st.integers(0, offset), st.integers(0, 2 * made.size))
        packed = b"".join(OFFSET_ENTRY.pack(*each) for each in data.draw(st.lists(entries, max_size=6)))
        made.offset_index.path.write_bytes(packed)
    position, _, first = data.draw(st.sampled_from(places[:-1] or [(0, 0, 0)]))
    # A base offset that is too high, though still in the segment: only the batch after it contradicts it.
    if not hurt and data.draw(st.booleans()):
        damage(made, position, min(first + data.draw(st.integers(1, 5)), offset).to_bytes(8, "big"))
    after = made.path.read_bytes()
    found, _ = check(made, end_offset=offset)
    made.close()
    for position, size, first in places:
        is_intact = before[position : position + size] == after[position : position + size]
        is_skipped = any(each.position <= position < each.end_position for each in found)
        # The checksum covers neither the base offset nor the leader epoch: a wrong one may be possible there.
        if is_intact:
            assert not is_skipped, first
        elif before[position + 16 : position + size] != after[position + 16 : position + size]:
            assert is_skipped, first
