from __future__ import annotations

import pytest

from barnabas.broker.core import records
from barnabas.broker.core.steps import at_once
from barnabas.broker.disk.errors import CorruptLogError, KafkaStorageError
from barnabas.broker.disk.lookup import offset_at
from barnabas.cluster.model.epochs import LeaderEpoch

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
