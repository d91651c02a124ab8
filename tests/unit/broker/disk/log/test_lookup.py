from __future__ import annotations

import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.cleaning.core.batches import emptied
from barnabas.broker.core.offsets_before import MAX_TIMESTAMP
from barnabas.broker.core.records import records
from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.disk.errors import CorruptLogError, KafkaStorageError
from barnabas.broker.disk.log.lookup import offset_at
from barnabas.cluster.model.epochs import LeaderEpoch
from barnabas.cluster.model.steps import at_once
from tests.batches import whole_batches
from tests.unit.broker.conftest import build_batch

EPOCH = LeaderEpoch(3)


def test_a_record_that_cannot_be_decoded_is_reported(logs, batch, patch_batch):
    log = logs.open()
    log.append_as_follower(patch_batch(batch(2, timestamps=[10, 20]), 61, b"\x7f"))
    with pytest.raises(CorruptLogError, match=r"log, byte 0: 2 records of the batch at offset 0"):
        at_once(offset_at(log, 15))


def test_a_batch_whose_header_promises_too_much_is_passed_over(logs, batch, patch_batch):
    log = logs.open()
    log.append_as_leader(patch_batch(batch(2, timestamps=[10, 20]), 35, (99).to_bytes(8)), EPOCH)
    log.append_as_leader(batch(2, timestamps=[30, 40]), EPOCH)
    assert at_once(offset_at(log, 35)) == (40, 3, 3)


@given(
    st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=4), max_size=12),
    st.sampled_from([0, 1, 3, 4]),
    st.integers(200, 600),
)
def test_the_largest_timestamp_is_that_of_its_first_record(logs_in, batches, codec, segment_bytes):
    """KIP-734, KAFKA-16310: not the last offset of the batch, in whichever segment and after a restart."""
    config = LogConfig(segment_bytes=segment_bytes, index_interval_bytes=0, segment_index_bytes=1024)
    with tempfile.TemporaryDirectory() as directory, closing(logs_in(Path(directory))) as logs:
        log = logs.open(config)
        for timestamps in batches:
            log.append_as_leader(build_batch(len(timestamps), codec=codec, timestamps=timestamps), EPOCH)
        records = [timestamp for timestamps in batches for timestamp in timestamps]
        expected = (max(records), records.index(max(records)), EPOCH) if records else None
        assert at_once(offset_at(log, MAX_TIMESTAMP)) == expected
        log.close()
        assert at_once(offset_at(logs.open(config), MAX_TIMESTAMP)) == expected


def test_a_batch_that_compaction_has_emptied_has_no_timestamp(logs, batch):
    (newest,) = whole_batches(batch(1, base_offset=1, timestamps=[99]))
    log = logs.open()
    for data in (batch(1, timestamps=[10]), emptied(newest).data, batch(1, base_offset=2, timestamps=[20])):
        log.append_as_follower(bytes(data))
    assert at_once(offset_at(log, MAX_TIMESTAMP)) == (20, 2, -1)
    log.close()
    for how in ({"clean": True, "recovery_point": 3}, {}):
        log = logs.open(**how)
        assert at_once(offset_at(log, MAX_TIMESTAMP)) == (20, 2, -1)
        assert at_once(offset_at(log, 30)) is None
        log.close()


def test_others_go_on_between_stretches_and_codecs_may_run_elsewhere(logs, batch, monkeypatch):
    monkeypatch.setattr(records, "STRETCH_RECORDS", 4)
    log = logs.open()
    log.append_as_leader(batch(20, codec=1, timestamps=range(20)), EPOCH)
    steps = offset_at(log, 18)
    work = next(steps)
    assert [steps.send(work())] + [next(steps) for _ in range(3)] == [None] * 4
    with pytest.raises(StopIteration) as end:
        next(steps)
    assert end.value.value == (18, 18, 3)


def test_of_too_many_records_the_first_is_given(logs, batch, monkeypatch):
    monkeypatch.setattr(records, "MAX_RECORDS", 3)
    log = logs.open()
    log.append_as_leader(batch(4, codec=4, timestamps=[1, 2, 3, 4]), EPOCH)
    assert at_once(offset_at(log, 3)) == (4, 0, 3)
    log.raise_log_start(2)
    assert at_once(offset_at(log, 3)) == (4, 2, 3)


def test_a_log_that_is_closed_meanwhile_is_reported(logs, batch, patch_batch):
    log = logs.open()
    log.append_as_leader(patch_batch(batch(2, timestamps=[10, 20]), 35, (99).to_bytes(8)), EPOCH)
    steps = offset_at(log, 35)
    assert next(steps) is None
    log.abandon()
    with pytest.raises(KafkaStorageError, match="is closed"):
        next(steps)
