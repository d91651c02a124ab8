"""What a log gives up, and what a log that gave up segments still knows."""

from __future__ import annotations

from dataclasses import replace

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.core.records.refusals import Reason
from barnabas.broker.disk.log.lookup import offset_at
from barnabas.broker.disk.log.results import OffsetOutOfRange
from barnabas.cluster.model.epochs import LeaderEpoch
from barnabas.cluster.model.steps import at_once

SMALL = LogConfig(segment_bytes=1000, index_interval_bytes=150)
EPOCH = LeaderEpoch(3)
BIG = 1 << 20


def filled(log, batch, count):
    """Batches of two records."""
    for _ in range(count):
        log.append_as_leader(batch(2, value=b"v" * 20), EPOCH)
    return log


def everything(log):
    out, offset = b"", log.log_start_offset
    while offset < log.log_end_offset:
        found = log.read(offset, BIG, log.log_end_offset)
        out, offset = out + found.records, found.next_offset
    return out


def names(log, pattern):
    return sorted(path.name[15:] for path in log.directory.glob(pattern))


def test_old_segments_go_and_the_log_starts_at_the_first_that_stays(logs, batch):
    log = filled(logs.open(replace(SMALL, retention_bytes=1500, file_delete_delay_ms=700)), batch, 40)
    before, bases = everything(log), [int(name[:5]) for name in names(log, "*.log")]
    log.truncate_to(70)
    assert log.delete_old_segments(log.log_start_offset) == ()
    logs.now_ms += 5
    gone = [base for base, _ in log.delete_old_segments(log.log_end_offset)]
    assert gone == bases[: len(gone)]
    assert log.log_start_offset == log.first_segment_offset == bases[len(gone)]
    assert 1500 <= log.size < 2500
    assert names(log, "*.log.deleted") == [f"{base:05d}.log.deleted" for base in gone]
    assert len(names(log, "*.index.deleted")) == len(names(log, "*.timeindex.deleted")) == len(gone)
    assert names(log, "*.snapshot.deleted") == [f"{base:05d}.snapshot.deleted" for base in gone[1:]]
    ((due_ms, removed),) = logs.removed
    assert due_ms == logs.now_ms + 700
    assert {*log.directory.glob("*.deleted")} <= {path for each in removed for path in each.retired_paths}
    assert everything(log) in before
    assert log.read(gone[-1], BIG, log.log_end_offset) == OffsetOutOfRange(gone[-1], bases[len(gone)], 70)
    assert at_once(offset_at(log, 0)).offset == log.log_start_offset
    assert log.end_offset_for(EPOCH) == (EPOCH, 70)
    assert log.delete_old_segments(log.log_end_offset) == ()
    again = logs.reopen_after_crash(SMALL)
    assert (again.log_start_offset, again.log_end_offset) == (bases[len(gone)], 70)
    assert names(again, "*.deleted") == []


def test_where_all_segments_go_the_log_begins_a_new_one_at_its_end(logs, batch):
    log = filled(logs.open(replace(SMALL, retention_ms=1000)), batch, 40)
    assert log.delete_old_segments(80) == ()
    logs.now_ms += 1_000_000
    assert len(log.delete_old_segments(80)) > 2
    assert (log.log_start_offset, log.log_end_offset, log.size) == (80, 80, 0)
    assert names(log, "*.log") == ["00080.log"]
    assert log.append_as_leader(batch(2), EPOCH).first_offset == 80
    assert log.delete_old_segments(80) == ()
    assert logs.reopen_after_crash(SMALL).log_start_offset == 80


def test_a_producer_is_known_after_its_batches_are_deleted(logs, batch):
    log = logs.open(replace(SMALL, retention_ms=1000))
    log.append_as_leader(batch(2, producer=(9, 0, 0)), EPOCH)
    logs.now_ms += 1_000_000
    assert len(log.delete_old_segments(2)) == 1
    again = logs.reopen_after_crash(SMALL)
    assert again.append_as_leader(batch(2, producer=(9, 0, 0)), EPOCH).duplicate
    assert again.append_as_leader(batch(1, producer=(9, 0, 2)), EPOCH).first_offset == 2


def test_settings_that_change_hold_from_then_on(logs, batch):
    log = filled(logs.open(), batch, 4)
    log.config = replace(SMALL, segment_bytes=log.size)
    filled(log, batch, 1)
    assert names(log, "*.log") == ["00000.log", "00008.log"]
    log.config = replace(log.config, retention_bytes=0, max_message_bytes=50)
    assert len(log.delete_old_segments(10)) == 2
    assert log.append_as_leader(batch(2), EPOCH).reason is Reason.TOO_LARGE
