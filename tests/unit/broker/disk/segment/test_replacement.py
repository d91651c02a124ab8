"""What is fetched again in the place of a damaged segment: all of it, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from barnabas.broker.cleaning.core.batches import emptied
from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.core.records.record_batch import RecordBatch, parse_header
from barnabas.broker.core.records.refusals import Refusal
from barnabas.broker.disk.segment.replacement import SegmentReplacement
from barnabas.broker.disk.segment.scrub import SegmentSpan

CONFIG = LogConfig(segment_index_bytes=1024)


@pytest.fixture
def replacing(tmp_path):
    """Offsets 10 to 19 of a log in ``tmp_path``."""
    made = []

    def begin(config=CONFIG):
        span = SegmentSpan(tmp_path / f"{10:020d}.log", 10, 20, 0, 0)
        made.append(SegmentReplacement(tmp_path, span, config, 0))
        return made[-1]

    yield begin
    for each in made:
        each.discard()


def test_whole_batches_of_the_span_are_taken_in_turn(replacing, tmp_path, batch):
    replacement, data = replacing(), [batch(5, base_offset=10), batch(5, base_offset=15)]
    assert replacement.add(data[0], 0) is None
    assert (replacement.next_offset, replacement.is_whole) == (15, False)
    # What lies behind the span comes along with the last piece.
    assert replacement.add(data[1] + batch(5, base_offset=20), 0) is None
    assert replacement.is_whole
    assert replacement.missing_end == 0
    segment = replacement.finish()
    assert segment.path.name == f"{10:020d}.log.refetched.deleted"
    assert segment.path.read_bytes() == b"".join(data)
    assert {path.suffix for path in tmp_path.iterdir()} == {".deleted"}
    replacement.discard()
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_belong_there_is_refused(replacing, batch):
    bad = bytearray(batch(5, base_offset=10))
    bad[70] ^= 1
    for records in (
        bytes(bad),
        batch(5, base_offset=9),
        batch(5, base_offset=11),
        batch(11, base_offset=10),
        batch(5, base_offset=20),
    ):
        replacement = replacing()
        refused = replacement.add(records, 0)
        assert isinstance(refused, Refusal) or not replacement.is_whole
        assert replacement.next_offset == 10


def test_compaction_explains_gaps(replacing, batch):
    compacted = replace(CONFIG, cleanup_policy=frozenset({"compact"}))
    for replacement, gaps_end in ((replacing(), 30), (replacing(compacted), None)):
        assert replacement.add(batch(2, base_offset=12), gaps_end) is None
        assert (replacement.is_whole, replacement.missing_end) == (False, 12)
        assert replacement.add(batch(2, base_offset=30), gaps_end) is None
        assert (replacement.is_whole, replacement.missing_end) == (True, 20)
    assert isinstance(replacing(compacted).add(batch(2, base_offset=12), 11), Refusal)


def test_a_batch_that_compaction_has_emptied_lacks_records(replacing, batch):
    replacement = replacing()
    whole = RecordBatch(parse_header(batch(5, base_offset=10)), batch(5, base_offset=10))
    assert replacement.add(emptied(whole).data, 0) is None
    assert replacement.missing_end == 15


def test_what_an_earlier_attempt_left_is_overwritten(replacing, batch):
    first = replacing()
    first.add(batch(5, base_offset=10), 0)
    second = replacing()
    second.add(batch(10, base_offset=10), 0)
    assert second.finish().path.read_bytes() == batch(10, base_offset=10)
