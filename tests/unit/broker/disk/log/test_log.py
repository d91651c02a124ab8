from __future__ import annotations

import errno
import os
from dataclasses import replace
from unittest.mock import Mock

import pytest
from aiokafka.record.default_records import DefaultRecordBatch

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.core.records.record_batch import TimestampType, parse_header
from barnabas.broker.core.records.refusals import Reason, Refusal
from barnabas.broker.disk.errors import KafkaStorageError, NoDescriptorError
from barnabas.broker.disk.log import topic_identity
from barnabas.broker.disk.log.lookup import offset_at
from barnabas.broker.disk.log.results import FetchDataInfo, OffsetOutOfRange
from barnabas.cluster.model.epochs import LeaderEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicIdentity
from barnabas.cluster.model.steps import at_once
from tests.batches import whole_batches

SMALL = LogConfig(segment_bytes=1000, index_interval_bytes=150)
EPOCH = LeaderEpoch(3)
BIG = 1 << 20


def filled(log, batch, count, value=b"v" * 20):
    """Batches of two records."""
    for _ in range(count):
        log.append_as_leader(batch(2, value=value), EPOCH)
    return log


def offsets(records):
    return [b.header.base_offset for b in whole_batches(records)]


def everything(log):
    out, offset = b"", log.log_start_offset
    while offset < log.log_end_offset:
        found = log.read(offset, BIG, log.log_end_offset)
        out, offset = out + found.records, found.next_offset
    return out


def test_a_leader_gives_offsets_and_its_epoch(logs, batch):
    log = logs.open()
    first, second = log.append_as_leader(batch(3), EPOCH), log.append_as_leader(batch(2), EPOCH)
    assert (first.first_offset, first.last_offset, first.required_offset) == (0, 2, 3)
    assert (second.first_offset, second.last_offset, second.log_append_time) == (3, 4, -1)
    assert second.size == len(batch(2))
    assert (log.log_start_offset, log.log_end_offset, log.latest_epoch) == (0, 5, EPOCH)
    headers = [b.header for b in whole_batches(everything(log))]
    assert [(h.base_offset, h.partition_leader_epoch) for h in headers] == [(0, 3), (3, 3)]
    assert logs.path(".log").read_bytes() == everything(log)
    assert (logs.directory / "events-0" / "leader-epoch-checkpoint").read_text() == "0\n1\n3 0\n"


def test_a_refused_batch_is_not_written(logs, batch):
    log = logs.open()
    assert log.append_as_leader(None, EPOCH).reason is Reason.NO_BATCH
    assert (log.log_end_offset, log.size) == (0, 0)


def test_log_append_time_is_the_brokers(logs, batch):
    log = logs.open(LogConfig(message_timestamp_type=TimestampType.LOG_APPEND_TIME))
    logs.now_ms = 1_800_000_000_000
    info = log.append_as_leader(batch(2), EPOCH)
    assert info.log_append_time == 1_800_000_000_000
    read = DefaultRecordBatch(everything(log))
    assert read.validate_crc()
    assert [record.timestamp for record in read] == [1_800_000_000_000] * 2
    assert at_once(offset_at(log, 1_799_999_999_999)) == (1_800_000_000_000, 0, 3)


def test_a_duplicate_is_answered_and_not_written(logs, batch):
    log = logs.open()
    log.append_as_leader(batch(2), EPOCH)
    retried = batch(3, producer=(9, 0, 0))
    first = log.append_as_leader(retried, EPOCH)
    log.append_as_leader(batch(1, producer=(9, 0, 3)), EPOCH)
    again = log.append_as_leader(retried, LeaderEpoch(4))
    assert (again.first_offset, again.last_offset, again.duplicate) == (
        first.first_offset,
        first.last_offset,
        True,
    )
    assert (first.log_append_time, again.log_append_time) == (-1, logs.now_ms + 2)
    assert (log.log_end_offset, again.size) == (6, 0)
    gap = log.append_as_leader(batch(1, producer=(9, 0, 5)), EPOCH)
    assert isinstance(gap, Refusal)
    assert gap.error is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_follower_writes_what_the_leader_wrote(logs, batch, tmp_path):
    leader = filled(logs.open(SMALL), batch, 40)
    content = everything(leader)
    (tmp_path / "follower").mkdir()
    follower = type(logs)(tmp_path / "follower")
    copy = follower.open(SMALL)
    info = copy.append_as_follower(content + content[:50])
    assert (info.first_offset, info.last_offset, info.size) == (0, 79, len(content))
    assert (copy.latest_epoch, copy.log_end_offset) == (3, 80)
    copy.close()
    leader.close()
    ours, theirs = sorted(leader.directory.iterdir()), sorted(copy.directory.iterdir())
    assert [p.name for p in ours] == [p.name for p in theirs]
    assert [p.read_bytes() for p in ours] == [p.read_bytes() for p in theirs]


def test_a_follower_takes_all_or_nothing(logs, batch):
    log = logs.open()
    good, bad = batch(2, base_offset=0), batch(2, base_offset=2)[:-1] + b"?"
    assert log.append_as_follower(good + bad).reason is Reason.BAD_CRC
    assert log.append_as_follower(batch(2, base_offset=4)[:-1]).first_offset == -1
    assert log.log_end_offset == 0
    log.append_as_follower(good)
    assert log.append_as_follower(good).reason is Reason.OFFSETS_NOT_MONOTONIC


def test_an_empty_follower_adopts_the_batch_that_it_starts_in(logs, batch):
    log = logs.open()
    log.truncate_fully_and_start_at(12)
    log.append_as_follower(batch(5, base_offset=10))
    assert (log.log_start_offset, log.log_end_offset) == (10, 15)


def test_a_follower_knows_the_producers(logs, batch):
    log = logs.open()
    log.append_as_follower(batch(3, producer=(9, 1, 0), base_offset=0, epoch=1))
    assert log.append_as_leader(batch(3, producer=(9, 1, 0)), EPOCH).duplicate
    assert log.append_as_leader(batch(1, producer=(9, 1, 3)), EPOCH).first_offset == 3


def test_reads_begin_at_the_batch_that_holds_the_offset(logs, batch):
    log = filled(logs.open(), batch, 5)
    assert log.read(3, BIG, log.log_end_offset) == FetchDataInfo(everything(log)[-4 * (log.size // 5) :], 10)
    assert log.read(10, BIG, 10) == FetchDataInfo(b"", 10)


def test_no_batch_at_or_beyond_the_upper_bound_is_read(logs, batch):
    log = filled(logs.open(SMALL), batch, 40)
    for offset in range(81):
        for bound in range(81):
            records = log.read(offset, BIG, bound).records
            assert all(b.header.last_offset < bound for b in whole_batches(records))
            if offset < bound - 1:
                assert records


def test_max_bytes_and_progress(logs, batch):
    log = filled(logs.open(), batch, 5)
    size = log.size // 5
    assert offsets(log.read(0, 3 * size + 1, 10).records) == [0, 2, 4]
    assert log.read(0, 3 * size + 1, 10).next_offset == 6
    assert offsets(log.read(0, 1, 10).records) == [0]
    assert log.read(0, 1, 10, min_one_batch=False) == FetchDataInfo(b"", 0)


def test_out_of_range(logs, batch):
    log = filled(logs.open(), batch, 3)
    assert log.raise_log_start(2)
    assert log.read(1, BIG, 6) == OffsetOutOfRange(1, 2, 6)
    assert log.read(7, BIG, 6) == OffsetOutOfRange(7, 2, 6)
    assert log.read(2, BIG, 6).next_offset == 6


def test_bytes_between(logs, batch):
    log = filled(logs.open(SMALL), batch, 40)
    size = log.size // 40
    assert log.bytes_between(0, 80) == log.size
    assert log.bytes_between(0, 99) == log.size
    assert log.bytes_between(3, 5) == size
    assert log.bytes_between(4, 60) == 28 * size
    assert log.bytes_between(60, 4) == 0
    log.raise_log_start(70)
    assert log.bytes_between(0, 80) == 5 * size


def test_rolled_segments_are_sealed_as_kafka_leaves_them(logs, batch):
    log = filled(logs.open(SMALL), batch, 12)
    size = log.size // 12
    per_segment = 1000 // size
    base = 2 * per_segment
    assert logs.path(".log").stat().st_size == per_segment * size
    assert logs.path(".index").stat().st_size % 8 == 0
    assert 0 < logs.path(".index").stat().st_size < 100
    assert logs.path(".timeindex").stat().st_size % 12 == 0
    assert logs.path(".snapshot", base).exists()
    assert log.recovery_point >= base
    assert logs.path(".index", log.log_end_offset // base * base).stat().st_size == SMALL.segment_index_bytes


def test_rolls_by_time(logs, batch):
    log = logs.open(LogConfig(segment_ms=1000))
    for time in (5000, 6000, 6001):
        log.append_as_leader(batch(1, timestamps=[time]), EPOCH)
    assert sorted(p.name for p in log.directory.glob("*.log")) == [f"{0:020d}.log", f"{2:020d}.log"]


def test_offset_at(logs, batch):
    log = logs.open(SMALL)
    for n in range(30):
        log.append_as_leader(batch(3, timestamps=[1000 * n, 1000 * n + 10, 1000 * n + 20]), EPOCH)
    assert at_once(offset_at(log, 0)) == (0, 0, 3)
    assert at_once(offset_at(log, 11_010)) == (11_010, 34, 3)
    assert at_once(offset_at(log, 11_011)) == (11_020, 35, 3)
    assert at_once(offset_at(log, 11_021)) == (12_000, 36, 3)
    assert at_once(offset_at(log, 29_020)) == (29_020, 89, 3)
    assert at_once(offset_at(log, 29_021)) is None
    log.raise_log_start(80)
    assert at_once(offset_at(log, 0)) == (26_020, 80, 3)


@pytest.mark.parametrize("offset", range(0, 81, 3))
def test_truncation_keeps_what_lies_below(logs, batch, offset):
    log = filled(logs.open(SMALL), batch, 40)
    before = everything(log)
    assert log.truncate_to(offset) is (offset < 80)
    assert log.log_end_offset == offset // 2 * 2
    assert before.startswith(everything(log))
    assert offsets(everything(log)) == list(range(0, log.log_end_offset, 2))
    assert log.recovery_point <= log.log_end_offset
    filled(log, batch, 20)
    assert offsets(everything(log)) == list(range(0, log.log_end_offset, 2))
    log.close()
    again = logs.open(SMALL, clean=True, recovery_point=log.log_end_offset)
    assert everything(again)[:500] == before[:500] if offset > 20 else True
    assert again.log_end_offset == log.log_end_offset


def test_truncation_takes_epochs_and_producers_back(logs, batch):
    log = logs.open(LogConfig(segment_bytes=300))
    for n in range(6):
        log.append_as_leader(batch(1, producer=(9, 0, n)), LeaderEpoch(n // 2))
    assert log.end_offset_for(LeaderEpoch(0)) == (0, 2)
    log.truncate_to(3)
    assert (log.latest_epoch, log.end_offset_for(LeaderEpoch(1))) == (1, (1, 3))
    assert log.append_as_leader(batch(1, producer=(9, 0, 4)), EPOCH).reason is Reason.SEQUENCE_GAP
    assert log.append_as_leader(batch(1, producer=(9, 0, 3)), EPOCH).first_offset == 3


def test_truncation_below_the_recovery_point_is_reported(logs, batch):
    log = filled(logs.open(), batch, 5)
    log.truncate_to(8)
    assert logs.lowered == 0
    log.flush()
    assert log.recovery_point == 8
    log.truncate_to(4)
    assert (log.recovery_point, logs.lowered) == (4, 1)
    log.flush()
    log.truncate_fully_and_start_at(2)
    assert (log.recovery_point, logs.lowered) == (2, 2)


def test_truncation_to_the_end_trims_the_epochs_alone(logs, batch):
    log = filled(logs.open(), batch, 1)
    log.assign_epoch_start(LeaderEpoch(5))
    assert log.latest_epoch == 5
    assert log.truncate_to(2) is False
    assert (log.latest_epoch, log.log_end_offset) == (3, 2)


def test_truncation_below_the_first_segment_starts_an_empty_log(logs, batch):
    log = logs.open()
    log.truncate_fully_and_start_at(100)
    filled(log, batch, 2)
    log.truncate_to(50)
    assert (log.log_start_offset, log.log_end_offset, log.size, log.latest_epoch) == (50, 50, 0, None)
    assert sorted(p.name for p in log.directory.glob("*.log")) == [f"{50:020d}.log"]


def test_the_epoch_at_the_start_is_that_of_the_first_record(logs, batch):
    log = logs.open()
    assert log.epoch_at_start == -1
    filled(log, batch, 2)
    assert log.epoch_at_start == EPOCH
    log.assign_epoch_start(LeaderEpoch(EPOCH + 4))
    log.append_as_leader(batch(1), LeaderEpoch(EPOCH + 4))
    assert log.raise_log_start(2)
    assert log.epoch_at_start == EPOCH
    assert log.raise_log_start(log.log_end_offset)
    assert log.epoch_at_start == EPOCH + 4


def test_the_log_start_never_falls(logs, batch):
    log = filled(logs.open(), batch, 3)
    log.assign_epoch_start(LeaderEpoch(7))
    assert log.raise_log_start(4)
    assert not log.raise_log_start(2)
    assert (log.log_start_offset, log.end_offset_for(LeaderEpoch(3))) == (4, (3, 6))
    assert log.raise_log_start(99)
    assert log.log_start_offset == 6


def test_flushes(logs, batch):
    log = filled(logs.open(LogConfig(flush_messages=4, flush_ms=100)), batch, 1)
    assert (log.recovery_point, log.is_flush_due) == (0, False)
    logs.now_ms += 100
    assert log.is_flush_due
    filled(log, batch, 1)
    assert (log.recovery_point, log.is_flush_due) == (4, False)


def test_a_full_disk_is_a_storage_error_from_then_on(logs, batch, monkeypatch):
    log = filled(logs.open(), batch, 2)
    monkeypatch.setattr(os, "pwritev", Mock(side_effect=OSError(28, "No space left on device")))
    with pytest.raises(KafkaStorageError, match=r"appending events-0: \[Errno 28\]") as caught:
        filled(log, batch, 1)
    monkeypatch.undo()
    assert caught.value.error is ErrorCode.KAFKA_STORAGE_ERROR
    assert [failure.log_dir for failure in logs.failures] == [logs.directory]
    for use in (lambda: filled(log, batch, 1), lambda: log.read(0, 10, 4), log.flush, log.close):
        with pytest.raises(KafkaStorageError, match="No space"):
            use()
    assert logs.reopen_after_crash().log_end_offset == 4


@pytest.mark.parametrize("written", [1, 15, 16, 17, 60, 61, 70])
def test_what_a_full_disk_took_is_cut_off_at_the_next_start(logs, batch, monkeypatch, written):
    log = filled(logs.open(), batch, 2)
    before = everything(log)
    real = os.pwrite

    def partly(fd, buffers, at):
        real(fd, b"".join(buffers)[:written], at)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwritev", partly)
    with pytest.raises(KafkaStorageError):
        filled(log, batch, 1)
    monkeypatch.undo()
    assert everything(logs.reopen_after_crash()) == before


@pytest.mark.parametrize("call", ["ftruncate", "fsync", "open"])
def test_a_disk_that_fails_a_roll_is_a_storage_error(logs, batch, monkeypatch, call):
    log = filled(logs.open(replace(SMALL, segment_bytes=200)), batch, 1)
    monkeypatch.setattr(os, call, Mock(side_effect=OSError(5, "Input/output error")))
    with pytest.raises(KafkaStorageError, match="events-0"):
        filled(log, batch, 3)
    monkeypatch.undo()
    assert logs.reopen_after_crash(SMALL).log_end_offset >= 2


def test_a_disk_that_cannot_be_read_is_a_storage_error(logs, batch, monkeypatch):
    log = filled(logs.open(), batch, 2)
    monkeypatch.setattr(os, "pread", lambda *_: (_ for _ in ()).throw(OSError(5, "Input/output error")))
    with pytest.raises(KafkaStorageError, match="reading events-0"):
        log.read(0, BIG, 4)


def test_a_closed_log_says_so(logs, batch):
    log = filled(logs.open(), batch, 1)
    log.close()
    with pytest.raises(KafkaStorageError, match="events-0 is closed"):
        filled(log, batch, 1)
    assert parse_header(logs.path(".log").read_bytes()).last_offset == 1


def test_another_compression_than_the_producers(logs, batch):
    log = logs.open(LogConfig(compression_type="lz4", message_timestamp_type=TimestampType.LOG_APPEND_TIME))
    first = log.append_as_leader(batch(3, value=b"v" * 500, codec=1, producer=(9, 0, 0)), EPOCH)
    assert log.append_as_leader(batch(3, value=b"v" * 500, codec=4, producer=(9, 0, 0)), EPOCH).duplicate
    (written,) = whole_batches(everything(log))
    assert (written.header.codec_number, written.header.producer_id, written.has_valid_crc) == (3, 9, True)
    assert (first.size, log.size) == (len(written.data), len(written.data))
    read = DefaultRecordBatch(bytes(written.data))
    assert [(r.offset, r.timestamp, r.value) for r in read] == [
        (n, logs.now_ms, b"v" * 500) for n in range(3)
    ]
    log.config = LogConfig(compression_type="uncompressed", max_message_bytes=300)
    refusal = log.append_as_leader(batch(3, value=b"v" * 500, codec=1), EPOCH)
    assert refusal.reason is Reason.TOO_LARGE
    assert log.log_end_offset == 3


FIRST, SECOND = TopicIdentity(1700, 8), TopicIdentity(1700, 9)


def identity_file(logs):
    return logs.directory / "events-0" / "topic-identity-checkpoint"


def test_an_empty_log_writes_no_identity(logs):
    log = logs.open()
    log.identify(FIRST)
    assert (log.topic, identity_file(logs).exists()) == (FIRST, False)
    log.close()
    assert logs.open().topic is None


@pytest.mark.parametrize("role", ["leader", "follower"])
def test_the_first_record_comes_after_the_identity(logs, batch, monkeypatch, role):
    """A crash in between leaves an empty log of a known topic, never records of an unknown one."""
    log = logs.open()
    log.identify(FIRST)
    sizes, real = [], topic_identity.write_identity

    def write(directory, identity):
        sizes.append((log.size, logs.path(".log").stat().st_size))
        real(directory, identity)

    monkeypatch.setattr(topic_identity, "write_identity", write)
    for _ in range(2):
        if role == "leader":
            log.append_as_leader(batch(2), EPOCH)
        else:
            log.append_as_follower(batch(2, base_offset=log.log_end_offset))
    assert (sizes, log.log_end_offset) == ([(0, 0)], 4)
    log.abandon()
    assert logs.open().topic == FIRST


def test_a_log_that_cannot_be_identified_takes_no_record(logs, batch, monkeypatch):
    log = logs.open()
    log.identify(FIRST)
    monkeypatch.setattr(
        topic_identity, "write_identity", Mock(side_effect=OSError(errno.ENOSPC, "No space left on device"))
    )
    with pytest.raises(KafkaStorageError, match="appending events-0"):
        log.append_as_leader(batch(1), EPOCH)
    assert logs.path(".log").stat().st_size == 0


def test_an_identity_that_finds_no_descriptor_is_written_with_the_next_record(logs, batch, monkeypatch):
    log, real = logs.open(), topic_identity.write_identity
    log.identify(FIRST)
    monkeypatch.setattr(
        topic_identity, "write_identity", Mock(side_effect=OSError(errno.EMFILE, "Too many open files"))
    )
    with pytest.raises(NoDescriptorError):
        log.append_as_leader(batch(1), EPOCH)
    monkeypatch.setattr(topic_identity, "write_identity", real)
    log.append_as_leader(batch(1), EPOCH)
    assert (log.log_end_offset, topic_identity.read_identity(log.directory)) == (1, FIRST)


def test_an_empty_log_that_starts_above_0_has_its_identity(logs):
    """Its end offset is the topic's: another topic that adopted it would begin there."""
    log = logs.open()
    log.identify(FIRST)
    log.truncate_fully_and_start_at(7)
    log.abandon()
    assert (logs.open().log_end_offset, logs.open().topic) == (7, FIRST)


def test_a_log_with_records_is_identified_at_once_and_once(logs, batch, monkeypatch):
    log = filled(logs.open(), batch, 1)
    written, real = [], topic_identity.write_identity
    monkeypatch.setattr(
        topic_identity, "write_identity", lambda *what: (written.append(what[1]), real(*what))
    )
    for topic in (FIRST, FIRST, SECOND):
        log.identify(topic)
    assert written == [FIRST, SECOND]
