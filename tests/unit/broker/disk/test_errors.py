from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.disk.checkpoints import HIGH_WATERMARK, LOG_START_OFFSET, META_PROPERTIES, RECOVERY_POINT
from barnabas.broker.disk.directory.log_dir import CLEAN_SHUTDOWN
from barnabas.broker.disk.errors import CorruptLogError, InconsistentDirectoryError, KafkaStorageError
from barnabas.broker.disk.log.lookup import offset_at
from barnabas.cluster.model.epochs import LeaderEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.steps import at_once
from tests.batches import whole_batches

TP = TopicPartition("events", 0)
BATCHES = 4
END = 2 * BATCHES
PRODUCER = (9, 0, 0)
SMALL = LogConfig(segment_bytes=240, index_interval_bytes=60, segment_index_bytes=96)
CHECKPOINTS = {RECOVERY_POINT, LOG_START_OFFSET, HIGH_WATERMARK, META_PROPERTIES}
KINDS = [".log", ".index", ".timeindex", ".snapshot", "leader-epoch-checkpoint", *sorted(CHECKPOINTS)]


def test_a_storage_error_names_directory_doing_and_cause():
    error = KafkaStorageError(Path("logs"), "flushing events-0", OSError(5, "Input/output error"))
    assert str(error) == "log directory logs: flushing events-0: [Errno 5] Input/output error"
    assert error.log_dir == Path("logs")
    assert error.error is ErrorCode.KAFKA_STORAGE_ERROR


def test_a_corrupt_log_names_file_and_byte():
    error = CorruptLogError(Path("0.log"), 77, 5, "magic 0")
    assert str(error) == "0.log, byte 77: magic 0"
    assert (error.next_offset, error.error) == (5, ErrorCode.CORRUPT_MESSAGE)


def time_of(offset):
    return 1_699_999_000_000 + 10 * offset


@pytest.fixture
def original(open_dirs, batch, tmp_path):
    """A directory that was closed cleanly: two segments of two batches of two records each.

    The first batch is an idempotent producer's.
    """
    path = tmp_path / "original"
    dirs = open_dirs(path, config=SMALL)
    log = dirs.get_or_create(TP)
    for number in range(BATCHES):
        offset = 2 * number
        times = [time_of(offset), time_of(offset + 1)]
        producer = (-1, -1, -1) if number else PRODUCER
        log.append_as_leader(batch(2, timestamps=times, producer=producer), LeaderEpoch(number // 2))
    dirs.checkpoint_high_watermarks({TP: END})
    dirs.close()
    return path


def batches_of(path):
    """Each batch by the offsets that it holds."""
    content = b"".join(file.read_bytes() for file in sorted(path.glob("events-0/*.log")))
    batches = {b.header.base_offset: bytes(b.data) for b in whole_batches(content)}
    return {offset: batches[offset // 2 * 2] for offset in range(END)}


def damaged(path, kind):
    """Each file of the kind with each way in which it is damaged: cut, and a bit flipped, at every byte."""
    for file in sorted(path.rglob(f"*{kind}")):
        content = file.read_bytes()
        for at in range(len(content)):
            yield file, at, content[:at]
            yield file, at, content[:at] + bytes([content[at] ^ 1 << at % 8]) + content[at + 1 :]


def files_in(path):
    return [file for file in path.rglob("*") if file.is_file()]


class Reopening:
    """Opens copies of a directory, each with one file replaced."""

    def __init__(self, open_dirs, original, work):
        self._open_dirs, self._original, self._work = open_dirs, original, work
        shutil.copytree(original, work)

    def __call__(self, file, content, *, clean):
        wanted = {path.relative_to(self._original): path.read_bytes() for path in files_in(self._original)}
        wanted[file.relative_to(self._original)] = content
        if not clean:
            del wanted[Path(CLEAN_SHUTDOWN)]
        for path in files_in(self._work):
            if path.relative_to(self._work) not in wanted:
                path.unlink()
        for path, right in wanted.items():
            if not (self._work / path).exists() or (self._work / path).read_bytes() != right:
                (self._work / path).write_bytes(right)
        return self._open_dirs(self._work, config=SMALL)

    def close(self, dirs):
        dirs.fail(self._work, "seen enough of it")


@pytest.fixture
def reopening(open_dirs, original, tmp_path):
    return Reopening(open_dirs, original, tmp_path / "work")


def read_one(log, offset):
    """The one batch that a read at ``offset`` begins with; None where it is refused as corrupt."""
    try:
        records = log.read(offset, 1, log.log_end_offset).records
    except CorruptLogError:
        return None
    return records


def assert_all_is_there(log, batches):
    start, end = log.log_start_offset, log.log_end_offset
    assert end in {END, start}
    for offset in range(start, end):
        assert log.read(offset, 1, end).records == batches[offset]
        assert log.read(offset, 1 << 20, offset // 2 * 2 + 2).records == batches[offset]
        assert at_once(offset_at(log, time_of(offset)))[:2] == (time_of(offset), offset)
    assert at_once(offset_at(log, time_of(END))) is None


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "unclean"])
@pytest.mark.parametrize("kind", KINDS[1:])
def test_nothing_but_the_batches_decides_what_is_read(reopening, original, batch, kind, clean):
    batches, opened = batches_of(original), 0
    for file, at, content in damaged(original, kind):
        try:
            dirs = reopening(file, content, clean=clean)
        except InconsistentDirectoryError:
            assert file.name == META_PROPERTIES, at
            continue
        opened += 1
        log = dirs.get(TP)
        assert_all_is_there(log, batches)
        assert log.log_start_offset == 0 or kind == LOG_START_OFFSET
        if log.log_start_offset == 0:
            assert log.latest_epoch == 1
            assert log.append_as_leader(batch(2, producer=PRODUCER), LeaderEpoch(3)).duplicate
        reopening.close(dirs)
    assert opened


@pytest.mark.parametrize("kind", ["below the recovery point", "unclean"])
def test_damaged_batches_are_cut_off_or_refused_and_never_taken_for_others(reopening, original, kind):
    batches = batches_of(original)
    size = len(batches[0])
    if kind == "unclean":
        (original / RECOVERY_POINT).unlink()
    for file, at, content in damaged(original, ".log"):
        dirs = reopening(file, content, clean=kind != "unclean")
        log = dirs.get(TP)
        is_last = at // size == file.stat().st_size // size - 1
        for offset in range(min(END, log.log_end_offset)):
            found = read_one(log, offset)
            for read in whole_batches(found or b""):
                # What follows the checksum is seen by the reader. It does not cover the leader epoch, nor the
                # base offset, which no later batch contradicts where it is a segment's last.
                seen = not read.has_valid_crc or at % size in range(12, 16) or (at % size < 8 and is_last)
                assert seen or found == batches[read.header.base_offset]
        reopening.close(dirs)
