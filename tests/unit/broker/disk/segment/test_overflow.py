"""Segments that old log cleaners made too long are split, and a crash at any moment leaves all batches."""

from __future__ import annotations

import os
import shutil

import pytest

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.core.records.transactions import AbortedTransaction
from barnabas.broker.disk.log.recovery import LogState, load_log
from barnabas.broker.disk.names import LOG_SUFFIX, TRANSACTION_INDEX_SUFFIX, files_with, offset_of
from barnabas.broker.disk.segment.overflow import split_overflowed_segments
from barnabas.broker.disk.segment.transaction_index import TransactionIndex

FAR = 2**31
OFFSETS = (3, 10, FAR - 3, FAR - 1, 2 * FAR, 2 * FAR + 2, 4 * FAR)
BASES = [0, FAR - 1, 2 * FAR, 4 * FAR]
"""The base offsets of the parts, each of which has the offsets up to the next one."""

ABORTED = [AbortedTransaction(7, 3, 11, 12), AbortedTransaction(7, 2 * FAR, 2 * FAR + 3, 2 * FAR + 4)]
CONFIG = LogConfig(cleanup_policy=frozenset({"compact"}), segment_index_bytes=1024)


@pytest.fixture
def directory(tmp_path, batch):
    """A log of two segments, of which the first one is too long."""
    path = tmp_path / "events-0"
    path.mkdir()
    log = path / f"{0:020d}.log"
    log.write_bytes(b"".join(batch(2, base_offset=offset, epoch=1) for offset in OFFSETS))
    os.utime(log, ns=(5 * 10**9, 5 * 10**9))
    (path / f"{6 * FAR:020d}.log").write_bytes(batch(2, base_offset=6 * FAR, epoch=1))
    index = TransactionIndex(path / f"{0:020d}.txnindex")
    for each in ABORTED:
        index.append(each)
    return path


def contents(directory):
    return b"".join(path.read_bytes() for path in files_with(directory, LOG_SUFFIX))


def test_a_segment_is_split_where_four_bytes_end(directory):
    before = contents(directory)
    split_overflowed_segments(directory)
    parts = files_with(directory, LOG_SUFFIX)
    assert [offset_of(path) for path in parts] == [*BASES, 6 * FAR]
    assert contents(directory) == before
    assert [path.stat().st_mtime_ns for path in parts[:-1]] == [5 * 10**9] * len(BASES)
    indexes = {offset_of(path): TransactionIndex(path) for path in directory.glob("*.txnindex")}
    assert {base: index.entries for base, index in indexes.items()} == {0: ABORTED[:1], 2 * FAR: ABORTED[1:]}
    assert {path.suffix for path in directory.iterdir()} == {LOG_SUFFIX, TRANSACTION_INDEX_SUFFIX}


@pytest.mark.parametrize("is_clean", [True, False])
def test_the_start_reads_every_batch(directory, is_clean):
    """KAFKA-6264."""
    state = LogState(is_clean, 6 * FAR + 2 if is_clean else 0, 0)
    loaded = load_log(directory, CONFIG, state, 0)
    assert loaded.log_end_offset == 6 * FAR + 2
    assert loaded.dropped_bytes == 0
    found = [header.base_offset for segment in loaded.segments for _, header in segment.headers()]
    assert found == [*OFFSETS, 6 * FAR]
    for segment in loaded.segments:
        segment.close()


def test_a_long_gap_alone_splits_nothing(directory, batch):
    log = directory / f"{0:020d}.log"
    log.write_bytes(batch(2, base_offset=5) + batch(2, base_offset=FAR - 2))
    split_overflowed_segments(directory)
    assert [offset_of(path) for path in files_with(directory, LOG_SUFFIX)] == [0, 6 * FAR]


def test_a_damaged_segment_is_left_as_it_is(directory):
    log = directory / f"{0:020d}.log"
    log.write_bytes(log.read_bytes()[:-1])
    before = contents(directory)
    split_overflowed_segments(directory)
    assert contents(directory) == before
    assert len(files_with(directory, LOG_SUFFIX)) == 2


class Crash(Exception):
    """The process is gone."""


def test_a_crash_at_any_call_of_the_disk_leaves_all_batches(directory, monkeypatch):
    """KAFKA-6264: a split that was interrupted is completed or undone."""
    before, copy = contents(directory), directory.with_name("copy-0")
    at, has_crashed = 1, True
    while has_crashed:
        shutil.copytree(directory, copy)
        calls, has_crashed = 0, False

        def counted(real, limit=at):
            def call(*arguments, **more):
                nonlocal calls
                calls += 1
                if calls >= limit:
                    raise Crash
                return real(*arguments, **more)

            return call

        with monkeypatch.context() as patched:
            for name in ("pwritev", "ftruncate", "fsync", "rename", "unlink", "utime"):
                patched.setattr(os, name, counted(getattr(os, name)))
            try:
                split_overflowed_segments(copy)
            except Crash:
                has_crashed = True
        loaded = load_log(copy, CONFIG, LogState(), 0)
        for segment in loaded.segments:
            segment.close()
        assert contents(copy) == before, at
        assert [segment.base_offset for segment in loaded.segments] == [*BASES, 6 * FAR]
        shutil.rmtree(copy)
        at += 1
    assert at > 20
